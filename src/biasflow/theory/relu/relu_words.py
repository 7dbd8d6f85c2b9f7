"""B's claims in plain words."""

from ..plain_words import Words

WORDS = {
    "B/lem1": Words(
        "The imbalance of each ReLU neuron is conserved",
        "Along gradient flow the squared output weight of a neuron minus the squared length of its "
        "input weights never changes. From a balanced start both stay equally long, and the output "
        "weight keeps its sign.",
        "Holds for any data. A drift of this number measures how far a training is from gradient "
        "flow: steps that are too large show here first.",
    ),
    "B/assumption-1": Words(
        "The inputs are orthonormal",
        "All inputs have length one and are perpendicular to each other.",
        "Real data satisfy it at best approximately (few samples in high dimension, normalised). "
        "`violated` says that your inputs do not, not that a theorem fails; `B/nearly` says how "
        "much is lost.",
    ),
    "B/assumption-2": Words(
        "No label is zero, and the two signs are not of the same strength",
        "Every label has a sign, and positive and negative labels differ in their total strength, "
        "so that one group is learnt before the other. Labels of one sign satisfy it: there is "
        "one group then.",
        "Holds for almost all data; where both groups are of the same strength they are learnt at "
        "the same time, and the phases below cannot be told apart.",
    ),
    "B/assumption-3": Words(
        "Some neuron of each sign is active on all labels of that sign",
        "Among the neurons of the start there is one with positive output weight that is active on "
        "every input with a positive label, and likewise for negative ones.",
        "It takes a width that is exponential in the number of labels of a sign (`B/width`). "
        "Without it the loss still vanishes, but with more kinks (`B/remarks`).",
    ),
    "B/lem6": Words(
        "On orthogonal inputs a neuron that is off stays off",
        "On orthogonal inputs the response of a neuron to one input changes only while it is "
        "active there, at a rate given by that input's error alone. Once inactive it stays so.",
        "Activation patterns can only shrink: neurons specialise and never come back. On other "
        "inputs gates may open again.",
    ),
    "B/timeline": Words(
        "When the two groups of labels are learnt",
        "From a tiny start the stronger group of labels is fitted in one window of time, the "
        "weaker one in a later window; both are known up to constants from the size of the start, "
        "and their midpoints exactly.",
        "Predicts the two drops of the loss curve: each at a time proportional to the logarithm of "
        "the size of the start over the strength of its group.",
    ),
    "B/u-plus": Words(
        "Each cluster of neurons grows along a logistic curve",
        "The total squared norm of the neurons that fit one sign of labels follows the logistic "
        "equation: exponential growth at first, then saturation when these labels are fitted.",
        "The shape of each drop of the loss is universal; only its time and height depend on the "
        "data.",
    ),
    "B/lem2": Words(
        "First phase: neurons turn before they grow",
        "By an early time both clusters of neurons point in the direction of their labels up to a "
        "tiny error, while all weights are still tiny and their neurons are off on labels of the "
        "other sign.",
        "Features are chosen while the loss has not moved: early alignment.",
    ),
    "B/lem3": Words(
        "Second phase: the stronger labels are fitted",
        "By a known time the first cluster has its full size up to a power of the size of the "
        "start, points in its direction, and the loss on its labels is small; all other neurons "
        "are still tiny.",
        "After the first drop the network is a single effective neuron.",
    ),
    "B/lem4": Words(
        "Third phase: the weaker labels are fitted",
        "By a later time the second cluster has its full size and direction too, while the first "
        "has hardly moved and still fits its labels; everything else stays tiny.",
        "After the second drop the network is two effective neurons, one for each sign.",
    ),
    "B/fact1": Words(
        "Between the two drops the flow rests near a saddle",
        "Between the two phases the flow stays very near a point where the gradient vanishes and "
        "one direction leads down: a strict saddle at which the stronger labels are fitted and the "
        "others are not. Zero, where it starts, is another one.",
        "A plateau of the loss is not convergence: it ends at a time that is known.",
    ),
    "B/lem12": Words(
        "After the third phase the network is near a solution of least norm",
        "At the end of the third phase the weights are within a power of the size of the start of "
        "an interpolator of least norm that does not depend on that size.",
        "What small starts converge to is fixed by the directions of the start, not by its size.",
    ),
    "B/eq19": Words(
        "What is left to fit during both growth phases",
        "While a cluster grows, what its labels lack is its direction times the share of its size "
        "that is missing, up to an explicit error; the first cluster grows at least as fast as "
        "stated, and the first labels stay fitted while the second are learnt.",
        "The intermediate formulas of the proof, which hold with room to spare.",
    ),
    "B/eq9": Words(
        "The laws of motion of a neuron's length and direction",
        "A neuron's logarithmic length grows by how well it points at what is left to fit, and its "
        "direction turns towards that. From a tiny start each neuron climbs, on the sphere, the "
        "correlation with the labels it is active on.",
        "For any data. Early in training neurons are independent of each other, and their "
        "directions can be computed in closed form (`bf.flows.early_alignment`).",
    ),
    "B/eq28": Words(
        "Up to the end of alignment the size of the start does not matter",
        "Directions and relative lengths of the clusters follow, up to tiny errors, a process that "
        "does not know the size of the start; afterwards the neurons of a cluster keep their "
        "relative lengths.",
        "Each neuron's share of the final function is decided during the first phase.",
    ),
    "B/lem7": Words(
        "First phase for the stronger labels, in detail",
        "At the end of its alignment every neuron is still tiny, the first cluster points in the "
        "direction of its labels up to a tiny angle, and is off on the other labels.",
        "As for `B/lem2`, with constants for the stronger group alone.",
    ),
    "B/lem9": Words(
        "Neurons of the clusters do not collapse during alignment",
        "While they turn, neurons of the clusters may shrink, but at most at the rate at which "
        "labels of the other sign push them: they stay above a known size.",
        "Needed so that a cluster is there when its labels are to be fitted.",
    ),
    "B/lem16": Words(
        "A comparison inequality used in the proof, corrected",
        "A function that decays at a rate a, is fed by its own integral and by a constant, stays "
        "below its start plus c/a, times an exponential. As printed, with another constant, the "
        "inequality is false.",
        "A tool of the proof: the paper's conclusions keep their powers, with other constants.",
    ),
    "B/thm1": Words(
        "From tiny starts training fits the data with the least norm",
        "The loss vanishes, and as the size of the start goes to zero the network tends to one of "
        "least norm among all that fit. The excess norm vanishes like a power of that size, which "
        "is known and often small.",
        "Implicit bias towards simple functions, with a rate: to halve the excess, the start may "
        "have to be smaller by orders of magnitude (`bf.limits.min_norm_interpolator` has the "
        "end).",
    ),
    "B/limit": Words(
        "The limit of tiny starts, neuron by neuron",
        "As the size of the start vanishes, every neuron of the two clusters ends at a known share "
        "of its cluster: the square of the length to which the early phase brings it.",
        "`bf.flows.saddle_limit` gives the final weights without training.",
    ),
    "B/lem5": Words(
        "Near the solution the gradient is never small compared with the loss",
        "Once both clusters have grown, the squared gradient is at least the strength of the "
        "weaker labels times the loss: a Polyak–Łojasiewicz inequality. Small errors decay at "
        "known rates.",
        "After the last drop the loss falls exponentially: no further plateau comes.",
    ),
    "B/lem13": Words(
        "Networks that look like the end of the third phase have a small loss",
        "If clusters have nearly their sizes and directions and all else is small, the loss is "
        "small too, with an explicit power.",
        "Lets one conclude from sizes and angles to the loss.",
    ),
    "B/lem14": Words(
        "A lower bound on the gradient by the neurons that are active, corrected",
        "The squared gradient is at least the loss times the least total squared output weight of "
        "the neurons active on an input. As printed, for all balanced weights, it fails where all "
        "neurons are off.",
        "Dead neurons are the only obstacle: where every input has active neurons, the gradient "
        "cannot vanish before the loss does.",
    ),
    "B/lem15": Words(
        "The inequality holds in whole balls, and fails at the saddles",
        "Around the solution, and around the end of the third phase, the bound on the gradient "
        "holds for all balanced weights; near the saddles passed on the way it fails.",
        "No global condition of this kind can describe training from small starts; a local one "
        "can.",
    ),
    "B/thm2": Words(
        "From the third phase on the flow stays near the solution and converges exponentially",
        "After the third phase the flow stays balanced and within a power of the size of the start "
        "of the solution, a power so small that the ball may be a third of the solution at a start "
        "of 1e-250, and the loss falls exponentially, at least at the strength of the weaker "
        "labels.",
        "Completes the proof that the plateau before was the last one.",
    ),
    "B/rem1": Words(
        "A local inequality keeps the flow in its ball (with a factor of four)",
        "If the squared gradient is at least μ times the loss in a ball, and four times the "
        "initial loss is at most μ times its squared radius, the flow stays in the ball, is "
        "short, and the loss decays exponentially. Without the four it may leave.",
        "A test of convergence that can be made in practice, in any ball where you know μ.",
    ),
    "B/prop1": Words(
        "The networks of least norm on orthogonal inputs, in closed form",
        "The least squared norm of a ReLU network that fits orthonormal inputs is known, and is "
        "attained by neurons in exactly two directions: one for each sign of labels.",
        "The function that small starts learn has two effective neurons, whatever the width.",
    ),
    "B/eq8": Words(
        "Least weights equal least variation norm",
        "The least half squared norm of the weights of a network that fits is the least variation "
        "norm of a function that fits; for every network the latter is at most the former.",
        "Weight decay on a wide two-layer network regularises the function, by a norm that favours "
        "few kinks.",
    ),
    "B/kkt": Words(
        "The end of training satisfies the optimality conditions of least norm",
        "At interpolators of least norm the weights are a combination of the gradients at the "
        "samples; so are they, up to tiny neurons, at the end of a flow from a small start.",
        "A check of a trained network without knowing the best one: its residual must be small.",
    ),
    "B/prop2": Words(
        "Which derivative at the kink allows a flow",
        "On orthogonal inputs gradient flow of ReLU networks has a solution for all time exactly "
        "if the derivative at zero is taken as zero; then a neuron that turns off rests there. On "
        "other inputs neurons may slide along a kink, and no choice makes the equation solvable.",
        "Frameworks that use zero at the kink are right on orthogonal inputs; in general the flow "
        "is that of the differential inclusion, which `bf.gradient_flow` follows.",
    ),
    "B/remarks": Words(
        "What the assumptions are needed for",
        "Without neurons that are active on all labels of a sign the loss still vanishes, but with "
        "more kinks and more than the least norm; how likely such neurons are is known; and the "
        "solution on two points is not the linear one.",
        "If your network ends with more kinks than two, width is what it lacked.",
    ),
    "B/width": Words(
        "The width that the theorem needs doubles with every label",
        "The probability that a random start has the neurons that are needed is known exactly: for "
        "one half the width must double with each label of a sign.",
        "Beyond about twenty samples of a sign the assumption is not to be had by width alone.",
    ),
    "B/saddles": Words(
        "How many saddles training passes",
        "With the assumption on neurons the loss falls twice; without it, once for each kink that "
        "the network ends with; from larger starts the falls run into each other where all labels "
        "are fitted at about the same time, and the norm is a little above the least.",
        "Count the drops of a loss curve: they count the features learnt one after the other.",
    ),
    "B/unbalanced": Words(
        "Unbalanced starts end alike",
        "From tiny starts that are not balanced the flow ends nearly balanced, at zero loss and "
        "nearly least norm, with the same power of the size.",
        "The balanced start of the theorem is a convenience.",
    ),
    "B/leaky": Words(
        "With leaky ReLUs small starts do not find the least norm",
        "With a leaky activation one cluster can fit labels of both signs, at a norm above the "
        "least.",
        "The bias towards least norm depends on the activation.",
    ),
    "B/nearly": Words(
        "How far from orthogonal inputs may be",
        "Up to a certain size of the products between inputs of one sign the flow is as on "
        "orthogonal ones; beyond, neurons that had been off open again and join the cluster. The "
        "threshold goes as a power of the size of the start.",
        "The smaller the start, the more exactly the inputs must be orthogonal.",
    ),
    "B/scale": Words(
        "How small the start must be",
        "For labels of equal size the size at which idle neurons are a given small share falls "
        "exponentially with the number of labels, and as one over the root of the width.",
        "With many labels the limit of tiny starts is out of the reach of floats: give the scale "
        "by its logarithm.",
    ),
    "B/lazy": Words(
        "Large starts are lazy",
        "From a large start whose function is zero the weights hardly move, and the network "
        "becomes the interpolator of its tangent kernel. From a start whose function is not zero "
        "the share by which weights move does not fall with the size, only with the width.",
        "A large start alone does not make a network lazy: its initial function must be small too.",
    ),
    "B/kkt-only": Words(
        "The optimality conditions are not sufficient",
        "A network with one neuron for each label satisfies the first-order conditions of least "
        "norm without having it; and between two solutions lies a network that does not fit.",
        "A small KKT residual does not prove that a network has the least norm.",
    ),
}
