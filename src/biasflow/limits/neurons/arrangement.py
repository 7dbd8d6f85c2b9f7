"""max_u |Σ_i q_i(⟨u, c_i⟩)₊| over unit vectors, exactly: the hyperplanes ⟨u, c_i⟩ = 0 cut the
sphere into finitely many faces.

On a face the sum is ⟨u, g⟩, and its largest value over the unit vectors of the face's span is the
length of the projection of g. Every face touches a two-dimensional one, an arc of the great circle
on r − 2 hyperplanes. So: walk all great circles; at each arc take the faces around it, on, above or
below each of its hyperplanes. A maximum lies on concave kinks only, those with q_i < 0. What counts
is the sum itself, evaluated at each candidate, so a face met twice or wrongly does no harm.
O(n^{r−1}) faces. Where rows cancel almost completely, a candidate's direction is known to few
digits: the maximum allows for what that may hide.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index, Mask
from ..._numerics.compilation import entry, ordered, stamp
from ..._numerics.interrupts import apart, interrupted, stop_flag

INSIDE = 1e-9
"""Tolerance, relative to ‖c_i‖, on the side of a hyperplane where a candidate must lie; it decides
what is evaluated, no more."""
ROUNDING = 4 * 2.0**-52
"""Rounding of an angle; times √n, of a gradient Σq_ic_i and of the sum itself relative to
Σ|q_i|‖c_i‖."""
DEPENDENT = 1e-14
"""Relative length of what is left of a row after projection below which it counts as dependent."""
ROOM = 4096
"""Candidates kept: the best ones."""


@ordered
def dot(u: Array, v: Array) -> float:
    total = 0.0
    for d in range(u.size):
        total += u[d] * v[d]
    return total


@ordered
def add(u: Array, factor: float, v: Array) -> None:
    """u += factor·v."""
    for d in range(u.size):
        u[d] += factor * v[d]


@ordered
def _copy(u: Array, v: Array) -> None:
    """u = v, as a loop: slices compile ten times as long."""
    for d in range(u.size):
        u[d] = v[d]


@ordered
def _axis(u: Array, axis: int) -> None:
    """u = the unit vector of an axis, zero for axis −1."""
    for d in range(u.size):
        u[d] = 1.0 if d == axis else 0.0


@ordered
def _sum(u: Array, C: Array, q: Array) -> float:
    total = 0.0
    for i in range(q.size):
        t = dot(u, C[i])
        if t > 0:
            total += q[i] * t
    return total


@ordered
def _project_out(v: Array, basis: Array, count: int) -> float:
    """v less its parts along the first `count` rows of an orthonormal basis; its length."""
    for b in range(count):
        add(v, -dot(v, basis[b]), basis[b])
    return math.sqrt(dot(v, v))


@ordered
def _appended(basis: Array, count: int, v: Array, least: float) -> int:
    """One more row for an orthonormal basis, from v; the number of rows, the same where v lies in
    their span."""
    size = math.sqrt(dot(v, v))
    for _ in range(2):  # twice, for rounding
        length = _project_out(v, basis, count)
    if length <= least * size:
        return count
    for d in range(v.size):
        basis[count, d] = v[d] / length
    return count + 1


@ordered
def _plane(basis: Array, count: int, v: Array) -> None:
    """Two more rows for `count` = r − 2: the plane orthogonal to them."""
    for k in range(count, v.size):
        best, axis = -1.0, 0
        for d in range(v.size):
            _axis(v, d)
            length = _project_out(v, basis, k)
            if length > best:
                best, axis = length, d
        _axis(v, axis)
        _appended(basis, k, v, 0.0)


@ordered
def _flats(chosen: Index, C: Array, bases: Array, ranks: Index, v: Array) -> None:
    """For every subset (bit mask) of the chosen rows an orthonormal basis of its span."""
    for mask in range(ranks.size):
        count = 0
        for k in range(chosen.size):
            if mask >> k & 1:
                _copy(v, C[chosen[k]])
                count = _appended(bases[mask], count, v, DEPENDENT)
        ranks[mask] = count


@ordered
def _next_subset(chosen: Index, n: int) -> bool:
    """The next subset in order; False after the last."""
    k = chosen.size - 1
    while k >= 0 and chosen[k] == n - chosen.size + k:
        k -= 1
    if k < 0:
        return False
    chosen[k] += 1
    for j in range(k + 1, chosen.size):
        chosen[j] = chosen[j - 1] + 1
    return True


@ordered
def _events(
    C: Array, q: Array, inside: Mask, e1: Array, e2: Array, angles: Array, owners: Index, g: Array
) -> int:
    """Where the circle crosses each other hyperplane, upwards (owner i) and downwards (owner ~i); g
    at angle zero."""
    count = 0
    _axis(g, -1)
    for i in range(q.size):
        if inside[i]:
            continue
        phase = math.atan2(dot(e2, C[i]), dot(e1, C[i]))
        up, down = (phase - math.pi / 2) % (2 * math.pi), (phase + math.pi / 2) % (2 * math.pi)
        angles[count], owners[count] = up, i
        angles[count + 1], owners[count + 1] = down, ~i
        count += 2
        if up > down:
            add(g, q[i], C[i])
    return count


@ordered
def _thinned(U: Array, V: Array, S: Array, state: Array) -> None:
    """Drop candidates below the mean: those above it stay, and the floor rises."""
    total, kept = 0.0, 0
    for k in range(V.size):
        total += V[k]
    floor = total / V.size
    for k in range(V.size):
        if V[k] > floor:
            _copy(U[kept], U[k])
            V[kept], S[kept] = V[k], S[k]
            kept += 1
    state[0], state[1] = kept if kept else V.size // 2, floor  # none above: all are equal


@ordered
def _sort(angles: Array, owners: Index, count: int) -> None:
    """Shell sort of the events by angle: compiles in a tenth of the time of NumPy's."""
    stride = 1
    while stride < count // 3:
        stride = 3 * stride + 1
    while stride > 0:
        for k in range(stride, count):
            angle, owner, j = angles[k], owners[k], k
            while j >= stride and angles[j - stride] > angle:
                angles[j], owners[j] = angles[j - stride], owners[j - stride]
                j -= stride
            angles[j], owners[j] = angle, owner
        stride //= 3


