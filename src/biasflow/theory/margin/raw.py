"""Networks under the smooth margin by raw gradients, and F1 max margins by searching directions:
what training is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.trees import leaf_map, leaves
from ...models import SignedTwoLayer

RTOL = 1e-5
"""Of a raw flow, if nothing else is said. Kinks of ReLUs are stepped across at this tolerance."""
LOOSER_FACTORS = (5.0, 10.0, 20.0)
"""Tolerances, over that of a raw flow, of the runs that tell its error, the largest distance from
one of them.

On smooth networks they are off by as many times its error. A step across a kink has an error that
depends on where in the step
the kink lies, of either sign, and so has the difference of orders by which steps are judged: a run
that is off by up to T times as much, by steps that end elsewhere, comes by chance closer than the
error in one case of T, all three of them in one of 1000."""
EVALUATIONS = 6000
"""Gradients that a raw flow may take: half a second for some hundred neurons."""
SEARCHED_DIRECTIONS = 20_000
"""Directions of the first linear program and of every search."""
CANDIDATES = 60
"""Best directions of either sign around which a search zooms in."""
CLOSE_UP = 40
"""Directions tried around each candidate, at each of `LEVELS` radii, each a third of the one
before."""
LEVELS = 14
ROUNDS = 12
GAP = 1e-6
"""Relative gap of a searched max margin that is small enough."""


@dataclass(frozen=True, eq=False)
class RawRun:
    """Where ∇L leads: times that were reached, parameters there and in looser runs, and by how much
    those are off, in scores."""

    times: Array
    states: list[Any]
    looser: list[tuple[Any, ...]]
    error: Array


def raw_flow(problem: Problem, times: Array, most: int = EVALUATIONS, rtol: float = RTOL) -> RawRun:
    """ẇ = −∇L(w) by Runge–Kutta 4(5) as far as `most` gradients lead; the last state is where they
    ended."""
    reached, states = _followed(problem, times, rtol, most)
    runs = [
        _followed(problem, np.asarray(reached), looser * rtol, most)[1] for looser in LOOSER_FACTORS
    ]
    others = list(zip(*runs, strict=False))
    error = [
        max(_off(problem, w, loose) for loose in each)
        for w, each in zip(states, others, strict=False)
    ]
    k = len(others)
    return RawRun(np.array(reached[:k]), states[:k], others, np.array(error))


def _off(problem: Problem, one: Any, other: Any) -> float:
    return float(np.max(np.abs(scores(problem, one) - scores(problem, other))))


def _followed(
    problem: Problem, times: Array, rtol: float, most: int
) -> tuple[list[float], list[Any]]:
    from scipy.integrate import RK45

    X, y, start = problem.data.X, problem.data.y, problem.start
    ends = np.cumsum([leaf.size for leaf in leaves(start)])

    def read(flat: Array) -> Any:
        parts = iter(np.split(flat, ends[:-1]))
        return leaf_map(lambda leaf: next(parts).reshape(np.shape(leaf)), start)

    def downhill(t: float, flat: Array) -> Array:
        w = read(flat)
        slopes = problem.model.gradient(w, X, problem.loss.gradient(problem.model(w, X), y))
        return -np.concatenate([np.ravel(leaf) for leaf in leaves(slopes)])

    flat = np.concatenate([np.ravel(leaf) for leaf in leaves(start)])
    solver = RK45(
        downhill, 0.0, flat, float(times[-1]), rtol=rtol, atol=rtol * float(np.max(np.abs(flat)))
    )
    reached, states, wanted = [], [], list(times)
    while solver.status == "running" and solver.nfev < most:
        solver.step()
        while wanted and solver.t >= wanted[0]:
            reached.append(wanted.pop(0))
            states.append(read(solver.dense_output()(reached[-1])))
    if wanted:
        reached.append(float(solver.t))
        states.append(read(solver.y))
    return reached, states


def scores(problem: Problem, params: Any) -> Array:
    """y_if(x_i)/Σ‖w‖², (n,)."""
    size = np.sqrt(sum(float(np.sum(leaf**2)) for leaf in leaves(params)))
    unit = leaf_map(lambda leaf: leaf / size, params)
    return np.asarray(problem.data.y * problem.model(unit, problem.data.X))


def log_norm(params: Any) -> float:
    """log β, β = Σ‖w‖²."""
    return float(np.log(sum(float(np.sum(leaf**2)) for leaf in leaves(params))))


@dataclass(frozen=True, eq=False)
class Searched:
    """γ₁ between `lower`, the margin of a measure, and `upper`, the largest gain found for the
    weights p on the samples."""

    lower: float
    upper: float
    weights: Array

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.upper


def searched_margin(problem: Problem) -> Searched:
    """γ₁ by linear programs over directions: first a grid, then the largest gains of the dual
    weights, found by zooming in."""
    from scipy.optimize import linprog

    inputs, y = problem.data.X, problem.data.y
    power, factor = (2, 1.0) if isinstance(problem.model, SignedTwoLayer) else (1, 0.5)
    grid = spread_directions(inputs.shape[1])
    rng = np.random.default_rng(0)
    u = grid[:: max(len(grid) // 600, 1)]
    best = Searched(0.0, np.inf, np.full(y.size, 1 / y.size))
    for _ in range(ROUNDS):
        values = factor * y[:, None] * np.maximum(inputs @ u.T, 0.0) ** power
        unit = float(np.max(np.abs(values)))
        rows = np.hstack([-values / unit, values / unit, np.ones((y.size, 1))])
        cost, total = (
            np.append(np.zeros(2 * len(u)), -1.0),
            np.append(np.ones(2 * len(u)), 0.0)[None],
        )
        found = linprog(
            cost, rows, np.zeros(y.size), total, [1.0], [(0, None)] * (2 * len(u)) + [(None, None)]
        )
        p = np.maximum(-found.ineqlin.marginals, 0.0)
        p, lower = p / np.sum(p), -found.fun * unit
        more, gain = largest_gains(inputs, factor * p * y, power, grid, rng)
        best = (
            Searched(lower, gain, p)
            if gain < best.upper
            else Searched(max(lower, best.lower), best.upper, best.weights)
        )
        if best.gap <= GAP:
            break
        used = found.x[: len(u)] + found.x[len(u) : -1] > 0
        u = np.vstack([u[used], more])
    return best


def spread_directions(d: int) -> Array:
    """Unit vectors: evenly on the circle, a spiral on the sphere, random beyond."""
    k = np.arange(SEARCHED_DIRECTIONS)
    if d == 2:
        return np.stack(
            [
                np.cos(2 * np.pi * k / SEARCHED_DIRECTIONS),
                np.sin(2 * np.pi * k / SEARCHED_DIRECTIONS),
            ],
            axis=1,
        )
    if d == 3:
        height, turn = 1 - (2 * k + 1) / SEARCHED_DIRECTIONS, np.pi * (1 + np.sqrt(5)) * k
        flat = np.sqrt(1 - height**2)
        return np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    u = np.random.default_rng(1).standard_normal((SEARCHED_DIRECTIONS, d))
    return np.asarray(u / np.linalg.norm(u, axis=1)[:, None])


def largest_gains(
    inputs: Array, q: Array, power: int, grid: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """Directions of large |Σq_i(⟨u, x_i⟩)₊^power|, and the largest value."""
    gains = np.maximum(grid @ inputs.T, 0.0) ** power @ q
    order = np.argsort(gains)
    centres = grid[np.concatenate([order[:CANDIDATES], order[-CANDIDATES:]])]
    sides = np.repeat([-1.0, 1.0], CANDIDATES)
    radius = (
        3
        * (2 * np.pi if grid.shape[1] == 2 else np.sqrt(4 * np.pi * SEARCHED_DIRECTIONS))
        / SEARCHED_DIRECTIONS
    )
    for _ in range(LEVELS):
        tried = centres[:, None] + radius * rng.uniform(
            -1, 1, (len(centres), CLOSE_UP, grid.shape[1])
        )
        tried = np.concatenate(
            [centres[:, None], tried / np.linalg.norm(tried, axis=2)[..., None]], axis=1
        )
        values = sides[:, None] * (np.maximum(tried @ inputs.T, 0.0) ** power @ q)
        centres = tried[np.arange(len(centres)), np.argmax(values, axis=1)]
        radius /= 3
    return centres, float(np.max(values))
