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


PLACE, PULL, GATE, SPEED, SIDE, MEAN, SINCE = range(7)
"""Rows of what is known of one neuron, one entry per sample that bends its path: ⟨w, x⟩, a·q, the
gate, the speed of ⟨w, x⟩, the side of the kink, the gate's integral up to a time, and that time."""


class Samples(NamedTuple):
    """Samples that bend paths: inputs, the same by columns, their squares, and which of all they
    are."""

    X: Any
    columns: Any
    squares: Any
    which: Any


class Passed(NamedTuple):
    """All samples as one neuron passes them: inputs by columns, ⟨w, x⟩, its speed, and the share of
    the step for which the gate was open."""

    columns: Any
    places: Any
    speeds: Any
    gates: Any


@inner
def _set_gate(samples: Samples, i: int, new: float, time: float, rows: Any, velocity: Any) -> None:
    rows[MEAN, i] += rows[GATE, i] * (time - rows[SINCE, i])
    rows[SINCE, i] = time
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
def _hold(samples: Samples, slope: float, time: float, rows: Any, velocity: Any, held: Any) -> None:
    """Filippov's gates of the kinks the neuron is on, by projected Gauss–Seidel; sides of those it
    leaves."""
    count = 0
    for i in range(samples.squares.size):
        if rows[PLACE, i] == 0.0 and rows[PULL, i] < 0.0:
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
                _set_gate(samples, i, new, time, rows, velocity)
        if most <= CLOSE:
            break
    for c in range(count):
        gate = rows[GATE, held[c]]
        rows[SIDE, held[c]] = 1.0 if gate >= 1.0 else (-1.0 if gate <= slope else 0.0)


@inner
def _begin(samples: Samples, slope: float, rows: Any, velocity: Any) -> None:
    """Sides and gates at the start of a step: where a kink repels a neuron that is on it, the side
    it is pushed to from below."""
    n, d = samples.columns.shape[1], samples.columns.shape[0]
    for i in range(n):
        above = rows[PLACE, i] > 0.0
        rows[SIDE, i], rows[GATE, i] = 1.0 if above else -1.0, 1.0 if above else slope
        rows[MEAN, i], rows[SINCE, i] = 0.0, 0.0
    for k in range(d):
        total = 0.0
        for i in range(n):
            total += rows[PULL, i] * rows[GATE, i] * samples.columns[k, i]
        velocity[k] = total
    for i in range(n):
        if rows[PLACE, i] == 0.0 and rows[PULL, i] >= 0.0 and _along(samples, i, velocity) > 0.0:
            rows[SIDE, i] = 1.0
            _set_gate(samples, i, 1.0, 0.0, rows, velocity)


@inner
def _set_speeds(columns: Any, velocity: Any, speeds: Any) -> None:
    speeds[:] = 0.0
    for k in range(velocity.size):
        along = velocity[k]
        for i in range(speeds.size):
            speeds[i] += columns[k, i] * along


@inner
def _first_zero(rows: Any, left: float) -> Any:
    """The time until ⟨w, x⟩ is zero for a sample, and which; or what is left of the step, and
    −1."""
    span, which = left, -1
    for i in range(rows.shape[1]):
        if rows[SIDE, i] * rows[SPEED, i] < 0.0:
            ahead = -rows[PLACE, i] / rows[SPEED, i]
            if ahead < span:
                span, which = max(ahead, 0.0), i
    return span, which


@inner
def _pass(passed: Passed, slope: float, span: float, velocity: Any) -> None:
    """A part of the path, for samples that do not bend it."""
    places, speeds, gates = passed.places, passed.speeds, passed.gates
    _set_speeds(passed.columns, velocity, speeds)
    for i in range(speeds.size):
        start, end = places[i], places[i] + span * speeds[i]
        low, high = (start if start < end else end), (end if start < end else start)
        above = (high if high > 0.0 else 0.0) - (low if low > 0.0 else 0.0)
        above = above / (high - low) if high > low else (1.0 if start > 0.0 else 0.0)
        gates[i] += (slope + (1.0 - slope) * above) * span
        places[i] = end


