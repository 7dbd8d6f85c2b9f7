"""The limit of vanishing initialisation on orthogonal data, neuron by neuron (B, Theorem 1 made explicit)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import AssumptionError
from ...inputs import Array, Index, instance
from ...losses import SquareLoss
from ...models import TwoLayerParams
from ...models.two_layer import two_layer_for
from ...records import Certificate, Dataset, Limit
from .alignment import Alignment, early_alignment
from .growth import Growth

ORTHOGONAL = 1e-10
"""Cosine of two inputs up to which they count as orthogonal."""


def saddle_limit(ds: Dataset, params0: TwoLayerParams) -> Limit[TwoLayerParams]:
    """θ*: where the flow from λ·params0 ends as λ → 0, for orthogonal inputs and a ReLU.

    Neurons that align with D_+ = (1/n)Σ_{y>0} y_k x_k grow as λC_j·e^{‖D_+‖t} and together fit the positive labels; shares of the
    final Σ‖w_j‖² are C_j²/ΣC², C_j the amplitude of the early phase. Likewise −D_− and the negative labels. All others vanish.
    objective: ‖θ*‖², the least of all interpolators (B, Proposition 1): 2(‖Σ_+ y_k x_k/‖x_k‖²‖ + ‖Σ_− …‖).

    stats, each (positive, negative): 'neurons', 'rate' ‖D_±‖, 'capacity' the final Σ‖w_j‖², and 'offset': Σ_j‖w_j‖² is half of
    that at −ln λ/rate + offset in B's time. It is logistic where inputs have one length; else directions turn while they grow,
    and the curve is that of one neuron, integrated.
    """
    instance("ds", ds, Dataset)
    _check_data(ds)
    model = two_layer_for(params0, ds.d)
    params0 = model.checked(params0, ds.d)
    aligned = early_alignment(ds, params0, SquareLoss("half-mean"))
    a, W = np.zeros(model.width), np.zeros((model.width, ds.d))
    stats: dict[str, list[Any]] = {"neurons": [], "rate": [], "capacity": [], "offset": []}
    for sign in (1.0, -1.0):
        cluster = _cluster(ds, aligned, sign)
        capacity, direction = _fitted(ds, sign)
        if cluster.size:
            log_share = 2 * (aligned.log_amplitudes[cluster] - np.max(aligned.log_amplitudes[cluster]))
            size = np.sqrt(capacity * np.exp(log_share) / np.sum(np.exp(log_share)))
            a[cluster], W[cluster] = sign * size, size[:, None] * direction
        stats["neurons"].append(cluster)
        stats["rate"].append(float(aligned.rates[cluster[0]]) if cluster.size else 0.0)
        stats["capacity"].append(capacity)
        stats["offset"].append(_offset(ds, aligned, cluster, sign))
    value = TwoLayerParams(a, W)
    residual = float(np.max(np.abs(model(value, ds.X) - ds.y))) / max(1.0, float(np.max(np.abs(ds.y))))
    objective, least = float(np.sum(a**2) + np.sum(W**2)), 2 * float(sum(stats["capacity"]))
    certificate = Certificate(objective, least, residual, "closed-form")
    return Limit(value, objective, certificate, {name: tuple(pair) for name, pair in stats.items()})


def _check_data(ds: Dataset) -> None:
    zeros = np.flatnonzero(ds.y == 0)
    if zeros.size:
        raise AssumptionError("B/assumption-2", f"labels must not be zero: y_{zeros[0]} = 0")
    norms = np.linalg.norm(ds.X, axis=1)
    if np.any(norms == 0):
        raise AssumptionError("B/assumption-1", f"input {np.flatnonzero(norms == 0)[0]} is zero")
    cosines = ds.X @ ds.X.T / np.outer(norms, norms) - np.eye(ds.n)
    i, k = np.unravel_index(int(np.argmax(np.abs(cosines))), cosines.shape)
    if abs(cosines[i, k]) > ORTHOGONAL:
        raise AssumptionError(
            "B/assumption-1", f"inputs are not orthogonal: the cosine of x_{i} and x_{k} is {cosines[i, k]:.2g}"
        )


def _cluster(ds: Dataset, aligned: Alignment, sign: float) -> Index:
    """Neurons of this sign that end up active on all inputs with labels of that sign: S_{±,1} of B, after the early phase."""
    wanted = sign * ds.y > 0
    if not np.any(wanted):
        return np.empty(0, dtype=np.intp)
    cluster = np.flatnonzero((aligned.signs == sign) & np.all(aligned.active[:, wanted], axis=1))
    if cluster.size == 0:
        name = "positive" if sign > 0 else "negative"
        raise AssumptionError("B/assumption-3", f"no {name} neuron stays active on all inputs with {name} labels")
    return cluster


def _fitted(ds: Dataset, sign: float) -> tuple[float, Array]:
    """‖V‖ and ±V/‖V‖ for V = Σ_± y_k x_k/‖x_k‖²: the neuron that fits the labels of this sign."""
    wanted = sign * ds.y > 0
    V = (ds.y[wanted] / np.sum(ds.X[wanted] ** 2, axis=1)) @ ds.X[wanted]
    size = float(np.linalg.norm(V))
    return size, sign * V / size if size > 0 else V


def _offset(ds: Dataset, aligned: Alignment, cluster: Index, sign: float) -> float:
    """When a cluster of amplitudes C_j has grown to half, from the time at which e^{rate·t}·λ is one."""
    if cluster.size == 0:
        return float("nan")
    own = sign * ds.y > 0
    growth = Growth(ds.y[own], np.linalg.norm(ds.X[own], axis=1), ds.n)
    log_amplitudes = aligned.log_amplitudes[cluster]
    log_sum = 2 * np.max(log_amplitudes) + np.log(np.sum(np.exp(2 * (log_amplitudes - np.max(log_amplitudes)))))
    return float(growth.lead - log_sum / (2 * growth.rate))
