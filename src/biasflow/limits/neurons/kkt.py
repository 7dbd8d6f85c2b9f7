"""How far a network is from a stationary point of min ‖θ‖² subject to interpolation (B, eqs.
35–37)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, lsq_linear, milp

from ..._core.arguments import Array, label_size, length, positive_float, row_lengths
from ..._core.facts import record_line
from ..._core.former_names import renamed
from ..._core.problems import Dataset, dataset
from ..._numerics.interrupts import apart
from ...errors import InputError
from ...models import TwoLayerParams
from .variation_norms import read_network

ALTERNATIONS = 20
STATIONARY = 1e-9
"""Relative residual above which other signs of λ are tried."""
SIGNS_TIME_S = 5.0
LARGEST_MULTIPLIER = 20.0
"""Bound on |λ_k| in the search for signs, as a multiple of the largest of the least-squares
solution."""
EQUALITY_WEIGHT = 1e3
"""Weight of λ_k = (σ_jk + (1 − σ_jk))λ_k in the joint least-squares problem; what it leaves open is
settled by the alternation."""


@dataclass(frozen=True, eq=False)
class KktPoint:
    """The multipliers λ (n,) and slopes σ'_jk (m, n) that come nearest to θ = Σ_k λ_k∇h(x_k), and
    what is left.

    stationarity: ‖θ − Σ_k λ_k∇h(x_k)‖/‖θ‖. feasibility: ‖h(X) − y‖_∞/‖y‖_∞.
    """

    stationarity: float
    feasibility: float
    multipliers: Array
    slopes: Array

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def residual(self) -> float:
        return max(self.stationarity, self.feasibility)


@renamed(ds="data")
def kkt_residual(params: TwoLayerParams, data: Dataset, kink: float = 1e-10) -> float:
    """The larger of the relative residuals of B's eq. 35, stationarity and interpolation:
    `kkt_point(params, data).residual`.

    Parameters
    ----------
    params : models.TwoLayerParams
    data : Dataset
    kink : float
        As for `kkt_point`.

    Returns
    -------
    float

    Examples
    --------
    >>> data = bf.data.two_points()
    >>> least = bf.min_norm(data, norm="relu").value
    >>> bf.limits.kkt_residual(least, data) < 1e-9
    True
    >>> round(bf.limits.kkt_residual(bf.models.TwoLayerParams(2 * least.a, least.W), data), 3)
    1.0
    """
    return kkt_point(params, data, kink).residual


@renamed(ds="data")
def kkt_point(params: TwoLayerParams, data: Dataset, kink: float = 1e-10) -> KktPoint:
    """The best multipliers of the KKT conditions a_j = Σ_k λ_k(⟨w_j, x_k⟩)_+, w_j = a_jΣ_k
    λ_kσ'_jkx_k, h(x_k) = y_k (B, eqs. 35–37).

    σ'_jk = 1[⟨w_j, x_k⟩ > 0]; on a kink, |⟨w_j, x_k⟩| ≤ kink·‖w_j‖‖x_k‖, any slope in [0, 1]
    (Clarke). Without kinks λ is the least-squares solution. With kinks the products λ_kσ'_jk are
    sought between zero and λ_k, for the signs of λ that fit best, then λ and σ' in turn: the
    residual returned is that of the pair returned, so it proves stationarity; in degenerate cases a
    smaller one may exist. The conditions are necessary: a residual of zero does not make θ a
    minimiser.

    Parameters
    ----------
    params : models.TwoLayerParams
    data : Dataset
    kink : float

    Returns
    -------
    limits.KktPoint

    Examples
    --------
    >>> data = bf.data.two_points()
    >>> least = bf.min_norm(data, norm="relu")
    >>> bf.limits.kkt_point(least.value, data).residual < 1e-9
    True
    """
    data = dataset(data)
    positive_float("kink", kink)
    a, W = read_network(params)
    if W.shape[1] != data.d:
        raise InputError(
            f"params.W: neurons of dimension {W.shape[1]}, and inputs of dimension {data.d}"
        )
    # gradients are linear in the inputs: λ of inputs 2^k larger is 2^k smaller
    unit = int(np.frexp(np.max(np.abs(data.X)))[1])
    X = np.ldexp(data.X, -unit)
    values = W @ X.T
    on_kink = (
        (np.abs(values) <= kink * np.outer(row_lengths(W), row_lengths(X)))
        if a.size
        else np.zeros((0, data.n), bool)
    )
    slopes: Array = np.where((values > 0) & ~on_kink, 1.0, 0.0)
    hidden = np.where(on_kink, 0.0, np.maximum(values, 0.0))
    network = _Network(a, W, X, hidden)
    on_kink = on_kink & (a != 0)[:, None] & np.any(data.X, axis=1)[None, :]
    lam = network.multipliers(slopes)
    if np.any(on_kink):
        lam, slopes = _with_kinks(network, slopes, on_kink)
    size = length(network.theta())
    stationarity = network.distance(lam, slopes) / size if size else 0.0
    with np.errstate(over="ignore", under="ignore"):
        misfit, multipliers = (
            float(np.max(np.abs(np.ldexp(a @ hidden, unit) - data.y))),
            np.ldexp(lam, -unit),
        )
        feasibility = float(np.divide(misfit, label_size(data.y)))
    if not np.all(np.isfinite([stationarity, feasibility, *multipliers])):
        raise InputError(
            f"X, params: inputs up to {np.max(np.abs(data.X)):g} and weights up to "
            f"{np.max(np.abs(network.theta())):g} ask for"
            " multipliers or predictions beyond float range; scale them"
        )
    return KktPoint(stationarity, feasibility, multipliers, slopes)


@dataclass(frozen=True, eq=False)
class _Network:
    a: Array
    W: Array
    X: Array
    hidden: Array

    def gradients(self, slopes: Array) -> Array:
        """∇h(x_k) as columns, (m + m·d, n)."""
        inner = (self.a[:, None] * slopes)[:, None, :] * self.X.T[None]
        return np.vstack([self.hidden, inner.reshape(self.W.size, self.X.shape[0])])

    def theta(self) -> Array:
        return np.concatenate([self.a, self.W.ravel()])

    def multipliers(self, slopes: Array) -> Array:
        return np.asarray(
            np.linalg.lstsq(self.gradients(slopes), self.theta(), rcond=None)[0], dtype=np.float64
        )

    def distance(self, lam: Array, slopes: Array) -> float:
        return length(self.theta() - self.gradients(slopes) @ lam)


def _with_kinks(network: _Network, slopes: Array, on_kink: Array) -> tuple[Array, Array]:
    """λ and slopes on the kinks, from the signs that λ has when the slopes there are free, else
    from those of a mixed-integer program."""
    columns = _with_products(network, slopes, on_kink)
    free = np.linalg.lstsq(columns, network.theta(), rcond=None)[0][: network.X.shape[0]]
    signs = np.where(free >= 0, 1.0, -1.0)
    best = _alternated(network, _joint_start(network, slopes, on_kink, signs), on_kink)
    if best[0] > STATIONARY * length(network.theta()):
        other = _best_signs(network, columns, on_kink)
        if other is not None and not np.array_equal(other, signs):
            trial = _alternated(network, _joint_start(network, slopes, on_kink, other), on_kink)
            best = trial if trial[0] < best[0] else best
    return best[1], best[2]


def _with_products(network: _Network, slopes: Array, on_kink: Array) -> Array:
    """θ − Σ_k λ_k∇h(x_k) is linear in λ and the products μ_jk = λ_kσ'_jk on kinks: its columns,
    those of λ first."""
    rows, samples = np.nonzero(on_kink)
    n, d = network.X.shape
    columns = np.zeros((network.theta().size, n + rows.size))
    columns[:, :n] = network.gradients(slopes)
    for i, (j, k) in enumerate(zip(rows, samples, strict=True)):
        begin = network.a.size + j * d
        columns[begin : begin + d, n + i] = network.a[j] * network.X[k]
    return columns


def _best_signs(network: _Network, columns: Array, on_kink: Array) -> Array | None:
    """Signs of λ for the least ‖θ − Σ_k λ_k∇h(x_k)‖₁: λ = λ⁺ − λ⁻, μ = μ⁺ − μ⁻, 0 ≤ μ^± ≤ λ^±, of
    which one is zero (a mixed-integer program)."""
    rows, samples = np.nonzero(on_kink)
    size, n, count = network.theta().size, network.X.shape[0], rows.size
    largest = LARGEST_MULTIPLIER * float(
        np.max(np.abs(np.linalg.lstsq(columns, network.theta(), rcond=None)[0]))
    )
    variables = 2 * (n + count) + n + size  # λ⁺, μ⁺, λ⁻, μ⁻, which of the two, |residual|
    residual, choice = (
        slice(variables - size, variables),
        slice(2 * (n + count), 2 * (n + count) + n),
    )
    fit = np.hstack([columns, -columns, np.zeros((size, n))])
    above, below = np.hstack([fit, np.eye(size)]), np.hstack([fit, -np.eye(size)])
    order = np.zeros((2 * count, variables))
    one = np.zeros((2 * n, variables))
    for side in (0, 1):
        offset = side * (n + count)
        order[side * count + np.arange(count), offset + samples] = 1.0
        order[side * count + np.arange(count), offset + n + np.arange(count)] = -1.0
        one[side * n + np.arange(n), offset + np.arange(n)] = -1.0
        one[side * n + np.arange(n), 2 * (n + count) + np.arange(n)] = (
            largest if side == 0 else -largest
        )
    theta = network.theta()
    constraints = [
        LinearConstraint(above, theta, np.inf),
        LinearConstraint(below, -np.inf, theta),
        LinearConstraint(order, 0.0, np.inf),
        LinearConstraint(one, np.repeat([0.0, -largest], n), np.inf),
    ]
    cost, whole, upper = np.zeros(variables), np.zeros(variables), np.full(variables, np.inf)
    cost[residual], whole[choice], upper[choice] = 1.0, 1.0, 1.0
    found = apart(
        milp,
        cost,
        integrality=whole,
        bounds=Bounds(0.0, upper),
        constraints=constraints,
        options={"time_limit": SIGNS_TIME_S},
    )
    return None if found.x is None else np.where(found.x[choice] > 0.5, 1.0, -1.0)


def _joint_start(network: _Network, slopes: Array, on_kink: Array, signs: Array) -> Array:
    """Slopes from least squares in λ and μ_jk = λ_kσ'_jk: for given signs of λ it is convex, 0 ≤
    μ_jk ≤ λ_k (or ≥), slack variables λ_k − μ_jk."""
    rows, samples = np.nonzero(on_kink)
    n, count, size = network.X.shape[0], rows.size, network.theta().size
    columns = np.zeros((size + count, n + 2 * count))
    columns[:size, : n + count] = _with_products(network, slopes, on_kink)
    for i, k in enumerate(samples):
        columns[size + i, [k, n + i, n + count + i]] = EQUALITY_WEIGHT * np.array([1.0, -1.0, -1.0])
    sided = np.concatenate([signs, signs[samples], signs[samples]])
    lower = np.where(
        np.concatenate([np.any(on_kink, axis=0), np.ones(2 * count, bool)]), 0.0, -np.inf
    )
    target = np.concatenate([network.theta(), np.zeros(count)])
    fitted = lsq_linear(
        columns * sided,
        target,
        bounds=(lower, np.inf),
        method="bvls",
        tol=1e-14,
        max_iter=20 * sided.size,
    )
    solution = fitted.x
    lam, product = solution[:n][samples], solution[n : n + count]
    filled = slopes.copy()
    filled[rows, samples] = np.clip(
        np.divide(product, lam, out=np.full(count, 0.5), where=lam > 0), 0.0, 1.0
    )
    return filled


def _alternated(network: _Network, slopes: Array, on_kink: Array) -> tuple[float, Array, Array]:
    """λ by least squares and the slopes of each neuron by box-constrained least squares, in
    turn."""
    lam = network.multipliers(slopes)
    distance = network.distance(lam, slopes)
    for _ in range(ALTERNATIONS):
        trial = slopes.copy()
        for j in np.flatnonzero(np.any(on_kink, axis=1)):
            on = np.flatnonzero(on_kink[j] & (lam != 0))
            if on.size:
                fixed = np.where(on_kink[j], 0.0, slopes[j]) * lam @ network.X
                columns = (network.a[j] * lam[on, None] * network.X[on]).T
                right = network.W[j] - network.a[j] * fixed
                trial[j, on] = np.clip(
                    lsq_linear(columns, right, bounds=(0, 1), method="bvls", tol=1e-14).x, 0.0, 1.0
                )
        new_lam = network.multipliers(trial)
        new = network.distance(new_lam, trial)
        if not new < distance * (1 - 1e-9):
            break
        lam, slopes, distance = new_lam, trial, new
    return distance, lam, slopes
