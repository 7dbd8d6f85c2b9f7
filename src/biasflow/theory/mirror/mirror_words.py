"""R's claims in plain words."""

from ..plain_words import Words

WORDS = {
    "R/lemA1": Words(
        "Mirror flow exists for all time and is unique",
        "Mirror flow moves not the predictor itself but its image under the gradient of a convex "
        "potential. From any start inside the domain it can be followed for ever, there is only "
        "one such path, the loss never rises on it, and the image moves only in directions that "
        "the samples span.",
        "There is one answer to the question where the flow goes: no blow-up, no choice to make. "
        "What the data do not see keeps, in the dual coordinates, the value of the start.",
    ),
    "R/thm2.2": Words(
        "Mirror flow ends at the Bregman projection of its start",
        "Of all predictors that fit the data as well as possible, mirror flow ends at the one "
        "nearest to its start, where distance is the Bregman divergence of the potential.",
        "The end of training is known without training: a convex problem with the start and the "
        "potential in it gives it (`bf.limit`). Change the start or the parametrisation and "
        "another solution is selected, though the loss and the data are the same.",
    ),
    "R/thm2.3": Words(
        "The same on half-lines: the limit may lie on the boundary",
        "Where coordinates cannot change sign, the best fits may all lie on the boundary of the "
        "domain, which no flow reaches in finite time. The flow still converges to the nearest of "
        "them, and the loss falls at least as fast as one over time.",
        "Models whose weights keep their sign (entropies, neurons that start on one side) still "
        "have a limit that can be computed; a coordinate at zero there is no numerical accident.",
    ),
    "R/legendre": Words(
        "The projection theorem for potentials that mix coordinates",
        "Nothing in the convergence theorem needs the potential to be a sum over coordinates: any "
        "smooth strictly convex one whose gradient takes all values will do. The loss falls at "
        "least as the divergence from the limit over twice the time.",
        "You may bring a potential of your own (`bf.theory.LegendreProblem`), and have its flow, "
        "its limit and its rate checked against each other.",
    ),
    "R/eq2": Words(
        "The divergence from every minimiser falls at twice the excess loss",
        "Along the flow the Bregman divergence from any best fit decreases, at exactly twice the "
        "excess of the loss. So the excess is at most the initial divergence over twice the time; "
        "the paper has half of that rate.",
        "A bound on the loss at any time that needs no tuning, no condition number, and only one "
        "number of the data: how far the start is from a solution.",
    ),
    "R/eq3": Words(
        "The excess loss is at most the initial divergence over time",
        "The loss approaches its least value at least as fast as one over time, with the "
        "divergence of the start from the limit as the constant.",
        "`bf.diagnostics.time_to` has such bounds: after this time the loss is below what you ask "
        "for, whatever the spectrum of the data.",
    ),
    "R/sharp": Words(
        "Sharper rates: one over time for the divergence, exponential with full rank",
        "Where no sample is a combination of others, the divergence from the limit falls at least "
        "as one over time and the loss as one over time squared; the divergence also falls "
        "exponentially, finally at a rate that is read off the data and the limit, and attained.",
        "The last phase of training has a predictable speed: twice the least eigenvalue of the "
        "features weighted by how easily each coordinate moves at the limit.",
    ),
    "R/lem2.4": Words(
        "The Bregman divergence of least squares is the distance of predictions",
        "For the least-squares loss the Bregman divergence between two predictors is half the "
        "squared distance of what they predict on the samples, whatever the labels.",
        "A building block: it turns statements about divergences into statements about residuals.",
    ),
    "R/lem2.5": Words(
        "A local inequality between two divergences gives a rate",
        "If near the limit the divergence of the loss is at least a power of the divergence of the "
        "potential, then from the moment at which the flow is that near, the latter decays: "
        "exponentially for power one, like one over time for power two.",
        "Explains why rates improve late in training: only what holds near the limit counts.",
    ),
    "R/thm2.6": Words(
        "Exponential decay once the potential is smooth near the limit",
        "Once the divergence is below a level, it decays exponentially, at one over the largest "
        "curvature of the potential there times the squared norm of the pseudo-inverse of the "
        "data. The curvature must be bounded on a convex set around the sublevel set, not only on "
        "it.",
        "Ill-conditioned data (a small singular value) and coordinates that must stay tiny (a "
        "large curvature) are what makes the end of training slow.",
    ),
    "R/thm2.7": Words(
        "At least one over time once gradients are bounded near the limit",
        "Without a bound on curvature, a bound on how far the gradient of the potential is from "
        "that at the limit still gives a decay like one over time from then on.",
        "A slower guarantee for potentials that are steep, as those of small starts are.",
    ),
    "R/lem3.3": Words(
        "The hypentropy is a legitimate potential",
        "The hypentropy, a smooth bridge between the square and the entropy, is strictly convex "
        "and smooth on its domain, its slope grows without bound, and its gradient takes all "
        "values.",
        "So the theorems on mirror flow apply to networks whose potential it is (diagonal "
        "networks, and neurons with fixed directions).",
    ),
    "R/lemA3": Words(
        "Derivatives of the hypentropy",
        "The first derivative is an inverse hyperbolic sine, the second one over a square root; at "
        "parameter zero they become a logarithm and one over the absolute value.",
        "The formulas behind every flow of a diagonal network here, checked against many digits.",
    ),
    "R/lem3.6": Words(
        "Hypentropy: exponential decay at a rate proportional to the parameter",
        "For the hypentropy the divergence from the limit decays exponentially, at a rate of at "
        "least the least parameter times the squared least singular value of the data. Four times "
        "that is true.",
        "The guarantee gets worse in proportion to the square of the initialisation scale: small "
        "starts train slowly, by this bound.",
    ),
    "R/lem3.7": Words(
        "Hypentropy: at least one over time, with a constant that is only logarithmic",
        "If the predictor stays in a ball of the ℓ1 norm, the divergence falls like one over "
        "time, and for a given number of coordinates a small parameter costs only a logarithm.",
        "For tiny starts this bound is better than the exponential one for a long time.",
    ),
    "R/thm3.4": Words(
        "A two-layer network with fixed directions is a mirror flow",
        "A network whose neurons keep their directions, and train only their two lengths, follows "
        "in the product of the lengths a mirror flow with a hypentropy as potential. Its parameter "
        "is half the difference of the squared lengths at the start.",
        "Such a network's limit can be computed without training, and the imbalance of its layers "
        "at the start decides which one it is.",
    ),
    "R/lem3.5": Words(
        "Neurons with one direction merge into one",
        "Neurons that share a direction act as a single one: the sum of their products follows the "
        "same kind of flow, with a parameter made of all their weights.",
        "Width spent on copies of a direction changes the bias only through this one number.",
    ),
    "R/lemA2": Words(
        "The imbalance of each neuron is conserved",
        "For neurons with fixed directions the difference of the squared lengths of the two layers "
        "never changes; so an input weight that starts larger than the output weight stays larger, "
        "and never changes sign.",
        "The condition under which the network is a smooth mirror flow has to be checked at the "
        "start only.",
    ),
    "R/cone": Words(
        "Random starts satisfy the condition with a known probability",
        "With random weights the input weights of a neuron are almost surely longer than its "
        "output weight when the dimension is large: the probability that they are not is known "
        "exactly, and doubling the dimension d divides it by 2^{d/2} or more.",
        "In high dimension you need not check the condition; in low dimension, with many neurons, "
        "some will violate it.",
    ),
    "R/sec5.1": Words(
        "Projection needs minimisers that agree on the samples",
        "The difference of divergences from two minimisers stays constant along the flow for "
        "every loss whose minimisers predict the same on the samples; then the limit is the "
        "projection of the start. For a squared hinge, which has others, it is not.",
        "With logistic loss on data that cannot be separated the same recipe gives the limit; with "
        "hinge losses it does not.",
    ),
    "R/lem5.1": Words(
        "There are losses on which mirror flow is arbitrarily slow",
        "For the entropy and a loss that is a high power the predictor falls like an arbitrarily "
        "small power of time, although the loss itself obeys the one-over-time bound.",
        "A small loss does not say that the predictor is near its limit: rates for the loss are "
        "not rates for the solution.",
    ),
    "R/sec5.3": Words(
        "For plain gradient flow the theory's rate is half of the true one",
        "With the Euclidean potential mirror flow is gradient flow on least squares, which decays "
        "exactly at twice the squared least singular value; the general theorem gives half.",
        "How much is lost to generality: a factor of two.",
    ),
    "R/sec5.4": Words(
        "The constant of the rates, in any norm, and when it is infinite",
        "The norm of the pseudo-inverse of the transposed data is one over the least singular "
        "value for the ℓ2 norm; for ℓ1 and ℓ∞ it is enclosed up to the square root of the number "
        "of samples; with dependent samples it is infinite.",
        "Of nearly equal samples this norm grows as one over their distance, and the rates fall "
        "with its square.",
    ),
    "R/twins": Words(
        "Nearly equal samples: the loss does not notice, the predictor does",
        "A sample given twice does no harm. At a small distance with equal responses the loss "
        "falls as fast as before, but the predictor then needs a time that grows as one over the "
        "square of the distance to reach its limit; with different responses even the divergence "
        "of the start grows.",
        "Near-duplicates in a data set can leave training far from its limit while the loss looks "
        "converged.",
    ),
    "R/pair": Words(
        "W's diagonal network is a case of R's: pairs of neurons",
        "A difference of squares is a pair of neurons with one direction; merged, they have the "
        "parameter of W's theorem, and follow W's flow at half its speed to the same limit.",
        "The two papers speak about one model: results for either can be used for the other.",
    ),
    "R/sec4": Words(
        "More neurons do not change the bias if weights shrink as one over the root of the width",
        "With weights of size α/√m each neuron's parameter falls, but that of all neurons of a "
        "direction together converges, and with it the limit. With weights of one size it grows "
        "with the width, and the limit tends to the least-squares solution nearest to the start.",
        "Whether widening a network moves it towards a kernel method depends on how the weights "
        "are scaled with the width.",
    ),
}
