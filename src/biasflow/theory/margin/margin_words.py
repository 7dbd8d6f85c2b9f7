"""C's claims in plain words."""

from ..plain_words import Words

WORDS = {
    "C/A1": Words(
        "The features are homogeneous of degree two and come in pairs of signs",
        "Doubling a neuron's weights multiplies its output by four, and for every neuron there is "
        "one with the opposite output.",
        "True of two-layer ReLU networks in which both layers are trained; a network that violates "
        "it is outside this theory.",
    ),
    "C/A2": Words(
        "The loss decays exponentially for confident samples",
        "The loss increases, behaves like an exponential far on the right side of the boundary, "
        "and has a slope bounded from below on the wrong side.",
        "True of the logistic and the exponential loss. It is about the loss, not about your data.",
    ),
    "C/A3": Words(
        "Features are independent and have smooth gradients",
        "The responses of a neuron to different samples are linearly independent functions of its "
        "weights, with Lipschitz gradients.",
        "True of squared ReLUs on distinct inputs; plain ReLUs fail it by their kink, and have a "
        "theorem of their own (`C/thm5`).",
    ),
    "C/pi2": Words(
        "A network is a measure on the sphere",
        "Putting each neuron's squared norm at its direction gives a measure that has the same "
        "predictor, and whose mass is the squared norm of the weights.",
        "Only directions and squared norms of neurons matter, not how mass is split among them.",
    ),
    "C/prop9": Words(
        "The variation norm, two ways: balanced neurons are the cheapest",
        "Counting a neuron by its squared norm gives twice the usual variation norm; the cheapest "
        "way to write a function uses neurons whose two layers are equally long.",
        "Training both layers keeps neurons balanced, which is why it finds the variation norm.",
    ),
    "C/weight-decay": Words(
        "Weight decay on a wide network is the path norm",
        "Risk plus half the squared norm of all weights has the same minimum as risk plus the path "
        "norm of the function, if the network is wide enough.",
        "Explicit weight decay regularises the function that the network computes, not its weights "
        "alone.",
    ),
    "C/gamma1": Words(
        "The largest margin of a network with both layers trained, with a proof",
        "There is a network of total squared norm one with the largest margin γ₁, and weights on "
        "the samples that prove that none is larger: neurons sit only where the weighted data "
        "pull hardest, weights only on samples at the margin.",
        "γ₁ is the yardstick: divide your network's margin by its squared norm and compare. "
        "`bf.max_margin(X, y, norm='f1')` computes it.",
    ),
    "C/gamma2": Words(
        "The largest margin when only the output layer is trained",
        "With random fixed neurons training the output layer is a hard-margin support vector "
        "machine with the arc-cosine kernel; finitely many neurons approach its margin γ₂.",
        "Compare γ₁ and γ₂ on your data: how much learning the first layer can gain.",
    ),
    "C/eq10": Words(
        "The distance between classes that a projection can show",
        "For each rank there is a projection of the inputs after which the classes are farthest "
        "apart; this distance grows with the rank up to the plain distance of the classes.",
        "If it is large for a small rank, the classes differ in a few directions: the case in "
        "which training both layers generalises well.",
    ),
    "C/sparse": Words(
        "Max-margin networks are sparse, kernel ones are smooth",
        "Some largest-margin network has at most as many neurons as there are samples on its "
        "margin, and is piecewise linear; the kernel's largest-margin classifier is smooth.",
        "Of a wide network only few neurons matter after long training.",
    ),
    "C/eq6": Words(
        "The smooth margin is concave for the exponential loss only",
        "The logarithm that turns the loss into a smooth version of the least score is concave for "
        "the exponential loss; for the logistic loss it is concave nowhere.",
        "Concavity arguments must be made with the exponential loss; the logistic loss follows by "
        "its tail.",
    ),
    "C/lem13": Words(
        "The smooth margin tends to the margin",
        "As the squared norm of a network grows, the smooth margin of its normalised version "
        "tends to its margin, with an error of at most about log n over the squared norm.",
        "Late in training lowering the logistic loss is raising the margin.",
    ),
    "C/lem14": Words(
        "Some samples always keep a weight",
        "The weights with which samples enter the gradient sum to one in the limit, and do not "
        "vanish while a score stays bounded.",
        "Training does not stall: some sample always pulls.",
    ),
    "C/lem15": Words(
        "Late in training only the samples on the margin count",
        "The share of a sample in the gradient falls exponentially in the squared norm times its "
        "distance from the margin.",
        "After long training a few samples, the support vectors, decide everything.",
    ),
    "C/prop6": Words(
        "How fast the margin grows with fixed directions",
        "If only the lengths of neurons are trained, with steps that shrink as one over the root "
        "of the number of steps, the best margin is short of the largest one by at most about one "
        "over that root.",
        "A guarantee with all constants: how many steps suffice for a margin. It is pessimistic.",
    ),
    "C/prop7": Words(
        "How fast the margin grows with the output layer alone",
        "If only the output layer is trained, with steps in proportion to the norm, the best "
        "margin is short of the kernel's largest one by at most about one over the root of the "
        "number of steps.",
        "As for fixed directions, for the kernel's margin.",
    ),
    "C/mirror": Words(
        "Normalised training is online mirror ascent",
        "Divided by their norm, the iterates follow a classical online algorithm: multiplicative "
        "updates on the simplex for trained lengths, projected ascent on the ball for the output "
        "layer.",
        "Why the two kinds of training maximise different margins: ℓ1-like and ℓ2-like.",
    ),
    "C/lem17": Words(
        "The norm of the weights grows without bound, fast enough",
        "The norm tends to infinity, and a sum that measures how slowly stays bounded.",
        "The error terms of the guarantee vanish.",
    ),
    "C/lem18": Words(
        "How fast the norm of the weights grows",
        "From some step on the norm increases, and its logarithm grows at least like the largest "
        "margin times the root of the number of steps.",
        "Norms overflow floats in long trainings: the library keeps their logarithm.",
    ),
    "C/thm3": Words(
        "Training both layers maximises the F1 margin, if it converges",
        "If the weights of samples and the normalised network converge, the limit of training a "
        "wide network with smooth features in both layers is a classifier of largest margin γ₁.",
        "Compare margin/γ₁ after training: one minus it should be near zero. A finite network can "
        "fall short for good (`C/cor4`).",
    ),
    "C/cor4": Words(
        "The margin of trained networks tends to the largest one as they grow wide",
        "As width and time grow, the normalised margin tends to γ₁, from several sizes of the "
        "start. Networks of finite width may end below it for good.",
        "If margin/γ₁ stays below one, the network was too narrow, its start too small, or "
        "training too short.",
    ),
    "C/thm5": Words(
        "The same for ReLU networks on a population with a density",
        "ReLU networks that start balanced stay balanced and, on inputs with a density, tend to "
        "the largest margin under conditions on the limit; on a sample this is an illustration.",
        "ReLUs behave as the smooth theory says, as far as a sample can tell.",
    ),
    "C/lem26": Words(
        "Balanced ReLU neurons stay balanced",
        "If the two layers of every neuron are equally long at the start, they stay so, and no "
        "output weight changes its sign.",
        "Signs of output weights are decided at the start: draw enough of both.",
    ),
    "C/thm10": Words(
        "Mass concentrates where the pull is strongest",
        "Once the pull on neurons has settled, no mass leaves the directions in which it is nearly "
        "largest, mass there grows faster than anywhere else, and nothing is left elsewhere in the "
        "normalised network.",
        "Why neurons gather in few directions during long training.",
    ),
    "C/growth": Words(
        "The final rate of growth of the norm is four times the margin",
        "The logarithm of the squared norm grows at four times the current margin, up to a term "
        "that vanishes, so finally at 4γ₁ per unit of time.",
        "The margin can be read off the growth of the weights.",
    ),
    "C/dirac": Words(
        "A start with all neurons in one direction learns nothing",
        "If all neurons start on one ray they stay on one, and with two classes their margin is "
        "never positive.",
        "Diversity of the start is necessary: identical neurons are one neuron.",
    ),
    "C/interchange": Words(
        "A margin once reached is kept",
        "In networks of every width the margin never falls by more than log n over the squared "
        "norm at the time when it was reached.",
        "Once a margin is found training does not lose it, so wide-network and long-time limits "
        "may be taken in either order.",
    ),
    "C/thm2": Words(
        "Wide networks follow a flow of measures",
        "Networks whose neurons are drawn from one law come to follow one evolution as the width "
        "grows, on bounded time; their predictors differ from it by chance, to either side.",
        "Results at one large width predict those at another, for a given time.",
    ),
    "C/eq11": Words(
        "How mass moves and grows on the sphere",
        "The measure of the network is transported along the slope of the pull on neurons and "
        "grows at four times that pull.",
        "Feature learning is both: neurons turn, and good neurons grow.",
    ),
    "C/eq12": Words(
        "The same for the normalised network",
        "After division by the total mass, directions with more than the average pull gain share, "
        "the others lose it.",
        "Neurons compete: shares grow or shrink relative to the average.",
    ),
    "C/appC2": Words(
        "Only directions and squared norms of the start matter",
        "Starts that differ in how mass is split along a direction follow the same predictor for "
        "all time; starts with the same predictor but other directions can come to differ.",
        "Splitting or merging neurons of one direction changes nothing about training.",
    ),
    "C/energy": Words(
        "What training gains is the squared gradient over time",
        "The gain of the smooth margin equals the accumulated squared gradient, which splits into "
        "turning and growing; growing alone gains less.",
        "How much of the progress comes from learning directions can be measured.",
    ),
    "C/cor11": Words(
        "The smooth margin of the normalised network nearly increases",
        "It can fall only by as much as the inverse of the squared norm of the weights changes: "
        "at most log n over that squared norm. (The sign in print is wrong.)",
        "Monotonicity behind `C/interchange`.",
    ),
    "C/clock": Words(
        "Mean risk and smooth margin have one path, in different times",
        "Training on the mean loss follows the same path as ascent on the smooth margin; only the "
        "clock differs, by the exponential of the smooth margin.",
        "Long times for the plain loss are moderate ones here: plateaus of the loss are a matter "
        "of the clock.",
    ),
    "C/A4": Words(
        "Inputs with a bounded density and separated classes",
        "Spreading each input over a small interval gives a density, with labels continuous on it; "
        "the inputs alone, being points, have none.",
        "Asked for by the theorem on ReLU networks; data sets satisfy it after a little noise.",
    ),
    "C/lem23": Words(
        "The smooth margin of a population is differentiable",
        "For a population the smooth margin is differentiable, and its gradient, weights on the "
        "inputs, depends on the function with Lipschitz constant one.",
        "A tool: small changes of the function change the weights of samples little.",
    ),
    "C/lem24": Words(
        "Weights concentrate where the function is least",
        "As the norm grows, the weights of a population concentrate on the inputs of least score, "
        "at the rate one over the size of the scores.",
        "Support vectors for populations.",
    ),
    "C/lem25": Words(
        "With a density the pull on ReLU neurons is smooth",
        "On inputs with a bounded density the force on a neuron is a Lipschitz function of its "
        "direction and of the network; on isolated points it jumps.",
        "Why theorems on ReLUs ask for densities.",
    ),
    "C/lem28": Words(
        "ReLU features tell measures apart",
        "If every ReLU feature has integral zero against a signed measure on the inputs, the "
        "measure is zero.",
        "No part of the data is invisible to a wide ReLU network with biases.",
    ),
    "C/prop29": Words(
        "Optimality of the margin on a whole population",
        "On a population the largest margin is attained by a measure of neurons and proved by a "
        "measure of inputs, each sitting where the other one is extreme.",
        "The certificate of γ₁ for intervals of inputs in place of samples.",
    ),
    "C/sec4": Words(
        "Many fixed directions approach the full margin",
        "The largest margin over m fixed directions grows to γ₁ as they fill the sphere, with an "
        "explicit error.",
        "In low dimension a grid of directions replaces learning them; in high dimension it takes "
        "exponentially many.",
    ),
    "C/sec6": Words(
        "The distance between classes bounds the margin from both sides",
        "γ₁ lies between explicit functions of the distance of the classes and the size of the "
        "inputs, and is at least the γ₁ of any projection of them. The kernel's γ₂ can be less "
        "than that of a projection.",
        "Data that differ in one direction have a margin that does not depend on the other ones.",
    ),
    "C/lem20": Words(
        "How margins fall as classes come closer",
        "Both margins fall no faster than a power, (r + 3)/2, of the relative distance of classes "
        "in r dimensions.",
        "Tells how much harder finer structure is.",
    ),
    "C/thm8": Words(
        "Training both layers generalises by the hidden dimension, not by the number of inputs",
        "The error bound from γ₁ depends on the distance of the classes in their few relevant "
        "dimensions, whatever the dimension of the inputs; that of the kernel gets worse with "
        "further coordinates.",
        "Irrelevant coordinates hurt the kernel method, and do not hurt feature learning.",
    ),
    "C/thm22": Words(
        "A margin bounds the error on unseen data",
        "With high probability the error of a classifier is at most its complexity over its "
        "margin, plus terms that vanish with the number of samples.",
        "A guarantee from training data alone; for few samples it often exceeds one and says "
        "nothing.",
    ),
    "C/sec7": Words(
        "The distribution of the paper's experiments",
        "Discs on a grid with random classes, in two of many dimensions: the distance of classes "
        "and the size of the inputs are known.",
        "A test bed in which the assumptions of the generalisation bounds hold "
        "(`bf.data.clusters`).",
    ),
}
