"""The constraint Xβ = y: its rank, whether it can be met at all, and which rows say everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array, length
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


def solvable(X: Array, y: Array) -> bool | None:
    """Whether some β solves Xβ = y in exact arithmetic; None where that would take too long to
    tell."""
    from .rank import MOST_WORK, exact_ranks

    if len(X) * X.size > MOST_WORK:
        return None
    of_inputs, with_labels = exact_ranks(X, y)
    return of_inputs == with_labels


def surely_independent(X: Array) -> bool:
    """Whether the rows of X are independent beyond doubt, as a quick look tells; where it does not,
    `reduce_constraints` may."""
    if len(X) > X.shape[1]:
        return False
    try:
        pivots = np.linalg.cholesky(X @ X.T).diagonal()
    except np.linalg.LinAlgError:
        return False
    # scaling rows to unit length, as is done there, worsens conditions by at most their number
    return bool((pivots.min() / pivots.max()) ** 2 > len(X) * WELL_CONDITIONED)


def reduce_constraints(X: Array, y: Array) -> Constraints:
    """Independent constraints equivalent to Xβ = y, or an InconsistentError with the least
    residual."""
    n, d = X.shape
    sizes = np.max(np.abs(X), axis=1)
    largest = np.where(sizes > 0, sizes, 1.0)
    scaled, labels = X / largest[:, None], y / largest
    lengths = np.where(sizes > 0, np.linalg.norm(scaled, axis=1), 1.0)
    scaled, labels, unit = scaled / lengths[:, None], labels / lengths, 1 / (largest * lengths)
    if not np.all(np.isfinite(unit)):
        raise InputError(
            f"X: a row with entries up to {np.min(largest):g} is too small for floats; rescale it "
            "with its label"
        )
    if n <= d:
        gram = scaled @ scaled.T
        try:
            pivots = np.linalg.cholesky(gram).diagonal()
            rcond = float((pivots.min() / pivots.max()) ** 2)
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
        raise _inconsistent(X, y, rank)
    transform = u.T / s[:, None]
    return Constraints(vt, transform @ labels, rank, transform * unit)


def _inconsistent(X: Array, y: Array, rank: int) -> InconsistentError:
    """Why floats find no β: there is none, or only floats cannot tell rows apart, or that is
    open."""
    n, d = X.shape
    why = f"n = {n} exceeds d = {d}" if n > d and rank == d else f"X has rank {rank} < n = {n}"
    answer = solvable(X, y)
    if answer is False:
        # rows as they are given: units weigh residuals
        size, unit = float(np.max(np.abs(X))) or 1.0, float(np.max(np.abs(y)))
        left = y / unit - X / size @ np.linalg.lstsq(X / size, y / unit, rcond=None)[0]
        residual = unit * length(left)
        return InconsistentError(
            f"X, y: no β solves Xβ = y ({why}); the least residual is {residual:.3g}."
            " mirror_flow converges to the projection onto the least-squares solutions instead, "
            "which mirror_limit computes"
        )
    exactly = (
        "though not exactly" if answer else "and whether a β solves it in exact arithmetic is open"
    )
    return InconsistentError(
        f"X, y: floats cannot solve Xβ = y: X has rank {rank} < n = {n} to rounding, {exactly}; "
        "columns with an"
        " offset are better centred, those of mixed units rescaled"
    )
