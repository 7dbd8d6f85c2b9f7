"""What flows that are run twice have in common: how the second run differs, and how far apart the
two are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.trees import leaves

LOOSER = 10.0
"""How much looser the second runs of event-driven flows are, whose distance is their error
estimate."""
TIGHTER, CALMER = 0.1, 0.6
"""For methods that take a tighter second run: its tolerance, and its first and stiffest steps, in
units of the first's. Its error, by its order, is a tenth of what the distance tells, while two runs
of the same steps would tell nothing."""
TWICE = 2.0
"""Factor on that distance, for two errors may point the same way."""


def largest_difference(states: Any, others: Any) -> Array:
    """The sup norm of the difference of two states over time, at every time."""
    gaps = [np.abs(a - b) for a, b in zip(leaves(states), leaves(others), strict=True)]
    return np.asarray(
        np.max([np.max(gap.reshape(len(gap), -1), axis=1, initial=0.0) for gap in gaps], axis=0)
    )
