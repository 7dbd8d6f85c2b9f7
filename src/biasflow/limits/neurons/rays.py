"""What interpolation asks for: one unit direction per ray of inputs, in the coordinates of their
span."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._core.arguments import Array, Index, row_lengths
from ...errors import InconsistentError, InputError
from ..rank import integer_ranks

SAME_DIRECTION = 1e-12
"""Distance of two unit vectors below which they count as one: inputs that a float can hardly tell
apart."""
SAME_LABEL = 1e-9
"""Relative difference of labels above which equal inputs are called inconsistent: far above
rounding, far below any noise."""
CENTRE = "columns with an offset are better centred, those of mixed units rescaled"


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
    kept = _one_per_ray(X, y, u, z, size, rows)
    u, z = u[kept], z[kept]
    _check_opposite(X, y, u, z, size, rows[kept])
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


def _one_per_ray(X: Array, y: Array, u: Array, z: Array, size: float, rows: Index) -> Index:
    """The first sample of every ray of inputs; equal rays must carry proportional labels."""
    near = (u @ u.T) > 1 - 1e-6
    kept: list[int] = []
    for k in range(u.shape[0]):
        before = [j for j in kept if near[j, k] and np.linalg.norm(u[j] - u[k]) <= SAME_DIRECTION]
        if not before:
            kept.append(k)
        elif abs(z[before[0]] - z[k]) > SAME_LABEL * size:
            i, j = int(rows[before[0]]), int(rows[k])
            ratio = (
                f"their labels are not in the same ratio (label over length: {z[before[0]]:g} "
                f"and {z[k]:g})"
            )
            if exact_ratio(X[i], X[j]) is None:
                raise InconsistentError(
                    f"X, y: floats cannot tell the directions of samples {i} and {j} apart, "
                    "though they differ in exact"
                    f" arithmetic, and {ratio}: networks that fit both have weights that floats "
                    f"do not hold; {CENTRE}"
                )
            raise InconsistentError(
                f"X, y: samples {i} and {j} are positive multiples of one input, and {ratio}; h "
                "is positively homogeneous"
            )
    return np.array(kept, dtype=np.intp)


def exact_ratio(x: Array, other: Array) -> Fraction | None:
    """c with other = c·x in rationals, x not zero; None where there is none."""
    one, two = ([Fraction(float(value)) for value in row] for row in (x, other))
    pivot = next(i for i, value in enumerate(one) if value)
    c = two[pivot] / one[pivot]
    return c if all(b == c * a for a, b in zip(one, two, strict=True)) else None


def _check_opposite(X: Array, y: Array, u: Array, z: Array, size: float, rows: Index) -> None:
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
        i, j = rows[first[worst]], rows[second[worst]]
        if _linear_exactly(X, y, rows[first], rows[second]):
            raise InconsistentError(
                f"X, y: floats find no network: to rounding samples {i} and {j}, among others, "
                "are opposite and their labels not"
                f" linear in x, though a network may fit them in exact arithmetic; {CENTRE}"
            )
        raise InconsistentError(
            "X, y: h(x) − h(−x) is linear in x for every network without a bias, and the labels "
            "of opposite inputs (samples "
            f"{i} and {j} among them) are not; a bias column would make them consistent"
        )


def _linear_exactly(X: Array, y: Array, first: Index, second: Index) -> bool:
    """Whether some b has ⟨b, x⟩ = y − y'/c for all pairs x, x' = −cx that are opposite in exact
    arithmetic."""
    lines = []
    for i, j in zip(first, second, strict=True):
        c = exact_ratio(X[i], X[j])
        if c is not None:
            line = [
                *map(Fraction, X[i].tolist()),
                Fraction(float(y[i])) + Fraction(float(y[j])) / c,
            ]
            common = math.lcm(*(value.denominator for value in line))
            lines.append([int(value * common) for value in line])
    return not lines or len(set(integer_ranks(np.array(lines, dtype=object)))) == 1


def _span(u: Array) -> Array:
    _, s, vt = np.linalg.svd(u, full_matrices=False)
    rank = int(np.sum(s > max(u.shape) * np.finfo(float).eps * s[0]))
    basis: Array = vt[:rank]
    return basis
