"""R, Theorem 2.3: mirror flow whose minimisers lie on the boundary of the domain."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..._core.arguments import Array, Mask
from ...errors import BiasflowError
from ...limits import mirror_limit
from ..evidence import Evidence
from ..examples import boundary_family, boundary_problem
from ..hypotheses import CONTINUOUS, HALF_LINES, MIRROR, SQUARE
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind, unknown_check
from .bias import rival_checks
from .conditions import MOVES, START
from .limits_of_flows import of_this_flow
from .measured import AT_END, EPS, Measured, within_floats

PUSHED_SLOPE = 1e-6
"""Slope of F at its minimum, over its largest possible one, above which a coordinate is certainly
held at the wall."""
ON_WALL_BELOW = 1e-9
"""|β*_i| over ‖β*‖_∞ below which β* counts as on the wall: the residual at which its solver may
stop."""
UNCERTAIN_ROOM = (1e-12, 1e-6)
"""Room of minimisers inside the domain, over their size, between which the tolerance of a linear
program decides."""
VARIABLE_BOUND = 1e12
"""Bound on the variables of the program for a minimiser inside, which its tolerance needs."""


def _measured(evidence: Evidence) -> Measured:
    """With the limit on the closed domain: the projection onto the minimisers
    there."""
    if evidence not in _MEASURED:
        m = evidence.mirror
        fit = least_squares_fit(m.X, m.y, Measured(evidence).formulas.signs)
        try:
            limit = evidence.limit
        except BiasflowError:
            limit = mirror_limit(m.potential, m.X, m.y, m.beta0)
        _MEASURED[evidence] = Measured(evidence, limit, fit)
    return _MEASURED[evidence]


_MEASURED: weakref.WeakKeyDictionary[Evidence, Measured] = weakref.WeakKeyDictionary()


def least_squares_fit(X: Array, y: Array, signs: Array) -> Array:
    """Xβ at the least squares over the closed domain, by non-negative least squares (Lawson and
    Hanson)."""
    from scipy.optimize import nnls

    free = signs == 0
    columns = np.hstack([X[:, ~free] * signs[~free], X[:, free], -X[:, free]])
    size = np.linalg.norm(columns, axis=0)
    solution = nnls(columns / np.where(size > 0, size, 1.0), y, maxiter=100 * columns.shape[1])[0]
    return np.asarray(columns @ (solution / np.where(size > 0, size, 1.0)))


@within_floats
def _thm2_3(evidence: Evidence) -> tuple[Check, ...]:
    m = _measured(evidence)
    f, best = m.formulas, m.best
    slopes = f.signs * (m.X.T @ (m.fit - m.y))
    left = float(np.linalg.norm(m.fit - m.y))
    # then F has no slope, and holds nothing at the wall
    fitted = left <= PUSHED_SLOPE * float(np.linalg.norm(m.y))
    held = (
        (f.signs != 0) & (slopes > PUSHED_SLOPE * np.linalg.norm(m.X, axis=0) * left) & (not fitted)
    )
    infimum = 0.5 * float(np.sum((m.fit - m.y) ** 2))
    size = max(float(np.max(np.abs(best))), float(np.max(np.abs(m.start))))
    notes = m.notes
    return (
        _end(m, held, size, notes),
        *part(FALLEN, lambda: _lost(m, notes)),
        _equation_5(m, infimum, notes),
        *rival_checks(m, np.flatnonzero(~held & (np.abs(best) > ON_WALL_BELOW * size))),
        _inside(m, size),
        _fitted(m),
    )


def _end(m: Measured, held: Mask, size: float, notes: dict[str, Any]) -> Check:
    """Where the flow stopped against β*; what it still had to go is a Newton step on the
    coordinates that are not held.

    Held coordinates have β* = 0 and a slope that drives them there for ever: how far they came by T
    says nothing about β*, but what is left of them moves the others by as much.
    """
    name = "‖β(T) − β*‖_∞ over the larger of ‖β*‖_∞, ‖β₀‖_∞, where nothing is held at the wall"
    end = m.betas[-1]
    root = np.sqrt(m.formulas.weight(end)) * ~held
    step = np.abs(root * np.linalg.lstsq(m.X * root, m.fit - m.X @ end, rcond=None)[0])
    error = float(np.max(m.spread[-1] + 2 * step + m.best_error)) / size
    still = float(np.max(np.abs(end[held]), initial=0.0)) / size
    slow = (~held) & (m.formulas.signs != 0) & (np.abs(m.best) <= ON_WALL_BELOW * size)
    if error > AT_END or still > AT_END or np.any(np.abs(end[slow]) > AT_END * size):
        return unknown_check(name, f"the flow still has {max(error, still):.2g} of its way to go")
    apart = np.where(held, np.abs(m.best), np.abs(end - m.best))
    return Check(name, float(np.max(apart)) / size, "==", 0.0, error + still, **notes)


FALLEN = "(D_φ(β*, β₀) − D_φ(β*, β(T)))/∫⟨∇F, β − β*⟩dt"


def _lost(m: Measured, notes: dict[str, Any]) -> Check:
    """D_φ(β*, β₀) − D_φ(β*, β(T)) = ∫⟨∇F, β − β*⟩dt, which is ∫2(F − F*) where β* is inside."""
    last = np.array([len(m.times) - 1])
    total, quadrature = m.integral(
        lambda beta: np.asarray(m.gradient(beta) @ (beta - m.best)), last
    )
    density = np.sum(np.abs(m.residuals @ m.X) * m.spread, axis=1)
    density += np.sum((m.spread @ np.abs(m.X).T) * np.abs((m.betas - m.best) @ m.X.T), axis=1)
    along = float(np.sum(np.diff(m.times) * np.maximum(density[1:], density[:-1])))
    fallen, error = m.D[0] - m.D[-1], m.D_error[0] + m.D_error[-1] + float(quadrature[0]) + along
    return Check(
        FALLEN,
        fallen / float(total[0]),
        "==",
        1.0,
        error / abs(fallen),
        **notes,
    )


def _equation_5(m: Measured, infimum: float, notes: dict[str, Any]) -> Check:
    """Its null model is a flow ten times slower, whose F at ten times the time is this flow's."""
    excess = m.times * (m.F - infimum) / m.D[0]
    unsure = m.times * (m.F_error + 16 * EPS * (m.F + infimum)) / m.D[0]
    known, name = (
        np.flatnonzero(unsure < AT_END),
        "max t·(F(β(t)) − F*)/D_φ(β*, β₀) (R, equation 5)",
    )
    if known.size == 0:
        return unknown_check(name, "its error exceeds what tells everywhere")
    k = int(known[np.argmax(excess[known])])
    found = float(excess[k])
    return Check(name, found, "<=", 1.0, float(unsure[k]), null=10 * found, **notes)


