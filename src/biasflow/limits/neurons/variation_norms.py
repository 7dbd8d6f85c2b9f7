"""The variation norm of a two-layer ReLU network (B, eq. 8)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from ..._core.arguments import Array, positive_float, real_array, row_lengths
from ...errors import InputError
from ...models import TwoLayerParams


def variation_norm(params: TwoLayerParams, same_direction: float = 1e-12) -> float:
    """‖h‖_{F1} of h(x) = Σ_j a_j(⟨w_j, x⟩)_+: the infimum of |μ| over all signed measures on the
    sphere with h = ∫(⟨u, ·⟩)_+dμ(u) on R^d (B, eq. 8).

    With c_j = a_j‖w_j‖ and u_j = w_j/‖w_j‖: Σ|c_j| is reached by one representation, not the best.
    Neurons of one direction add up, and the measure of a function is known only up to odd measures
    without mean, since (t)_+ − (−t)_+ = t: h fixes e_i = c(u_i) + c(−u_i) on every line and the
    mean v = Σ_j c_ju_j. Hence, exactly,

        ‖h‖_{F1} = Σ_i |e_i| + dist(v, {Σ_i t_i|e_i|u_i : |t_i| ≤ 1}),

    a box-constrained least-squares problem; never above Σ|a_j|‖w_j‖ ≤ ½‖θ‖². On inputs with a bias
    column, where h is seen on an affine subspace only, the norm of what is seen may be smaller.

    Parameters
    ----------
    params : models.TwoLayerParams
    same_direction : float
        Distance of unit vectors below which neurons lie on one line. The norm is not continuous
        there: opposite neurons cancel only if they are equal.

    Returns
    -------
    float

    Examples
    --------
    >>> a, W = np.array([1.0, -1.0]), np.array([[3.0, 4.0], [3.0, 4.0]])
    >>> float(bf.limits.variation_norm(bf.models.TwoLayerParams(a, W)))
    0.0
    >>> round(float(bf.limits.variation_norm(bf.models.TwoLayerParams(np.abs(a), W))), 6)
    10.0
    """
    a, W = read_network(params)
    positive_float("same_direction", same_direction)
    lengths = row_lengths(W) if a.size else np.zeros(0)
    kept = (lengths > 0) & (a != 0)
    if not np.any(kept):
        return 0.0
    tops = float(np.max(np.abs(a[kept]))), float(np.max(lengths[kept]))
    # over the largest: products of tiny weights are below float range
    c, u = (a[kept] / tops[0]) * (lengths[kept] / tops[1]), W[kept] / lengths[kept, None]
    share = float(np.max(np.abs(c)))
    c, size = c / share, share * tops[0] * tops[1]
    lines, masses = _on_lines(u, c, same_direction)
    columns = (np.abs(masses)[:, None] * lines)[masses != 0].T
    v = c @ u
    if columns.shape[1]:
        v = v - columns @ lsq_linear(columns, v, bounds=(-1, 1), method="bvls", tol=1e-14).x
    return size * (float(np.sum(np.abs(masses))) + float(np.linalg.norm(v)))


def read_network(params: TwoLayerParams) -> tuple[Array, Array]:
    """a (m,) and W (m, d), m ≥ 0, finite."""
    try:
        a, W = params
    except (TypeError, ValueError):
        raise InputError(
            f"params: expected TwoLayerParams(a, W), found {type(params).__name__}"
        ) from None
    a, W = real_array("params.a", a), real_array("params.W", W)
    if a.ndim != 1 or W.ndim != 2 or W.shape[0] != a.size or W.shape[1] == 0:
        raise InputError(
            f"params: expected a of shape (m,) and W of shape (m, d), found {a.shape} and {W.shape}"
        )
    return a, W


def _on_lines(u: Array, c: Array, same_direction: float) -> tuple[Array, Array]:
    """One unit vector per line, and the sum of the masses on it; sums that are rounding are
    zero."""
    lines: list[Array] = []
    masses: list[list[float]] = []
    for unit, mass in zip(u, c, strict=True):
        near = [
            i
            for i, line in enumerate(lines)
            if np.linalg.norm(unit - np.sign(unit @ line) * line) <= same_direction
        ]
        if near:
            masses[near[0]].append(float(mass))
        else:
            lines.append(unit)
            masses.append([float(mass)])
    rounding = 4 * np.finfo(float).eps
    sums = np.array([sum(m) if abs(sum(m)) > rounding * sum(map(abs, m)) else 0.0 for m in masses])
    return np.array(lines), sums
