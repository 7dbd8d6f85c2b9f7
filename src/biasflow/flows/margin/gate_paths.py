"""Gates of ReLUs over a step: each neuron's path through its kinks, while outputs and the weights
of the samples stand still.

With a and q held, ẇ = aΣ_i q_i·g_i·x_i is constant between the zeros of ⟨w, x_i⟩, so the path is a
polygon. Where both sides of a kink push towards it (a·q_i < 0) the neuron stays on it, in
Filippov's sense, as long as some gate holds it
there: the velocity is the least over the box of gates. Elsewhere it goes through. An average gate
is a share of the step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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


PLACE, PULL, GATE, SPEED, AHEAD, HEAVY, SIDE = range(7)
"""Rows of what is known of one neuron, one entry per sample: ⟨w, x⟩, a·q, the gate, the speed of
⟨w, x⟩, the time until its zero, whether the sample bends the path, and the side of the kink."""


class Samples(NamedTuple):
    """Inputs, the same by columns, their squares, and the slope of the ReLU below zero."""

    X: Any
    columns: Any
    squares: Any
    slope: float


@inner
def _set_gate(samples: Samples, i: int, new: float, rows: Any, velocity: Any) -> None:
    change = rows[PULL, i] * (new - rows[GATE, i])
    rows[GATE, i] = new
    for k in range(velocity.size):
        velocity[k] += change * samples.X[i, k]


@inner
def _along(samples: Samples, i: int, velocity: Any) -> float:
    speed = 0.0
    for k in range(velocity.size):
        speed += samples.X[i, k] * velocity[k]
    return speed


@inner
def _hold(samples: Samples, rows: Any, velocity: Any, held: Any) -> None:
    """Filippov's gates of the kinks the neuron is on, by projected Gauss–Seidel; sides of those it
    leaves."""
    count, slope = 0, samples.slope
    for i in range(held.size):
        if rows[PLACE, i] == 0.0 and rows[PULL, i] * samples.squares[i] < 0.0:
            held[count] = i
            count += 1
    for _ in range(SWEEPS if count > 0 else 0):
        most = 0.0
        for c in range(count):
            i = held[c]
            stiffness = rows[PULL, i] * samples.squares[i]
            new = rows[GATE, i] - _along(samples, i, velocity) / stiffness
            new = slope if new < slope else (1.0 if new > 1.0 else new)
            if new != rows[GATE, i]:
                most = max(most, abs(new - rows[GATE, i]))
                _set_gate(samples, i, new, rows, velocity)
        if most <= CLOSE:
            break
    for c in range(count):
        gate = rows[GATE, held[c]]
        rows[SIDE, held[c]] = 1.0 if gate >= 1.0 else (-1.0 if gate <= slope else 0.0)


@inner
def _begin(samples: Samples, rows: Any, velocity: Any) -> None:
    """Sides and gates at the start of a step: where a kink repels a neuron that is on it, the side
    it is pushed to from below."""
    n, slope = samples.squares.size, samples.slope
    for i in range(n):
        above = rows[PLACE, i] > 0.0
        rows[SIDE, i], rows[GATE, i] = 1.0 if above else -1.0, 1.0 if above else slope
    for k in range(velocity.size):
        total = 0.0
        for i in range(n):
            total += rows[PULL, i] * rows[GATE, i] * samples.columns[k, i]
        velocity[k] = total
    for i in range(n):
        if rows[PLACE, i] == 0.0 and rows[PULL, i] >= 0.0 and _along(samples, i, velocity) > 0.0:
            rows[SIDE, i] = 1.0
            _set_gate(samples, i, 1.0, rows, velocity)


@inner
def _first_zero(samples: Samples, rows: Any, velocity: Any, left: float) -> Any:
    """The time until ⟨w, x⟩ is zero for a sample that bends the path, and which; or what is left of
    the step, and −1."""
    n, columns = samples.squares.size, samples.columns
    for i in range(n):
        rows[SPEED, i] = columns[0, i] * velocity[0]
    for k in range(1, velocity.size):
        for i in range(n):
            rows[SPEED, i] += columns[k, i] * velocity[k]
    for i in range(n):
        meets = rows[HEAVY, i] > 0.0 and rows[SIDE, i] * rows[SPEED, i] < 0.0
        rows[AHEAD, i] = -rows[PLACE, i] / rows[SPEED, i] if meets else np.inf
    span, which = left, -1
    for i in range(n):
        if rows[AHEAD, i] < span:
            span, which = max(rows[AHEAD, i], 0.0), i
    return span, which


@inner
def _follow(samples: Samples, rows: Any, dt: float, velocity: Any, held: Any, mean: Any) -> None:
    """The polygon of one neuron over a step: its average gates, and its sides where it ends.

    Samples that hardly pull are passed without an event: their kinks do not bend the path.
    """
    n, slope, left, total = samples.squares.size, samples.slope, dt, 0.0
    for i in range(n):
        total += abs(rows[PULL, i]) * samples.squares[i]
        mean[i] = 0.0
    for i in range(n):
        heavy = abs(rows[PULL, i]) * samples.squares[i] > LIGHT * total
        rows[HEAVY, i] = 1.0 if heavy else 0.0
        rows[PULL, i] = rows[PULL, i] if heavy else 0.0
    _begin(samples, rows, velocity)
    _hold(samples, rows, velocity, held)
    for event in range(EVENTS * n + 1):
        span, which = _first_zero(samples, rows, velocity, left)
        if event == EVENTS * n:
            span, which = left, -1
        for i in range(n):
            start, heavy = rows[PLACE, i], rows[HEAVY, i] > 0.0
            end = start + span * rows[SPEED, i]
            low, high = min(start, end), max(start, end)
            above = 1.0 if low > 0.0 else (0.0 if high <= 0.0 else high / (high - low))
            gate = rows[GATE, i] if heavy else slope + (1.0 - slope) * above
            mean[i] += gate * (span / dt)
            rows[PLACE, i] = start if heavy and rows[SIDE, i] == 0.0 else end
        left -= span
        if which < 0:
            break
        rows[PLACE, which] = 0.0
        if rows[PULL, which] * samples.squares[which] >= 0.0:
            rows[SIDE, which] = -rows[SIDE, which]
            gate = 1.0 if rows[SIDE, which] > 0.0 else slope
            _set_gate(samples, which, gate, rows, velocity)
        _hold(samples, rows, velocity, held)


@inner
def _basis(X: Any, slides: Any, squares: Any, vector: Any, basis: Any) -> None:
    """An orthonormal basis of those inputs in the first rows of `basis`; overwrites `vector`."""
    n, d = X.shape
    rank = 0
    for i in range(n):
        if slides[i] and rank < d:
            for k in range(d):
                vector[k] = X[i, k]
            for sweep in range(2 * rank):  # twice is enough
                row, along = basis[sweep % rank], 0.0
                for k in range(d):
                    along += row[k] * vector[k]
                for k in range(d):
                    vector[k] -= along * row[k]
            size = 0.0
            for k in range(d):
                size += vector[k] * vector[k]
            if size > PARALLEL * squares[i]:
                for k in range(d):
                    basis[rank, k] = vector[k] / np.sqrt(size)
                rank += 1


def _entry(version: int) -> Any:
    def step_gates(z: Any, a: Any, q: Any, X: Any, lengths: Any, slope: float, dt: float) -> Any:
        """Average gates (m, n) of a step dt of ẇ_j = a_jΣ_i q_i·g_ij·x_i from z (m, n), and which
        slide at its end."""
        (m, n), d = z.shape, X.shape[1]
        gates, slides = np.empty((m, n)), np.zeros((m, n), dtype=np.bool_)
        rows, velocity, held = np.empty((7, n)), np.empty(d), np.empty(n, dtype=np.int64)
        samples = Samples(X, np.empty((d, n)), np.zeros(n + version - version), slope)
        for i in range(n):
            for k in range(d):
                samples.columns[k, i] = X[i, k]
                samples.squares[i] += X[i, k] * X[i, k]
        for j in range(m):
            for i in range(n):
                at_rest = abs(z[j, i]) <= AT_REST * lengths[j] * np.sqrt(samples.squares[i])
                rows[PLACE, i] = 0.0 if at_rest else z[j, i]
                rows[PULL, i] = a[j] * q[i] if samples.squares[i] > 0.0 else 0.0
            _follow(samples, rows, dt, velocity, held, gates[j])
            for i in range(n):
                slides[j, i] = rows[SIDE, i] == 0.0
        return gates, slides

    return entry(step_gates)


def _bases(version: int) -> Any:
    def sliding_bases(X: Any, slides: Any) -> Any:
        """Orthonormal rows (s, d, d) that span the inputs each neuron slides on, zero where there
        are fewer."""
        (n, d), s = X.shape, slides.shape[0]
        bases, vector = np.zeros((s, d, d)), np.empty(d)
        squares = np.zeros(n + version - version)
        for i in range(n):
            for k in range(d):
                squares[i] += X[i, k] * X[i, k]
        for j in range(s):
            _basis(X, slides[j], squares, vector, bases[j])
        return bases

    return entry(sliding_bases)


STAMP = stamp(__file__)
step_gates = _entry(STAMP)
sliding_bases = _bases(STAMP)
