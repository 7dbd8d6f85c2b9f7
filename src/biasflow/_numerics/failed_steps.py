"""Integrators that warn about a failed step, which their caller handles."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def without_warnings() -> Iterator[None]:
    """Inside, neither a failed step nor an overflow on a step that is taken back is announced."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
