"""Homogeneous networks under losses with an exponential tail: normalised margins, and how near to a
KKT point (Lyu and Li 2019).

For f(cw, x) = c^L·f(w, x) and labels ±1, gradient flow on Σ_i e^{−y_if(w, x_i)} or the logistic
loss, once the data are fitted, tends in direction to KKT points of

    min ½‖θ‖²  subject to  q_i(θ) = y_if(θ, x_i) ≥ 1:    θ = Σ_i λ_i∇q_i(θ), λ ≥ 0, λ_i(q_i(θ) − 1)
    = 0,

and its smoothed normalised margin never falls. Both are measured here on any network, of any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from .._core.arguments import Array, Index, instance, labels
from .._core.facts import record_line
from .._core.former_names import renamed
from ..errors import AssumptionError, InputError
from ..losses import ExponentialLoss, LogisticLoss, MarginLoss, margin_loss, soft_minimum
from .hard_margins import kernel_factor
from .tangent.functions import Leaves
from .tangent.inputs import read_inputs
from .tangent.tangent_kernels import MEMORY, Tangent, tangent

HOMOGENEOUS = 1e-6
"""Relative defect of f(cw) = c^L·f(w), and of Euler's identity, above which a network is not called
homogeneous."""
STRETCH = 2.0
"""c at which f(cw) = c^L·f(w) is tried, besides Euler's identity, which looks at c = 1."""
CARRIES = 1e-9
"""Multipliers below this share of the largest are rounding."""
MONOTONE = 1e-9
"""Relative fall of the smoothed margin that rounding may cause."""


@dataclass(frozen=True)
class Homogeneity:
    """The degree L with f(cw, x) = c^L·f(w, x), as measured: by Euler's identity ⟨w, ∇f⟩ = L·f in
    least squares over the inputs.

    degree: L = Σ_i f_i⟨w, ∇f_i⟩/Σ_i f_i². euler: ‖⟨w, ∇f⟩ − L·f‖/‖L·f‖ over the inputs. stretched:
    ‖f(2w) − 2^L·f(w)‖/‖2^L·f(w)‖.
    spread: standard deviation over the inputs of ⟨w, ∇f_i⟩/f_i, weighted by f_i².
    """

    degree: float
    euler: float
    stretched: float
    spread: float

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def defect(self) -> float:
        return max(self.euler, self.stretched)

    def __bool__(self) -> bool:
        return bool(self.defect <= HOMOGENEOUS)


@renamed(fn="network")
def homogeneity(
    network: Any, params: Any, X: ArrayLike, *, output: int | None = None
) -> Homogeneity:
    """Whether f(cw, x) = c^L·f(w, x), and for which L, measured on inputs.

    Parameters
    ----------
    network, params
        As for `tangent_kernel`.
    X : array of shape (n, …)
    output : int, optional
        The column looked at where the network has several outputs.

    Returns
    -------
    limits.Homogeneity

    Examples
    --------
    >>> model = bf.DeepNetwork((2, 6, 6))
    >>> print(round(bf.limits.homogeneity(model, model.init(1.0, key=0), np.eye(2)).degree, 6))
    3.0
    """
    inputs = read_inputs(X)
    return measured_homogeneity(tangent(network, params, inputs, output), inputs)


def measured_homogeneity(at: Tangent, X: Array) -> Homogeneity:
    values, slopes = at.predictions(X), _along_weights(at, X)
    total = float(np.sum(values * values))
    if not (np.isfinite(total) and total > 0):
        raise InputError(
            f"network: f(w, X) has norm {np.sqrt(total):g}: no degree of homogeneity can be read "
            "off it"
        )
    degree = float(np.sum(values * slopes)) / total
    scale = max(abs(degree), 1e-300) * float(np.sqrt(total))
    euler = float(np.linalg.norm(slopes - degree * values)) / scale
    stretched = Tangent(
        at.function, tuple(STRETCH * leaf for leaf in at.leaves), at.memory
    ).predictions(X)
    expected = STRETCH**degree * values
    defect = float(np.linalg.norm(stretched - expected) / np.linalg.norm(expected))
    return Homogeneity(degree, euler, defect, euler * abs(degree))


