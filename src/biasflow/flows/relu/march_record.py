"""What a march is asked, and what it keeps of its steps."""

from __future__ import annotations

from typing import NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, seldom, seldom_borrowing
from .layout import Gates
from .small_algebra import copy, copy_table, gate_stack, indices, row_of, stack_of

FEW_STEPS = 64
"""Steps that there is room for at first."""


class Request(NamedTuple):
    """How to march: until t1, or until Σ(h − y)² falls to `goal`, or all speeds to `still`; rtol;
    saving at `times`."""

    t0: float
    t1: float
    rtol: float
    noise: float  # rounding of a force
    step: float  # first step, zero for automatic
    goal: float
    still: float
    faint: float  # 2ρ of a neuron up to which its share of the predictions is negligible
    max_steps: int
    times: Array
    keep: int  # states kept of the steps, thinned to every 2^k-th
    stop: Index  # its entry turns to one when the time is over
    seen: Array  # told at every step: time, Σ(h − y)², changes of gates
    mesh: Array  # where another run's steps ended, whose steps are taken in halves; or nothing


class Kept(NamedTuple):
    """Ends of steps: time, state, gates, and the step proposed there."""

    times: Array
    states: Array
    gates: Gates
    steps: Array


class Book(NamedTuple):
    """The kept steps with their bookkeeping: (how many, every how many-th); and where every step
    began and ended."""

    kept: Kept
    tally: Index  # (2,)
    ends: Array


@seldom
def kept_for(size: int, m: int, width: int, G: int) -> Kept:
    return Kept(row_of(size), stack_of(size, m, width), gate_stack(size, m, G), row_of(size))


@seldom
def book_for(most: int, m: int, width: int, G: int) -> Book:
    tally = indices(2)
    tally[1] = 1
    size = FEW_STEPS if most > FEW_STEPS else most
    return Book(kept_for(size, m, width, G), tally, row_of(4 * FEW_STEPS))


@seldom_borrowing
def move_step(source: Kept, i: int, target: Kept, k: int) -> None:
    target.times[k], target.steps[k] = source.times[i], source.steps[i]
    copy_table(source.states[i], target.states[k])
    copy_table(source.gates[i], target.gates[k])


@borrowing
def crowded(book: Book, accepted: int, most: int) -> bool:
    """Whether there is no room for one more step, and some could be made."""
    size = book.kept.times.size
    return (book.tally[0] == size and size < most) or accepted >= book.ends.size


@seldom
def with_room(book: Book, accepted: int, most: int) -> Book:
    """With room for one more step among the kept, up to `most`, and among the ends."""
    kept, ends, filled = book.kept, book.ends, book.tally[0]
    size, m, width = kept.states.shape
    if filled == size and size < most:
        grown = kept_for(4 * size if 4 * size < most else most, m, width, kept.gates.shape[2])
        for i in range(filled):
            move_step(kept, i, grown, i)
        kept = grown
    if accepted >= ends.size:
        longer = row_of(4 * ends.size)
        copy(ends, longer)
        ends = longer
    return Book(kept, book.tally, ends)


@seldom_borrowing
def keep_step(book: Book, accepted: int, t: float, Y: Array, gates: Gates, h: float) -> None:
    """Note the end of a step, and keep every so-many-th; when full, every second of those kept goes
    and that number doubles."""
    kept, tally = book.kept, book.tally
    book.ends[accepted] = t
    if accepted % tally[1] != 0:
        return
    if tally[0] == kept.times.size:
        half = (tally[0] + 1) // 2
        for i in range(half):
            move_step(kept, 2 * i, kept, i)
        tally[0], tally[1] = half, 2 * tally[1]
        if accepted % tally[1] != 0:
            return
    i = tally[0]
    kept.times[i], kept.steps[i] = t, h
    copy_table(Y, kept.states[i])
    copy_table(gates, kept.gates[i])
    tally[0] += 1
