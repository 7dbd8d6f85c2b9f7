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
}
