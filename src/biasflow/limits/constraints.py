"""The constraint Xβ = y: its rank, whether it can be met at all, and which rows say everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array
from ..errors import InconsistentError, InputError

WELL_CONDITIONED = 1e-10
"""Reciprocal condition of XXᵀ above which rank n is beyond doubt (condition of X below 1e5)."""
CONSISTENCY = 1e-9
"""Relative residual above which Xβ = y is called inconsistent: far above rounding, far below any
noise."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Rows of X that span all of them, of unit length, orthonormalised where X is ill conditioned:
    basis = transform·X.

    ν of the original rows is lift(ν of the basis)."""

    basis: Array
    target: Array
    rank: int
    transform: Array | None

    def lift(self, nu: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # in tiny units ν may leave float range
            return nu if self.transform is None else self.transform.T @ nu


def solvable(X: Array, y: Array) -> bool:
    """Whether some β solves Xβ = y in exact arithmetic; no, where that would take too long to
    tell."""
    from .rank import MOST_WORK, exact_ranks

    if len(X) * X.size > MOST_WORK:
        return False
    of_inputs, with_labels = exact_ranks(X, y)
    return of_inputs == with_labels


def reduce_constraints(X: Array, y: Array) -> Constraints:
    """Independent constraints equivalent to Xβ = y, or an InconsistentError with the least
    residual."""
    n, d = X.shape
    largest = np.where(np.any(X, axis=1), np.max(np.abs(X), axis=1), 1.0)
    scaled, labels = X / largest[:, None], y / largest
    length = np.where(np.any(X, axis=1), np.linalg.norm(scaled, axis=1), 1.0)
    scaled, labels, unit = scaled / length[:, None], labels / length, 1 / (largest * length)
    if not np.all(np.isfinite(unit)):
        raise InputError(
            f"X: a row with entries up to {np.min(largest):g} is too small for floats; rescale it "
            "with its label"
        )
    if n <= d:
        gram = scaled @ scaled.T
        try:
            factor = sl.cholesky(gram, lower=True, check_finite=False)
            rcond = float((np.diag(factor).min() / np.diag(factor).max()) ** 2)
            if rcond > WELL_CONDITIONED:
                return Constraints(scaled, labels, n, np.diag(unit))
        except np.linalg.LinAlgError:
            pass
    u, s, vt = sl.svd(scaled, full_matrices=False, check_finite=False)
    rank = int(np.sum(s > max(n, d) * np.finfo(float).eps * s[0])) if s[0] > 0 else 0
    u, s, vt = u[:, :rank], s[:rank], vt[:rank]
    outside = labels - u @ (u.T @ labels)
    size = float(np.max(np.abs(labels))) if y.size else 0.0
    if np.max(np.abs(outside), initial=0.0) > CONSISTENCY * max(size, np.finfo(float).tiny):
        why = f"n = {n} exceeds d = {d}" if n > d else f"X has rank {rank} < n = {n}"
        if n <= d and solvable(X, y):
            raise InconsistentError(
                f"X, y: floats cannot solve Xβ = y: X has rank {rank} < n = {n} to rounding, "
                "though not exactly; columns with an"
                " offset are better centred, those of mixed units rescaled"
            )
        raise InconsistentError(
            f"X, y: no β solves Xβ = y ({why}); the least residual is "
            f"{np.linalg.norm(outside / unit):.3g}."
            " mirror_flow converges to the projection onto the least-squares solutions instead, "
            "which mirror_limit computes"
        )
    transform = u.T / s[:, None]
    return Constraints(vt, transform @ labels, rank, transform * unit)
