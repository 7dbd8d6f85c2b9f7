"""What a compiled dual flow looks like at given times: ν, β or the weights, the loss and the error
estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._numerics import rosenbrock
from ..._numerics.compilation import entry, inner, ordered, stamp
from . import compiled_march, compiled_room, hypentropy_kernels as kernels
from .compiled_march import EPS, between
from .compiled_room import ETA0, FACTOR, Field
from .hypentropy_kernels import (
    INVERSE,
    SCALE,
    SHIFT,
    SIGN,
    copy,
    expm1_parts,
    half_square,
    largest,
    mirror,
    plain,
    rank,
    ranked,
)

CAUTION, KNOWN = 4.0, 2.0
"""Factors on the error that is pushed along, to first order over steps in which weights may grow by
e², and on its copy with other signs, which tells what may have cancelled."""
ROUNDINGS = 8.0
"""Roundings of η and β that an error estimate allows for."""
FAR = 700.0
"""Exponents up to which e^x and its inverse are normal floats."""
TOGETHER = 16
"""Times whose products with X are taken as one: enough for BLAS, few enough for a cache."""


@inner
def grown(x: float) -> float:
    """e^x − 1 to a few percent up to x = 3, where no error is known any more."""
    return x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x / 120.0))))


@inner
def reach(off: float, copied: float, inverse: float, eta: float) -> float:
    """The error of η; off, copied: Xᵀ times those of ν and of its copy."""
    size = ranked(max(rank(CAUTION * off), rank(KNOWN * copied)))
    return size * inverse + ROUNDINGS * EPS * abs(eta)


@inner
def spread(eta: Any, beta: Any, weight: Any, curves: Any, copied: Any, off: Any) -> float:
    """The largest error of β; that of η, in place of Xᵀ times that of ν."""
    inverse, factor, most, size = curves[INVERSE], curves[FACTOR], np.int64(0), np.int64(0)
    for j in range(eta.size):
        off[j] = reach(off[j], copied[j], inverse[j], eta[j])
    for j in range(eta.size):
        most = max(most, rank(weight[j] * factor[j] * grown(off[j])))
        size = max(size, rank(beta[j]))
    return ranked(most) + ROUNDINGS * EPS * ranked(size)


@ordered
def lift(start: Any, delta: Any, plus: Any, minus: Any) -> None:
    """w± = w±₀·e^{±δ/2}, in place; one of w±₀ may be zero."""
    ahead, behind = start[0], start[1]
    if largest(delta) > 2.0 * FAR:
        for j in range(delta.size):
            plus[j] = 0.0 if ahead[j] == 0.0 else ahead[j] * np.exp(0.5 * delta[j])
            minus[j] = 0.0 if behind[j] == 0.0 else behind[j] * np.exp(-0.5 * delta[j])
        return
    for j in range(delta.size):
        power, rest = expm1_parts(0.5 * delta[j])
        up = power * rest + power
        plus[j], minus[j] = ahead[j] * up, behind[j] / up


@ordered
def centre(start: Any, eta0: Any, bases: Any) -> None:
    """w± where η = 0."""
    for j in range(eta0.size):
        power, rest = expm1_parts(0.5 * eta0[j])
        up = power * rest + power
        bases[0, j], bases[1, j] = start[0, j] / up, start[1, j] * up


@ordered
def lift_plain(
    bases: Any, eta: Any, curves: Any, beta: Any, weight: Any, plus: Any, minus: Any
) -> None:
    """w± from those at η = 0, β and its weight, where all coordinates are plain: one exponential
    serves.

    With u = e^{|η|/2} ≥ 1 and c = r/2, |β| = c·(u² − 1)(1 + u⁻²) and R = 2c + c·(u² − 1)(1 − u⁻²).
    """
    ahead, behind, inverse, scale = bases[0], bases[1], curves[INVERSE], curves[SCALE]
    for j in range(eta.size):
        power, rest = expm1_parts(0.5 * abs(eta[j]))
        more = power * rest + (power - 1.0)
        up = 1.0 + more
        down = 1.0 / up
        top = scale[j] * more * (2.0 + more)
        beta[j] = np.copysign(top + top * down * down, eta[j])
        weight[j] = (2.0 * scale[j] + top * (1.0 - down * down)) * inverse[j]
        above = eta[j] >= 0.0
        plus[j], minus[j] = ahead[j] * (up if above else down), behind[j] * (down if above else up)


@inner
def blend(
    plus: Any, minus: Any, eta: Any, beta: Any, weight: Any, curves: Any, mix: Any, errors: Any
) -> Any:
    """The leaves that `mix` makes of w±, in their place; the errors of β and of the leaves, and the
    size of the largest.

    η moves as far as it may be off, away from zero, and w± in opposite ways. errors: Xᵀ times those
    of ν and of its copy.
    """
    a, b, c, e = mix[0, 0], mix[0, 1], mix[1, 0], mix[1, 1]
    off, copied, inverse, factor = errors[0], errors[1], curves[INVERSE], curves[FACTOR]
    of_beta, highest, of_leaves, size = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for j in range(eta.size):
        moved = reach(off[j], copied[j], inverse[j], eta[j])
        of_beta = max(of_beta, rank(weight[j] * factor[j] * grown(moved)))
        highest = max(highest, rank(beta[j]))
        shrunk = 0.5 * moved
        more, outward = grown(shrunk), eta[j] >= 0.0
        up = abs(plus[j]) * (more if outward else shrunk)
        down = abs(minus[j]) * (shrunk if outward else more)
        one, other = abs(a) * up + abs(b) * down, abs(c) * up + abs(e) * down
        of_leaves = max(of_leaves, max(rank(one), rank(other)))
        one, other = a * plus[j] + b * minus[j], c * plus[j] + e * minus[j]
        plus[j], minus[j] = one, other
        size = max(size, max(rank(one), rank(other)))
    rounding = ROUNDINGS * EPS * ranked(highest)
    return ranked(of_beta) + rounding, ranked(of_leaves), ranked(size)


@inner
def look(times: Any, record: Any, insides: Any, saved: Any, nu: Any, seen: Any) -> None:
    """ν at the saved times; seen (3·times, n): the same, its error and that of its copy, in
    turn."""
    k = 0
    for i in range(saved.size):
        while k < times.size - 1 and times[k] < saved[i]:
            k += 1
        inside = k > 0 and times[k] != saved[i]
        share = (saved[i] - times[k - 1]) / (times[k] - times[k - 1]) if inside else 1.0
        for j in range(nu.shape[1]):
            nu[i, j] = record[k, 0, j]
            if inside:
                a, b, c = record[k - 1, 3, j], record[k - 1, 4, j], record[k - 1, 5, j]
                nu[i, j] = between(record[k - 1, 0, j], nu[i, j], a, b, c, share)
            seen[3 * i, j] = nu[i, j]
            for copied in range(2):
                known = record[k, 1 + copied, j]
                seen[3 * i + 1 + copied, j] = (
                    insides[i, copied, j] if times[k] != saved[i] else known
                )


def _entry(version: int) -> Any:
    def sample(
        field: Field,
        y: Any,
        times: Any,
        record: Any,
        insides: Any,
        saved: Any,
        start: Any,
        mix: Any,
    ) -> Any:
        """At increasing times within the integrated interval: ν, ½‖Xβ − y‖² and the error of β.
        Where w±₀ are given as start (2, d), also two leaves, mix (2, 2) times w±, their error and
        largest size; without, β, η and its error."""
        (n, d), many, lifting = field.X.shape, saved.size, start.shape[1] > version - version
        nu, seen, residual = np.empty((many, n)), np.empty((3 * many, n)), np.empty(n)
        losses, error, leaves = np.empty(many), np.empty(many), np.zeros((2, many))
        first, second = np.empty((many, d)), np.empty((many, d))
        third, weight = np.empty((0 if lifting else many, d)), np.empty(d)
        moved, betas = np.empty((3 * TOGETHER, d)), np.empty((TOGETHER, d))
        curves, inverse, eta0 = field.curves, field.curves[INVERSE], field.curves[ETA0]
        all_plain = plain(curves[SHIFT], curves[SIGN])
        bases = np.empty(start.shape)
        if lifting and all_plain:
            centre(start, eta0, bases)
        look(times, record, insides, saved, nu, seen)
        for low in range(0, many, TOGETHER):
            high = min(low + TOGETHER, many)
            np.dot(seen[3 * low : 3 * high], field.X, moved[: 3 * (high - low)])
            for i in range(low, high):
                here, beta = moved[3 * (i - low) : 3 * (i - low) + 3], betas[i - low]
                eta = here[0]
                if lifting and not all_plain:
                    for j in range(d):
                        eta[j] *= inverse[j]
                    lift(start, eta, first[i], second[i])
                    for j in range(d):
                        eta[j] += eta0[j]
                else:
                    for j in range(d):
                        eta[j] = eta0[j] + eta[j] * inverse[j]
                if lifting and all_plain:
                    lift_plain(bases, eta, curves, beta, weight, first[i], second[i])
                    if largest(nu[i]) == 0.0:
                        copy(start[0], first[i])
                        copy(start[1], second[i])
                else:
                    mirror(eta, curves, np.inf, beta, weight)
                if lifting:
                    error[i], leaves[0, i], leaves[1, i] = blend(
                        first[i], second[i], eta, beta, weight, curves, mix, here[1:]
                    )
                else:
                    error[i] = spread(eta, beta, weight, curves, here[2], here[1])
                    copy(beta, first[i])
                    copy(eta, second[i])
                    copy(here[1], third[i])
            predicted = np.dot(betas[: high - low], field.X.T)
            for i in range(low, high):
                for j in range(n):
                    residual[j] = y[j] - predicted[i - low, j]
                losses[i] = half_square(residual)
        return nu, first, second, third, losses, error, leaves

    return entry(sample)


SOURCES = compiled_room, compiled_march, kernels, rosenbrock
sample = _entry(stamp(__file__, *(str(source.__file__) for source in SOURCES)))
