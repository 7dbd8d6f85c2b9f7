"""The α→0 limit of the trajectory of depth-2 diagonal networks: jumps between saddles (after Pesme
and Flammarion 2023)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from .._core.arguments import Array, Index, system
from .._core.problems import MirrorProblem
from .._core.results import Result, Trajectory
from ..errors import ConvergenceError, ScaleError
from ..limits.constraints import reduce_constraints
from ..potentials import Hypentropy
from .endings import judged, returned
from .units import Units, exponent

ON_BOUNDARY = 1e-10
"""Distance from ±1 at which an accumulated correlation counts as having arrived: ties arrive
together."""
DONE = 1e-10
"""Residual relative to ‖y‖ at which the path has interpolated."""
MAX_JUMPS = 100_000


def saddle_path(X: ArrayLike, y: ArrayLike) -> Trajectory:
    """The exact limit r→0 of dη/dt = −Xᵀ(Xβ − y), β = r·sinh η, in the time τ = t/log(1/r): a path
    of jumps.

    s accumulates Xᵀ(y − Xβ) within [−1, 1]; when some |s_i| reaches one, β jumps to the
    least-squares fit on the coordinates with |s_i| = 1 that keeps their signs, and stays there, a
    saddle, until the next arrives. The last β is the minimum-ℓ1 interpolator (where that is
    unique).

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)

    Returns
    -------
    Trajectory
        times[k] is when states[k] (d,) is entered; events are (τ, coordinates that entered, that
        left). stats['unique'] says whether every fit on the way was: with dependent active columns
        the flow's own plateau may be another fit.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=10, d=16, sparsity=2, noise_var=0.0, key=5)
    >>> path = bf.saddle_path(data.X, data.y)
    >>> [np.flatnonzero(beta).tolist() for beta in path.states]
    [[], [1], [0, 1]]
    """
    X, y = system(X, y)
    problem, units = MirrorProblem(Hypentropy(1.0), X, y, None), _units(X, y)
    X, y = units.data(X, y)
    reduce_constraints(X, y)
    d, size, pull = X.shape[1], float(np.linalg.norm(y)), float(np.max(np.abs(X.T @ y)))
    s, beta, tau, unique = np.zeros(d), np.zeros(d), 0.0, True
    times, states, events = [0.0], [beta], []
    while np.linalg.norm(y - X @ beta) > DONE * max(size, np.finfo(float).tiny) and size > 0:
        if len(times) > MAX_JUMPS:
            raise ConvergenceError(
                f"saddle_path: {MAX_JUMPS} jumps and no interpolation", (times, states)
            )
        force = np.where(beta != 0, 0.0, X.T @ (y - X @ beta))
        moving = np.abs(force) > DONE * pull
        if not np.any(moving):
            raise ConvergenceError("saddle_path: stationary without interpolating", (times, states))
        wait = np.full(d, np.inf)
        wait[moving] = np.maximum((np.sign(force[moving]) - s[moving]) / force[moving], 0.0)
        delta = float(np.min(wait))
        tau += delta
        s = np.clip(s + delta * force, -1.0, 1.0)
        s = np.where(np.abs(s) > 1 - ON_BOUNDARY, np.sign(s), s)
        active = np.flatnonzero(np.abs(s) == 1)
        unique = unique and int(np.linalg.matrix_rank(X[:, active])) == active.size
        new = _constrained_fit(X, y, s, active)
        if not np.array_equal(new, beta):
            events.append(
                (
                    tau,
                    tuple(np.flatnonzero((new != 0) & (beta == 0))),
                    tuple(np.flatnonzero((new == 0) & (beta != 0))),
                )
            )
        beta = new
        times.append(tau)
        states.append(beta)
    losses = np.array([0.5 * float(np.sum((X @ b - y) ** 2)) for b in states])
    stats = {"method": "saddle path", "jumps": len(times) - 1, "unique": unique}
    path = Trajectory(
        np.array(times),
        np.stack(states),
        losses,
        np.zeros(len(times)),
        tuple(events),
        stats,
        Result.CONVERGED,
        problem,
    )
    return returned("saddle_path", units.restored(judged(path), problem), True)


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


def _constrained_fit(X: Array, y: Array, s: Array, active: Index) -> Array:
    """Least squares on the coordinates with |s| = 1, each of the sign of s; refitted on its support
    to rounding."""
    if active.size == 0:  # which SciPy's nnls does not survive
        raise ConvergenceError(
            "saddle_path: the next arrival is beyond float range; columns of X or labels differ "
            "too much in size"
        )
    coefficients, _ = nnls(X[:, active] * s[active], y, maxiter=50 * active.size + 100)
    beta = np.zeros(X.shape[1])
    support = active[coefficients > 0]
    beta[support] = coefficients[coefficients > 0] * s[support]
    if support.size:
        refit = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
        if np.array_equal(np.sign(refit), s[support]):
            beta[support] = refit
    return beta
