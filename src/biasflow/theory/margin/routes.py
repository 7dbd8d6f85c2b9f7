"""Second routes to C's margins, kernels and distances that share no line with the solvers: cells,
quadrature, sweeps, digits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..._core.arguments import Array
from ...losses import ExponentialLoss, MarginLoss

EMPTY_CONE_DISTANCE = 1e-13
"""Distance of the origin from the hull of unit rows below which their cone has no inside: rounding
of least squares."""
MOST_CELLS = 6000
"""Cells beyond which an enumeration is given up: some ten seconds."""
NODES = 24
"""Of a Gauss–Legendre rule on at most half a turn: a product of two cosines is then integrated to
rounding."""
SWEEP_WIDTH = 1e-3
"""Relative width at which a sweep over projections stops."""
SEARCH_EXCESS = 1e-6
"""Relative excess at which a search for the largest gain of squared ReLUs stops."""
PATCHES = 200_000
"""Of a sweep at one time."""
DIGITS = 60
"""Of the soft minimum and its differences."""
NUDGE = Decimal("1e-16")
"""Step of a central difference with sixty digits: its error is of order 1e-32, and 1e-43 is left by
rounding."""


def activation_cells(rows: Array) -> NDArray[np.bool_] | None:
    """Which rows x̃_i (n, p) are active, ⟨u, x̃_i⟩ ≥ 0, in each cell of the sphere of u: (cells,
    n); None where there are too many.

    Rows are added one by one; a half of a cell is dropped where the origin lies in the hull of its
    signed rows. Thin cells that rounding drops lie within EMPTY_CONE_DISTANCE of others.
    """
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    signs: list[Array] = [np.zeros(0)]
    for k in range(len(unit)):
        split = [np.append(old, s) for old in signs for s in (1.0, -1.0)]
        signs = [
            new
            for new in split
            if _hull_distance(new[:, None] * unit[: k + 1]) > EMPTY_CONE_DISTANCE
        ]
        if len(signs) > MOST_CELLS:
            return None
    return np.array(signs) > 0


def _hull_distance(rows: Array) -> float:
    """√ of the least ‖Σλ_ir_i‖² + (1 − Σλ)², λ ≥ 0: zero iff the hull has the origin."""
    return float(
        nnls(np.vstack([rows.T, np.ones((1, len(rows)))]), np.append(np.zeros(rows.shape[1]), 1.0))[
            1
        ]
    )


def largest_gain(rows: Array, signed: Array, cells: NDArray[np.bool_]) -> float:
    """An upper bound on max_u ½|Σq_i(⟨u, x̃_i⟩)₊| over the sphere, attained up to rounding.

    In a cell the sum is ⟨g, u⟩ with g = Σ_{active}q_ix̃_i, and at most ‖g + Aᵀλ‖ for any λ ≥ 0, A
    the signed rows, Au ≥ 0.
    """
    best = 0.0
    slopes = (cells * signed) @ rows
    lengths = np.linalg.norm(slopes, axis=1)
    for k in np.argsort(-lengths):
        if lengths[k] <= best:
            break
        bounds = np.where(cells[k], 1.0, -1.0)[:, None] * rows
        best = max(best, *(float(nnls(bounds.T, -sign * slopes[k])[1]) for sign in (1.0, -1.0)))
    return best / 2


def largest_square_gain(rows: Array, signed: Array) -> float:
    """An upper bound on max_u|Σq_i(⟨u, x̃_i⟩)₊²| over the sphere of R² or R³, proven patch by
    patch, attained to 1e-6.

    Along a great circle the second derivative of such a sum is at most 2Σ|q_i|‖x̃_i‖², so that
    within ρ of a patch's centre the sum exceeds its value there by at most ρ times its gradient and
    half of that times ρ². Patches of a cube's faces are halved.
    """
    d = rows.shape[1]
    curvature = 2 * float(np.abs(signed) @ np.sum(rows**2, axis=1))
    half, best = 0.25, 0.0
    grid = np.array(list(itertools.product(np.linspace(-0.75, 0.75, 4), repeat=d - 1)))
    ends = [np.insert(grid, axis, side, axis=1) for axis in range(d) for side in (1.0, -1.0)]
    patches, faces = np.concatenate(ends), np.repeat(np.arange(d), 2 * len(grid))
    corners = np.array(list(itertools.product([-0.5, 0.5], repeat=d - 1)))
    while True:
        u = patches / np.linalg.norm(patches, axis=1)[:, None]
        hidden = np.maximum(u @ rows.T, 0.0)
        values, slopes = hidden**2 @ signed, 2 * (hidden * signed) @ rows
        across = np.linalg.norm(slopes - np.sum(slopes * u, axis=1)[:, None] * u, axis=1)
        radius = half * np.sqrt(d - 1)  # a cube's face is not nearer to the origin than the sphere
        uppers = np.abs(values) + across * radius + curvature * radius**2 / 2
        best = max(best, float(np.max(np.abs(values))))
        unsettled = uppers > best * (1 + SEARCH_EXCESS)
        if not np.any(unsettled) or np.sum(unsettled) * len(corners) > PATCHES:
            return max(best * (1 + SEARCH_EXCESS), float(np.max(uppers)))
        faces = faces[unsettled]
        shifts = np.stack([np.insert(half * corners, axis, 0.0, axis=1) for axis in range(d)])[
            faces
        ]
        patches = (patches[unsettled][:, None, :] + shifts).reshape(-1, d)
        faces, half = np.repeat(faces, len(corners)), half / 2


def circle_kernel(rows: Array, others: Array) -> Array:
    """E[(⟨u, a⟩)₊(⟨u, b⟩)₊] over the sphere of R^p for rows a, b: an integral over a circle, of a
    cosine times a turned one.

    The plane of a and b holds 2/p of u's squared length: k = ‖a‖‖b‖/(πp)·∫cos φ·cos(φ − θ)dφ from θ
    − π/2 to π/2.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    lengths = np.linalg.norm(others, axis=1)
    result = np.empty((len(rows), len(others)))
    for i, row in enumerate(rows):
        size = np.linalg.norm(row)
        cosine = (others / lengths[:, None]) @ (row / size)
        across = np.linalg.norm(others / lengths[:, None] - cosine[:, None] * (row / size), axis=1)
        theta = np.arctan2(across, cosine)[:, None]
        half = (np.pi - theta) / 2
        phi = theta / 2 + half * nodes
        result[i] = (
            size
            * lengths
            * np.sum(half * weights * np.cos(phi) * np.cos(phi - theta), axis=1)
            / (np.pi * rows.shape[1])
        )
    return result


