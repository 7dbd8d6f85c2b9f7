"""How long the next step of a march is, and whether there is one."""

from __future__ import annotations

import math

from ..._core.arguments import Array
from ..._numerics.compilation import borrowing, seldom_borrowing
from .gated_field import show_pulls
from .layout import FIRST, OUT, RHO, Work
from .march_record import Request
from .small_algebra import larger, smaller

REACHED_T1, CONVERGED, STATIONARY, STEP_LIMIT, STEP_TOO_SMALL, TIME_LIMIT = 0, 1, 2, 3, 4, 5
"""Why a march ended."""
SAFETY, SHRINK, GROW = 0.9, 0.2, 6.0
"""Share of the step that the error would allow, and how much a step may shrink or grow at once."""
EASY, CALM = 1e-12, 1e-4
"""Errors, in units of the tolerance, below which the control of steps takes them for these: of this
step, and of the one before."""
STABLE = 2.6
"""Step times stiffest rate kept inside the stability region (3.3), so that fast modes decay and the
loss can converge."""
FIRST_STEP = 0.01
"""First step, in units of the time in which the fastest neuron turns."""
NO_PROGRESS = 1e-15
"""Step relative to the time, below which rounding stops the clock."""
HALF = 0.5
"""Longest step of a run on the mesh of another, in units of the other's: what is of fifth order is
a 32nd of the other's."""
SLIVER = 1e-6
"""Part of a cell of that mesh that is not worth a step."""


@seldom_borrowing
def fastest_pull(Y: Array, work: Work) -> float:
    """The largest speed of a neuron in units of its own norm: max of |⟨D, v̄⟩| and |ā|·‖D‖."""
    fastest = 0.0
    show_pulls(work)
    for j in range(Y.shape[0]):
        along, square, D = 0.0, 0.0, work.D[work.kin[j]]
        for i in range(D.size):
            along += D[i] * Y[j, i]
            square += D[i] ** 2
        fastest = larger(fastest, larger(along * along, Y[j, OUT] ** 2 * square))
    return math.sqrt(fastest)


@borrowing
def at_rest(Y: Array, work: Work, still: float, faint: float) -> bool:
    """Whether no neuron moves, but for those that vanish: of negligible size, shrinking, and not
    turning any more."""
    show_pulls(work)
    for j in range(Y.shape[0]):
        along, square, out, D = 0.0, 0.0, Y[j, OUT], work.D[work.kin[j]]
        for i in range(D.size):
            along += D[i] * Y[j, i]
            square += D[i] ** 2
        if larger(along * along, out * out * square) <= still * still:
            continue
        growth = 2 * out * along
        turning = (along - growth * out) ** 2
        for i in range(FIRST, Y.shape[1]):
            turning += (out * D[i] - growth * Y[j, i]) ** 2
        if not (2 * Y[j, RHO] <= faint and growth < 0.0 and turning <= still * still):
            return False
    return True


@borrowing
def ending(t: float, square: float, Y: Array, work: Work, ask: Request) -> int:
    """Why to stop here, or STEP_LIMIT to go on."""
    if t >= ask.t1:
        return REACHED_T1
    if square <= ask.goal:
        return CONVERGED
    return STATIONARY if ask.still >= 0.0 and at_rest(Y, work, ask.still, ask.faint) else STEP_LIMIT


@borrowing
def next_step(h: float, error: float, previous: float, grow: float, stiffness: float) -> float:
    """Proportional–integral control, inside the stability region."""
    wish = SAFETY * larger(error, EASY) ** -0.17 * previous**0.04
    h *= smaller(grow, larger(SHRINK, wish))
    return smaller(h, STABLE / stiffness) if stiffness > 0.0 else h


@borrowing
def halved(h: float, t: float, mesh: Array, cell: int) -> tuple[float, int]:
    """The step h at t cut so that every cell of the mesh takes two steps at least and ends with
    one; and the cell t is in."""
    while cell + 1 < mesh.size and mesh[cell + 1] - t <= SLIVER * (
        mesh[cell + 1] - mesh[cell if cell > 0 else 0]
    ):
        cell += 1
    if cell + 1 >= mesh.size:
        return h, cell
    left = mesh[cell + 1] - t
    width = mesh[cell + 1] - mesh[cell] if cell >= 0 else 0.0
    # a cell far shorter than the sliver before it takes one
    whole = HALF * left <= width and (1 - SLIVER) * left > HALF * width
    return smaller(h, HALF * left if whole else left), cell
