"""Gradient flow of matrix factorisations, stiff and of any width, at the cost of its stacked
factors' row space.

Stack W = [U; V]. With G = ∂L/∂M the flow is Ẇ = −S(G)W, S(G) = [[0, G], [Gᵀ, 0]], so W(t) =
T(t)W(0) and M depends on the start through W(0)W(0)ᵀ alone. Written as W(0) = YQᵀ with orthonormal
columns in Q, only Y moves: (rows + cols) × rank W(0), whatever the width. From an unbiased start Y
is block diagonal, and UVᵀ then sums small products only: large scales cancel nothing.

Near its limit the flow is stiff: residuals in directions that only small factors reach decay at a
rate of their squares. Rodas5P (`_numerics/rodas5p`) takes the exact Jacobian, −S(G)X −
S(Gʹ(X))W, whose first term acts on rows and whose second has the rank of the observations: a stage
is solved by matrices of size rows + cols and n.

The error is the distance from a second run that takes every step in two halves: what is of fifth
order is a 32nd there, also where a first step reaches the end or steps grow as fast as they may,
and two tolerances would take the same ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array
from .._core.problems import Problem
from .._core.results import Result, Trajectory
from .._core.trees import stack
from .._numerics.flow_frame import CONVERGED, FlowRequest, distance_error
from .._numerics.rodas5p import GAMMA, STAGES, A, B, C, H
from ..errors import ScaleError
from ..models import FactorParams

EPS = float(np.finfo(float).eps)
LEAST = 1e-13
"""Least tolerance of a step; also the least start beside √(‖y‖/‖X‖): smaller factors drown in the
rounding of those that grow."""
MAX_STEPS = 50_000
MOST_REJECTED = 60
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 8.0
FAR_OFF = 1e10
"""Error, in units of the allowed one, that stands for an overflow."""
FIRST = 0.1
"""First step, as a share of the time in which the fastest direction moves."""
ROUNDINGS = 8.0
"""Roundings that the floors of residual and force, and the error estimate, allow for."""
ORTHOGONAL = 1e-10
"""Largest product of rows of U(0) and V(0), as a cosine, at which a start counts as unbiased."""


def integrate_factored(problem: Problem, request: FlowRequest) -> Trajectory[FactorParams]:
    """The flow of a MatrixFactorisation under a square loss, until t1 or until converged, with
    dense output.

    Both errors, of the factors and of M = UVᵀ, come from a second run. Steps are chosen for M, so
    that late losses are known to their order of magnitude only.
    """
    field = _Field.of(problem)
    start, frame = compress(problem.start)
    run = _march(field, start, request.t1, max(request.rtol, LEAST), request.deadline.first)
    check = _halved(field, run, request.deadline.both)
    saved = request.saved(run.ends)
    states = np.array([run.at(t) for t in saved])
    others = np.array([check.at(t) for t in saved])
    ours, theirs = states @ frame.T, others @ frame.T
    # the last: what rounding sees of M
    products = field.product(states), field.product(others), field.product(np.abs(ours))
    error, predictor_error = (
        distance_error(mine, other, saved, check.end, ROUNDINGS * EPS * np.max(size, axis=(1, 2)))
        for mine, other, size in ((ours, theirs, np.abs(ours)), products)
    )
    losses = np.array([float(problem.loss(field.residual(Y) + field.y, field.y)) for Y in states])
    stats = {
        "method": "factored",
        "steps": len(run.ends) - 1,
        "rejected": run.rejected,
        "unknowns": start.size,
    }

    def lift(Y: Array) -> FactorParams:
        return FactorParams(*(part @ frame.T for part in field.split(Y)))

    return Trajectory(
        times=saved,
        states=stack([lift(Y) for Y in states]),
        loss=losses,
        error=error,
        events=(),
        stats=stats,
        result=run.result,
        problem=problem,
        interpolant=lambda t: lift(run.at(t)),
        predictor_error=predictor_error,
    )


def compress(params: FactorParams) -> tuple[Array, Array]:
    """Y (rows + cols, m) and Q (rank, m) with [U; V] = YQᵀ, QᵀQ = 1; Y is block diagonal from an
    unbiased start."""
    (left, first), (right, second) = _row_space(params.U), _row_space(params.V)
    if np.max(np.abs(first.T @ second), initial=0.0) > ORTHOGONAL:
        return _row_space(np.vstack(params))
    rows, columns = left.shape
    Y = np.zeros((rows + right.shape[0], columns + right.shape[1]))
    Y[:rows, :columns], Y[rows:, columns:] = left, right
    return Y, np.hstack([first, second])


def _row_space(factor: Array) -> tuple[Array, Array]:
    u, s, vt = np.linalg.svd(factor, full_matrices=False)
    kept = s > max(factor.shape) * EPS * s[0]
    kept[0] = True
    return u[:, kept] * s[kept], vt[kept].T


def check_start(problem: Problem) -> None:
    """An error where the start is lost in the rounding of what it grows into."""
    inputs = max(float(np.max(np.abs(problem.data.X))), SMALLEST_NORMAL)
    least = LEAST * float(np.sqrt(np.max(np.abs(problem.data.y))) / np.sqrt(inputs))
    largest = max(float(np.max(np.abs(leaf))) for leaf in problem.start)
    if 0 < largest < least:
        raise ScaleError(
            f"start: weights up to {largest:g} drown in the rounding of those they grow into; "
            f"needs {least:g}"
        )


@dataclass(frozen=True, eq=False)
class _Field:
    """Ẏ = −S(G)Y with G = 2c·Σ(⟨M, X_n⟩ − y_n)X_n."""

    X: Array
    y: Array
    slope: float
    rows: int
    inputs: Array

    @classmethod
    def of(cls, problem: Problem) -> _Field:
        X, y, shape = problem.data.X, problem.data.y, problem.model.shape
        return cls(X, y, 2 * problem.loss.factor(len(y)), shape[0], X.reshape(-1, *shape))

    def split(self, Y: Array) -> tuple[Array, Array]:
        return Y[..., : self.rows, :], Y[..., self.rows :, :]

    def product(self, Y: Array) -> Array:
        U, V = self.split(Y)
        return U @ V.swapaxes(-1, -2)

    def residual(self, Y: Array) -> Array:
        return self.X @ self.product(Y).ravel() - self.y

    def slopes(self, residual: Array) -> Array:
        """G."""
        return self.slope * (residual @ self.X).reshape(self.inputs.shape[1:])

    def turned(self, G: Array, Y: Array) -> Array:
        """S(G)Y."""
        out = np.empty_like(Y)
        np.matmul(G, Y[self.rows :], out=out[: self.rows])
        np.matmul(G.T, Y[: self.rows], out=out[self.rows :])
        return out

    def __call__(self, Y: Array) -> Array:
        return -self.turned(self.slopes(self.residual(Y)), Y)

    def at_rest(self, Y: Array, residual: Array, force: Array) -> Result | None:
        """Whether residual or force is what rounding leaves of it."""
        sizes = np.abs(self.X) @ self.product(np.abs(Y)).ravel() + np.abs(self.y)
        if np.all(np.abs(residual) <= ROUNDINGS * EPS * sizes):
            return Result.FLOOR
        if np.all(
            np.abs(force) <= ROUNDINGS * EPS * self.turned(np.abs(self.slopes(residual)), np.abs(Y))
        ):
            return Result.STATIONARY
        return None


class _Stages:
    """(1/(γh) − J)⁻¹ at a point: k + R·S(G'(k))Y = R·b, R = (1/(γh) + S)⁻¹, an n × n system for the
    change of the residual."""

    def __init__(self, field: _Field, Y: Array, residual: Array, step: float) -> None:
        self.field, self.parts = field, field.split(Y)
        p, E, size = field.rows, field.inputs, Y.shape[0]
        system, G, Z, n = (
            np.eye(size) / (GAMMA * step),
            field.slopes(residual),
            Y @ Y.T,
            len(residual),
        )
        system[:p, p:], system[p:, :p] = G, G.T
        self.Y, self.R = Y, np.linalg.inv(system)
        first, cross, last = self.R[:p, :p], self.R[:p, p:], self.R[p:, p:]
        UU, M, VV, E_T = Z[:p, :p], Z[:p, p:], Z[p:, p:], E.swapaxes(1, 2)
        pulled = first @ (E @ VV) + UU @ (E @ last) + cross @ (E_T @ M) + M @ (E_T @ cross)
        self.inverse = np.linalg.inv(np.eye(n) + field.slope * (pulled.reshape(n, -1) @ field.X.T))

    def solve(self, b: Array) -> Array:
        (U, V), free = self.parts, self.R @ b
        top, bottom = self.field.split(free)
        change = self.inverse @ (self.field.X @ (top @ V.T + U @ bottom.T).ravel())
        return free - self.R @ self.field.turned(self.field.slopes(change), self.Y)


@dataclass(frozen=True, eq=False)
class _Run:
    ends: Array
    values: list[Array]
    pieces: list[Array]
    result: Result
    rejected: int

    @property
    def end(self) -> float:
        return float(self.ends[-1])

    def at(self, t: float) -> Array:
        """The dense output; beyond the end, the last state."""
        k = int(np.searchsorted(self.ends, t))
        if k == 0 or k == len(self.ends) or self.ends[k] == t:
            return self.values[min(k, len(self.ends) - 1)]
        theta, (first, second, third) = (
            (t - self.ends[k - 1]) / (self.ends[k] - self.ends[k - 1]),
            self.pieces[k - 1],
        )
        bent = first + theta * (second + theta * third)
        return (1 - theta) * self.values[k - 1] + theta * (self.values[k] + (1 - theta) * bent)


def _march(
    field: _Field, start: Array, t1: float | None, rtol: float, over: Callable[[], bool]
) -> _Run:
    """Rodas5P. A step may miss every factor by rtol of itself or of the start, and M by rtol of the
    labels."""
    Y, t, rejected = start, 0.0, 0
    residual, force = field.residual(Y), field(Y)
    threshold = CONVERGED * float(residual @ residual)
    floor, size = (
        float(np.max(np.abs(start))),
        float(max(np.max(np.abs(field.y)), np.max(np.abs(residual)))),
    )
    step = _first_step(field, Y, residual)
    ends, values, pieces = [0.0], [Y], []
    result = Result.STEP_LIMIT
    while len(ends) <= MAX_STEPS:
        stopped = (
            _stopped(field, Y, residual, force, threshold)
            if t1 is None
            else Result.REACHED_T1
            if t >= t1
            else None
        )
        stopped = Result.TIME_LIMIT if stopped is None and over() else stopped
        if stopped is not None:
            result = stopped
            break
        allowed = (
            rtol * np.minimum(floor + np.abs(Y), size / _longest_row(Y))
            + EPS * np.max(np.abs(Y))
            + SMALLEST_NORMAL
        )
        step = step if t1 is None else min(step, t1 - t)
        for _ in range(MOST_REJECTED):
            K, missed = _step(field, Y, residual, force, step, allowed)
            if missed <= 1:
                break
            rejected, step = rejected + 1, step * max(SLOWEST, SAFETY * missed**-0.2)
        else:
            result = Result.STEP_TOO_SMALL
            break
        Y = Y + _combined(B, K)
        t = t1 if t1 is not None and step == t1 - t else t + step
        ends.append(t)
        values.append(Y)
        pieces.append(_bending(K))
        residual, force = field.residual(Y), field(Y)
        step *= min(FASTEST, max(SLOWEST, SAFETY * max(missed, EPS) ** -0.2))
    return _Run(np.array(ends), values, pieces, result, rejected)


def _halved(field: _Field, run: _Run, over: Callable[[], bool]) -> _Run:
    """The run again, every step in two halves, as far as it gets."""
    Y, ends, values = run.values[0], [0.0], [run.values[0]]
    pieces: list[Array] = []
    anything = np.full(Y.shape, np.inf)
    for begin, end in itertools.pairwise(run.ends):
        for t, step in (((begin + end) / 2, (end - begin) / 2), (end, (end - begin) / 2)):
            K, missed = _step(field, Y, field.residual(Y), field(Y), step, anything)
            if missed == FAR_OFF or over():
                return _Run(np.array(ends), values, pieces, Result.TIME_LIMIT, 0)
            Y = Y + _combined(B, K)
            ends.append(float(t))
            values.append(Y)
            pieces.append(_bending(K))
    return _Run(np.array(ends), values, pieces, run.result, 0)


def _bending(K: Array) -> Array:
    """What the dense output of a step bends by."""
    return np.asarray((H @ K.reshape(STAGES, -1)).reshape(-1, *K.shape[1:]))


def _stopped(
    field: _Field, Y: Array, residual: Array, force: Array, threshold: float
) -> Result | None:
    return (
        Result.CONVERGED
        if float(residual @ residual) <= threshold
        else field.at_rest(Y, residual, force)
    )


def _first_step(field: _Field, Y: Array, residual: Array) -> float:
    """A share of the inverse of a bound on the Jacobian."""
    rate = (
        np.linalg.norm(field.slopes(residual), 2)
        + field.slope * np.linalg.norm(Y, 2) ** 2 * np.linalg.norm(field.X, 2) ** 2
    )
    return FIRST / float(rate) if rate > 0 else 1.0


def _step(
    field: _Field, Y: Array, residual: Array, force: Array, step: float, allowed: Array
) -> tuple[Any, float]:
    """The stages of a step, and its error in units of what is allowed; FAR_OFF where something
    overflowed."""
    K = np.zeros((STAGES, *Y.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            stages = _Stages(field, Y, residual, step)
        except np.linalg.LinAlgError:
            return K, FAR_OFF
        K[0] = stages.solve(force)
        for i in range(1, STAGES):
            K[i] = stages.solve(
                field(Y + _combined(A[i, :i], K[:i])) + _combined(C[i, :i] / step, K[:i])
            )
        missed = float(np.max(np.abs(K[-1]) / allowed))
    return K, missed if np.isfinite(missed) else FAR_OFF


def _combined(weights: Array, K: Array) -> Array:
    """Σ weights_i k_i."""
    return (weights @ K.reshape(len(weights), -1)).reshape(K.shape[1:])


def _longest_row(Y: Array) -> float:
    """Times the size of an error of the factors, how far it moves M; one where there is nothing."""
    return float(np.sqrt(np.max(np.sum(Y * Y, axis=1)))) or 1.0