def _along_weights(at: Tangent, X: Array) -> Array:
    """⟨w, ∇f(w, x_i)⟩."""
    return np.concatenate(
        [at.function.pushforward(at.leaves, X[block], at.leaves) for block in at.blocks(X)]
    )


@dataclass(frozen=True, eq=False)
class MarginKkt:
    """How near a network's direction is to a KKT point of the max-margin problem, with the
    multipliers that prove it.

    θ = w/q_min^{1/L} is the network scaled to margin one. margin: γ = q_min/‖w‖^L. multipliers: λ ≥
    0 (n,), which minimise the sum of squares of the two residuals. stationarity: ‖θ − Σ_i
    λ_i∇q_i(θ)‖/‖θ‖; complementarity: max_i λ_i(q_i(θ) − 1)·L/‖θ‖², in units of Σ_i λ_iq_i = ‖θ‖²/L
    at a KKT point. In Lyu and Li's words θ is an (ε, δ)-KKT point with `epsilon` and `delta`, for
    these multipliers; with others one of the two may be smaller. Networks with kinks are
    differentiated where they are
    differentiable: on a kink the residual is that of one of the subgradients.
    """

    margin: float
    multipliers: Array
    stationarity: float
    complementarity: float
    size: float
    homogeneity: Homogeneity

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def residual(self) -> float:
        return max(self.stationarity, self.complementarity)

    @property
    def epsilon(self) -> float:
        """ε = ‖θ − Σ_i λ_i∇q_i(θ)‖."""
        return self.stationarity * self.size

    @property
    def delta(self) -> float:
        """δ = max_i λ_i(q_i(θ) − 1)."""
        return self.complementarity * self.size**2 / self.homogeneity.degree

    @property
    def support(self) -> Index:
        """The inputs that carry the margin: λ_i > 0, beyond rounding."""
        return np.flatnonzero(self.multipliers > CARRIES * np.max(self.multipliers))

    def __str__(self) -> str:
        return (
            f"normalised margin {self.margin:.4g} for a network homogeneous of degree "
            f"{self.homogeneity.degree:.4g}; relative KKT"
            f" residuals: stationarity {self.stationarity:.2g}, complementarity "
            f"{self.complementarity:.2g};"
            f" {self.support.size} of {self.multipliers.size} inputs carry the margin"
        )


