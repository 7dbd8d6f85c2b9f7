"""What interpolation asks for: one unit direction per ray of inputs, in the coordinates of their
span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, Index, row_lengths
from ...errors import InconsistentError, InputError

SAME_DIRECTION = 1e-12
"""Distance of two unit vectors below which they count as one: inputs that a float can hardly tell
apart."""
SAME_LABEL = 1e-9
"""Relative difference of labels above which equal inputs are called inconsistent: far above
rounding, far below any noise."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Constraints h(u_k) = z_k equivalent to h(x_k) = y_k, by homogeneity: u_k = x_k/‖x_k‖, z_k =
    y_k/(‖x_k‖·size).

    directions: u (n', r), distinct, spanning R^r. targets: z (n',), largest modulus one. basis: (r,
    d), orthonormal rows that span the inputs. first: the sample that each direction came from;
    lengths: its ‖x_k‖. count: n."""

    directions: Array
    targets: Array
    basis: Array
    size: float
    first: Index
    lengths: Array
    count: int

    @property
    def rank(self) -> int:
        return int(self.directions.shape[1])

    @property
    def gram(self) -> Array:
        return self.directions @ self.directions.T

    def multipliers(self, lam: Array) -> Array:
        """λ of the original constraints from those of the reduced ones: samples on a ray already
        counted get zero."""
        full = np.zeros(self.count)
        full[self.first] = lam / self.lengths
        return full


def read_samples(X: Array, y: Array) -> Samples:
    """The reduced constraints, or an InconsistentError that names the samples no network h(x) = Σ
    a_j(⟨w_j, x⟩)_+ can fit."""
    lengths = row_lengths(X)
    _check_zero_inputs(lengths, y)
    rows = np.flatnonzero(lengths > 0)
    if rows.size == 0:
        return Samples(
            np.zeros((0, 0)), np.zeros(0), np.zeros((0, X.shape[1])), 0.0, rows, np.zeros(0), y.size
        )
    with np.errstate(over="ignore"):
        u, z = X[rows] / lengths[rows, None], y[rows] / lengths[rows]
    if not np.all(np.isfinite(z)):
        raise InputError(
            f"X: an input of length {lengths[rows].min():g} is too short for its label; rescale "
            "both"
        )
    size = float(np.max(np.abs(z)))
    kept = _one_per_ray(u, z, size, rows)
    u, z = u[kept], z[kept]
    _check_opposite(u, z, size, rows[kept])
    basis = _span(u)
    coordinates = u if basis.shape[0] == u.shape[1] else u @ basis.T
    if basis.shape[0] == u.shape[1]:
        basis = np.eye(u.shape[1])
    coordinates = coordinates / np.linalg.norm(coordinates, axis=1)[:, None]
    return Samples(
        coordinates, z / size if size else z, basis, size, rows[kept], lengths[rows[kept]], y.size
    )


def _check_zero_inputs(lengths: Array, y: Array) -> None:
    bad = np.flatnonzero((lengths == 0) & (y != 0))
    if bad.size:
        k = int(bad[0])
        raise InconsistentError(
            f"X, y: sample {k} has a zero input and the label {y[k]:g}; without a bias column "
            "h(0) = 0"
        )


def _one_per_ray(u: Array, z: Array, size: float, rows: Index) -> Index:
    """The first sample of every ray of inputs; equal rays must carry proportional labels."""
    near = (u @ u.T) > 1 - 1e-6
    kept: list[int] = []
    for k in range(u.shape[0]):
        before = [j for j in kept if near[j, k] and np.linalg.norm(u[j] - u[k]) <= SAME_DIRECTION]
        if not before:
            kept.append(k)
        elif abs(z[before[0]] - z[k]) > SAME_LABEL * size:
            raise InconsistentError(
                f"X, y: samples {rows[before[0]]} and {rows[k]} are positive multiples of one "
                "input, and their labels are not in "
                f"the same ratio (label over length: {z[before[0]]:g} and {z[k]:g}); h is "
                "positively homogeneous"
            )
    return np.array(kept, dtype=np.intp)


def _check_opposite(u: Array, z: Array, size: float, rows: Index) -> None:
    """h(x) − h(−x) is linear in x: on opposite inputs the odd part of the labels must be linear."""
    first, second = np.nonzero(np.triu((u @ u.T) < -1 + 1e-6))
    opposite = np.linalg.norm(u[first] + u[second], axis=1) <= SAME_DIRECTION
    first, second = first[opposite], second[opposite]
    if not first.size:
        return
    odd = z[first] - z[second]
    linear = np.linalg.lstsq(u[first], odd, rcond=None)[0]
    off = np.abs(u[first] @ linear - odd)
    if np.max(off) > SAME_LABEL * size:
        worst = int(np.argmax(off))
        raise InconsistentError(
            "X, y: h(x) − h(−x) is linear in x for every network without a bias, and the labels "
            "of opposite inputs (samples "
            f"{rows[first[worst]]} and {rows[second[worst]]} among them) are not; a bias column "
            "would make them consistent"
        )


def _span(u: Array) -> Array:
    _, s, vt = np.linalg.svd(u, full_matrices=False)
    rank = int(np.sum(s > max(u.shape) * np.finfo(float).eps * s[0]))
    basis: Array = vt[:rank]
    return basis
