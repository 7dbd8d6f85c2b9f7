"""Filippov's sliding: which of a neuron's zero pre-activations are held at zero, and with what
gate.

On its zero set a neuron may choose F_g between F0_g and F1_g. Where both sides push towards zero
(sign(a)·(F1 − F0) > 0: the group attracts) the field is the one of least ‖D‖ over that box, a
convex problem with a unique D: velocity zero inside the box, positive where the gate is ON,
negative where it is OFF. A group that does not attract is left by the side its velocity points to.
"""

from __future__ import annotations

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, inner, seldom
from .gated_field import add_pull, pull
from .layout import DEPENDENT, OFF, ON, ROUNDING, SLIDE, Gates, Geometry, Log, Slides
from .small_algebra import (
    copy,
    copy_table,
    dot,
    fill_table,
    index_table,
    indices,
    largest,
    norm,
    row_of,
    sliding_groups,
    solve,
    stack_of,
    table_of,
)

RIDGE = 1e-13
"""Added to the unit diagonal of the Gram matrix of a zero set, so that pivoting is finite for
dependent directions too."""
NO_VELOCITY = 1e-12
"""Velocity relative to the force scale that counts as none."""


@borrowing
def cosine(g: int, k: int, geometry: Geometry) -> float:
    """⟨u_g, u_k⟩, zero where it is rounding. Few are ever asked for: all of them would take n²
    numbers."""
    value = dot(geometry.U[g], geometry.U[k])
    return value if abs(value) >= ROUNDING else 0.0


@seldom
def no_slides(m: int, capacity: int, width: int) -> Slides:
    slides = Slides(
        indices(m),
        index_table(m, capacity),
        stack_of(m, capacity, capacity),
        stack_of(m, capacity, width),
        table_of(m, capacity),
    )
    fill_table(slides.held, 0.0)
    return slides


@seldom
def roomier(slides: Slides, needed: int) -> Slides:
    """The same slides with room for `needed` groups a neuron."""
    m, capacity = slides.which.shape
    if needed <= capacity:
        return slides
    grown = no_slides(m, needed + 4, slides.basis.shape[2])
    for j in range(m):
        inherit(slides, j, grown, j)
    return grown


@borrowing
def inherit(slides: Slides, i: int, heirs: Slides, j: int) -> None:
    """Give neuron j of other slides, which have the room, what neuron i has here."""
    heirs.sizes[j] = slides.sizes[i]
    for a in range(slides.sizes[i]):
        heirs.which[j, a] = slides.which[i, a]
        copy(slides.basis[i, a], heirs.basis[j, a])
        for b in range(a + 1):
            heirs.lower[j, a, b] = slides.lower[i, a, b]


@borrowing
def set_slides(j: int, row: Gates, U: Array, slides: Slides) -> None:
    """Note neuron j's sliding groups, and factorise their Gram matrix by Gram–Schmidt, twice. Those
    that came before the first that slides no more are factorised already."""
    kept, width = 0, U.shape[1]
    which, basis, lower = slides.which[j], slides.basis[j], slides.lower[j]
    while kept < slides.sizes[j] and row[which[kept]] == SLIDE:
        kept += 1
    count = kept
    for g in range(row.size):
        known = row[g] != SLIDE
        for a in range(0 if known else kept):
            known = known or which[a] == g
        if known:
            continue
        q = basis[count]
        for i in range(width):
            q[i] = U[g, i]
        which[count] = g
        for b in range(count + 1):
            lower[count, b] = 0.0
        for _ in range(2):
            for b in range(count):
                c = dot(q, basis[b])
                lower[count, b] += c
                for i in range(width):
                    q[i] -= c * basis[b, i]
        size = norm(q)
        lower[count, count] = size if size > DEPENDENT else 0.0
        for i in range(width):
            q[i] = q[i] / size if size > DEPENDENT else 0.0
        count += 1
    slides.sizes[j] = count


@inner
def sliding_among(row: Gates, zero: Index) -> Index:
    """The places in `zero` of groups that slide."""
    count = 0
    for g in zero:
        count += 1 if row[g] == SLIDE else 0
    places, count = indices(count), 0
    for i in range(zero.size):
        if row[zero[i]] == SLIDE:
            places[count] = i
            count += 1
    return places


