"""The limit of vanishing initialisation on orthogonal data, neuron by neuron (B, Theorem 1 made
explicit)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array, Index, label_size
from ..._core.former_names import renamed
from ..._core.problems import Dataset, dataset
from ..._core.results import Certificate, Limit
from ...errors import AssumptionError, ConvergenceError, ScaleError
from ...limits.predicting import relu_network
from ...limits.rounding import kind_of, outward
from ...losses import SquareLoss
from ...models import TwoLayerParams
from ...models.two_layer import two_layer_for
from ..units import FURTHEST, exponent
from .alignment import Alignment, early_alignment
from .cluster_growth import Growth

ORTHOGONAL = 1e-10
"""Cosine of two inputs up to which they count as orthogonal."""
EPS = float(np.finfo(float).eps)
LOG2 = float(np.log(2.0))


@renamed(ds="data", params0="start")
def saddle_limit(data: Dataset, start: TwoLayerParams) -> Limit[TwoLayerParams]:
    """θ*: where the flow from λ·start ends as λ → 0, for orthogonal inputs and a ReLU.

    Neurons that align with D_+ = (1/n)Σ_{y>0} y_k x_k grow as λC_j·e^{‖D_+‖t} and together fit the
    positive labels; shares of the final Σ‖w_j‖² are C_j²/ΣC², C_j the amplitude of the early phase.
    Likewise −D_− and the negative labels. All others vanish.

    Parameters
    ----------
    data : Dataset
        Inputs orthogonal up to 1e-10.
    start : models.TwoLayerParams

    Returns
    -------
    Limit
        value: θ*; objective: ‖θ*‖², the least of all interpolators (B, Proposition 1): 2(‖Σ_+ y_k
        x_k/‖x_k‖²‖ + ‖Σ_− …‖). The certificate's bracket is of that least norm, for the inputs as
        they are. stats, each (positive, negative): 'neurons', 'rate' ‖D_±‖, 'capacity' the final
        Σ‖w_j‖², and 'offset': Σ_j‖w_j‖² is half of that at −ln λ/rate + offset in B's time. It is
        logistic where inputs have one length; else directions turn while they grow, and the curve
        is that of one neuron, integrated; NaN where lengths differ by so much that it cannot be.

    Raises
    ------
    AssumptionError
        Where inputs are not orthogonal, or no neuron can fit some of the labels.

    Examples
    --------
    >>> data, model = bf.data.two_points(), bf.TwoLayer(width=30, dim=2)
    >>> end = bf.flows.saddle_limit(data, model.init(1.0, key=0))
    >>> print(end(data.X).round(6), round(end.objective, 4))
    [-1.  1.] 2.6833
    """
    data = dataset(data)
    inputs, states = _units(data)
    data = _scaled(data, inputs, 2 * states + inputs)
    cosine = _check_data(data)
    model = two_layer_for(start, data.d)
    start = model.checked(start, data.d)
    aligned = early_alignment(data, start, SquareLoss("half-mean"))
    a, W = np.zeros(model.width), np.zeros((model.width, data.d))
    stats: dict[str, list[Any]] = {"neurons": [], "rate": [], "capacity": [], "offset": []}
    for sign in (1.0, -1.0):
        cluster = _cluster(data, aligned, sign)
        capacity, direction = _fitted(data, sign)
        if cluster.size:
            log_share = 2 * (
                aligned.log_amplitudes[cluster] - np.max(aligned.log_amplitudes[cluster])
            )
            size = np.sqrt(capacity * np.exp(log_share) / np.sum(np.exp(log_share)))
            a[cluster], W[cluster] = sign * size, size[:, None] * direction
        stats["neurons"].append(cluster)
        if cluster.size and not aligned.rates[cluster[0]] > 0:
            raise ScaleError(
                f"y: labels up to {np.max(sign * data.y):g} of the largest of the other sign are "
                "lost beside these"
            )
        rate, clock = (
            float(aligned.rates[cluster[0]]) if cluster.size else 0.0,
            2 * (states + inputs),
        )
        stats["rate"].append(float(np.ldexp(rate, clock)))
        stats["capacity"].append(float(np.ldexp(capacity, 2 * states)))
        # a unit of u that much larger is reached that much later
        late = states * LOG2 / rate if cluster.size else 0.0
        stats["offset"].append(
            float(np.ldexp(_offset(data, aligned, cluster, sign) + late, -clock))
        )
    value = TwoLayerParams(a, W)
    primal, dual = _bracket(data, value, cosine)
    residual = float(np.max(np.abs(model(value, data.X) - data.y))) / label_size(data.y)
    bounds = outward(primal, dual, 2 * states)
    certificate = Certificate(*bounds, residual, kind_of(*bounds, "closed-form"))
    objective = float(np.ldexp(np.sum(a**2) + np.sum(W**2), 2 * states))
    value = TwoLayerParams(np.ldexp(a, states), np.ldexp(W, states))
    told = {name: tuple(pair) for name, pair in stats.items()}
    return Limit(value, objective, certificate, told, predictor=relu_network)


def _units(data: Dataset) -> tuple[int, int]:
    """Exponents of two of the inputs and of the weights, in which inputs are of size one and labels
    up to two."""
    inputs = exponent(data.X)
    states = (exponent(data.y) - inputs) // 2
    if max(abs(2 * states), abs(2 * (states + inputs))) > FURTHEST:
        raise ScaleError(
            f"X, y: inputs up to {np.max(np.abs(data.X)):g} and labels up to "
            f"{np.max(np.abs(data.y)):g} make norms of about"
            f" 2^{2 * states} and rates of about 2^{2 * (states + inputs)}, beyond float range; "
            "scale them"
        )
    return inputs, states


def _scaled(data: Dataset, inputs: int, labels: int) -> Dataset:
    with np.errstate(under="ignore"):
        X, y = np.ldexp(data.X, -inputs), np.ldexp(data.y, -labels)
    if not np.array_equal(np.ldexp(X, inputs), data.X) or not np.array_equal(
        np.ldexp(y, labels), data.y
    ):
        raise ScaleError(
            f"X, y: entries from {min(_least(data.X), _least(data.y)):g} to "
            f"{max(np.max(np.abs(data.X)), np.max(np.abs(data.y))):g}: the"
            " smallest are lost beside the largest"
        )
    return Dataset(X, y, data.name)


def _least(array: Array) -> float:
    return float(np.min(np.abs(array[array != 0]), initial=np.inf))


def _bracket(data: Dataset, value: TwoLayerParams, cosine: float) -> tuple[float, float]:
    """(primal, dual) around min ‖θ‖² over interpolators, in exact arithmetic, for n inputs of
    pairwise cosines up to `cosine`.

    Dual: ν_k = y_k/(κ_k²c_±), c_± = (Σ_± y_k²/κ_k²)^½, has |Σν_k(⟨u, x_k⟩)₊| ≤ (1 + n·cosine)^½ for
    unit u, for subsets of nearly orthogonal vectors are not longer. Primal: what θ leaves of the
    labels, r, neurons along the inputs make up for; their equations are within n·cosine of diagonal
    ones, so that they cost at most 2Σ|r_k|/κ_k/(1 − n·cosine).
    """
    n, d = data.X.shape
    apart, rounding = n * cosine, (n + d + len(value.a) + 8) * EPS
    lengths = np.linalg.norm(data.X, axis=1)
    reached = [float(np.linalg.norm((data.y / lengths)[sign * data.y > 0])) for sign in (1.0, -1.0)]
    dual = 2 * sum(reached) * (1 - rounding) / np.sqrt(1 + apart)
    hidden = value.W @ data.X.T
    left = np.abs(value.a @ np.maximum(hidden, 0.0) - data.y)
    left = left + rounding * (
        np.abs(value.a) @ (np.abs(value.W) @ np.abs(data.X.T)) + np.abs(data.y)
    )
    size = float(np.sum(value.a**2) + np.sum(value.W**2))
    return (size + 2 * float(np.sum(left / lengths)) / (1 - apart)) * (1 + rounding), dual


def _check_data(data: Dataset) -> float:
    """A bound on the cosines of inputs, which are nearly orthogonal, or an error."""
    zeros = np.flatnonzero(data.y == 0)
    if zeros.size:
        raise AssumptionError("B/assumption-2", f"labels must not be zero: y_{zeros[0]} = 0")
    norms = np.linalg.norm(data.X, axis=1)
    if np.any(norms == 0):
        raise AssumptionError("B/assumption-1", f"input {np.flatnonzero(norms == 0)[0]} is zero")
    cosines = data.X @ data.X.T / np.outer(norms, norms) - np.eye(data.n)
    i, k = np.unravel_index(int(np.argmax(np.abs(cosines))), cosines.shape)
    if abs(cosines[i, k]) > ORTHOGONAL:
        raise AssumptionError(
            "B/assumption-1",
            f"inputs are not orthogonal: the cosine of x_{i} and x_{k} is {cosines[i, k]:.2g}",
        )
    return float(np.max(np.abs(cosines - np.diag(np.diag(cosines))))) + (data.d + 4) * EPS


def _cluster(data: Dataset, aligned: Alignment, sign: float) -> Index:
    """Neurons of this sign that end up active on all inputs with labels of that sign: S_{±,1} of B,
    after the early phase."""
    wanted = sign * data.y > 0
    if not np.any(wanted):
        return np.empty(0, dtype=np.intp)
    cluster = np.flatnonzero((aligned.signs == sign) & np.all(aligned.active[:, wanted], axis=1))
    if cluster.size == 0:
        name = "positive" if sign > 0 else "negative"
        raise AssumptionError(
            "B/assumption-3", f"no {name} neuron stays active on all inputs with {name} labels"
        )
    return cluster


def _fitted(data: Dataset, sign: float) -> tuple[float, Array]:
    """‖V‖ and ±V/‖V‖ for V = Σ_± y_k x_k/‖x_k‖²: the neuron that fits the labels of this sign."""
    wanted = sign * data.y > 0
    V = (data.y[wanted] / np.sum(data.X[wanted] ** 2, axis=1)) @ data.X[wanted]
    size = float(np.linalg.norm(V))
    return size, sign * V / size if size > 0 else V


def _offset(data: Dataset, aligned: Alignment, cluster: Index, sign: float) -> float:
    """When a cluster of amplitudes C_j has grown to half, from the time at which e^{rate·t}·λ is
    one."""
    if cluster.size == 0:
        return float("nan")
    own = sign * data.y > 0
    growth = Growth(data.y[own], np.linalg.norm(data.X[own], axis=1), data.n)
    log_amplitudes = aligned.log_amplitudes[cluster]
    log_sum = 2 * np.max(log_amplitudes) + np.log(
        np.sum(np.exp(2 * (log_amplitudes - np.max(log_amplitudes))))
    )
    try:
        return float(growth.lead - log_sum / (2 * growth.rate))
    except ConvergenceError:
        return float("nan")
