"""The room of a compiled dual flow: its field, its aims, and the arrays that a march works in.

They are few, in rows with names: to compiled code every array is a structure of seven numbers that
each call passes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._numerics.rodas5p import STAGES
from .hypentropy_kernels import CURVE_ROWS

NODE_COUNT = 6
"""Nodes at which the defect of a step is looked at. Over a step it all but cancels, for the step is
of fifth order and its inside of fourth: what is left is seen by a quadrature of far higher order
only."""
RECORD_ROOM = 1024
"""Steps that one call of the march has room for, a multiple of sixteen, after which signs of copies
and looks at the floor repeat; Python empties it and calls again."""


class Field(NamedTuple):
    """A dual flow: η = η₀ + Xᵀν/c, β(η) by curves (see kernels), and how β is measured."""

    X: Any
    target: Any
    curves: Any
    """Of every coordinate (CURVE_ROWS + 6, d): what `mirror` wants, and the rows below."""
    speed: float
    reach: float
    """Largest |dη| of a change of ν of length one."""
    row_sum: float
    """Largest Σ|X_ij| of a sample."""
    log_significant: float
    """log|β| from which on it counts."""
    beyond: float
    """What β and weights are cut off at, which only trial steps reach."""


ETA0, FACTOR, LOG_SCALE, LEAST_WEIGHT, NORMS, LOG_NORMS = range(CURVE_ROWS, CURVE_ROWS + 6)
"""Rows of a field's curves: η₀, c, log of the scale of β, the least inverse curvature, ‖X_j‖ and
its logarithm."""


class Aims(NamedTuple):
    """What the march aims at."""

    allowed: float
    """Error of a step, as a relative error of β."""
    tail: float
    """The same, as a share of the force that is left."""
    threshold: float
    """½‖target − Xβ‖² at which the flow has converged; negative: it goes on to the final time."""


class Flow(NamedTuple):
    """A march's field, aims and working arrays."""

    field: Field
    aims: Aims
    points: Any
    """(POINT_ROWS, d)"""
    duals: Any
    """(DUAL_ROWS, n)"""
    squares: Any
    """(4, n, n)"""
    columns: Any
    """(3, n·d): columns of X of coordinates that bend, of those that only move, and scratch."""
    chosen: Any
    """(2, d): which coordinates these are."""
    counts: Any
    levels: Any
    times: Any
    """(RECORD_ROOM + 1,)"""
    record: Any
    """(RECORD_ROOM + 1, 6, n): ν at these times, its error, the error with other signs, and three
    pieces of the dense output of the step that begins there."""
    looks: Any
    """Times, increasing, at which the flow will be looked at."""
    insides: Any
    """(looks, 2, n): errors there, where they lie inside a step."""
    stop: Any
    """Its entry turns to one when the time is over."""


ETA, BETA, WEIGHT, NEW_ETA, NEW_BETA, NEW_WEIGHT, MOVED, SPEEDS = range(8)
RELATIVE, ALLOWANCE, LOG_SIZE, RESTING, FOLLOWING, LATE_SIZE = range(8, 14)
"""Rows of `Flow.points`: where a step begins and ends, how far and fast η moves; |d log β/dη|, the
inverse of the growth of log|β| allowed in a step, log|β|; what it costs the force if a coordinate
rests or follows its tangent, and log(|β|·‖X_j‖) at the end of a step in which it grows far."""
START_ETA, STAGE_ETA, STAGE_BETA, STAGE_WEIGHT, MEAN_WEIGHT, BENT_CURVES = range(14, 20)
POINT_ROWS = BENT_CURVES + CURVE_ROWS
"""Of the chosen coordinates: η where the step begins, the three at a stage, their mean weight over
the step, and the first row of their curves."""
FORCE, NEW_FORCE, NEW_NU, CHANGE, STAGE_CHANGE, STAGE_TARGET, STAGE_FORCE, MISSED = range(8)
DEFECTS, NODE_FORCES, FIRST_STAGE = range(8, 9 + 2 * NODE_COUNT, NODE_COUNT)
DUAL_ROWS = FIRST_STAGE + STAGES
"""Rows of `Flow.duals`: forces, ν and its change in a step; those of a stage and the target of the
coordinates that bend; what the others did to the force by the end of the step; defects and forces
at the nodes of the step; stages."""
GRAM, STRAIGHT_GRAM, MEAN_GRAM, FACTORS = range(4)
"""Of `Flow.squares`: XWXᵀ of the coordinates that bend or move, of the latter, of the latter's mean
weights, and the factors of the system solved."""
BENT, STRAIGHT, SCRATCH = range(3)
"""Of `Flow.columns` and `Flow.chosen`."""
KEPT, BENDS, MOVING, EVALUATIONS, LOOK = range(5)
"""Of `Flow.counts`: steps kept, coordinates that bend and that move, evaluations, and the next time
to be looked at."""
SHARE_FOR_ONE, LATE_FORCE = range(2)
"""Of `Flow.levels`: share of the unseen budget for one coordinate; half the squared force from
which on the floor is looked at in every step."""


def room_for(field: Field, aims: Aims, looks: Any, stop: Any) -> Flow:
    n, d = field.X.shape
    points, duals, squares = np.empty((POINT_ROWS, d)), np.empty((DUAL_ROWS, n)), (4, n, n)
    record, insides = np.empty((RECORD_ROOM + 1, 6, n)), np.zeros((looks.size, 2, n))
    chosen, counts = np.empty((2, d), np.int64), np.zeros(5, np.int64)
    working = points, duals, np.zeros(squares), np.empty((3, n * d)), chosen, counts, np.zeros(2)
    return Flow(field, aims, *working, np.zeros(len(record)), record, looks, insides, stop)
