"""Linearised networks as predictors: where they go, how they train, and which classifier they tend
to (W, §3)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..._core.arguments import Array, instance, label_size, labels, vector
from ..._core.problems import Dataset
from ..._core.results import Limit
from ...errors import InputError
from ...losses import SquareLoss
from ...models import Model, PredictorModel
from ..hard_margins import ROUNDING, UNIT, kernel_max_margin
from ..kernel_interpolation import kernel_interpolator
from .functions import Leaves, read_inputs
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


def tangent_interpolator(
    fn: Any,
    params0: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    output: int | None = None,
    memory: float = MEMORY,
) -> Limit[TangentPredictor]:
    """Where the network linearised at params0 goes under a square loss: h = f(w₀, ·) + g, ‖g‖_K
    least with h(X) = y (W, §3).

    fn, output, memory: as for `tangent_kernel`. objective: ‖g‖_K. Raises InconsistentError where y
    is out of K's reach.
    """
    inputs = read_inputs(X)
    at = tangent(fn, params0, inputs, output, memory)
    target = vector("y", y, len(inputs))
    found = kernel_interpolator(at.kernel(inputs), target - at.predictions(inputs))
    value = _predictor(at, inputs, found.value, True)
    residual = float(np.max(np.abs(value(inputs) - target))) / label_size(target)
    return Limit(
        value,
        found.objective,
        dataclasses.replace(found.certificate, residual=residual),
        found.stats,
    )


def tangent_max_margin(
    fn: Any,
    params0: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    output: int | None = None,
    memory: float = MEMORY,
) -> Limit[TangentPredictor]:
    """The max-margin classifier of the tangent kernel at params0, labels ±1: γ = max_{‖g‖_K ≤ 1}
    min_i y_ig(x_i).

    Where a network linearised at an unbiased start goes, in direction, under losses with an
    exponential tail. objective: γ.
    certificate: as for `kernel_max_margin`, for gradients good to 2^-49 of their length, whose
    products are sums of as many terms as there are weights.
    """
    inputs = read_inputs(X)
    at = tangent(fn, params0, inputs, output, memory)
    # products in an entry of K, each rounded, beside the gradients
    summed = sum(int(np.size(leaf)) for leaf in at.leaves)
    found = kernel_max_margin(
        at.kernel(inputs), labels("y", y, len(inputs)), rounding=ROUNDING + summed * UNIT
    )
    return Limit(
        _predictor(at, inputs, found.value, False), found.objective, found.certificate, found.stats
    )


def tangent_kernel_limit(model: Model, ds: Dataset, params0: Any) -> Limit[Any]:
    """Where the model linearised at params0 goes: the predictor of least tangent-kernel norm (W,
    §3).

    value: for models that are linear in an effective predictor, that predictor: for diagonal
    networks β₀ + diag(k)Xᵀ(X·diag(k)·Xᵀ)⁻¹(y − Xβ₀) with k the tangent kernel's weights; for all
    others the linearised network, a `TangentPredictor`.
    """
    params0 = model.checked(params0, ds.d)
    found = tangent_interpolator(model, params0, ds.X, ds.y)
    if not isinstance(model, PredictorModel):
        return found
    direction = model.gradient(params0, ds.X, found.value.coefficients)
    value = model.effective(params0) + model.linearised(params0, direction)
    misfit = model.features(ds.X) @ np.ravel(value) - ds.y
    residual = float(np.max(np.abs(misfit))) / label_size(ds.y)
    return dataclasses.replace(
        found, value=value, certificate=dataclasses.replace(found.certificate, residual=residual)
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


def linearised_flow(
    fn: Any,
    params0: Any,
    X: ArrayLike,
    y: ArrayLike,
    loss: SquareLoss = HALF,
    *,
    output: int | None = None,
    memory: float = MEMORY,
) -> LinearisedFlow:
    """The gradient flow of the network linearised at params0, without integrating: `flow.at(t)` is
    a predictor.

    fn, output, memory: as for `tangent_kernel`. Modes of K within rounding of zero do not move.
    """
    inputs = read_inputs(X)
    at = tangent(fn, params0, inputs, output, memory)
    target = vector("y", y, len(inputs))
    factor = instance("loss", loss, SquareLoss).factor(len(inputs))
    values, vectors = sl.eigh(at.kernel(inputs))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    return LinearisedFlow(
        at, inputs, target, factor, values[kept], vectors[:, kept], at.predictions(inputs)
    )
