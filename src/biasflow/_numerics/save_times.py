"""The times at which a flow is saved."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, real_array
from ..errors import InputError


def save_times(times: ArrayLike, t1: float | None) -> Array:
    wanted = real_array("times", times)
    if (
        wanted.ndim != 1
        or wanted.size == 0
        or np.any(np.diff(wanted) <= 0)
        or wanted[0] < 0
        or wanted[-1] == 0
    ):
        raise InputError(
            "times: expected an increasing vector of non-negative times, the last positive"
        )
    if t1 is not None and wanted[-1] > t1 * (1 + 1e-12):
        raise InputError(f"times: the last, {wanted[-1]:g}, lies after t1 = {t1:g}")
    return wanted
