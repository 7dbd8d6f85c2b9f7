"""Numbers that a summary tells: the middle of our runs, every run, and the error of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RUNS, ERROR = "runs: ", "error: "
"""Before the name of a number, among the attributes of a summary."""


def told(
    name: str, runs: Any, middle: Callable[[Any], Any] = np.nanmedian, error: float = 0.0
) -> dict[str, Any]:
    """Attributes of one number: ours, that of every run, and the numerical or truncation error of a
    run."""
    values = [float(value) for value in np.ravel(runs)]
    return {name: float(middle(values)), RUNS + name: values, ERROR + name: float(error)}
