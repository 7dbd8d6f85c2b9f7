"""Newton's method for the weights of samples, compiled: the system of those that are seen, and
where its solution leads. LAPACK solves it in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._numerics.compilation import entry, stamp

LEAST = 1e-40
"""Least weight kept while a temperature is worked on, so that every sample can come back."""
RETURNING = 1e-4
"""Weight up to which one rises as an exponential too: alone it hardly moves the others, and a
linear rise from LEAST would take 22 steps."""
UNSEEN = 1e-32
"""Weight up to which a sample does not move the others: times the largest rate, 1/RIDGE, it is
below the rounding of the forces."""


def _system(version: int) -> Any:
    def set_system(
        rows: Any, seen: Any, p: Any, h: Any, heat: Any, force: Any, system: Any, right: Any
    ) -> None:
        """√p·K·√p + ε of the samples seen, its lower half, and √p and √p·force on the right; the
        forces ε·log p + h + Kp of all. heat: ε, and ε with the ridge."""
        count, n = rows.shape
        for i in range(n + version - version):
            force[i] = heat[0] * np.log(p[i]) + h[i]
        for c in range(count):
            weight = p[seen[c]]
            right[0, c] = np.sqrt(weight)
            for i in range(n):
                force[i] += weight * rows[c, i]
        for c in range(count):
            root = right[0, c]
            for b in range(c + 1):
                system[c, b] = root * rows[c, seen[b]] * right[0, b]
            system[c, c] += heat[1]
            right[1, c] = root * force[seen[c]]

    return entry(set_system)


def _move(version: int) -> Any:
    def move(
        rows: Any, seen: Any, p: Any, heat: Any, force: Any, root: Any, solved: Any, rate: Any
    ) -> Any:
        """The weights after Newton's direction, in place: they fall as exponentials and rise
        linearly, unless they are slight. Unseen samples follow the others.

        Returns the change, the spread of the forces, the largest rate, and whether the same samples
        are seen as before.
        """
        count, n = rows.shape
        total, against, along = 0.0, 0.0, 0.0
        for i in range(n + version - version):
            total += p[i]
        for c in range(count):
            along += root[c] * solved[0, c]
            against += root[c] * solved[1, c]
        level = (1.0 - total + against) / along
        for i in range(n):
            rate[i] = level - force[i]
        if count < n:
            for c in range(count):
                share = root[c] * (level * solved[0, c] - solved[1, c])
                for i in range(n):
                    rate[i] -= share * rows[c, i]
            for i in range(n):
                rate[i] /= heat[1]
        for c in range(count):
            rate[seen[c]] = (level * solved[0, c] - solved[1, c]) / root[c]
        total = 0.0
        for i in range(n):
            if rate[i] > 0.0:
                back = min(p[i] * np.exp(min(rate[i], 100.0)), RETURNING)
                p[i] = max(p[i] * (1.0 + min(rate[i], 50.0)), back)
            else:
                p[i] *= np.exp(max(rate[i], -50.0))
            total += p[i]
        change, spread, most, visible = 0.0, 0.0, -np.inf, 0
        for i in range(n):
            p[i] = max(p[i] / total, LEAST)
            change += p[i] * min(abs(rate[i]), 1.0)
            spread += p[i] * abs(force[i] - level)
            most = max(most, rate[i])
            visible += 1 if p[i] > UNSEEN else 0
        same = visible == count
        for c in range(count):
            same = same and p[seen[c]] > UNSEEN
        return change, spread, most, same

    return entry(move)


STAMP = stamp(__file__)
set_system = _system(STAMP)
move = _move(STAMP)
