"""The limit of vanishing starts of diagonal networks of any depth: jumps between saddles (Pesme and
Flammarion 2023, arXiv:2304.00488; Zhao et al. 2026, arXiv:2607.12332).

In the mirror form η̇ = Xᵀ(y − Xβ) a coordinate stays at zero while η_i is inside (−T_i⁻, T_i⁺) and
cannot leave that interval. From the start α·c the walls are w±^{2−D}/(2cD(D−2)) for D ≥ 3, which
keep the shape of the start, and log(1/w±)/(4c) for D = 2, whose ratios tend to one. In the time
over T the potentials tend to the support function Σ(t⁺k⁺ + t⁻k⁻) of that box, the flow to a process
of jumps, and its end to the least-squares solution at which this is least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from .._core.arguments import Array, Index, real_array, system
from .._core.problems import MirrorProblem, Problem
from .._core.progress import doing
from .._core.results import Result, Trajectory
from ..errors import ConvergenceError, InconsistentError, InputError, RefusedError, ScaleError
from ..limits.constraints import reduce_constraints
from ..models import mirror
from ..potentials import DepthPotential, Hypentropy, ScaledPotential
from .endings import in_range, judged, returned
from .units import Units, exponent

ON_BOUNDARY = 1e-10
"""Distance from a wall, over its own, at which an accumulated correlation counts as having arrived:
ties arrive together."""
DONE = 1e-10
"""Residual relative to ‖y‖ at which the path has interpolated."""
MAX_JUMPS = 100_000


@doing("saddle path")
def saddle_path(
    X: ArrayLike | Problem | MirrorProblem,
    y: ArrayLike | None = None,
    *,
    growth: ArrayLike | None = None,
) -> Trajectory:
    """The exact limit of a diagonal network's flow as its start vanishes, in the time τ = t/T: a
    path of jumps.

    s accumulates Xᵀ(y − Xβ) within [−t⁻, t⁺]; when some s_i reaches a wall, β jumps to the
    least-squares fit on the coordinates at theirs that keeps their signs, and stays there, a
    saddle, until the next arrives. The last β is argmin Σ(t⁺β⁺ + t⁻β⁻) over the least-squares
    solutions (where that is unique): the minimum-ℓ1 interpolator for depth two. `saddle_path(X, y)`
    is the limit r → 0 of dη/dt = −Xᵀ(Xβ − y), β = r·sinh η, with T = log(1/r).

    Parameters
    ----------
    X : array of shape (n, d), or Problem
        Inputs; or a diagonal network of any depth, or a mirror flow of its potential, whose start
        has the shape that is kept while it vanishes.
    y : array of shape (n,)
        Labels, where inputs are given. Those out of reach end at a least-squares solution.
    growth : array of shape (d,) or (2, d), optional
        The growth times t of the coordinates, or t⁺ and t⁻; infinite for a sign that a coordinate
        cannot take. Of a problem they are known: equal for D = 2, w±^{2−D} over the least of them
        for D ≥ 3.

    Returns
    -------
    Trajectory
        times[k] is the τ at which states[k] (d,) is entered; events are (τ, coordinates that
        entered, that left). stats['growth'] has t⁺ and t⁻, and stats['unique'] says whether every
        fit on the way was: with dependent active columns the flow's own plateau may be another fit.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=10, d=16, sparsity=2, noise_var=0.0, key=5)
    >>> path = bf.saddle_path(data.X, data.y)
    >>> [np.flatnonzero(beta).tolist() for beta in path.states]
    [[], [1], [0, 1]]
    >>> print(bf.saddle_path([[1.0, 1.5]], [1.0], growth=[1.0, 2.0]).final)
    [1. 0.]
    """
    if isinstance(X, Problem | MirrorProblem):
        if y is not None or growth is not None:
            raise InputError(
                "saddle_path: a problem has its labels and growth times; give it alone"
            )
        own = mirror(X) if isinstance(X, Problem) else X
        X, y, walls = own.X, own.y, growth_times(own)
    else:
        X, y = system(X, y)  # type: ignore[arg-type]
        walls = _read_growth(growth, X.shape[1])
    problem, units = MirrorProblem(Hypentropy(1.0), X, y, None), _units(X, y)
    X, y = units.data(X, y)
    target = _reachable(X, y)
    path = _process(X, target, walls)
    if path.result is Result.CONVERGED and target is not y:
        path.result = Result.STATIONARY
    losses = np.array([0.5 * float(np.sum((X @ b - y) ** 2)) for b in path.states])
    found = Trajectory(
        np.array(path.times),
        np.stack(path.states),
        losses,
        np.zeros(len(path.times)),
        tuple(path.events),
        {
            "method": "saddle path",
            "jumps": len(path.times) - 1,
            "unique": path.unique,
            "growth": walls,
        },
        path.result,
        problem,
    )
    return returned("saddle_path", in_range(units.restored(judged(found), problem)), True)


def growth_times(problem: MirrorProblem) -> Array:
    """t⁺ and t⁻, (2, d): how far ∇φ can move up and down as the start vanishes in proportion, over
    the least of them all."""
    potential, d = problem.potential, problem.X.shape[1]
    factor = np.ones(d)
    while isinstance(potential, ScaledPotential):
        factor, potential = factor * potential.factor, potential.potential
    if isinstance(potential, Hypentropy):  # ±log(1/r), whose ratios tend to one
        sign = potential.half_lines(d)
        walls = np.where([sign < 0, sign > 0], np.inf, factor)
    elif isinstance(potential, DepthPotential):
        inner = problem.origin.eta / factor
        walls = np.stack([factor * (1 - inner), factor * (1 + inner)])
    else:
        raise RefusedError(
            f"saddle_path: the start of {type(potential).__name__} does not vanish; it needs a "
            "diagonal network, a Hypentropy or a DepthPotential"
        )
    return np.asarray(walls / np.min(walls))


def _read_growth(growth: ArrayLike | None, d: int) -> Array:
    if growth is None:
        return np.ones((2, d))
    try:
        found = np.asarray(growth, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"growth: expected positive times, found {growth!r:.80}") from None
    known = real_array("growth", np.where(np.isposinf(found), 1.0, found))
    if known.shape not in ((d,), (2, d)) or not np.all(known > 0):
        raise InputError(
            f"growth: expected positive times of shape ({d},) or (2, {d}), found shape "
            f"{known.shape}" + ("" if np.all(known > 0) else f" with {np.min(known):g}")
        )
    return np.array(np.broadcast_to(found, (2, d)))


def _reachable(X: Array, y: Array) -> Array:
    """The labels, or their least-squares fit where no β reaches them: Xᵀ of both is the same."""
    try:
        reduce_constraints(X, y)
        return y
    except InconsistentError:
        return np.asarray(X @ np.linalg.lstsq(X, y, rcond=None)[0])


@dataclass
class _Path:
    """The process so far."""

    times: list[float]
    states: list[Array]
    events: list[tuple[float, tuple[int, ...], tuple[int, ...]]]
    unique: bool = True
    result: Result = Result.CONVERGED


def _process(X: Array, y: Array, walls: Array) -> _Path:
    """Jumps until the labels are met, or, where some growth time is infinite, nothing more can
    arrive."""
    d, size, pull = X.shape[1], float(np.linalg.norm(y)), float(np.max(np.abs(X.T @ y)))
    upper, lower = walls[0], -walls[1]
    s, beta, tau = np.zeros(d), np.zeros(d), 0.0
    path = _Path([0.0], [beta], [])
    while np.linalg.norm(y - X @ beta) > DONE * max(size, np.finfo(float).tiny) and size > 0:
        if len(path.times) > MAX_JUMPS:
            raise ConvergenceError(f"saddle_path: {MAX_JUMPS} jumps and no interpolation", path)
        force = np.where(beta != 0, 0.0, X.T @ (y - X @ beta))
        wait = np.full(d, np.inf)
        moving = np.abs(force) > DONE * pull
        ahead = np.where(force > 0, upper, lower)
        wait[moving] = np.maximum((ahead[moving] - s[moving]) / force[moving], 0.0)
        delta = float(np.min(wait))
        if not np.isfinite(delta):
            if np.all(np.isfinite(walls)):
                raise ConvergenceError("saddle_path: stationary without interpolating", path)
            path.result = Result.INFEASIBLE
            break
        tau += delta
        s = np.clip(s + delta * force, lower, upper)
        signs = np.where(s >= upper * (1 - ON_BOUNDARY), 1.0, 0.0)
        signs = np.where(s <= lower * (1 - ON_BOUNDARY), -1.0, signs)
        s = np.where(signs > 0, upper, np.where(signs < 0, lower, s))
        active = np.flatnonzero(signs)
        path.unique &= int(np.linalg.matrix_rank(X[:, active])) == active.size
        new = _constrained_fit(X, y, signs, active)
        if not np.array_equal(new, beta):
            entered, left = (new != 0) & (beta == 0), (new == 0) & (beta != 0)
            path.events.append((tau, tuple(np.flatnonzero(entered)), tuple(np.flatnonzero(left))))
        beta = new
        path.times.append(tau)
        path.states.append(beta)
    return path


def _units(X: Array, y: Array) -> Units:
    """Those in which inputs and labels are of size one: s has none, so that τ is in those of
    1/|Xᵀy|."""
    j, e = exponent(X), exponent(y)
    largest = float(np.max(np.abs(y)))
    with np.errstate(over="ignore"):
        if not np.isfinite(largest * largest * len(y)):
            raise ScaleError(
                f"y: labels up to {largest:g} make a loss that overflows; in units of 2^{e} the "
                "path is the same"
            )
    return Units(e - j, e - j, e, j)


def _constrained_fit(X: Array, y: Array, signs: Array, active: Index) -> Array:
    """Least squares on the coordinates at a wall, each of the sign of that wall; refitted on its
    support to rounding."""
    if active.size == 0:  # which SciPy's nnls does not survive
        raise ConvergenceError(
            "saddle_path: the next arrival is beyond float range; columns of X or labels differ "
            "too much in size"
        )
    coefficients, _ = nnls(X[:, active] * signs[active], y, maxiter=50 * active.size + 100)
    beta = np.zeros(X.shape[1])
    support = active[coefficients > 0]
    beta[support] = coefficients[coefficients > 0] * signs[support]
    if support.size:
        refit = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
        if np.array_equal(np.sign(refit), signs[support]):
            beta[support] = refit
    return beta
