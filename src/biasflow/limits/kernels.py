"""Kernel interpolation: the function of least RKHS norm through the data (W, §3)."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..errors import InconsistentError, InputError
from ..inputs import Array, matrix, vector
from ..records import Certificate, Limit

SYMMETRY = 1e-10
"""Relative asymmetry of a kernel matrix that rounding may leave."""
OUTSIDE = 1e-8
"""Share of y in modes that K has not, above which y is out of its range."""
UNFIT = 1e-6
"""Residual above which y is out of K's range, as far as rounding lets K be known: a mode zero but for rounding was used."""


def kernel_interpolator(K: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """Coefficients a of the minimum-norm interpolator f = Σa_i k(x_i, ·), Ka = y. objective: the RKHS norm √(aᵀKa)."""
    K = matrix("K", K)
    if K.shape[0] != K.shape[1] or np.max(np.abs(K - K.T)) > SYMMETRY * max(float(np.max(np.abs(K))), 1e-300):
        raise InputError(f"K: expected a symmetric matrix, found shape {K.shape}")
    y = vector("y", y, K.shape[0])
    values, vectors = sl.eigh(K)
    kept = values > len(y) * np.finfo(float).eps * values[-1]
    if values[0] < -SYMMETRY * max(values[-1], 1e-300):
        raise InputError(f"K: expected a positive semi-definite matrix, its least eigenvalue is {values[0]:g}")
    modes = vectors.T @ y
    a = vectors[:, kept] @ (modes[kept] / values[kept])
    residual = float(np.max(np.abs(K @ a - y))) / max(1.0, float(np.max(np.abs(y))))
    if residual > UNFIT or np.linalg.norm(modes[~kept]) > OUTSIDE * max(1.0, float(np.linalg.norm(y))):
        raise InconsistentError(f"y: not in the range of K (rank {int(np.sum(kept))} of {len(y)}); least residual {residual:.3g}")
    norm = float(np.sqrt(max(a @ K @ a, 0.0)))
    dual = float(a @ y) / norm if norm else 0.0
    return Limit(a, norm, Certificate(norm, dual, residual, "closed-form"), {"rank": int(np.sum(kept))})
