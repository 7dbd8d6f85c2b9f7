"""What a compiled dual flow looks like at given times: ν, η, β, the loss and the error estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._numerics import rosenbrock
from ..._numerics.compilation import entry, finite, stamp
from . import compiled_march, compiled_room, hypentropy_kernels as kernels
from .compiled_march import EPS, between
from .compiled_room import ETA0, FACTOR, Field
from .hypentropy_kernels import (
    INVERSE,
    dual_point,
    forces,
    half_square,
    largest,
    mirror,
    moves,
)

CAUTION, KNOWN = 4.0, 2.0
"""Factors on the error that is pushed along, to first order over steps in which weights may grow by
e², and on its copy with other signs, which tells what may have cancelled."""
ROUNDINGS = 8.0
"""Roundings of η and β that an error estimate allows for."""


@finite
def spread(weight: Any, factor: Any, moved: Any) -> float:
    """The largest change of β that changes of η make."""
    most = 0.0
    for j in range(weight.size):
        x = moved[j]
        value = weight[j] * factor[j] * x * (1.0 + x * (0.5 + x / 6.0))
        most = value if value > most else most
    return most


def _entry(version: int) -> Any:
    def sample(field: Field, y: Any, times: Any, record: Any, insides: Any, saved: Any) -> Any:
        """ν, η, β, ½‖Xβ − y‖², the error of β and those of η at increasing times within the
        integrated interval."""
        (n, d), many = field.X.shape, saved.size
        nu, eta, beta = np.empty((many, n)), np.empty((many, d)), np.empty((many, d))
        losses, error, off = np.empty(many), np.empty(many), np.empty((many, d))
        weight, moved, residual, k = np.empty(d), np.empty(d), np.empty(n), version - version
        inverse = field.curves[INVERSE]
        for i in range(many):
            while k < times.size - 1 and times[k] < saved[i]:
                k += 1
            inside = k > 0 and times[k] != saved[i]
            share = (saved[i] - times[k - 1]) / (times[k] - times[k - 1]) if inside else 1.0
            for j in range(n):
                nu[i, j] = record[k, 0, j]
                if inside:
                    a, b, c = record[k - 1, 3, j], record[k - 1, 4, j], record[k - 1, 5, j]
                    nu[i, j] = between(record[k - 1, 0, j], nu[i, j], a, b, c, share)
            dual_point(field.X, nu[i], field.curves[ETA0], inverse, eta[i])
            mirror(eta[i], field.curves, np.inf, beta[i], weight)
            forces(field.X, beta[i], y, 1.0, residual)
            losses[i] = half_square(residual)
            pair = insides[i] if times[k] != saved[i] else record[k][1:3]
            moves(field.X, pair[0], inverse, off[i])
            moves(field.X, pair[1], inverse, moved)
            for j in range(d):
                off[i, j] = max(CAUTION * off[i, j], KNOWN * moved[j]) + ROUNDINGS * EPS * abs(
                    eta[i, j]
                )
            error[i] = spread(weight, field.curves[FACTOR], off[i]) + ROUNDINGS * EPS * largest(
                beta[i]
            )
        return nu, eta, beta, losses, error, off

    return entry(sample)


SOURCES = compiled_room, compiled_march, kernels, rosenbrock
sample = _entry(stamp(__file__, *(str(source.__file__) for source in SOURCES)))
