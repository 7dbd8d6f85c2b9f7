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
from functools import partial
from typing import NamedTuple

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array, Index
from .._core.problems import Problem
from .._core.progress import doing
from .._core.results import Trajectory
from .._core.trees import stack
from .._numerics.flow_frame import CONVERGED, FlowRequest, distance_error, goes_on
from .._numerics.rodas5p import GAMMA, STAGES, B
from .._numerics.rosenbrock import (
    FLOOR,
    MARCHING,
    RESULTS,
    STATIONARY,
    STOPPED,
    TIME_LIMIT,
    Controls,
    Path,
    Progress,
    Recorder,
    add_stages,
    marching,
    staging,
)
from ..errors import ScaleError
from ..models import FactorParams

EPS = float(np.finfo(float).eps)
LEAST_TOLERANCE = 1e-13
"""Of a step; also the least start beside √(‖y‖/‖X‖): smaller factors drown in the rounding of those
that grow."""
MOST_STEPS = 50_000
FIRST_STEP = 0.1
"""First step, as a share of the time in which the fastest direction moves."""
ROUNDINGS = 8.0
"""Roundings that the floors of residual and force, and the error estimate, allow for."""
MOST_ENTRIES = 1000
"""Observed entries of a matrix of which all pairs are listed: 32 MB."""
ORTHOGONAL = 1e-10
"""Largest product of rows of U(0) and V(0), as a cosine, at which a start counts as unbiased."""


class _Runs(NamedTuple):
    """The steps of a run, how far it came, and those of the run in halves."""

    record: Recorder
    done: Progress
    halves: Recorder


def integrate_factored(
    problem: Problem, request: FlowRequest, before: _Runs | None = None
) -> Trajectory[FactorParams]:
    """The flow of a MatrixFactorisation under a square loss, until t1 or until converged, with
    dense output. before: the runs that go on.

    Both errors, of the factors and of M = UVᵀ, come from a second run. Steps are chosen for M, so
    that late losses are known to their order of magnitude only.
    """
    field = _Field.of(problem)
    start, frame = compress(problem.start)
    stepping = _Stepping(field, start, request)
    if before is None:
        before = _Runs(
            stepping.record,
            Progress(0.0, stepping.first_step(), status=TIME_LIMIT),
            stepping.record,
        )
    done, halves = before.done, before.halves.copy()
    end = np.inf if request.t1 is None else request.t1
    stepping.go_on_from(before.record.copy())
    if goes_on(RESULTS[done.status], done.time, request.t1):
        march = marching(_Stepping.begin, _Stepping.attempt, _Stepping.keep)
        with request.watched(stepping.where):
            done = march(stepping, Controls(end, done.steps + MOST_STEPS), done)
    record = stepping.record
    run = record.path()
    with doing("its error"), request.watched(stepping.where):
        check = _halved(stepping, halves, request.deadline.both)
    saved = request.saved(run.times)
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
        "steps": done.steps,
        "rejected": done.rejected,
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
        result=RESULTS[done.status],
        problem=problem,
        interpolant=lambda t: lift(run.at(t)),
        predictor_error=predictor_error,
        continuation=partial(
            integrate_factored, problem, before=_Runs(record, done, stepping.record)
        ),
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
    least = LEAST_TOLERANCE * float(np.sqrt(np.max(np.abs(problem.data.y))) / np.sqrt(inputs))
    largest = max(float(np.max(np.abs(leaf))) for leaf in problem.start)
    if 0 < largest < least:
        raise ScaleError(
            f"start: weights up to {largest:g} drown in the rounding of those they grow into; "
            f"needs {least:g}"
        )


class _Pairs(NamedTuple):
    """Of designs that see one entry of M each, x_n·M[i_n, j_n]: where the products of two of them
    are looked up, and x_nx_k; all (n, n)."""

    rows: Index  # i_k, i_n, in a matrix of rows by rows
    columns: Index  # j_n, j_k
    across: Index  # i_k, j_n
    back: Index  # i_n, j_k
    weights: Array

    @classmethod
    def of(cls, inputs: Array) -> _Pairs | None:
        """None where a design sees more, or there are too many."""
        n, p, q = inputs.shape
        where, i, j = inputs.nonzero()
        if n > MOST_ENTRIES or not np.array_equal(where, np.arange(n)):
            return None
        x, rows, columns = inputs[where, i, j], i[:, None], j[:, None]
        return cls(
            i * p + rows, columns * q + j, i * q + columns, rows * q + j, np.multiply.outer(x, x)
        )


@dataclass(frozen=True, eq=False)
class _Field:
    """Ẏ = −S(G)Y with G = 2c·Σ(⟨M, X_n⟩ − y_n)X_n."""

    X: Array
    y: Array
    slope: float
    rows: int
    inputs: Array
    pairs: _Pairs | None

    @classmethod
    def of(cls, problem: Problem) -> _Field:
        X, y, shape = problem.data.X, problem.data.y, problem.model.shape
        inputs = X.reshape(-1, *shape)
        return cls(X, y, 2 * problem.loss.factor(len(y)), shape[0], inputs, _Pairs.of(inputs))

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

    def ending(self, Y: Array, residual: Array, force: Array) -> int:
        """Whether residual or force is what rounding leaves of it."""
        sizes = np.abs(self.X) @ self.product(np.abs(Y)).ravel() + np.abs(self.y)
        if np.all(np.abs(residual) <= ROUNDINGS * EPS * sizes):
            return FLOOR
        if np.all(
            np.abs(force) <= ROUNDINGS * EPS * self.turned(np.abs(self.slopes(residual)), np.abs(Y))
        ):
            return STATIONARY
        return MARCHING


