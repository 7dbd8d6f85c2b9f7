"""Kernel interpolation, and where a linearised network would go (W, §3)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from ..errors import InconsistentError, InputError
from ..inputs import Array, matrix, vector
from ..models import Model
from ..records import Certificate, Dataset, Limit, leaves

SYMMETRY = 1e-10
"""Relative asymmetry of a kernel matrix that rounding may leave."""


def tangent_kernel(model: Model, params: Any, X: ArrayLike) -> Array:
    """K_ij = ⟨∇_w f(w, x_i), ∇_w f(w, x_j)⟩ (W, §3), (n, n)."""
    inputs = matrix("X", X)
    jacobian = model.jacobian(model.checked(params, inputs.shape[1]), inputs)
    flat = [np.reshape(leaf, (inputs.shape[0], -1)) for leaf in leaves(jacobian)]
    return np.sum([leaf @ leaf.T for leaf in flat], axis=0)


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
    if np.linalg.norm(modes[~kept]) > 1e-8 * max(1.0, float(np.linalg.norm(y))):
        raise InconsistentError(f"y: not in the range of K (rank {int(np.sum(kept))} of {len(y)}); least residual {residual:.3g}")
    norm = float(np.sqrt(max(a @ K @ a, 0.0)))
    dual = float(a @ y) / norm if norm else 0.0
    return Limit(a, norm, Certificate(norm, dual, residual, "closed-form"), {"rank": int(np.sum(kept))})


def tangent_kernel_limit(model: Model, ds: Dataset, params0: Any) -> Limit[Array]:
    """Where the model linearised at params0 goes: the effective predictor of least tangent-kernel norm (W, §3).

    For diagonal networks, β₀ + diag(k)Xᵀ(X·diag(k)·Xᵀ)⁻¹(y − Xβ₀) with k the tangent kernel's weights.
    """
    params0 = model.checked(params0, ds.d)
    interpolator = kernel_interpolator(tangent_kernel(model, params0, ds.X), ds.y - model(params0, ds.X))
    direction = model.gradient(params0, ds.X, interpolator.value)
    value = model.effective(params0) + model.linearised(params0, direction)
    residual = float(np.max(np.abs(model.features(ds.X) @ np.ravel(value) - ds.y))) / max(1.0, float(np.max(np.abs(ds.y))))
    certificate = dataclasses.replace(interpolator.certificate, residual=residual)
    return Limit(value, interpolator.objective, certificate, interpolator.stats)