@inner
def _follow(
    heavy: Samples, passed: Passed, slope: float, rows: Any, velocity: Any, held: Any
) -> None:
    """The polygon of one neuron over a step, which lasts a unit of time: its average gates, and its
    sides where it ends.

    Samples that hardly pull are passed without an event: their kinks do not bend the path.
    """
    count, left = heavy.squares.size, 1.0
    most, light = EVENTS * passed.gates.size, passed.gates.size > count
    _begin(heavy, slope, rows, velocity)
    _hold(heavy, slope, 0.0, rows, velocity, held)
    for event in range(most + 1):
        _set_speeds(heavy.columns, velocity, rows[SPEED])
        span, which = _first_zero(rows, left)
        if event == most:
            span, which = left, -1
        if light:
            _pass(passed, slope, span, velocity)
        if which < 0:
            break
        left -= span
        for i in range(count):
            rows[PLACE, i] += 0.0 if rows[SIDE, i] == 0.0 else span * rows[SPEED, i]
        rows[PLACE, which] = 0.0
        if rows[PULL, which] >= 0.0:
            rows[SIDE, which] = -rows[SIDE, which]
            gate = 1.0 if rows[SIDE, which] > 0.0 else slope
            _set_gate(heavy, which, gate, 1.0 - left, rows, velocity)
        _hold(heavy, slope, 1.0 - left, rows, velocity, held)
    for i in range(count):
        gate = rows[MEAN, i] + rows[GATE, i] * (1.0 - rows[SINCE, i])
        passed.gates[heavy.which[i]] = gate


@inner
def _heavy(X: Any, q: Any) -> Samples:
    """The samples that pull, those left out whose pull is none beside that of all."""
    n, d = X.shape
    pulls, total, count = np.zeros(n), 0.0, 0
    for i in range(n):
        for k in range(d):
            pulls[i] += abs(q[i]) * X[i, k] * X[i, k]
        total += pulls[i]
    for i in range(n):
        count += 1 if pulls[i] > LIGHT * total else 0
    found = Samples(
        np.empty((count, d)), np.empty((d, count)), np.zeros(count), np.empty(count, np.int64)
    )
    count = 0
    for i in range(n):
        if pulls[i] > LIGHT * total:
            found.which[count] = i
            for k in range(d):
                found.X[count, k] = X[i, k]
                found.columns[k, count] = X[i, k]
                found.squares[count] += X[i, k] * X[i, k]
            count += 1
    return found


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
        """Average gates (m, n) of a step dt of ẇ_j = a_jΣ_i q_i·g_ij·x_i from z (m, n), which
        slide at its end, and which neurons do, and which are ever active (m,)."""
        (m, n), d = z.shape, X.shape[1]
        gates, slides = np.zeros((m, n)), np.zeros((m, n), dtype=np.bool_)
        sliding, live = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
        heavy, columns = _heavy(X, q), np.empty((d, n))
        count, at_rest = heavy.squares.size, np.zeros(n + version - version)
        for i in range(n):
            for k in range(d):
                columns[k, i] = X[i, k]
                at_rest[i] += X[i, k] * X[i, k]
            at_rest[i] = AT_REST * np.sqrt(at_rest[i])
        rows, places, speeds = np.empty((7, count)), np.empty(n), np.empty(n)
        velocity, held = np.empty(d), np.empty(count, dtype=np.int64)
        for j in range(m):
            length = lengths[j]
            for i in range(n):
                places[i] = 0.0 if abs(z[j, i]) <= at_rest[i] * length else z[j, i]
            for i in range(count):
                rows[PLACE, i] = places[heavy.which[i]]
                rows[PULL, i] = dt * a[j] * q[heavy.which[i]]
            passed = Passed(columns, places, speeds, gates[j])
            _follow(heavy, passed, slope, rows, velocity, held)
            for i in range(count):
                if rows[SIDE, i] == 0.0:
                    slides[j, heavy.which[i]] = True
                    sliding[j] = True
            most = 0.0
            for i in range(n):
                most = max(most, max(gates[j, i], z[j, i]))
            live[j] = most > 0.0
        return gates, slides, sliding, live

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