def swept_distance(differences: Array, rank: int) -> tuple[float, float] | None:
    """A bracket of sup_P min_k‖Pδ_k‖ over projections of rank one or d − 1 in at most three
    dimensions, by a sweep of the sphere.

    Where the axis of P turns by ρ, ‖Pδ‖ changes by at most ‖δ‖ρ. Patches of a cube's faces are
    halved until none can hold more than the best of their centres by a part in a thousand. None:
    another rank or dimension.
    """
    d = differences.shape[1]
    if not 2 <= d <= 3 or rank not in (1, d - 1):
        return None
    lengths = np.linalg.norm(differences, axis=1)
    half, best = 0.25, 0.0
    ticks = np.linspace(-0.75, 0.75, 4)
    grid = np.array(list(itertools.product(ticks, repeat=d - 1)))
    patches = np.concatenate([np.insert(grid, axis, 1.0, axis=1) for axis in range(d)])
    corners = np.array(list(itertools.product([-0.5, 0.5], repeat=d - 1)))
    faces = np.repeat(np.arange(d), len(grid))
    while True:
        values, uppers = _patch_bounds(differences, lengths, patches, rank, half * np.sqrt(d - 1))
        best = max(best, float(np.max(values)))
        unsettled = uppers > best * (1 + SWEEP_WIDTH)
        if not np.any(unsettled):
            return best, best * (1 + SWEEP_WIDTH)
        if np.sum(unsettled) * len(corners) > PATCHES:
            return best, float(np.max(uppers))
        faces = faces[unsettled]
        shifts = np.stack([np.insert(half * corners, axis, 0.0, axis=1) for axis in range(d)])[
            faces
        ]
        patches = (patches[unsettled][:, None, :] + shifts).reshape(-1, d)
        faces, half = np.repeat(faces, len(corners)), half / 2


