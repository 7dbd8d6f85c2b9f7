"""What each hypothesis means for somebody with data and a network, by its id; where papers use one
id for different things, by 'paper id'."""

from __future__ import annotations

from .verdicts import Hypothesis

MEANINGS = {
    "lawful": "One of our models whose conserved quantities are written down "
    "(`bf.conservation_laws`), and weights that floats hold.",
    "moving": "Otherwise nothing happens; and a weight of a deep diagonal network that is zero "
    "never moves.",
    "line": "A data set with one column.",
    "one label": "Two samples at one place with different labels are fitted by no function; "
    "average them, or leave one out.",
    "resolved": "The comparison is with linear programs over many neurons, which take seconds for "
    "up to forty inputs that are neither far out nor close together; the solver itself has no such "
    "limits.",
    "plane of classes": "A data set with two columns and labels 1 and −1; networks have no biases "
    "here.",
    "obtuse": "Then a neuron along one input does not see the others, and one neuron each is a "
    "KKT point; `bf.certify` itself asks for nothing of the kind.",
    "two classes": "With one class a constant is the best classifier.",
    "bent": "Labels on a straight line cost nothing with a free affine part, and nothing can be "
    "compared.",
    "mirror": "The model's predictor moves as if gradient descent were made in other coordinates: "
    "diagonal networks and networks with fixed directions do; ReLU networks in general do not.",
    "square": "Regression with squared errors, in any normalisation.",
    "R start": "The potential must be defined where training begins.",
    "onto": "The gradient of the potential takes every value, so that the flow can be followed for "
    "ever; it fails for diagonal networks of depth three and more, which have theorems of their "
    "own.",
    "moves": "Otherwise nothing happens.",
    "attained": "Some predictor in the domain is a best fit.",
    "half-lines": "Some coefficients cannot change their sign.",
    "continuous": "The potential stays finite at zero, as the entropy does.",
    "potential": "Your own potential: its value, gradient and inverse gradient.",
    "pair": "What you gave as inverse must be one, and the potential convex.",
    "solvable": "The labels can be fitted exactly, and are not fitted yet.",
    "R/legendre choice": "With one interpolator only there is nothing to select.",
    "R/sec4 choice": "With one best fit only there is nothing to select.",
    "consistent": "The labels can be fitted exactly by a linear predictor; usually that needs at "
    "least as many columns as samples.",
    "reached": "Some exact fit has the signs that the domain allows.",
    "full rank": "No sample is a combination of the others; usually that needs at least as many "
    "columns as samples.",
    "nontrivial": "With all labels zero there is nothing to learn.",
    "hypentropy": "The model is a diagonal network of depth two, or one with fixed directions.",
    "floats": "The formulas are evaluated in double precision.",
    "R positive": "No coordinate starts exactly on the boundary of its half-line.",
    "fixed directions": "Each neuron keeps the direction of its input weights, and trains two "
    "lengths (`bf.FixedDirections`).",
    "cone": "Each neuron's input weight is at least as long as its output weight.",
    "felt": "Otherwise no gradient moves the network.",
    "R free": "Every coefficient may take any sign and any size.",
    "power": "A one-dimensional example with a loss of your choice of power.",
    "Euclidean": "Plain gradient flow on the predictor itself.",
    "room": "More columns than samples.",
    "pairs": "Each direction occurs twice, with opposite output weights.",
    "two-layer": "A sum of ReLU neurons, both layers trained (`bf.TwoLayer`), on squared errors.",
    "alive": "Otherwise no gradient moves the network.",
    "B/assumption-1": "Inputs of length one, perpendicular to each other; so at most as many "
    "samples as dimensions.",
    "B/assumption-2": "No label is zero, and one sign of labels is stronger than the other, or the "
    "only one.",
    "nonzero": "No label is zero.",
    "moderate": "Labels are below 1e75: larger ones have squares that are no floats.",
    "two signs": "Some labels are positive and some negative; else there is one group only.",
    "B/assumption-3": "For each sign some neuron is active on every input with a label of that "
    "sign: needs a wide network.",
    "orthogonal": "Inputs perpendicular to each other, of any lengths.",
    "balanced": "Each neuron's output weight is as long as its input weights, as "
    "`bf.TwoLayer.init` makes them.",
    "B small": "The start is tiny, so that what is not a cluster stays negligible. The paper has "
    "an unspecified threshold in its place.",
    "apart": "The start is so tiny that the phases of training do not overlap; this may need "
    "scales given by their logarithm.",
    "tiny": "The start is so tiny that the last bound of the theorem says something.",
    "comparison": "Four numbers of an inequality between functions.",
    "fits": "Inputs with different labels are different, as seen by ReLU networks without bias.",
    "led": "Of an unbalanced start some neuron of each cluster must keep its sign.",
    "opposite": "The example that is built from your labels needs two clearly different ones.",
    "lacking": "There is a neuron whose behaviour can change.",
    "definite": "The linearised network can fit any labels.",
    "two labels": "Otherwise one neuron for each label is already of least norm.",
    "network": "Two layers, inputs with a column of ones (`bf.data.with_bias`), and the smooth "
    "margin as objective (`bf.SmoothMargin`), whose path is that of the mean loss.",
    "A3": "The activation is the squared ReLU (`bf.SignedTwoLayer`); the plain ReLU has a kink.",
    "relu": "As above, with plain ReLUs and both layers trained (`bf.TwoLayer`).",
    "signs": "Classes are named −1 and +1.",
    "C distinct": "The same input must not carry both labels, or no classifier has a margin.",
    "data": "Inputs and labels; no network is needed.",
    "classes": "Both labels occur.",
    "scores": "Numbers y·f(x), and a loss: no data or network is needed.",
    "C positive": "Every sample is classified correctly.",
    "unequal": "Otherwise every sample is on the margin.",
    "exponential": "The smooth margin of the exponential loss; the logistic one has the same "
    "limit.",
    "separates": "Some combination of the neurons of the start classifies every sample correctly.",
    "long": "Training has gone on for long enough to be near its limit.",
    "A2": "The logistic and the exponential loss satisfy it.",
    "independent": "No input occurs twice.",
    "planar": "In higher dimension the largest margin is known between bounds only.",
    "support": "A wide network with random weights has neurons near every direction.",
    "C start": "The start is small enough that training decides, and not zero.",
    "converges": "The theorem assumes that training converges in direction; this is looked at when "
    "the squared norm is e³⁰.",
    "D": "Each neuron's two layers are equally long, as `bf.TwoLayer.init` makes them.",
    "*": "A technical condition on the pull on neurons at the end of training.",
    "A4": "One column of inputs, each thought of as a small interval.",
    "Dirac": "All neurons start in the same direction.",
    "family": "A grid of classes that alternate ever more finely (`bf.theory.Alternating`).",
    "margin": "The classes can be told apart in double precision.",
    "clusters": "Discs on a grid with random classes (`bf.theory.Clusters`).",
    "homogeneous": "Multiplying all weights by α multiplies the output by α to the power D: "
    "networks without biases.",
    "W/sec3 unbiased": "The network starts at the zero function.",
    "reachable": "The linearised network can fit the labels.",
    "flow": "The library can follow the flow of this model.",
    "diagonal": "A linear predictor whose coefficients are differences of powers of weights "
    "(`bf.DiagonalNetwork`).",
    "biased": "The network does not start at the zero function.",
    "smooth": "No kinks are met along the flow, or they are followed exactly.",
    "product": "A linear predictor whose coefficients are products (`bf.ProductNetwork`).",
    "inside": "Otherwise signs of coefficients are fixed by the start.",
    "rank": "Two samples that are not multiples of each other.",
    "depth": "The number of weights multiplied in each coefficient (`--depth`).",
    "uniform": "Every weight starts at the same α (`bf.DiagonalNetwork.init`, `--scale`), so that "
    "the predictor starts at zero.",
    "threshold": "Between the two thresholds the theorem says nothing: try a smaller or a larger "
    "α.",
    "separable": "Each coefficient has weights of its own.",
    "reducible": "Its flow can be written as a mirror flow.",
    "W small": "The lemma is about small scales.",
    "wide": "Enough columns.",
    "W free": "At least two more columns than samples.",
    "plane": "At least two columns.",
    "few": "All corners of the set of interpolators are listed.",
    "sparse": "The truth behind the labels is known and has few entries, as in "
    "`bf.data.sparse_regression`.",
    "unique": "The sequence of saddles has no ties.",
    "general": "True of random labels.",
    "factorised": "A matrix written as a product of two (`bf.MatrixFactorisation`).",
    "completion": "Each sample is one entry of the matrix.",
    "unbiased": "The product of the factors is zero at the start.",
    "W distinct": "Large and small starts end differently here, so that there is a transition.",
    "monotone": "Coefficients that have left zero on the way of a vanishing start stay away from "
    "it, and there are at least two.",
    "settled": "Jumps of the vanishing start are not too near to each other.",
    "both weights": "Every coefficient can take either sign.",
    "listable": "Up to eight inputs in any dimension, some hundred in the plane; and no data at "
    "which neurons shrink for ever on a kink, where floats lose the balance of their weights.",
    "one path": "Random data satisfy it unless two clusters arrive nearly together.",
    "acute": "All angles between inputs are acute, as with a large bias column, and all labels "
    "are positive.",
    "tiny start": "Weights of at most a thousandth of those that fit a label, among them a "
    "positive neuron that is active somewhere.",
    "unit start": "Weights between 5e-5 and 2e4: the claim shrinks them by λ itself.",
    "S/separable unique": "True of random inputs. Where two directions tie, the start says which "
    "mixture of them comes.",
    "S separable": "Some hyperplane through zero has all samples on the right side.",
    "S balanced": "The positive and the negative weights of each coefficient begin equal.",
    "S depth": "Depth two and deeper networks behave differently on separable data.",
    "S loss": "The bounds are derived for the exponential loss; the logistic one joins it later.",
    "S/separable-deep ahead": "One weight is so far ahead that its coordinate must win.",
    "S/saddles general": "True of random labels, unless two jumps nearly coincide.",
    "commuting": "Pulling the predictor in one direction and then in another ends where the other "
    "order ends (`bf.diagnostics.find_potential` looks).",
    "determined": "Enough entries are known that only one matrix of rank one fits them.",
}


def meaning_of(id: str, hypothesis: Hypothesis) -> str:
    """A hypothesis of this claim in plain words; empty where nobody has written them."""
    for name in (f"{id} {hypothesis.id}", f"{id[:1]} {hypothesis.id}", hypothesis.id):
        if name in MEANINGS:
            return MEANINGS[name]
    return ""
