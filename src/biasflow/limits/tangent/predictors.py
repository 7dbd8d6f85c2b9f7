"""Linearised networks as predictors: where they go, how they train, and which classifier they tend
to (W, §3)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..._core.arguments import Array, instance, label_size, labels, length, vector
from ..._core.facts import record_line
from ..._core.former_names import renamed
from ..._core.problems import Dataset
from ..._core.results import Certificate, Limit
from ...errors import InputError
from ...losses import SquareLoss
from ...models import DiagonalNetwork, Model, PredictorModel
from ..hard_margins import ROUNDING, UNIT, kernel_max_margin
from ..kernel_interpolation import kernel_interpolator
from ..rounding import kind_of
from .functions import Leaves
from .inputs import read_inputs
from .tangent_kernels import MEMORY, Tangent, tangent

HALF = SquareLoss("half")


@dataclass(frozen=True, eq=False)
class TangentPredictor:
    """x ↦ b(x) + ⟨∇f(w₀, x), v⟩ with v = Σ_i a_i∇f(w₀, x_i): a function of the tangent kernel's
    RKHS.

    b is f(w₀, ·) for a linearised network and zero for a classifier of the kernel alone.
    coefficients: a (n,);
    direction: v, tensor by tensor.
    """

    tangent: Tangent
    coefficients: Array
    direction: Leaves
    biased: bool

    def __repr__(self) -> str:
        return record_line(self)

    def __call__(self, X: ArrayLike) -> Array:
        inputs = read_inputs(X)
        function, leaves = self.tangent.function, self.tangent.leaves
        moved = [
            function.pushforward(leaves, inputs[block], self.direction)
            for block in self.tangent.blocks(inputs)
        ]
        bias = function.predictions(leaves, inputs) if self.biased else 0.0
        return bias + np.concatenate(moved)

    @property
    def params(self) -> Any:
        """w₀ + v: the weights that the linearised network has there."""
        moved = [w + v for w, v in zip(self.tangent.leaves, self.direction, strict=True)]
        return self.tangent.function.rebuilt(moved)


def _predictor(at: Tangent, X: Array, coefficients: Array, biased: bool) -> TangentPredictor:
    parts = [
        at.function.pullback(at.leaves, X[block], coefficients[block]) for block in at.blocks(X)
    ]
    direction = tuple(np.sum([part[k] for part in parts], axis=0) for k in range(len(at.leaves)))
    return TangentPredictor(at, coefficients, direction, biased)


@renamed(fn="network", params0="start", memory="memory_b")
def tangent_interpolator(
    network: Any,
    start: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> Limit[TangentPredictor]:
    """Where the network linearised at start goes under a square loss: h = f(w₀, ·) + g, ‖g‖_K least
    with h(X) = y (W, §3).

    The certificate is for gradients good to 2^-49 of their length, whose products are sums of as
    many terms as there are weights, and predictions good to as many roundings of ‖w₀‖‖∇f‖; of the
    rank that K has in floats.

    Parameters
    ----------
    network, start
        As for `tangent_kernel`.
    X : array of shape (n, …)
    y : array of shape (n,)
    output : int, optional
    memory_b : float

    Returns
    -------
    Limit
        value: a `limits.TangentPredictor`, a function of inputs; objective: ‖g‖_K.

    Raises
    ------
    InconsistentError
        Where y is out of K's reach.

    Examples
    --------
    >>> model, X = bf.DiagonalNetwork(2), [[1.0, 2.0, 3.0]]
    >>> end = bf.limits.tangent_interpolator(model, model.init(1.0, dim=3), X, [6.0])
    >>> end(np.eye(3)).round(3)
    array([0.429, 0.857, 1.286])
    """
    inputs = read_inputs(X)
    at = tangent(network, start, inputs, output, memory_b)
    target = vector("y", y, len(inputs))
    K = at.kernel(inputs)
    found = kernel_interpolator(K, target - at.predictions(inputs))
    value = _predictor(at, inputs, found.value, True)
    residual = float(np.max(np.abs(value(inputs) - target))) / label_size(target)
    zero = isinstance(network, DiagonalNetwork) and np.array_equal(at.leaves[0], at.leaves[1])
    primal, dual = _rounded(found, K, target, at, zero)
    kind = kind_of(primal, dual, found.certificate.kind)
    return Limit(value, found.objective, Certificate(primal, dual, residual, kind), found.stats)


def _rounded(
    found: Limit[Array], K: Array, y: Array, at: Tangent, zero: bool
) -> tuple[float, float]:
    """Both bounds moved outwards by the rounding of K and of the labels' distance from the start,
    which are known to ρ√(k_iik_jj) and e_i; zero: whether predictions at the start are exactly so.

    With unit diagonal and λ its least eigenvalue that is used, K moves by a share δ = nρ/λ at most,
    hence ‖g‖ by a factor within 1/√(1 ± δ); e costs at most ‖e/√k‖/√(λ(1 − δ)).
    """
    summed, lengths = _weights(at), np.sqrt(np.maximum(np.diagonal(K), 0.0))
    own = np.flatnonzero(lengths > 0)
    if not own.size:
        return found.certificate.primal, found.certificate.dual
    values = sl.eigvalsh(K[np.ix_(own, own)] / np.multiply.outer(lengths[own], lengths[own]))
    least = float(values[max(own.size - int(found.stats["rank"]), 0)])
    share = own.size * (ROUNDING + summed * UNIT) / least if least > 0 else np.inf
    if not share < 1:
        return np.inf, 0.0
    weights = 0.0 if zero else length(np.concatenate([np.ravel(leaf) for leaf in at.leaves]))
    off = (summed + 4) * UNIT * weights * np.ones(own.size) + UNIT * np.abs(y[own]) / lengths[own]
    cost = length(off) / np.sqrt(least * (1 - share))
    above = found.certificate.primal / np.sqrt(1 - share) + cost
    return float(above), max(float(found.certificate.dual / np.sqrt(1 + share) - cost), 0.0)


def _weights(at: Tangent) -> int:
    """Products in an entry of K, each rounded, beside the gradients."""
    return sum(int(np.size(leaf)) for leaf in at.leaves)


@renamed(fn="network", params0="start", memory="memory_b")
def tangent_max_margin(
    network: Any,
    start: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> Limit[TangentPredictor]:
    """The max-margin classifier of the tangent kernel at start: γ = max_{‖g‖_K ≤ 1} min_i
    y_ig(x_i).

    Where a network linearised at an unbiased start goes, in direction, under losses with an
    exponential tail. The certificate is as for `kernel_max_margin`, for gradients good to 2^-49 of
    their length, whose products are sums of as many terms as there are weights.

    Parameters
    ----------
    network, start
        As for `tangent_kernel`.
    X : array of shape (n, …)
    y : array of shape (n,)
        Labels ±1.
    output : int, optional
    memory_b : float

    Returns
    -------
    Limit
        value: a `limits.TangentPredictor`, a function of inputs; objective: γ.

    Examples
    --------
    >>> model = bf.DiagonalNetwork(2)
    >>> best = bf.limits.tangent_max_margin(model, model.init(1.0, dim=2), np.eye(2), [1, -1])
    >>> print(round(best.objective, 4), best(np.eye(2)).round(4))
    2.0 [ 2. -2.]
    """
    inputs = read_inputs(X)
    at = tangent(network, start, inputs, output, memory_b)
    found = kernel_max_margin(
        at.kernel(inputs), labels("y", y, len(inputs)), rounding=ROUNDING + _weights(at) * UNIT
    )
    return Limit(
        _predictor(at, inputs, found.value, False), found.objective, found.certificate, found.stats
    )


@renamed(ds="data", params0="start")
def tangent_kernel_limit(model: Model, data: Dataset, start: Any) -> Limit[Any]:
    """Where a biasflow model linearised at start goes: the predictor of least tangent-kernel norm
    (W, §3).

    Parameters
    ----------
    model : Model
    data : Dataset
    start : parameters

    Returns
    -------
    Limit
        value: for models that are linear in an effective predictor, that predictor: for diagonal
        networks β₀ + diag(k)Xᵀ(X·diag(k)·Xᵀ)⁻¹(y − Xβ₀) with k the tangent kernel's weights; for
        all others the linearised network, a `limits.TangentPredictor`.

    Examples
    --------
    >>> model, data = bf.DiagonalNetwork(2), bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> bf.limits.tangent_kernel_limit(model, data, model.init(1.0, dim=3)).value.round(3)
    array([0.429, 0.857, 1.286])
    """
    start = model.checked(start, data.d)
    found = tangent_interpolator(model, start, data.X, data.y)
    if not isinstance(model, PredictorModel):
        return found
    direction = model.gradient(start, data.X, found.value.coefficients)
    value = model.effective(start) + model.linearised(start, direction)
    misfit = model.features(data.X) @ np.ravel(value) - data.y
    residual = float(np.max(np.abs(misfit))) / label_size(data.y)
    return dataclasses.replace(
        found,
        value=value,
        certificate=dataclasses.replace(found.certificate, residual=residual),
        predictor=model.predictions_of,
    )


@dataclass(frozen=True, eq=False)
class LinearisedFlow:
    """Gradient flow of the linearised network in closed form, for a square loss c‖f − y‖².

    With K = Σ_k λ_kq_kq_kᵀ and r₀ = y − f(w₀, X): f_t(X) = y − e^{−2cKt}r₀, and f_t = f(w₀, ·) +
    Σ_i a_i(t)K(x_i, ·) with a(t) = Σ_k q_k(1 − e^{−2cλ_kt})/λ_k·⟨q_k, r₀⟩. times may be infinite.
    """

    tangent: Tangent
    X: Array
    y: Array
    factor: float
    eigenvalues: Array
    eigenvectors: Array
    start: Array

    def __repr__(self) -> str:
        return record_line(self)

    def at(self, t: float) -> TangentPredictor:
        """The linearised network at time t."""
        modes = self.eigenvectors.T @ (self.y - self.start)
        with np.errstate(invalid="ignore"):
            done = -np.expm1(-2 * self.factor * self.eigenvalues * _time(t)) / self.eigenvalues
        return _predictor(self.tangent, self.X, self.eigenvectors @ (done * modes), True)

    def predictions(self, t: float) -> Array:
        """f_t on the inputs of the training set, (n,)."""
        modes = self.eigenvectors.T @ (self.y - self.start)
        return self.start + self.eigenvectors @ (
            -np.expm1(-2 * self.factor * self.eigenvalues * _time(t)) * modes
        )

    def loss(self, t: float) -> float:
        return self.factor * float(np.sum((self.predictions(t) - self.y) ** 2))


def _time(t: float) -> float:
    if not t >= 0:
        raise InputError(f"t: expected a time of at least zero, found {t!r}")
    return float(t)


@renamed(fn="network", params0="start", memory="memory_b")
def linearised_flow(
    network: Any,
    start: Any,
    X: ArrayLike,
    y: ArrayLike,
    loss: SquareLoss = HALF,
    *,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> LinearisedFlow:
    """The gradient flow of the network linearised at start, without integrating.

    Modes of K within rounding of zero do not move.

    Parameters
    ----------
    network, start
        As for `tangent_kernel`.
    X : array of shape (n, …)
    y : array of shape (n,)
    loss : SquareLoss
        Its normalisation sets the clock.
    output : int, optional
    memory_b : float

    Returns
    -------
    limits.LinearisedFlow
        `flow.at(t)` is a predictor.

    Examples
    --------
    >>> model = bf.DiagonalNetwork(2)
    >>> flow = bf.limits.linearised_flow(model, model.init(1.0, dim=2), np.eye(2), [1.0, 1.0])
    >>> [flow.at(t)(np.eye(2)).round(3).tolist() for t in (0.0, 0.1, np.inf)]
    [[0.0, 0.0], [0.551, 0.551], [1.0, 1.0]]
    """
    inputs = read_inputs(X)
    at = tangent(network, start, inputs, output, memory_b)
    target = vector("y", y, len(inputs))
    factor = instance("loss", loss, SquareLoss).factor(len(inputs))
    values, vectors = sl.eigh(at.kernel(inputs))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    return LinearisedFlow(
        at, inputs, target, factor, values[kept], vectors[:, kept], at.predictions(inputs)
    )
