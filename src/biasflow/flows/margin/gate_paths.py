"""Gates of ReLUs over a step: each neuron's path through its kinks, while outputs and the weights
of the samples stand still.

With a and q held, ẇ = aΣ_i q_i·g_i·x_i is constant between the zeros of ⟨w, x_i⟩, so the path is a
polygon. Where both sides of a kink push towards it (a·q_i < 0) the neuron stays on it, in
Filippov's sense, as long as some gate holds it
there: the velocity is the least over the box of gates. Elsewhere it goes through. An average gate
is a share of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._numerics.compilation import entry, inner, stamp

SWEEPS = 200
CLOSE = 1e-13
"""Change of a gate in a sweep at which the gates that hold a neuron are found."""
EVENTS = 10
"""Zeros that a neuron may meet in a step, per sample."""
AT_REST = 4e-15
"""⟨w, x⟩ over ‖w‖‖x‖ that is zero to rounding."""
LIGHT = 1e-12
"""Share of all pulls below which that of one sample bends no path."""
PARALLEL = 1e-20
"""Squared sine of the angle between inputs below which they are parallel."""


@inner
def _along(X: Any, i: int, velocity: Any) -> float:
    speed = 0.0
    for k in range(velocity.size):
        speed += X[i, k] * velocity[k]
    return speed


@inner
def _set_gate(i: int, new: float, pull: Any, X: Any, gate: Any, velocity: Any) -> None:
    change = pull[i] * (new - gate[i])
    gate[i] = new
    for k in range(velocity.size):
        velocity[k] += change * X[i, k]


@inner
def _hold(
    z: Any,
    pull: Any,
    X: Any,
    squares: Any,
    slope: float,
    gate: Any,
    velocity: Any,
    side: Any,
    held: Any,
) -> None:
    """Filippov's gates of the kinks the neuron is on, by projected Gauss–Seidel; sides of those it
    leaves."""
    count = 0
    for i in range(z.size):
        if z[i] == 0.0 and pull[i] * squares[i] < 0.0:
            held[count] = i
            count += 1
    for _ in range(SWEEPS if count > 0 else 0):
        most = 0.0
        for c in range(count):
            i = held[c]
            new = gate[i] - _along(X, i, velocity) / (pull[i] * squares[i])
            new = slope if new < slope else (1.0 if new > 1.0 else new)
            if new != gate[i]:
                most = max(most, abs(new - gate[i]))
                _set_gate(i, new, pull, X, gate, velocity)
        if most <= CLOSE:
            break
    for c in range(count):
        i = held[c]
        side[i] = 1 if gate[i] >= 1.0 else (-1 if gate[i] <= slope else 0)


@inner
def _begin(
    z: Any, pull: Any, X: Any, slope: float, rest: Any, gate: Any, velocity: Any, side: Any
) -> None:
    """Sides and gates at the start of a step: where a kink repels a neuron that is on it, the side
    it is pushed to from below."""
    velocity[:] = 0.0
    for i in range(z.size):
        if abs(z[i]) <= rest[i]:
            z[i] = 0.0
        side[i] = 1 if z[i] > 0.0 else -1
        gate[i] = 0.0
        _set_gate(i, 1.0 if z[i] > 0.0 else slope, pull, X, gate, velocity)
    for i in range(z.size):
        if z[i] == 0.0 and pull[i] >= 0.0 and _along(X, i, velocity) > 0.0:
            side[i] = 1
            _set_gate(i, 1.0, pull, X, gate, velocity)


@inner
def _share_above(start: float, end: float) -> float:
    """The share of a straight line from start to end that is positive."""
    if start > 0.0 and end > 0.0:
        return 1.0
    if start <= 0.0 and end <= 0.0:
        return 0.0
    return max(start, end) / abs(end - start)


@inner
def _follow(
    z: Any,
    pull: Any,
    X: Any,
    squares: Any,
    slope: float,
    dt: float,
    rest: Any,
    work: Any,
    velocity: Any,
    side: Any,
    held: Any,
    mean: Any,
) -> None:
    """The polygon of one neuron over a step: its average gates, and in `side` where it ends;
    overwrites z.

    Samples that hardly pull are passed without an event: their kinks do not bend the path.
    """
    n, left, gate, speed, heavy, total = z.size, dt, work[0], work[1], work[2], 0.0
    for i in range(n):
        total += abs(pull[i]) * squares[i]
    for i in range(n):
        heavy[i] = 1.0 if abs(pull[i]) * squares[i] > LIGHT * total else 0.0
        pull[i] *= heavy[i]
    _begin(z, pull, X, slope, rest, gate, velocity, side)
    _hold(z, pull, X, squares, slope, gate, velocity, side, held)
    for i in range(n):
        mean[i] = 0.0
    for event in range(EVENTS * n + 1):
        span, which = left, -1
        for i in range(n):
            speed[i] = _along(X, i, velocity)
            if heavy[i] > 0.0 and side[i] * speed[i] < 0.0:
                until = -z[i] / speed[i]
                if until < span:
                    span, which = max(until, 0.0), i
        if event == EVENTS * n:
            span, which = left, -1
        for i in range(n):
            if heavy[i] > 0.0:
                mean[i] += gate[i] * (span / dt)
                if side[i] != 0:
                    z[i] += span * speed[i]
            else:
                mean[i] += (slope + (1.0 - slope) * _share_above(z[i], z[i] + span * speed[i])) * (
                    span / dt
                )
                z[i] += span * speed[i]
        left -= span
        if which < 0:
            break
        z[which] = 0.0
        if pull[which] * squares[which] >= 0.0:
            side[which] = -side[which]
            _set_gate(which, 1.0 if side[which] > 0 else slope, pull, X, gate, velocity)
        _hold(z, pull, X, squares, slope, gate, velocity, side, held)


@inner
def _project(basis: Any, vector: Any) -> None:
    """Takes the span of an orthonormal basis out of a vector, in place."""
    for r in range(basis.shape[0]):
        along = 0.0
        for k in range(vector.size):
            along += basis[r, k] * vector[k]
        for k in range(vector.size):
            vector[k] -= along * basis[r, k]


@inner
def _basis(X: Any, slides: Any, squares: Any) -> Any:
    """An orthonormal basis of those inputs."""
    n, d = X.shape
    basis, rank = np.zeros((d, d)), 0
    for i in range(n):
        if slides[i] and rank < d:
            vector = X[i].copy()
            for _ in range(2):
                _project(basis[:rank], vector)
            size = 0.0
            for k in range(d):
                size += vector[k] * vector[k]
            if size > PARALLEL * squares[i]:
                basis[rank] = vector / np.sqrt(size)
                rank += 1
    return basis[:rank]


def _entry(version: int) -> Any:
    def step_gates(z: Any, a: Any, q: Any, X: Any, lengths: Any, slope: float, dt: float) -> Any:
        """Average gates (m, n) of a step dt of ẇ_j = a_jΣ_i q_i·g_ij·x_i from z (m, n), and which
        slide at its end."""
        (m, n), d = z.shape, X.shape[1]
        gates, work = np.empty((m, n)), np.empty((3, n))
        pull, rest, place, velocity, squares = (
            np.empty(n),
            np.empty(n),
            np.empty(n),
            np.empty(d),
            np.zeros(n + version - version),
        )
        slides, side, held = (
            np.zeros((m, n), dtype=np.bool_),
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.int64),
        )
        for i in range(n):
            for k in range(d):
                squares[i] += X[i, k] * X[i, k]
        for j in range(m):
            for i in range(n):
                place[i], pull[i] = z[j, i], a[j] * q[i] if squares[i] > 0.0 else 0.0
                rest[i] = AT_REST * lengths[j] * np.sqrt(squares[i])
            _follow(place, pull, X, squares, slope, dt, rest, work, velocity, side, held, gates[j])
            for i in range(n):
                slides[j, i] = side[i] == 0
        return gates, slides

    return entry(step_gates)


def _bases(version: int) -> Any:
    def sliding_bases(X: Any, slides: Any) -> Any:
        """Orthonormal rows (s, d, d) that span the inputs each neuron slides on, zero where there
        are fewer."""
        (n, d), s = X.shape, slides.shape[0]
        bases, squares = np.zeros((s, d, d)), np.zeros(n + version - version)
        for i in range(n):
            for k in range(d):
                squares[i] += X[i, k] * X[i, k]
        for j in range(s):
            basis = _basis(X, slides[j], squares)
            bases[j, : basis.shape[0]] = basis
        return bases

    return entry(sliding_bases)


STAMP = stamp(__file__)
step_gates = _entry(STAMP)
sliding_bases = _bases(STAMP)