@ordered
def _keep(
    U: Array, V: Array, S: Array, state: Array, u: Array, value: float, most: float, sign: float
) -> None:
    """Store a candidate above the floor. state: count, floor, maximum, rounding, maximum that it
    allows, Σ|q|‖c‖."""
    state[2], state[4] = max(state[2], value), max(state[4], value, most)
    if value > state[1]:
        if state[0] >= V.size:
            _thinned(U, V, S, state)
        k = int(state[0])
        V[k], S[k] = value, sign
        _copy(U[k], u)
        state[0] += 1


@ordered
def _hidden(
    angle: float, g: Array, weight: float, row: Array, size: float, e1: Array, e2: Array
) -> float:
    """What the sum may gain within the rounding of a vertex's angle: that over the row's share of
    the plane, times its slope."""
    along, across = dot(e1, row), dot(e2, row)
    slope = math.cos(angle) * dot(e2, g) - math.sin(angle) * dot(e1, g)
    kink = abs(weight) * math.hypot(along, across)
    return ROUNDING * size / max(math.hypot(along, across), ROUNDING * size) * (abs(slope) + kink)


@ordered
def _fits(
    v: Array,
    sign: float,
    chosen: Index,
    sides: Array,
    C: Array,
    q: Array,
    lengths: Array,
    slack: float,
) -> bool:
    """Does ±v lie on the face: on concave kinks, and on the right side of the others?"""
    for j in range(chosen.size):
        i = chosen[j]
        if sides[j] == 0.0:
            if sign * q[i] >= 0:
                return False
        elif sign * sides[j] * dot(v, C[i]) < -lengths[i] * slack:
            return False
    return True


@ordered
def _faces(
    g: Array,
    chosen: Index,
    C: Array,
    q: Array,
    bases: Array,
    ranks: Index,
    lengths: Array,
    U: Array,
    V: Array,
    S: Array,
    state: Array,
    v: Array,
    sides: Array,
) -> None:
    """Candidates on the faces around an arc with gradient g (without the circle's own
    hyperplanes)."""
    for code in range(3**chosen.size):
        rest, on = code, 0
        _copy(v, g)
        for j in range(chosen.size):
            sides[j] = rest % 3 - 1.0
            rest //= 3
            if sides[j] == 0.0:
                on |= 1 << j
            elif sides[j] > 0:
                add(v, q[chosen[j]], C[chosen[j]])
        length = _project_out(v, bases[on], ranks[on])
        if length <= min(state[1], state[2]):
            continue
        for sign in (1.0, -1.0):
            if _fits(v, sign, chosen, sides, C, q, lengths, INSIDE * length + state[3]):
                inside = _fits(v, sign, chosen, sides, C, q, lengths, state[3])
                for d in range(v.size):
                    v[d] *= sign / length
                value = sign * _sum(v, C, q)
                most = min(length, value + state[5] * state[3] / length) if inside else value
                _keep(U, V, S, state, v, value, most, sign)
                for d in range(v.size):
                    v[d] *= sign * length


