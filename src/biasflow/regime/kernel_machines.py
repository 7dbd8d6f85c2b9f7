"""The kernel machine of a start: what the linearised network predicts elsewhere, from what it
predicts on the inputs that it was trained on."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array
from ..errors import InputError
from ..limits.tangent.inputs import Batch, Inputs
from ..limits.tangent.tangent_kernels import Tangent

MOST_ROWS = 4000
"""Inputs times outputs of the kernel that is inverted, a minute on one core."""
LEAST_MODE = 1e-10
"""Eigenvalues below this share of the largest are left out: where gradients are known to single
precision, and the machine is fitted through rounding, no smaller one is known."""


def machine_of(at: Tangent, X: Inputs, fitted: Inputs) -> Array:
    """K₀(X, T)K₀(T, T)⁺ of the kernel between all outputs, (n·m, n'·m)."""
    sketch = at.function.sketched
    if sketch is not None:
        raise InputError(
            f"trained_on: the kernel machine needs the kernel between all {sketch[0]:,} outputs, "
            "and random sums stand for them here; name the outputs that were trained (output=)"
        )
    count = at.function.values(at.leaves, X[:1]).shape[1]
    if count * len(fitted) > MOST_ROWS:
        raise InputError(
            f"trained_on: {len(fitted):,} inputs and {count} outputs ask for a kernel of "
            f"{count * len(fitted):,} rows, more than {MOST_ROWS:,}; the kernel machine is told by "
            "all inputs that were trained on, so this measure is for small training sets"
        )
    values, vectors = sl.eigh(at.full_kernel(fitted))
    kept = values > LEAST_MODE * values[-1]
    if not np.any(kept):
        return np.zeros((count * len(X), count * len(fitted)))
    modes = vectors[:, kept]
    machine: Array = ((at.full_kernel(X, fitted) @ modes) / values[kept]) @ modes.T
    return machine


def check_apart(X: Inputs, fitted: Inputs) -> None:
    """No input is looked at that the machine is fitted on: there it agrees by construction."""
    if isinstance(X, Batch) != isinstance(fitted, Batch):
        raise InputError("trained_on: expected the same kind of inputs as X")
    seen = set(_rows(fitted))
    both = sum(row in seen for row in _rows(X))
    if both:
        raise InputError(
            f"trained_on: {both} of the {len(X)} inputs in X are among them, where the kernel "
            "machine agrees by construction; look at inputs X that were held out"
        )


def _rows(X: Inputs) -> list[bytes]:
    parts = tuple(X.parts.values()) if isinstance(X, Batch) else (X,)
    return [
        b"".join(np.ascontiguousarray(part[k]).tobytes() for part in parts) for k in range(len(X))
    ]
