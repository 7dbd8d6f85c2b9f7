"""The arrays that the kernels of the ReLU flow share.

A neuron v_j = (a_j, w_j) is kept as ρ_j = log‖v_j‖ and the unit vector v_j/‖v_j‖, so that a scale
of 1e-80 is like any other and
a sign change of a_j is nothing special: with D_j = −Σ_k σ'_jk r_k x_k it follows the linear
equation v̇ = (⟨D, w⟩, a·D). A row of the state is (ρ, ā, z̄): z̄ are the coordinates of w̄ in an
orthonormal basis of the span of the inputs; the rest of w never moves.

Inputs that are positive or negative multiples of each other switch together. They form a *group*
with one unit direction u_g, the signs of their multiples being their sides. A pair (neuron, group)
has one of three gates: OFF (⟨w, u⟩ < 0), ON (> 0) or SLIDE (= 0, held there by the field in
Filippov's sense). D_j = −Σ_g F_g u_g, F_g being F0_g where the gate is OFF, F1_g where it is ON.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._core.arguments import Array, Index

Gates = NDArray[np.int8]

OFF, ON, SLIDE = 0, 1, 2
RHO, OUT, FIRST = 0, 1, 2
"""Columns of the state: ρ, ā, and the first coordinate of z̄."""
START, END = 0, 1
"""The ends of a step, as indices."""
LOG_ROWS, LOG_COLUMNS = 256, 5
"""Room for changes of gates at first: time, neuron, group, before, after."""
HYSTERESIS = 1e-13
"""How far ⟨v̄, u⟩ must pass zero to count as crossed: above rounding, below any tolerance."""
ROUNDING = 1e-14
"""Inner products of unit vectors up to which they are orthogonal."""
BALANCED = 8 * float(np.finfo(float).eps)
"""Relative difference of |a| and ‖w‖ up to which a neuron is balanced."""
DEPENDENT = 1e-11
"""Distance from the span of the others below which a direction is dependent on them."""


class Geometry(NamedTuple):
    """Inputs as the kernels see them. Member arrays run over the samples with x ≠ 0."""

    U: Array  # (G, r+2): unit directions of the groups, after two zero columns
    UT: Array  # (r+2, G): its transpose
    group: Index  # (N,): the group of each sample
    # (N,): +1 where the sample is a positive multiple of the direction, −1 where negative
    side: Array
    kappa: Array  # (N,): ‖x‖
    labels: Array  # (N,)
    speed: float  # ∂loss/∂h = speed·(h − y)
    slope: float  # σ' on the negative side
    two_sided: bool  # whether any side is −1 or the slope is positive: then OFF gates carry force


class Invariants(NamedTuple):
    """What each neuron keeps: c = a² − ‖w‖² as sign and log|c|, and log of the squared norm of the
    part of w that never moves."""

    sign: Array
    log_size: Array
    log_fixed: Array
    balanced: bool  # whether c = 0 of all, and no part never moves


class Slides(NamedTuple):
    """The sliding groups of every neuron in the order in which they came, an orthonormal basis of
    their directions, and the Cholesky factor of their Gram matrix: the directions in that basis."""

    sizes: Index  # (m,): how many
    which: Index  # (m, cap)
    # (m, cap, cap); a zero on the diagonal marks a direction that depends on those before
    lower: Array
    basis: Array  # (m, cap, r+2); zero where a direction depends on those before
    # (m, cap): what was removed last in that basis, or the forces that keep the groups at zero
    held: Array


class Work(NamedTuple):
    """Scratch space of the field, and what it leaves behind: forces and pulls of its last
    evaluation.

    Neurons with the same gates are kin: one pull moves them all, and of them the predictions see
    one sum. Tables of m rows have one for each kin, and are filled as far as there are any.
    """

    P: Array  # (m, G): ⟨Σ a_j w_j, u_g⟩ of the kin, over all that they have in common
    Q: Array  # (m, G): −F of each gate
    on: Array  # (m, G): 1 where the gate is ON, else 0
    off: Array  # (m, G): 1 where the gate is OFF and carries force, else 0
    D: Array  # (m, r+2): the pull, the sliding part removed, after two zero columns
    sums: Array  # (m, r+2): Σ a_j w_j, or its rate
    plus: Array  # (G,): Σ_j a_j σ(⟨w_j, u_g⟩)
    minus: Array  # (G,): Σ_j a_j σ(−⟨w_j, u_g⟩)
    F0: Array  # (G,)
    F1: Array  # (G,)
    masks: Array  # (2, G, m): on and off, neuron beside neuron, of a field in the plane
    lanes: Array  # (7, m): e^{2ρ}ā; ρ and e^{2ρ} of a state before; z̄ and D in the plane
    kin: Index  # (m,): of each neuron, which
    chief: Index  # (m,): the first neuron of each
    many: Index  # (1,): how many there are
    marks: Index  # (m,): a number that tells the gates of neurons apart, but for accidents
    slots: Index  # (at least 2m, a power of two): where kin are looked up by it


class Tolerances(NamedTuple):
    """Of a step: its local error; and how late a slide may end, its force being outside by a share
    of the largest force and by the forces' own rounding."""

    rtol: float
    late: float
    noise: float


class Span(NamedTuple):
    """A step from both ends, which come first among the indices: pre-activations and forces with
    their slopes."""

    P: Array  # (2, m, G)
    dP: Array
    forces: Array  # (2, 2, G): of both ends, F0 and F1
    rates: Array


class Log(NamedTuple):
    """Changes of gates: rows (time, neuron, group, before, after)."""

    rows: Array
    filled: Index  # (1,): how many of them