@renamed(fn="network", memory="memory_b")
def margin_kkt(
    network: Any,
    params: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> MarginKkt:
    """The approximate KKT certificate of a homogeneous network for the max-margin problem (Lyu and
    Li 2019).

    The multipliers are non-negative least squares on the Gram matrix of the ∇q_i; no Jacobian is
    held.

    Parameters
    ----------
    network, params
        As for `tangent_kernel`.
    X : array of shape (n, …)
    y : array of shape (n,)
        Labels ±1.
    output : int, optional
    memory_b : float

    Returns
    -------
    limits.MarginKkt

    Raises
    ------
    AssumptionError
        Where the network is not homogeneous, or does not classify every input rightly.

    Examples
    --------
    >>> model = bf.TwoLayer(width=2, dim=1)
    >>> params = bf.models.TwoLayerParams(a=np.array([1.0, -1.0]), W=np.array([[1.0], [-1.0]]))
    >>> found = bf.limits.margin_kkt(model, params, [[2.0], [-2.0]], [1, -1])
    >>> print(round(found.margin, 6), found.multipliers.round(6), round(found.stationarity, 6))
    0.5 [0.5 0.5] 0.0
    """
    inputs = read_inputs(X)
    y = labels("y", y, len(inputs))
    at = tangent(network, params, inputs, output, memory_b)
    return kkt_at(at, inputs, y, _homogeneous(at, inputs))


def kkt_at(at: Tangent, X: Array, y: Array, degree: Homogeneity) -> MarginKkt:
    """The same of a network that is known to be homogeneous, at these weights."""
    q = y * at.predictions(X)
    if np.min(q) <= 0:
        k = int(np.argmin(q))
        raise AssumptionError(
            "margin",
            f"input {k} is not classified rightly: y·f = {q[k]:.3g}; the margin must be positive",
        )
    L, least = degree.degree, float(np.min(q))
    shrink = least ** (-1 / L)
    theta = tuple(shrink * leaf for leaf in at.leaves)
    size, scaled = norm(theta), Tangent(at.function, theta, at.memory)
    lam = margin_multipliers(scaled.kernel(X), y, q / least, size, L)
    left = _minus(theta, scaled, X, lam * y)
    complementarity = float(np.max(lam * (q / least - 1))) * L / size**2
    return MarginKkt(
        least / norm(at.leaves) ** L, lam, norm(left) / size, complementarity, size, degree
    )


def margin_multipliers(K: Array, y: Array, q: Array, size: float, L: float) -> Array:
    """λ ≥ 0 that minimises ‖θ − Σλ_ih_i‖²/‖θ‖² + Σ_i(λ_i(q_i − 1)L/‖θ‖²)², h_i = ∇q_i(θ).

    With ⟨h_i, θ⟩ = Lq_i (Euler) and BBᵀ the Gram matrix of the h_i, the first term is ‖Bᵀλ −
    c‖²/‖θ‖² and a constant, Bc = Lq. K: the Gram matrix of the ∇f(θ, x_i); size: ‖θ‖.
    """
    B = y[:, None] * kernel_factor(K)
    c, *_ = np.linalg.lstsq(B, L * q, rcond=None)
    rows = np.vstack([B.T / size, np.diag((q - 1) * L / size**2)])
    lam, _ = nnls(rows, np.append(c / size, np.zeros(q.size)), maxiter=30 * q.size)
    return lam


def _minus(theta: Leaves, at: Tangent, X: Array, weights: Array) -> Leaves:
    """θ − Σ_i c_i∇f(θ, x_i)."""
    parts = [at.function.pullback(at.leaves, X[block], weights[block]) for block in at.blocks(X)]
    return tuple(leaf - np.sum([part[k] for part in parts], axis=0) for k, leaf in enumerate(theta))


def _homogeneous(at: Tangent, X: Array) -> Homogeneity:
    found = measured_homogeneity(at, X)
    if not found or found.degree <= 0:
        raise AssumptionError(
            "homogeneous",
            f"the network is not homogeneous in its weights: ⟨w, ∇f⟩/f = {found.degree:.3g} ± "
            f"{found.spread:.2g} over the inputs,"
            f" and f(2w) misses 2^L·f(w) by {found.stretched:.2g}; biases beyond the first layer "
            "do that",
        )
    return found


def norm(leaves: Sequence[Array]) -> float:
    """‖w‖ over all tensors."""
    return float(np.sqrt(sum(float(np.sum(leaf * leaf)) for leaf in leaves)))


@dataclass(frozen=True, eq=False)
class SmoothedMargin:
    """The smoothed normalised margin γ̃ = ℓ⁻¹(L(w))/‖w‖^L at each checkpoint, L(w) = Σ_i ℓ(q_i)
    (Lyu and Li 2019, eq. 3).

    margins: γ = q_min/‖w‖^L, which γ̃ approaches from below. separated: whether L(w) < ℓ(0), from
    where on the theorem speaks; before it, γ̃ is negative. log_loss: log L(w). increasing: γ̃ never
    falls between separated checkpoints, up to rounding.
    """

    values: Array
    margins: Array
    log_loss: Array
    separated: Any
    homogeneity: Homogeneity

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def increasing(self) -> bool:
        return bool(self.fall <= MONOTONE)

    @property
    def fall(self) -> float:
        """The largest relative fall between consecutive separated checkpoints: zero where there is
        none."""
        kept = self.values[self.separated]
        return float(np.max(-np.diff(kept) / np.abs(kept[:-1]), initial=0.0))


@renamed(fn="network")
def smoothed_margin(
    network: Any,
    checkpoints: Sequence[Any],
    X: ArrayLike,
    y: ArrayLike,
    loss: MarginLoss | str = "exponential",
    *,
    output: int | None = None,
) -> SmoothedMargin:
    """The smoothed normalised margin along training, which gradient flow never lets fall once the
    data are fitted.

    Computed in logarithms: losses below the range of floats are no matter. A fall along checkpoints
    of gradient descent means that the step was too large for the flow's theorem.

    Parameters
    ----------
    network
        As for `tangent_kernel`.
    checkpoints : sequence of parameters
    X : array of shape (n, …)
    y : array of shape (n,)
        Labels ±1.
    loss : MarginLoss or {'exponential', 'logistic'}
        ℓ(q) = e^{−q} or log(1 + e^{−q}), summed over the inputs.
    output : int, optional

    Returns
    -------
    limits.SmoothedMargin

    Raises
    ------
    AssumptionError
        Of a network that is not homogeneous.

    Examples
    --------
    >>> model = bf.TwoLayer(width=1, dim=1)
    >>> steps = [bf.models.TwoLayerParams(np.array([s]), np.array([[s]])) for s in (1.0, 2.0, 4.0)]
    >>> bf.limits.smoothed_margin(model, steps, [[1.0], [2.0]], [1, 1]).values.round(4)
    array([0.3434, 0.4977, 0.5   ])
    """
    risk = margin_loss(loss)
    instance("loss", risk, (ExponentialLoss, LogisticLoss))
    inputs = read_inputs(X)
    y = labels("y", y, len(inputs))
    if not isinstance(checkpoints, Iterable):
        raise InputError(
            "checkpoints: expected a list of parameters along training, found "
            f"{type(checkpoints).__name__}"
        )
    checkpoints = tuple(checkpoints)
    if not checkpoints:
        raise InputError("checkpoints: expected at least one, found none")
    at = tangent(network, checkpoints[0], inputs, output, name="checkpoints[0]")
    rows = []
    degree = _homogeneous(
        Tangent(at.function, at.function.leaves(_named(-1, checkpoints), checkpoints[-1])), inputs
    )
    for k, params in enumerate(checkpoints):
        leaves = at.function.leaves(_named(k, checkpoints), params)
        q = y * at.function.predictions(leaves, inputs)
        if not np.all(np.isfinite(q)):
            raise InputError(
                f"checkpoints[{k}]: predictions are not finite: training diverged, or the scale "
                "overflows"
            )
        log_loss = float(np.log(len(q)) - soft_minimum(risk, q).value)
        inverse = _logistic_margin(log_loss) if isinstance(risk, LogisticLoss) else -log_loss
        unit = norm(leaves) ** degree.degree
        rows.append((inverse / unit, float(np.min(q)) / unit, log_loss))
    values, margins, logs = (np.array(column) for column in zip(*rows, strict=True))
    return SmoothedMargin(values, margins, logs, values > 0, degree)


def _named(k: int, checkpoints: Sequence[Any]) -> str:
    return f"checkpoints[{k % len(checkpoints)}]"


def _logistic_margin(log_loss: float) -> float:
    """−log(e^L − 1), the margin at which the logistic loss is L, from log L."""
    value = float(np.exp(log_loss))
    if value > 1:
        return -value - float(np.log1p(-np.exp(-value)))
    return -log_loss - (float(np.log(np.expm1(value) / value)) if value > 0 else 0.0)
