"""S's claims in plain words."""

from ..plain_words import Words

WORDS: dict[str, Words] = {
    "S/lasso": Words(
        "Averages over training are nearly Lasso solutions, with a proof",
        "Average the coefficients of a diagonal network over its training up to now. Correlate "
        "what they leave of the labels with the inputs: this is what the mirror coordinates have "
        "moved by, over the time. So the average comes with a Lasso penalty, about one over the "
        "time, and with a proof of how far from the least Lasso objective it is at most.",
        "Stopping early and averaging is a Lasso whose penalty you need not choose beforehand; "
        "`bf.diagnostics.lasso_gap` says for which penalty, and how well. The last iterate is no "
        "such solution.",
    ),
    "S/lasso-path": Words(
        "From vanishing starts the averages follow the Lasso path",
        "As the start shrinks, the proven distance of the average from the Lasso optimum goes to "
        "zero where no coefficient returns to zero on the way: like one over the logarithm of the "
        "scale for depth two, like a power of the scale for deeper networks, with a constant that "
        "the last coefficients determine.",
        "Depth two needs absurdly small starts for a tight path, deeper networks do not.",
    ),
    "S/saddles": Words(
        "Vanishing starts of any depth and shape jump from saddle to saddle",
        "From a vanishing start a diagonal network of any depth waits at a saddle until the next "
        "coordinate has grown, and jumps. How long a coordinate takes depends on its weights at "
        "the start for depth three and more, and no longer does for depth two. The end is the fit "
        "at which the coefficients, weighted by these times, have the least sum.",
        "The relative sizes of tiny initial weights choose which features a deep diagonal network "
        "ends with; `bf.saddle_path(problem)` gives the whole sequence without integrating.",
    ),
    "S/laws": Words(
        "What training conserves, and that there is no more",
        "Some functions of the weights keep their values along gradient flow, whatever the data "
        "and the loss. Their number follows from the gradients and their brackets; for diagonal "
        "networks, factorisations and ReLU networks they are known as formulas. A step of gradient "
        "descent changes the quadratic ones by the square of the step times the same formula at "
        "the gradient.",
        "The start decides these numbers for ever, and with them which solution training picks. "
        "`bf.conservation_laws(model).drift(checkpoints)` says how far your own training is from "
        "gradient flow.",
    ),
    "S/laws-decay": Words(
        "Weight decay and momentum break conservation laws in a known way",
        "With weight decay a law of degree k shrinks or grows exponentially, at k times the rate "
        "of the decay: quadratic laws vanish, those of deep diagonal networks grow. With momentum "
        "quadratic laws are driven by the velocity, and of a factorisation a rotation is left.",
        "With weight decay a network forgets how unbalanced it began; with momentum the start no "
        "longer decides the balance of the layers.",
    ),
    "S/extremal": Words(
        "Small neurons turn to a few directions that the data decide",
        "While a ReLU network is tiny its neurons do not feel each other. Each turns, within a "
        "fixed time, to one of finitely many directions, and grows there exponentially, or comes "
        "to rest. Which directions there are, and how fast neurons grow in them, is decided in "
        "exact arithmetic.",
        "`bf.limits.extremal_vectors(data)` lists the features that a tiny network can begin with, "
        "before any training.",
    ),
    "S/relu-saddles": Words(
        "Tiny ReLU networks learn from saddle to saddle",
        "The smaller the start, the longer a ReLU network waits before its loss falls. It falls in "
        "steps: at each plateau the small neurons turn to directions that the residual decides, "
        "the first to have grown joins, and the network moves to the next plateau. Times and "
        "losses of all steps follow without training from a tiny start.",
        "`bf.flows.relu_saddle_path(data, start)` predicts the plateaus of a training, how long "
        "each lasts, and whether the last is a minimum or a dead end.",
    ),
    "S/spurious": Words(
        "Wide ReLU networks can stop at least squares",
        "With positive labels and inputs that make acute angles, all positive neurons of a small "
        "network turn the same way and become one, and all negative ones rest. The network is "
        "linear on the data from then on, and training ends at the best linear fit, however many "
        "neurons there are.",
        "A small start costs more than time: on such data no width helps. "
        "`bf.flows.relu_saddle_path` calls such an end spurious.",
    ),
    "S/separable": Words(
        "On separable data depth two goes to the largest ℓ1 margin, whatever the start",
        "Classify separable data with a diagonal network of depth two. Its weights grow for ever, "
        "and the direction of its coefficients tends to the one with the largest margin for its "
        "ℓ1 norm. Once all samples are well classified the margin for the squared norm of the "
        "weights never falls, and what it lacks is at most a constant over the logarithm of the "
        "norm.",
        "Large starts only postpone the sparse direction: the norm at which it comes grows with "
        "the start, and training may never reach it. `bf.flows.direction_path(problem)` shows the "
        "direction at any norm, `bf.limit(problem)` its end.",
    ),
    "S/separable-deep": Words(
        "Deeper diagonal networks on separable data go where the start says",
        "With depth three and more a weight that is ahead runs away, and the direction of the "
        "coefficients is no longer a matter of the data alone. What is left is that the weights "
        "tend to be parallel to the gradient of the margin, on average over the logarithm of the "
        "norm; many directions have that.",
        "Do not expect the largest margin from a deep diagonal network: its features are those "
        "with the largest weights at the start.",
    ),
    "S/line": Words(
        "What interpolants of least norm look like on a line",
        "The least norm of a two-layer ReLU network for a function on a line is the total change "
        "of its slope where biases are free; with penalised biases kinks cost more the farther out "
        "they lie. Without a free affine part a slope costs extra, which one of the papers leaves "
        "out. The least norm of an interpolant, and where biases are free all interpolants that "
        "have it, follow.",
        "Tells what weight decay would choose on your data, exactly "
        "(`bf.limits.line_interpolants`): with free biases many functions at once, among them the "
        "straight lines from sample to sample; with penalised biases one, with few kinks. Whether "
        "your network has a skip connection, and whether its biases decay, changes the answer.",
    ),
    "S/certify": Words(
        "No two-layer network has a larger normalised margin than γ₁, and training may stop short",
        "Divide the margin of a two-layer ReLU network by the sum of squares of its weights: no "
        "width and no weights give more than one number of the data, which can be computed. "
        "Training the network until its direction settles gives a point at which no small change "
        "of the weights helps to first order. Such a point need not have the largest margin: one "
        "neuron for every sample is one wherever samples are at obtuse angles, and has less.",
        "`bf.certify(network, X, y)` says which share of the largest margin your classifier has, "
        "with a proof, and what keeps it from the rest: unbalanced layers, masses, a missing "
        "neuron, or training that has not converged. A small KKT residual alone does not mean "
        "that the classifier is the best of its kind.",
    ),
    "S/parametrisation": Words(
        "Your parametrisation has a potential if the order of pulls does not matter",
        "Write the predictor as a function of the weights, and pull at its coordinates one after "
        "the other. Where the order of pulls does not matter, what they add up to decides where "
        "the predictor is, training follows a mirror flow for every loss, and the potential can be "
        "computed by following pulls. Its least divergence from the start among all solutions is "
        "where training on a square loss ends.",
        "`bf.diagnostics.find_potential(G, start)` says for a function of your own whether it "
        "has a potential, or shows two trainings with the same pulls that end apart; `.limit(X, "
        "y)` says where training ends without training.",
    ),
}