class _Stepping:
    """The flow step by step. A step may miss every factor by rtol of itself or of the start, and M
    by rtol of the labels."""

    def __init__(self, field: _Field, start: Array, request: FlowRequest) -> None:
        self.field, self.record, self.over = field, Recorder(start), request.deadline.first
        self.rtol, self.forever = max(request.rtol, LEAST_TOLERANCE), request.t1 is None
        self.K, self.change = np.zeros((STAGES, *start.shape)), np.empty_like(start)
        self.begin_at(start)
        residual = self.residual
        self.threshold = CONVERGED * float(residual @ residual)
        self.floor = float(np.max(np.abs(start)))
        self.size = float(max(np.max(np.abs(field.y)), np.max(np.abs(residual))))

    def go_on_from(self, record: Recorder) -> None:
        self.record = record
        self.begin_at(record.states[-1])

    def begin_at(self, Y: Array) -> None:
        self.Y, self.residual, self.force = Y, self.field.residual(Y), self.field(Y)

    def where(self) -> tuple[float, float]:
        """Time and loss at the last step."""
        residual = self.residual
        return self.record.times[-1], 0.5 * self.field.slope * float(residual @ residual)

    def first_step(self) -> float:
        """A share of the inverse of a bound on the Jacobian."""
        field = self.field
        rate = float(np.linalg.norm(field.slopes(self.residual), 2)) + field.slope * float(
            np.linalg.norm(self.Y, 2) ** 2 * np.linalg.norm(field.X, 2) ** 2
        )
        return FIRST_STEP / rate if rate > 0 else 1.0

    def begin(self, t: float, step: float, steps: int) -> tuple[int, float]:
        Y, residual, ending = self.Y, self.residual, MARCHING
        if self.forever:
            converged = float(residual @ residual) <= self.threshold
            ending = STOPPED if converged else self.field.ending(Y, residual, self.force)
        if ending == MARCHING and self.over():
            ending = TIME_LIMIT
        # times an error of the factors, how far M moves; one where there is nothing
        longest_row = float(np.sqrt(np.max(np.sum(Y * Y, axis=1)))) or 1.0
        self.allowed = (
            self.rtol * np.minimum(self.floor + np.abs(Y), self.size / longest_row)
            + EPS * np.max(np.abs(Y))
            + SMALLEST_NORMAL
        )
        return ending, step

    def attempt(self, step: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                self.factorise(step)
            except np.linalg.LinAlgError:
                return np.inf
            self.K[0] = self.force
            self.take_stages(step, self.K, self.change)
            missed = float(np.max(np.abs(self.K[-1]) / self.allowed))
        return missed if np.isfinite(missed) else np.inf

    def keep(self, t: float, after: float, step: float) -> None:
        Y = self.Y.copy()
        add_stages(B, self.K, STAGES, 1.0, Y)
        self.record.add(after, Y, self.K)
        self.begin_at(Y)

    def force_at(self, change: Array, out: Array) -> None:
        out[:] = self.field(self.Y + change)

    def factorise(self, step: float) -> None:
        """For (1/(γ·step) − J)⁻¹b: k + R·S(G'(k))Y = R·b, R = (1/(γ·step) + S)⁻¹, an n × n system
        for the change of the residual."""
        field, Y = self.field, self.Y
        p, n = field.rows, len(self.residual)
        system, G, Z = np.eye(len(Y)) / (GAMMA * step), field.slopes(self.residual), Y @ Y.T
        system[:p, p:], system[p:, :p] = G, G.T
        self.R = np.linalg.inv(system)
        first, cross, last = self.R[:p, :p], self.R[:p, p:], self.R[p:, p:]
        UU, M, VV, pairs = Z[:p, :p], Z[:p, p:], Z[p:, p:], field.pairs
        if pairs is None:
            E, E_T = field.inputs, field.inputs.swapaxes(1, 2)
            pulled = first @ (E @ VV) + UU @ (E @ last) + cross @ (E_T @ M) + M @ (E_T @ cross)
            coupled = pulled.reshape(n, -1) @ field.X.T
        else:
            coupled = first.take(pairs.rows) * VV.take(pairs.columns)
            coupled += UU.take(pairs.rows) * last.take(pairs.columns)
            coupled += cross.take(pairs.across) * M.take(pairs.back)
            coupled += M.take(pairs.across) * cross.take(pairs.back)
            coupled *= pairs.weights
        self.inverse = np.linalg.inv(np.eye(n) + field.slope * coupled)

    def solve(self, b: Array) -> None:
        field, (U, V), free = self.field, self.field.split(self.Y), self.R @ b
        top, bottom = field.split(free)
        change = self.inverse @ (field.X @ (top @ V.T + U @ bottom.T).ravel())
        b[:] = free - self.R @ field.turned(field.slopes(change), self.Y)

    take_stages = staging(add_stages, force_at, solve)


def _halved(stepping: _Stepping, halves: Recorder, over: Callable[[], bool]) -> Path:
    """The run again, every step in two halves, on from those given and as far as it gets."""
    times, reached = stepping.record.times, halves.times[-1]
    stepping.allowed = np.full(halves.states[0].shape, np.inf)
    stepping.go_on_from(halves)
    for begin, end in itertools.pairwise(times):
        for t in ((begin + end) / 2, end):
            if t <= reached:
                continue
            if stepping.attempt((end - begin) / 2) > 0 or over():
                return halves.path()
            stepping.keep(begin, t, (end - begin) / 2)
    return halves.path()