def _patch_bounds(
    differences: Array, lengths: Array, patches: Array, rank: int, radius: float
) -> tuple[Array, Array]:
    """The distance at each patch's centre, and what it can be at most on the patch."""
    axes = patches / np.linalg.norm(patches, axis=1)[:, None]
    along = np.abs(axes @ differences.T)
    seen = along if rank == 1 else np.sqrt(np.maximum(lengths**2 - along**2, 0.0))
    return np.min(seen, axis=1), np.min(np.minimum(seen + lengths * radius, lengths), axis=1)


def alternating_bracket(x: Array, y: Array) -> tuple[float, float]:
    """γ₁ of points on a line, in order, with alternating labels: a bracket from two objects written
    down, not solved for.

    Below: the zigzag through (x_i, y_i), bent at the samples; a bend by c at t costs the mass
    2|c|√(1 + t²), the straight piece in the middle with (slope, height) = v 4‖v‖. Above: weights p
    for which J of a hinge at x_j is (−1)^j√(1 + x_j²) up to a factor and J of straight pieces zero;
    between samples J is straight over √(1 + t²), whose largest value is known.
    """
    h = np.diff(x)
    slopes = np.diff(y) / h
    bends, middle = np.diff(slopes), len(h) // 2
    straight = np.hypot(slopes[middle], y[middle] - slopes[middle] * x[middle])
    mass = float(np.sum(2 * np.abs(bends) * np.hypot(1.0, x[1:-1])) + 4 * straight)
    gains = np.where(np.arange(x.size) % 2 == 0, 1.0, -1.0) * np.hypot(1.0, x)
    gains[[0, -1]] = 0.0
    tails = np.append(-np.diff(gains) / h, 0.0)  # Σ_{i>j} q_i
    q = np.append(0.0, tails[:-1]) - tails
    slope, height = np.diff(gains) / h, gains[:-1] - np.diff(gains) / h * x[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = slope / height
    inside = (peak > x[:-1]) & (peak < x[1:])
    largest = max(
        float(np.max(np.abs(gains) / np.hypot(1.0, x))),
        float(np.max(np.hypot(slope, height)[inside], initial=0.0)),
    )
    return 1 / mass, largest / 2 / float(np.sum(np.abs(q)))


def precise_smooth_margin(scores: Sequence[Decimal], loss: MarginLoss) -> Decimal:
    """S(u) = −log((1/n)Σℓ(−u_i)) with sixty digits, for the exponential and the logistic loss."""
    with localcontext(_context()):
        total = sum((_loss_value(u, isinstance(loss, ExponentialLoss)) for u in scores), Decimal(0))
        return -(total / len(scores)).ln()


def precise_gradient(scores: Array, loss: MarginLoss) -> Array:
    """∇S by central differences of S with sixty digits."""
    u = [Decimal(float(each)) for each in scores]
    result = np.empty(len(u))
    with localcontext(_context()):
        for i in range(len(u)):
            ends = [
                precise_smooth_margin([*u[:i], u[i] + step, *u[i + 1 :]], loss)
                for step in (NUDGE, -NUDGE)
            ]
            result[i] = float((ends[0] - ends[1]) / (2 * NUDGE))
    return result


@lru_cache(maxsize=4096)
def _loss_value(u: Decimal, exponential: bool) -> Decimal:
    """ℓ(−u)."""
    z = (-u).exp()
    if exponential:
        return z
    return z - z * z / 2 + z * z * z / 3 if z < Decimal("1e-20") else (1 + z).ln()


def _context() -> Context:
    return Context(prec=DIGITS, Emin=-(10**9), Emax=10**9)
