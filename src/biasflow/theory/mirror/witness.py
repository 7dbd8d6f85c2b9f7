"""Mirror flow in the primal: β̇ = −Xᵀ(Xβ − y)/φ''(β), which knows nothing of the dual flow, nor of projections."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...inputs import Array
from ...records import MirrorProblem, Result, Trajectory

CONVERGED = 1e-20
"""Loss, relative to its start, at which the flow has ended."""
LOOSER = 100.0
"""Times the tolerance of the second run, whose distance from the first is the error."""
LARGEST = 1e9
"""Time, in units of the fastest rate at the start, after which a flow that has not ended is given up."""


def primal_flow(
    problem: MirrorProblem, t1: float | None, times: ArrayLike | None, rtol: float, time_s: float
) -> Trajectory | str:
    """The flow from β₀ to t1, or until the loss is gone; or a sentence that says why it could not be followed."""
    m = problem
    start = m.potential.at_dual(np.zeros(m.X.shape[1])).beta if m.beta0 is None else m.beta0
    deadline = time.monotonic() + time_s
    if times is not None and t1 is None:
        t1 = float(np.max(np.asarray(times)))
    runs: list[tuple[Array, list[Any]]] = []
    for tolerance in (rtol, LOOSER * rtol):
        run = _followed(m, start, t1 if not runs else float(runs[0][0][-1]), tolerance, deadline)
        if isinstance(run, str):
            return run
        runs.append(run)
    (ends, pieces), (_, rough) = runs
    saved = ends if times is None else np.asarray(times, dtype=np.float64)
    states = np.array([_at(ends, pieces, start, t) for t in saved])
    error = np.array([np.max(np.abs(_at(runs[1][0], rough, start, t) - state)) for t, state in zip(saved, states, strict=True)])
    loss = 0.5 * np.sum((states @ m.X.T - m.y) ** 2, axis=1)
    result = Result.CONVERGED if t1 is None else Result.REACHED_T1
    stats = {"method": "primal"}
    return Trajectory(saved, states, loss, error, (), stats, result, m, lambda t: _at(ends, pieces, start, t))


def _followed(m: MirrorProblem, start: Array, t1: float | None, rtol: float, deadline: float) -> tuple[Array, list[Any]] | str:
    from scipy.integrate import LSODA

    def field(t: float, beta: Array) -> Array:
        return -(m.X.T @ (m.X @ beta - m.y)) / m.potential.hessian_diag(beta)

    force = field(0.0, start)
    size = float(np.max(np.abs(start))) or float(np.max(1 / m.potential.hessian_diag(start)))
    fastest = float(np.max(np.abs(force)))
    if not np.isfinite(fastest) or fastest == 0:
        return "the primal flow has no finite velocity at its start"
    loss0 = float(np.sum((m.X @ start - m.y) ** 2))
    bound = LARGEST * size / fastest if t1 is None else t1
    solver = LSODA(field, 0.0, start, bound, rtol=rtol, atol=rtol * size * 1e-3, first_step=min(1e-3 * size / fastest, bound))
    ends, pieces = [0.0], []
    while solver.status == "running":
        if time.monotonic() > deadline:
            return "the primal flow took longer than the time limit"
        solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            return "the primal flow could not be followed: its step fell below rounding"
        ends.append(float(solver.t))
        pieces.append(solver.dense_output())
        if t1 is None and np.sum((m.X @ solver.y - m.y) ** 2) <= CONVERGED * loss0:
            break
    return np.array(ends), pieces


def _at(ends: Array, pieces: list[Any], start: Array, t: float) -> Array:
    k = int(np.clip(np.searchsorted(ends, t), 0, len(ends) - 1))
    return start if k == 0 else np.asarray(pieces[k - 1](min(t, float(ends[-1]))))
