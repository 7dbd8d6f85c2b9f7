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
from .hypentropy_kernels import INVERSE, expm1_parts, half_square, largest, mirror

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
def spread(weight: Any, factor: Any, moved: Any) -> float:
    """The largest change of β that changes of η make; overwrites the weights."""
    for j in range(weight.size):
        x = moved[j]
        weight[j] *= factor[j] * x * (1.0 + x * (0.5 + x / 6.0))
    return largest(weight)


@inner
def widen(eta: Any, inverse: Any, copied: Any, off: Any) -> None:
    """The error of η in place of Xᵀ times that of ν; copied: of its copy."""
    for j in range(eta.size):
        size = max(CAUTION * abs(off[j]), KNOWN * abs(copied[j]))
        off[j] = size * inverse[j] + ROUNDINGS * EPS * abs(eta[j])


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
        grown = power * rest + power
        plus[j], minus[j] = ahead[j] * grown, behind[j] / grown


@inner
def sway(plus: Any, minus: Any, eta: Any, off: Any, mix: Any) -> float:
    """The largest change of the leaves that `mix` makes of w± where η moves as far as `off` says
    away from zero: of w± in opposite ways. Overwrites `off`."""
    a, b, c, e = abs(mix[0, 0]), abs(mix[0, 1]), abs(mix[1, 0]), abs(mix[1, 1])
    for j in range(off.size):
        power, rest = expm1_parts(0.5 * off[j])
        grown = power * rest + (power - 1.0)
        shrunk = grown / (1.0 + grown)
        outward = eta[j] >= 0.0
        up = abs(plus[j]) * (grown if outward else shrunk)
        down = abs(minus[j]) * (shrunk if outward else grown)
        one, other = a * up + b * down, c * up + e * down
        off[j] = one if one > other else other
    return largest(off)


@inner
def blend(plus: Any, minus: Any, mix: Any) -> None:
    """The leaves that `mix` makes of w±, in their place."""
    a, b, c, e = mix[0, 0], mix[0, 1], mix[1, 0], mix[1, 1]
    for j in range(plus.size):
        one, other = a * plus[j] + b * minus[j], c * plus[j] + e * minus[j]
        plus[j], minus[j] = one, other


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
        Where w±₀ are given as start (2, d), also two leaves, mix (2, 2) times w±, and their error;
        without, β, η and its error."""
        (n, d), many, lifting = field.X.shape, saved.size, start.shape[1] > version - version
        nu, pairs, residual = np.empty((many, n)), np.empty((2, many, n)), np.empty(n)
        losses, error, of_weights = np.empty(many), np.empty(many), np.zeros(many)
        first, second = np.empty((many, d)), np.empty((many, d))
        third, weight = np.empty((TOGETHER if lifting else many, d)), np.empty(d)
        room = np.empty((2, TOGETHER if lifting else 0, d))
        inverse, eta0, k = field.curves[INVERSE], field.curves[ETA0], 0
        for i in range(many):
            while k < times.size - 1 and times[k] < saved[i]:
                k += 1
            inside = k > 0 and times[k] != saved[i]
            share = (saved[i] - times[k - 1]) / (times[k] - times[k - 1]) if inside else 1.0
            error[i] = 0.0
            for j in range(n):
                nu[i, j] = record[k, 0, j]
                if inside:
                    a, b, c = record[k - 1, 3, j], record[k - 1, 4, j], record[k - 1, 5, j]
                    nu[i, j] = between(record[k - 1, 0, j], nu[i, j], a, b, c, share)
                for copied in range(2):
                    known = record[k, 1 + copied, j]
                    pairs[copied, i, j] = insides[i, copied, j] if times[k] != saved[i] else known
                    error[i] += 0.0 * pairs[copied, i, j]  # NaN where it is not finite
        for low in range(0, many, TOGETHER):
            high = min(low + TOGETHER, many)
            some = slice(0, high - low) if lifting else slice(low, high)
            eta = room[0][some] if lifting else second[some]
            beta = room[1][some] if lifting else first[some]
            off = third[some]
            eta[:] = np.dot(nu[low:high], field.X)
            off[:] = np.dot(pairs[0, low:high], field.X)
            copied_off = np.dot(pairs[1, low:high], field.X)
            for i in range(low, high):
                here = i - low
                for j in range(d):
                    eta[here, j] *= inverse[j]
                if lifting:
                    lift(start, eta[here], first[i], second[i])
                for j in range(d):
                    eta[here, j] += eta0[j]
                mirror(eta[here], field.curves, np.inf, beta[here], weight)
                widen(eta[here], inverse, copied_off[here], off[here])
                unknown = error[i]
                error[i] += spread(weight, field.curves[FACTOR], off[here])
                error[i] += ROUNDINGS * EPS * largest(beta[here])
                if lifting:
                    moved = sway(first[i], second[i], eta[here], off[here], mix)
                    of_weights[i] = unknown + moved
                    blend(first[i], second[i], mix)
            predicted = np.dot(beta, field.X.T)
            for i in range(low, high):
                for j in range(n):
                    residual[j] = y[j] - predicted[i - low, j]
                losses[i] = half_square(residual)
        return nu, first, second, third, losses, error, of_weights

    return entry(sample)


SOURCES = compiled_room, compiled_march, kernels, rosenbrock
sample = _entry(stamp(__file__, *(str(source.__file__) for source in SOURCES)))
