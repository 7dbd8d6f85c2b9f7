"""The error of an integrated dual flow, from its own defect.

The path p(t) that an integrator leaves solves another equation, ṗ = f(p) + δ, whose defect δ = ṗ −
f(p) is known wherever one looks. Its error e = p − ν then follows ė = Je + δ to first order, J the
symmetric Jacobian −speed·XWXᵀ, which lets no error grow. On a step J is held at its mean and δ is
the parabola through its values at Radau's three nodes; the exponentials are exact, whatever the
stiffness. Where pieces do not meet, e takes the jump. Nothing depends on tolerances or on how
errors would fall with them, and a time within a step is the end of a shorter one.

Where what single steps add cancels, e is known to a share of what they add only. That is told by
copies whose steps add the same with other signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._core.arguments import Array, Index, Mask
from ...limits.newton import weighted_gram
from ...potentials.potential import MirrorPoint

SAME, SLIGHT = 0.1, 0.05
"""The last eigenvectors of J serve as long as weights change by less than the first, relatively, or
what others do to J amounts to less than the second over the time since; their rates are always
those of the weights at hand."""
POINTS, POINTS_WEIGHTS = (
    (np.polynomial.legendre.leggauss(12)[0] + 1) / 2,
    np.polynomial.legendre.leggauss(12)[1] / 2,
)
"""Gauss's points, by which ∫sᵖe^{−zs} is found where z is at most the number of nodes: there the
recursion loses eps·p!/zᵖ."""
NODES = np.array([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
"""Where in a step the defect is looked at: Radau's nodes, which integrate polynomials of degree
four."""
MEANS = np.array([(16 - 6**0.5) / 36, (16 + 6**0.5) / 36, 1 / 9])
"""Radau's weights."""
CAUTION = 2.0
"""Factor on e, which is right to first order."""
COPIES, KNOWN = 3, 0.25
"""Copies with other signs, and the share of them to which e is known."""
SIZES = np.append(CAUTION, np.full(COPIES, KNOWN))[:, None]
"""Factors on e and its copies."""
LOOKED_AT_ONCE = 2**14
"""Coordinates of all stretches whose defects are looked at in one go, at every node: they fit a
processor's cache."""
MOST_AHEAD = 256
"""Stretches that are tried with the same eigenvectors in one go, at most; one where they changed
just now."""


def defect_shares(z: Array, nodes: Array = NODES) -> Array:
    """What the defects at the nodes add to e over a step, in units of its length, (…, nodes); z:
    the step times a decay rate."""
    lasting, powers = np.exp(-z), np.arange(len(nodes))
    by_points = (POINTS_WEIGHTS * np.exp(-np.minimum(z, len(nodes))[..., None] * POINTS)) @ POINTS[
        :, None
    ] ** powers
    moments: list[Array] = []
    for p in powers:  # ∫sᵖe^{−zs}ds
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = -np.expm1(-z) / z if p == 0 else (p * moments[-1] - lasting) / z
        moments.append(np.where(z > len(nodes), whole, by_points[..., p]))
    return np.asarray(
        np.stack(moments, axis=-1) @ np.linalg.inv(np.vander(1 - nodes, increasing=True))
    )


class Field(Protocol):
    """What a dual flow follows, for one ν or for rows of them."""

    X: Array
    speed: float

    def point(self, nu: Array) -> MirrorPoint: ...

    def force(self, point: MirrorPoint) -> Array: ...


class Transported(NamedTuple):
    """Changes of ν at the saved times, (T, 1 + COPIES, n), the largest effect of which is the
    estimate: e, and its copies; NaN from where the time was over. How many pieces they were carried
    along, and what they are at the end of these."""

    saved: Array
    found: Array
    pieces: int
    error: Array


