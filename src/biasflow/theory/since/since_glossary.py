"""S's symbols; where a claim uses one for something else, by claim."""

SINCE: dict[str, str] = {
    "X": "the matrix of inputs, a sample in each row",
    "y": "the labels, one for each sample",
    "β": "the predictor, a vector of coefficients: β = w₊^D − w₋^D; β(∞) at the end",
    "D": "the depth of the diagonal network",
    "w₊": "the weights for positive parts of coefficients",
    "w₋": "the weights for negative parts",
    "α": "the scale of the start",
    "c": "the factor of the loss c‖Xβ − y‖²",
    "T": "how long a coordinate takes to grow: the unit of time as the start vanishes",
}
LASSO = {
    "β̄": "the mean of β over the time from 0 to t",
    "η": "the mirror coordinates, whose rate of change is Xᵀ(y − Xβ): log|w₊/w₋|/(8c) for D = 2",
    "η₀": "the mirror coordinates at the start",
    "λ": "the penalty of the Lasso",
}
LAWS = {
    "P": "the number of parameters",
    "θ": "all weights of the network",
    "θ̇": "the velocity of the weights",
    "φ": "the predictor as a function of the weights, coordinate by coordinate",
    "C": "a conserved function of the weights; C(0) at the start, C(t) at time t",
    "L": "the loss",
    "D": "the depth of the diagonal network",
    "w": "w_j, input weights of neuron j of a ReLU network",
    "w₊": "weights of the part of a diagonal network that is added",
    "w₋": "weights of the part that is subtracted",
    "a": "a_j, output weight of neuron j",
    "U": "the left factor",
    "V": "the right factor",
    "U̇": "the velocity of U",
    "V̇": "the velocity of V",
}
RELU = {
    "x": "x_k, an input",
    "y": "y_k, its label",
}
SMALL = {
    "u": "a unit vector, the direction of a small neuron",
    "s": "s_j, the sign of a neuron's output weight",
}
PAIR = {
    "a": "a_j, output weight of neuron j",
    "w": "w_j, input weights of neuron j",
}
SEPARABLE = {
    "N": "the squared norm of the weights, Σ(w₊² + w₋²)",
    "S̃": "the soft-min of the margins: minus the logarithm of the sum of the losses",
}
SINCE_CLAIMS: dict[str, dict[str, str]] = {
    "S/lasso": LASSO,
    "S/lasso-path": {
        "β̄": LASSO["β̄"],
        "g": "what keeps a mirror coordinate from its wall at the end, as the formula says",
        "L": "log(‖β(∞)‖_∞/2α²)",
        "F": "F(w₀), the predictor at the start",
        "w₀": "the weights at the start",
    },
    "S/separable": SEPARABLE
    | {
        "a": "the direction of largest ℓ1 margin, ‖a‖₁ = 1",
        "γ": "the largest ℓ1 margin: the largest margin of a predictor of ℓ1 norm one",
        "r": "the least 2|w₊w₋|, which the flow keeps",
        "n": "the number of samples",
        "σ": "the clock of the smooth margin: how far the samples have pulled, in all",
        "σ₁": "any moment before σ",
        "N₁": "N at σ₁",
    },
    "S/separable-deep": SEPARABLE
    | {
        "θ": "the angle between the weights and the gradient of S̃",
        "w": "all weights of the network",
        "ℓ_{2/D}": "of the norm (Σ|β_j|^{2/D})^{D/2}, which is none: it is not convex",
    },
    "S/saddles": {
        "c": "the shape of the start: the weights are α·c",
        "s": "the sum of Xᵀ(y − Xβ) over time",
        "t": "the time of the flow; t⁺ and t⁻ of a coordinate are how long it takes to grow up "
        "and down, over the least of all",
        "k": "coefficients of a fit; k⁺ and k⁻ are their positive and negative parts",
    },
    "S/laws": {
        **{symbol: LAWS[symbol] for symbol in LAWS if symbol not in ("θ̇", "U̇", "V̇")},
        "γ": "the step of gradient descent",
    },
    "S/laws-decay": {
        **{symbol: LAWS[symbol] for symbol in LAWS if symbol not in ("P", "φ", "w", "a")},
        "γ": "the friction",
        "κ": "the strength of the weight decay",
        "k": "the degree of C: C(cθ) = c^k·C(θ)",
        "c": "any positive number",
    },
    "S/extremal": {
        **RELU,
        **SMALL,
        "D": "D(u), what pulls a small neuron along u, with any slope from 0 to 1 on kinks",
        "G": "G(u), the inner product of u and D(u), whose critical points on the sphere are these",
        "c": "c·u is in D(u): how fast positive neurons grow along u",
        "g": "the sum of the pulls of the inputs that a face sees",
        "V": "the span of a face",
        "P_V": "the projection onto V",
        "ℓ": "the loss of one sample, whose derivative in the prediction is meant",
        "σ'": "the slope of the ReLU",
        "t": "the time of the flow",
    },
    "S/relu-saddles": {
        **SMALL,
        **PAIR,
        "y": RELU["y"],
        "λ": "the scale of the start",
        "T": "log(1/λ), in which time is measured as the start vanishes",
        "τ": "time over T",
        "l": "l_j: the size of neuron j is λ to the power l_j",
        "G": "G(u_j), the growth rate of a positive neuron along u_j",
    },
    "S/spurious": {
        **RELU,
        **PAIR,
        "β": "the coefficients of least squares",
        "f": "the network",
        "l": "a counter, of samples",
    },
    "S/line": {
        "f": "the function on a line that a network computes, Σ a_j(w_jx + b_j)₊, with αx + β "
        "added where an affine part is free",
        "f″": "the change of its slope: a kink of size k at t counts |k| in ∫|f″|",
        "f′": "its slope; f′(−∞) and f′(∞) are those before the first kink and after the last",
        "t": "where a kink is",
        "x": "an input, a number",
        "α": "the slope of an affine function",
        "β": "its value at zero",
        "a": "a_j, output weight of neuron j",
        "w": "w_j, input weight of neuron j, a number",
        "b": "b_j, its bias",
        "θ": "all weights of the network; ½‖θ‖² is at least Σ|a_j|‖(w_j, b_j)‖",
    },
    "S/certify": {
        "f": "the function that a network computes, Σ_j a_j(⟨w_j, x⟩)₊",
        "a": "a_j, output weight of neuron j",
        "w": "w_j, input weights of neuron j",
        "x": "an input; x_i that of sample i",
        "y": "y_i, the label of sample i, 1 or −1",
        "θ": "all weights of the network; ‖θ‖² is the sum of their squares",
        "γ₁": "the largest min_i y_if(x_i)/‖θ‖² over networks of any width",
        "c": "any positive number",
        "L": "the loss Σe^{−y_if(x_i)}",
    },
    "S/parametrisation": {
        "β": "β = G(w), the predictor",
        "β₀": "G(w₀), the predictor at the start",
        "G": "the parametrisation: weights to predictor; G_i is its coordinate i, and ∂G its "
        "derivative, a matrix with a row ∇G_i for every coordinate",
        "w": "the weights",
        "w₀": "the weights at the start",
        "μ": "what the pulls −∇L add up to over time, a vector like β",
        "φ*": "the conjugate of φ; ∇φ* maps μ to β",
        "φ": "the potential; ∇φ maps β to μ",
        "D_φ": "its Bregman divergence, D_φ(β, β₀) = φ(β) − φ(β₀) − ⟨∇φ(β₀), β − β₀⟩",
        "Ψ_μ": "Ψ_μ(w₀), where the weights are after a pull μ for unit time",
        "L": "the loss, as a function of β",
        "t": "the time of the flow",
    },
}