@ordered
def _arcs(
    chosen: Index,
    C: Array,
    q: Array,
    bases: Array,
    ranks: Index,
    lengths: Array,
    U: Array,
    V: Array,
    S: Array,
    state: Array,
) -> None:
    """Walk the great circle on the chosen hyperplanes: its vertices, its arcs and the faces around
    them."""
    n, r = C.shape
    v, g, sides = np.zeros(r), np.zeros(r), np.zeros(chosen.size)
    inside, angles, owners = (
        np.zeros(n, dtype=np.bool_),
        np.zeros(2 * n),
        np.zeros(2 * n, dtype=np.int64),
    )
    lowest, highest = -np.inf, np.inf
    for i in chosen:
        inside[i] = True
        lowest, highest = max(lowest, q[i]), min(highest, q[i])
    _plane(bases[-1], r - 2, v)
    e1, e2 = bases[-1, r - 2], bases[-1, r - 1]
    events = _events(C, q, inside, e1, e2, angles, owners, g)
    _sort(angles, owners, events)
    for event in range(events):
        i, rise = owners[event], 1.0
        if i < 0:
            i, rise = ~i, -1.0
        add(g, rise * q[i], C[i])
        sign = 1.0 if q[i] < 0 else -1.0
        if (sign > 0 and lowest < 0) or (sign < 0 and highest > 0):
            _axis(v, -1)
            add(v, math.cos(angles[event]), e1)
            add(v, math.sin(angles[event]), e2)
            hidden = _hidden(angles[event], g, q[i], C[i], lengths[i], e1, e2)
            if sign * dot(v, g) + hidden > min(state[1], state[2]):
                value = sign * _sum(v, C, q)
                _keep(U, V, S, state, v, value, value + hidden, sign)
        _faces(g, chosen, C, q, bases, ranks, lengths, U, V, S, state, v, sides)
    if events == 0:
        _faces(g, chosen, C, q, bases, ranks, lengths, U, V, S, state, v, sides)


def _circles(stamp: int) -> Any:
    def circles(
        chosen: Index,
        C: Array,
        q: Array,
        lengths: Array,
        U: Array,
        V: Array,
        S: Array,
        state: Array,
        stop: Index,
    ) -> None:
        """Walk all great circles, from the chosen one on, until `stop` is raised."""
        r = C.shape[1]
        bases, ranks, v = (
            np.zeros((1 << (r - 2), r, r)),
            np.zeros(1 << (r - 2), dtype=np.int64),
            np.zeros(r + 0 * stamp),
        )
        while stop[0] == 0:
            _flats(chosen, C, bases, ranks, v)
            if ranks[-1] == r - 2:
                _arcs(chosen, C, q, bases, ranks, lengths, U, V, S, state)
            if not _next_subset(chosen, q.size):
                break

    return circles


circles = entry(_circles(stamp(__file__)))


def walk(C: Array, q: Array, floor: float) -> tuple[Array, Array, Array, float]:
    """Candidates (u, sign, value) above `floor`, and the maximum, with what rounding may hide. C
    (n, r) of rank r ≥ 2, no q_i zero."""
    return apart(_walk, C, q, floor)


def _walk(C: Array, q: Array, floor: float) -> tuple[Array, Array, Array, float]:
    C, q, r = np.ascontiguousarray(C), np.ascontiguousarray(q), C.shape[1]
    U, V, S, state = (
        np.zeros((ROOM, r)),
        np.zeros(ROOM),
        np.zeros(ROOM),
        np.array([0.0, floor, 0.0, 0.0, 0.0, 0.0]),
    )
    chosen, lengths = np.arange(r - 2), np.linalg.norm(C, axis=1)
    state[5] = float(np.abs(q) @ lengths)
    state[3] = ROUNDING * math.sqrt(q.size) * state[5]
    circles(chosen, C, q, lengths, U, V, S, state, stop_flag())
    if interrupted():
        raise KeyboardInterrupt
    found = int(state[0])
    return U[:found], S[:found], V[:found], float(state[4] + state[3])


def walk_line(C: Array, q: Array) -> tuple[Array, Array, Array]:
    """The same for rank one: u = ±1."""
    U = np.array([[1.0], [-1.0]])
    values = np.maximum(U @ C.T, 0.0) @ q
    return U, np.where(values < 0, -1.0, 1.0), np.abs(values)