@inner
def box_least_squares(
    zero: Index, row: Gates, D: Array, F0: Array, F1: Array, geometry: Geometry, still: float
) -> bool:
    """Gates of the attracting groups `zero`: least ‖D − Σ F_g u_g‖ over F_g between F0_g and F1_g.

    D is the pull of everything else; row holds the first guess and receives the answer. Least-index
    principal pivoting (Murty), which is finite for a positive definite Gram matrix.
    """
    count = zero.size
    b, F, gram = row_of(count), row_of(count), table_of(count, count)
    for i in range(count):
        b[i] = dot(geometry.U[zero[i]], D)
        for k in range(i + 1):
            gram[i, k] = gram[k, i] = cosine(zero[i], zero[k], geometry)
    for _ in range(100 + 20 * count):
        free = sliding_among(row, zero)
        for i in range(count):
            F[i] = F1[zero[i]] if row[zero[i]] == ON else F0[zero[i]]
        if free.size > 0:
            A, right = table_of(free.size, free.size), row_of(free.size)
            for k in range(free.size):
                right[k] = b[free[k]]
                for i in range(count):
                    if row[zero[i]] != SLIDE:
                        right[k] -= gram[free[k], i] * F[i]
                for i in range(free.size):
                    A[k, i] = gram[free[k], free[i]] + (RIDGE if i == k else 0.0)
            solve(A, right)
            for k in range(free.size):
                F[free[k]] = right[k]
        changed = False
        for i in range(count):
            g = zero[i]
            if row[g] == SLIDE:
                share = (F[i] - F0[g]) / (F1[g] - F0[g])
                if not 0.0 < share < 1.0:
                    row[g], changed = (OFF if share <= 0.0 else ON), True
                    break
            else:
                velocity = b[i]
                for k in range(count):
                    velocity -= gram[i, k] * F[k]
                # the sign of a, since the group attracts
                velocity *= 1.0 if F1[g] > F0[g] else -1.0
                if (row[g] == OFF and velocity > still) or (row[g] == ON and velocity < -still):
                    row[g], changed = SLIDE, True
                    break
        if not changed:
            return True
    return False


@inner
def attracting(zero: Index, sign: float, F0: Array, F1: Array) -> tuple[Index, Index]:
    """Those of the groups `zero` that attract, and those that do not."""
    count = 0
    for g in zero:
        count += 1 if sign * (F1[g] - F0[g]) > 0.0 else 0
    held, loose = indices(count), indices(zero.size - count)
    count = 0
    for i in range(zero.size):
        g = zero[i]
        if sign * (F1[g] - F0[g]) > 0.0:
            held[count] = g
            count += 1
        else:
            loose[i - count] = g
    return held, loose


@inner
def resolve(
    zero: Index, row: Gates, sign: float, F0: Array, F1: Array, geometry: Geometry, D: Array
) -> bool:
    """Gates of one neuron on its zero set, where they are SLIDE at first. `sign` is that of a;
    gates outside `zero` are fixed; D is scratch space.

    What they pull is summed anew: where it is nothing, it has to be exactly that.
    """
    pull(row, F0, F1, geometry.U, D)
    still = NO_VELOCITY * largest(F0, F1)
    held, loose = attracting(zero, sign, F0, F1)
    for g in loose:
        row[g] = OFF if row[g] == SLIDE else row[g]
    sound, together = True, row_of(D.size)
    for _ in range(1 + zero.size):
        copy(D, together)
        for g in loose:
            add_pull(g, row[g], F0, F1, geometry.U, together)
        if held.size > 0:
            sound = box_least_squares(held, row, together, F0, F1, geometry, still) and sound
        for g in held:
            add_pull(g, row[g], F0, F1, geometry.U, together)
        turned = False
        for g in loose:
            if row[g] == OFF and sign * held_velocity(g, row, together, geometry) > still:
                row[g], turned = ON, True
        if not turned:
            break
    return sound


@inner
def held_velocity(g: int, row: Gates, D: Array, geometry: Geometry) -> float:
    """⟨D, u_g⟩ with the sliding directions projected out of D."""
    held = sliding_groups(row)
    velocity = dot(D, geometry.U[g])
    if held.size == 0:
        return velocity
    A, right = table_of(held.size, held.size), row_of(held.size)
    for i in range(held.size):
        right[i] = dot(D, geometry.U[held[i]])
        for k in range(held.size):
            A[i, k] = cosine(held[i], held[k], geometry) + (RIDGE if i == k else 0.0)
    solve(A, right)
    for i in range(held.size):
        velocity -= cosine(g, held[i], geometry) * right[i]
    return velocity


@inner
def cross(
    g: int, row: Gates, sign: float, F0: Array, F1: Array, geometry: Geometry, D: Array
) -> bool:
    """Update one neuron's gates where it reaches zero on group g (from an OFF or ON gate)."""
    if sign * (F1[g] - F0[g]) > 0.0:
        row[g] = SLIDE
    else:
        row[g] = OFF if row[g] == ON else ON
    zero = sliding_groups(row)
    return resolve(zero, row, sign, F0, F1, geometry, D) if zero.size > 0 else True


@seldom
def noted(log: Log, t: float, j: int, before: Gates, after: Gates) -> Log:
    """The log with every change of this neuron's gates."""
    for g in range(before.size):
        if before[g] == after[g]:
            continue
        if log.filled[0] == log.rows.shape[0]:
            rows = table_of(2 * log.rows.shape[0], log.rows.shape[1])
            copy_table(log.rows, rows)
            log = Log(rows, log.filled)
        row = log.rows[log.filled[0]]
        row[0], row[1], row[2], row[3], row[4] = t, j, g, before[g], after[g]
        log.filled[0] += 1
    return log