def transported_errors(
    field: Field,
    times: Array,
    nus: Array,
    pieces: tuple[Any, ...],
    saved: Array,
    over: Callable[[], bool] = lambda: False,
    before: Transported | None = None,
) -> Transported:
    """The errors at the saved times. before: those of the first pieces, which are carried on."""
    rng, error = np.random.default_rng(0), np.zeros((1 + COPIES, nus.shape[1]))
    signs = np.array([np.append(1.0, rng.choice([-1.0, 1.0], COPIES)) for _ in pieces])
    found, carried = np.where((saved > 0)[:, None, None], np.nan, error), 0
    known = saved <= times[0 if before is None else before.pieces]
    # after Ctrl-C few were saved
    if before is not None and np.isin(saved[known], before.saved).all():
        carried, error = before.pieces, before.error
        found[known] = before.found[np.searchsorted(before.saved, saved[known])]
    start = times[carried]
    ends = np.union1d(times[carried + 1 :], saved[(saved > start) & (saved <= times[-1])])
    of = np.searchsorted(times, ends) - 1
    place = np.where(saved > start, np.searchsorted(ends, saved), -1)
    transport, most = _Transport(field), max(1, LOOKED_AT_ONCE // field.X.shape[1])
    for first in range(0, ends.size, most):
        here, until = of[first : first + most], ends[first : first + most]
        seen = _looked_at(field, times, nus, pieces, here, until)
        begun, whole = first, until == times[here + 1]
        while begun < first + here.size:
            if over():
                return Transported(saved, found, int(of[begun]), error)
            rest = slice(begun - first, None)
            reached, error = transport.pushed(
                error, seen.rows(rest), signs[here[rest]], whole[rest]
            )
            kept = slice(*np.searchsorted(place, (begun, begun + len(reached))))
            found[kept] = SIZES * reached[place[kept] - begun]
            begun += len(reached)
    return Transported(saved, found, len(pieces), error)


@dataclass(frozen=True)
class _Stretches:
    """Stretches of pieces from their begin, one a row: their lengths, the jumps at the begin, the
    defects at the nodes (…, nodes, n), and the mean weights."""

    steps: Array
    jumps: Array
    defects: Array
    weights: Array

    def rows(self, which: slice) -> _Stretches:
        return _Stretches(
            self.steps[which], self.jumps[which], self.defects[which], self.weights[which]
        )


def _looked_at(
    field: Field, times: Array, nus: Array, pieces: tuple[Any, ...], of: Index, ends: Array
) -> _Stretches:
    """Stretches of some pieces, each until its end."""
    chosen = pieces[of[0] : of[-1] + 1]
    table = np.zeros((len(chosen), nus.shape[1], max(piece.p.size for piece in chosen)))
    for k, piece in enumerate(chosen):
        table[k, :, : piece.p.size] = piece.yh
    h, last = np.array([(piece.h, piece.t) for piece in chosen])[of - of[0]].T
    steps, powers = ends - times[of], np.arange(table.shape[2])
    looks = times[of, None] + steps[:, None] * np.append(0.0, NODES)
    shares = ((looks - last[:, None]) / h[:, None])[..., None] ** powers
    slopes = powers[1:] * shares[:, 1:, :-1] / h[:, None, None]
    table = table[of - of[0]].transpose(0, 2, 1)
    values = shares @ table
    point = field.point(values[:, 1:].reshape(-1, nus.shape[1]))
    forces = field.force(point).reshape(values[:, 1:].shape)
    weights = np.nan_to_num(point.weight(), nan=0.0, posinf=np.finfo(float).max / 4)
    mean = np.tensordot(weights.reshape(len(ends), len(NODES), -1), MEANS, (1, 0))
    return _Stretches(steps, values[:, 0] - nus[of], slopes @ table[:, 1:] - forces, mean)


class _Transport:
    """Pushes an error along stretches, with the eigenvectors of J where the weights were last."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.squares = np.einsum("ij,ij->j", field.X, field.X)
        self.weight, self.drift, self.ahead = np.zeros(field.X.shape[1]), np.inf, 1
        self.vectors, self.shares = np.empty((0, 0)), np.empty((0, 0))

    def pushed(
        self, error: Array, stretches: _Stretches, signs: Array, whole: Mask
    ) -> tuple[Array, Array]:
        """e and its copies at the ends of the first stretches, as many as one set of eigenvectors
        serves, and at the end of the last whole piece among them."""
        stretches = stretches.rows(slice(self._served(stretches.rows(slice(self.ahead)))))
        steps = stretches.steps[:, None]
        z = self.field.speed * (stretches.weights @ self.shares) * steps
        by_vectors = (stretches.defects @ self.vectors).transpose(0, 2, 1)
        lasting = np.exp(-z)
        added = lasting * (stretches.jumps @ self.vectors) + steps * np.sum(
            defect_shares(z) * by_vectors, axis=-1
        )
        along = error @ self.vectors
        reached = signs[: len(steps), :, None] * added[:, None]
        for k, (decay, is_whole) in enumerate(zip(lasting, whole, strict=False)):
            reached[k] += decay * along
            if is_whole:
                along = reached[k]
        return reached @ self.vectors.T, along @ self.vectors.T

    def _served(self, stretches: _Stretches) -> int:
        """How many of these the eigenvectors at hand serve, or new ones where that is none."""
        if not self._drifts(stretches.rows(slice(1)))[0] <= SLIGHT:
            self._look(stretches.weights[0])
        drifts = self._drifts(stretches)
        served = int(np.argmin(np.append(drifts <= SLIGHT, False)))
        self.drift = drifts[served - 1]
        self.ahead = min(2 * self.ahead, MOST_AHEAD) if served == len(drifts) else 1
        return served

    def _drifts(self, stretches: _Stretches) -> Array:
        """What changes of single weights do to J over the time since it was looked at."""
        change = np.abs(stretches.weights - self.weight)
        change[change <= SAME * self.weight] = 0.0
        moved = stretches.steps * (change @ self.squares)
        return np.asarray(self.drift + self.field.speed * np.cumsum(moved))

    def _look(self, weight: Array) -> None:
        """The eigenvectors of J at these weights."""
        n, top = len(self.field.X), float(np.max(weight))
        gram = weighted_gram(self.field.X, weight / top) if top > 0 else np.zeros((n, n))
        self.vectors = np.linalg.eigh(gram)[1]
        self.weight, self.drift = weight, 0.0
        # of the weights in the rates, to first order in their change
        self.shares = (self.field.X.T @ self.vectors) ** 2