def _inside(m: Measured, size: float) -> Check:
    """Minimisers inside the domain (1: there are), by max t with Xβ = ŷ, sign·β ≥ t, against the
    least sign·β*."""
    from scipy.optimize import linprog

    name = "minimisers inside the domain (1: there are) against β* inside"
    signs, d = m.formulas.signs, m.d
    confined = np.flatnonzero(signs)
    unit = max(size, float(np.max(np.abs(m.fit))))
    inequality = np.zeros((confined.size, d + 1))
    inequality[np.arange(confined.size), confined] = -signs[confined]
    inequality[:, d] = 1.0
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=inequality,
        b_ub=np.zeros(confined.size),
        A_eq=np.hstack([m.X, np.zeros((len(m.y), 1))]),
        b_eq=m.fit / unit,
        bounds=[(-VARIABLE_BOUND, VARIABLE_BOUND)] * d + [(None, 1.0)],
        method="highs",
    )
    if found.status != 0:
        return unknown_check(
            name, f"the linear program for a minimiser inside: {found.message.splitlines()[0]}"
        )
    room, least = float(found.x[d]), float(np.min((signs * m.best)[confined])) / size
    if UNCERTAIN_ROOM[0] < room < UNCERTAIN_ROOM[1]:
        return unknown_check(
            name, f"minimisers are within {room:.1g} of the boundary: which side is beyond rounding"
        )
    there = room >= UNCERTAIN_ROOM[1]
    return Check(
        name,
        float(least > (0.0 if there else ON_WALL_BELOW)),
        "==",
        float(there),
        witness="a linear program on the fit",
    )


def _fitted(m: Measured) -> Check:
    size = float(np.max(np.abs(m.X) @ np.abs(m.best) + np.abs(m.y))) or 1.0
    left = float(np.max(np.abs(m.X @ m.best - m.fit))) / size
    return Check(
        "|Xβ* − ŷ| over its terms", left, "==", 0.0, 1e-9, witness="non-negative least squares"
    )


thm2_3 = Claim(
    "R/thm2.3",
    "Where φ extends continuously, and strictly convex, to the closed domain, mirror flow "
    "converges to the Bregman projection of β₀ onto the minimisers of F there, on the boundary "
    "where no minimiser lies inside.",
    "R, Theorem 2.3",
    (MIRROR, SQUARE, START, HALF_LINES, CONTINUOUS, MOVES),
    boundary_problem,
    _thm2_3,
    kind=Kind.FLOW,
    witness="the flow in β (log|β| on half-lines), non-negative least squares, a linear program",
    null="a flow 10 times slower",
    family=boundary_family,
    limit=of_this_flow,
)

CLAIMS = (thm2_3,)
