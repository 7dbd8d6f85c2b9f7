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
from typing import Any, Protocol

import numpy as np

from ..._core.arguments import Array
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
    X: Array
    speed: float

    def point(self, nu: Array) -> MirrorPoint: ...

    def force(self, point: MirrorPoint) -> Array: ...


def transported_errors(
    field: Field,
    times: Array,
    nus: Array,
    pieces: tuple[Any, ...],
    saved: Array,
    over: Callable[[], bool] = lambda: False,
) -> Array:
    """Changes of ν at the saved times, (T, 1 + COPIES, n), the largest effect of which is the
    estimate: e, and its copies.

    NaN from where the time is over.
    """
    n = nus.shape[1]
    transport, error, found = (
        _Transport(field),
        np.zeros((n, 1 + COPIES)),
        np.zeros((saved.size, 1 + COPIES, n)),
    )
    rng, k = np.random.default_rng(0), int(np.searchsorted(saved, 0.0, side="right"))
    for i, piece in enumerate(pieces):
        signs = np.append(1.0, rng.choice([-1.0, 1.0], COPIES))
        jump = piece(times[i]) - nus[i]
        while k < saved.size and saved[k] < times[i + 1]:
            if over():
                break
            found[k] = transport.pushed(error, jump, signs, piece, times[i], saved[k]).T
            k += 1
        if over():
            error = np.full_like(error, np.nan)
            break
        error = transport.pushed(error, jump, signs, piece, times[i], times[i + 1])
        if k < saved.size and saved[k] == times[i + 1]:
            found[k] = error.T
            k += 1
    found[k:] = error.T
    return found * np.append(CAUTION, np.full(COPIES, KNOWN))[:, None]


class _Transport:
    """Pushes an error along a piece, with the eigenvectors of J where the weights were last."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.weight: Array | None = None
        self.squares, self.drift = np.einsum("ij,ij->j", field.X, field.X), 0.0
        self.rates, self.vectors, self.shares = np.empty(0), np.empty((0, 0)), np.empty((0, 0))

    def pushed(
        self, error: Array, jump: Array, signs: Array, piece: Any, begin: float, end: float
    ) -> Array:
        """e and its copies, (n, 1 + COPIES), at the end of a stretch of one piece."""
        step = end - begin
        defects, weights = zip(
            *(self._defect(piece, begin + share * step) for share in NODES), strict=True
        )
        self._look(MEANS @ np.array(weights), step)
        z = self.rates * step
        lasting = np.exp(-z)
        added = lasting * (self.vectors.T @ jump) + step * np.sum(
            defect_shares(z) * (self.vectors.T @ np.array(defects).T), axis=1
        )
        return np.asarray(
            self.vectors @ (lasting[:, None] * (self.vectors.T @ error) + added[:, None] * signs)
        )

    def _defect(self, piece: Any, t: float) -> tuple[Array, Array]:
        """δ at a time, and the weights there."""
        point = self.field.point(piece(t))
        share, powers = (t - piece.t) / piece.h, piece.p[1:]
        slope = piece.yh[:, 1:] @ (powers * share ** (powers - 1)) / piece.h
        weight = np.nan_to_num(point.weight(), nan=0.0, posinf=np.finfo(float).max / 4)
        return slope - self.field.force(point), weight

    def _look(self, weight: Array, step: float) -> None:
        """J of these weights, or the last eigenvectors where they serve."""
        if self.weight is not None:
            change = np.abs(weight - self.weight)
            self.drift += (
                self.field.speed
                * step
                * float(self.squares @ np.where(change > SAME * self.weight, change, 0.0))
            )
            if self.drift <= SLIGHT:
                self.rates = self.field.speed * (weight @ self.shares)
                return
        top = float(np.max(weight))
        gram = (
            weighted_gram(self.field.X, weight / top)
            if top > 0
            else np.zeros((len(self.field.X), len(self.field.X)))
        )
        rates, self.vectors = np.linalg.eigh(gram)
        self.rates, self.weight, self.drift = (
            self.field.speed * top * np.maximum(rates, 0.0),
            weight,
            0.0,
        )
        # of the weights in the rates, to first order in their change
        self.shares = (self.field.X.T @ self.vectors) ** 2
