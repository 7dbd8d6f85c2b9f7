"""Companions of a march, which tell its error: the same flow by steps that end elsewhere, finer and
coarser ones.

A kink that a step meets at a time s from either of its ends, within the last of its Euler steps,
leaves an error c·s²/2, c a jump
of the second derivative, which the extrapolation does not see: the Euler steps add up to something
linear in 1/N. Whatever its length, another step that ends there has the same error. Hence
companions share no end of a step with the march but the start: to be compared at its times they
take a short step aside, from which they do not go on. The first of their steps is short as well.
Where a kink lies in the first third of it, or in the last of a step aside, shorter ones lead away
from there and to there. Others
agree by chance only: to leave less to that, finer steps are cut at the kink they meet, if one
matters most, which leaves none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.trees import leaf_map
from .clocks import Slope, log_elapsed, slope_at
from .implicit_step import Point, combined, step
from .margin_march import March, normalised
from .tangents import MarginView, ReluView


class StepGrid(NamedTuple):
    """Ends of steps, counted in those of the march: the first, and how far apart they are; and what
    a distance stands for."""

    first: float
    spacing: float
    factor: float


GRIDS = (StepGrid(1 / 2, 2 / 3, 5.0), StepGrid(1.75, 2.0, 1.0))
"""Finer, and coarser steps; neither ends where those of the march do, nor near the start of one.

Over its distance to the finer path the march's error is 27/19 on smooth networks. At kinks both are
of second order, with factors
that depend on where in a step they are met: it is one where the finer path ends a step there, and
any number about one where it meets many. 5 is exceeded where the finer path has as much as four
fifths of the same error. The coarser one is off by eight times the error on smooth networks, at
kinks by four."""
BESIDE = StepGrid(1 / 2, 1.0, 2.0)
"""For the path on which a gate changes that the march only comes close to: steps of the same
length. It may change sooner."""
PROBED, LEAVING = 3, 2.0
"""Places of comparison by which that path has left the march, and how far, in units of the distance
at which it began."""
HELD = 1e-13
"""⟨w, x⟩ over ‖x‖ of weights of norm one up to which a neuron is held on the kink."""
APART, EARLY = 6, 6
"""Of runs that save all steps every so many are compared, and all of the first, which grow; between
two the larger counts."""
ASIDE = 1 / 6
"""Length of the step aside, up to twice as much where the companion is so close: it hides a kink in
the last third of it only."""
WIDER = 3.0
"""Ratio of the distances from an end that is shared at which such steps end. One of length h that
meets a kink a time θh after it began is off by c·h²·E(θ), |E| ≤ ⅛, the most for θ = ½: at most a
quarter of c·s²/2, which is what the march is off by."""
RECENT = 2
"""Places before one whose distances also tell its error, for two paths that cross agree there by
chance."""
LOOSEST, HALVINGS = 10.0, 6
"""Local error, over the tolerance of the march, from which on a companion's step is halved, and how
often: twice the march's is off by eight times as much on smooth networks, but may lead elsewhere
where a kink decides."""
WEIGHTY = 0.1
"""Weight, relative to the largest, from which a sample is counted as on the margin."""
NAMES = ("state", "relative_error", "margin_error", "log_norm_error", "weights_error")
ROUNDED = 4 * float(np.finfo(float).eps)
"""What rounding adds in a step, relative to the largest weight."""
NEAREST = ROUNDED**0.5
"""Share of a step from its end within which a kink changes no more than rounding does: c·s² of a
step in which, relative to their size, the weights move by one, and steps are shorter."""


class _Place(NamedTuple):
    """A point of a companion with its time, and on the risk's clock the slope of S and the
    logarithm of that time."""

    time: float
    point: Point
    slope: Slope | None
    log_time: float


@dataclass
class Companion:
    """Another path from the same start: the steps of the march at which it is known, its points
    there, and the risk's clock; how far it came, counted in steps of the march, too, and where its
    next step ends."""

    steps: list[int]
    points: list[Point]
    log_times: list[float]
    now: _Place
    place: float
    ahead: float

    def copy(self) -> Companion:
        """Another, which goes on from where this one stands."""
        lists = self.steps.copy(), self.points.copy(), self.log_times.copy()
        return Companion(*lists, self.now, self.place, self.ahead)


class Departure(NamedTuple):
    """Where another path leaves the march: after which step, and to which point."""

    step: int
    point: Point

    def same_as(self, other: Departure | None) -> bool:
        if other is None or other.step != self.step:
            return False
        return largest_gap(self.point.params, other.point.params) == 0.0


def begun(march: March, grid: StepGrid, begin: Departure | None = None) -> Companion:
    """A companion at the start, or where it leaves the march."""
    start, point = Departure(0, march.points[0]) if begin is None else begin
    now = _Place(march.times[start], point, None, -np.inf)
    if march.risk_clock:
        now = now._replace(
            slope=slope_at(march.view, march.loss, point), log_time=march.log_times[start]
        )
    return Companion([start], [point], [now.log_time], now, start, start + grid.first / 3)


def follow(
    march: March, grid: StepGrid, compared: list[int], over: Callable[[], bool], before: Companion
) -> Companion:
    """The companion, continued along a grid of its own, with an extra step to each time at which it
    is compared, until `over` is true or a step fails."""
    found, start = before.copy(), before.steps[0]
    for i in compared[bisect_right(compared, found.steps[-1]) :]:
        while found.ahead < i:
            first, until = found.place == start, _time_of(march, found.ahead)
            cuts = (
                _from_the_start(march, found.now, until)
                if first
                else _on_the_way(march, found.now, until, grid)
            )
            after = _advance_by(march, found.now, [*cuts, until], over)
            if after is None:
                return found
            found.now, found.place = after, found.ahead
            found.ahead = start + grid.first if first else found.ahead + grid.spacing
        near: _Place | None = found.now
        if i - found.place >= 2 * ASIDE:
            until = _time_of(march, i - ASIDE)
            cuts = _on_the_way(march, found.now, until, grid)
            near = _advance_by(march, found.now, [*cuts, until], over)
        aside = None if near is None else _aside(march, near, march.times[i], over)
        if aside is None:
            return found
        found.steps.append(i)
        found.points.append(aside.point)
        found.log_times.append(aside.log_time)
    return found


def _time_of(march: March, place: float) -> float:
    """The time at so many steps of the march, parts of one counted by their length."""
    i = min(int(place), len(march.times) - 2)
    return march.times[i] + (place - i) * (march.times[i + 1] - march.times[i])


def _aside(march: March, near: _Place, time: float, over: Callable[[], bool]) -> _Place | None:
    """On to a time at which the march ends a step: by one, or by shorter ones where it met a kink
    close to that end."""
    aside = _advance(march, near, time, over)
    if aside is None or not isinstance(march.view, ReluView):
        return aside
    changed, length = (
        _sides(march.view, near.point) != _sides(march.view, aside.point),
        time - near.time,
    )
    if not np.any(changed):
        return aside
    kinks, jumps = _kinks(march.view, near.point)
    left = np.maximum(length - kinks, NEAREST * length)
    back = _spread(left, np.where(changed, jumps, 0.0), length)
    return _advance_by(march, near, [*(time - back[::-1]), time], over) if back.size else aside


def _from_the_start(march: March, now: _Place, until: float) -> Array:
    """Ends of steps before the first, where a kink is met soon after the start."""
    if not isinstance(march.view, ReluView):
        return np.empty(0)
    length, (kinks, jumps) = until - now.time, _kinks(march.view, now.point)
    met = (kinks > NEAREST * length) & (
        now.time + kinks < march.times[bisect_right(march.times, now.time)]
    )
    return now.time + _spread(kinks, np.where(met, jumps, 0.0), length)


def _on_the_way(march: March, now: _Place, until: float, grid: StepGrid) -> list[float]:
    """Where a finer step is cut: at the kink that it meets, if one makes most of its error."""
    if grid.spacing >= 1 or not isinstance(march.view, ReluView):
        return []
    kinks, jumps = _kinks(march.view, now.point)
    jumps = np.where(kinks < until - now.time, jumps, 0.0)
    most = int(np.argmax(jumps))
    return [now.time + float(kinks.flat[most])] if jumps.flat[most] > np.sum(jumps) / 2 else []


def _spread(distances: Array, jumps: Array, length: float) -> Array:
    """Distances from an end of a step at which it is cut, for kinks so far from it.

    None where that which leaves the largest error c·s²/2 is seen, farther than a third: of many
    kinks the far ones count.
    """
    errors = jumps * np.minimum(distances, length) ** 2
    nearest = float(distances.flat[np.argmax(errors)]) if np.any(errors) else length
    count = int(np.ceil(np.log(length / nearest) / np.log(WIDER))) if nearest < length / 3 else 0
    return np.asarray(nearest * WIDER ** np.arange(count, dtype=float))


def _kinks(view: ReluView, point: Point) -> tuple[Array, Array]:
    """Times (m, n) after which a neuron meets a kink as it moves now, inf where it does not, and
    how much ä_j jumps there.

    ȧ_j = Σ_i q_i·σ(⟨w_j, x_i⟩): by q_i·⟨ẇ_j, x_i⟩, up to the slope of σ below zero.
    """
    z, speed = point.params.W @ view.X.T, view.velocity(point.params, point.weights).W @ view.X.T
    meets = z * speed < 0
    times = np.divide(-z, speed, out=np.full(z.shape, np.inf), where=meets)
    return times, np.where(meets, np.abs(speed) * point.weights, 0.0)


def _sides(view: ReluView, point: Point) -> Array:
    """Signs of ⟨w_j, x_i⟩ (m, n), 0 on the kink."""
    z, lengths = point.params.W @ view.X.T, np.sqrt(np.sum(view.X**2, axis=1))
    return np.where(np.abs(z) > HELD * lengths, np.sign(z), 0.0)


def _advance_by(
    march: March, now: _Place, ends: list[float], over: Callable[[], bool]
) -> _Place | None:
    """Steps that end there, those left out that are none in floats."""
    place: _Place | None = now
    for end in ends:
        if place is not None and end > place.time:
            place = _advance(march, place, end, over)
    return place


def _advance(march: March, now: _Place, time: float, over: Callable[[], bool]) -> _Place | None:
    """A step, in more of them where its local error is far above the tolerance or it has no end."""
    for halvings in range(HALVINGS):
        place, dt = now, (time - now.time) / 2**halvings
        for _ in range(2**halvings):
            trial = step(march.view, march.loss, place.point, dt, march.rtol)
            if over():
                return None
            if (trial.error > LOOSEST * march.rtol and halvings < HALVINGS - 1) or not np.isfinite(
                trial.error
            ):
                break
            place = _moved(march, place, trial.end, dt)
        else:
            return place._replace(time=time)
    return None


def _moved(march: March, place: _Place, point: Point, dt: float) -> _Place:
    if place.slope is None:
        return _Place(place.time + dt, point, None, place.log_time)
    slope = slope_at(march.view, march.loss, point)
    return _Place(
        place.time + dt,
        point,
        slope,
        float(np.logaddexp(place.log_time, log_elapsed(place.slope, slope, dt))),
    )


def other_branch(march: March, places: list[int], relative: Array) -> Departure | None:
    """The march with the gate changed that most nearly did, where its error leaves that open;
    relative: that of states."""
    if not isinstance(march.view, ReluView):
        return None
    X, lengths = march.view.X, np.sqrt(np.sum(march.view.X**2, axis=1))
    last, closest, found = len(march.points) - 1, 1.0, None
    before, now = (march.points[i].params.W @ X.T for i in range(2)) if last > 1 else (X, X)
    for i in range(1, last):
        after = march.points[i + 1].params.W @ X.T
        known = relative[max(bisect_right(places, i) - 1, 0)]
        blur = (
            lengths * (march.local[i] if np.isnan(known) else max(float(known), march.local[i]))
            + np.finfo(float).tiny
        )
        stays = (
            (np.sign(before) == np.sign(now))
            & (np.sign(now) == np.sign(after))
            & (np.abs(now) > HELD * lengths)
        )
        turns = stays & (np.abs(now) <= np.abs(before)) & (np.abs(now) <= np.abs(after))
        shares = np.where(turns, np.abs(now) / blur, np.inf)
        if shares.size and np.min(shares) < closest:
            j, k = divmod(int(np.argmin(shares)), len(X))
            closest, found = float(shares[j, k]), (i, j, k, float(now[j, k]), float(blur[k]))
        before, now = now, after
    if found is None:
        return None
    i, j, k, z, blurred = found
    point = march.points[i]
    W = point.params.W.copy()
    W[j] -= (z + np.sign(z) * blurred / 2) / lengths[k] ** 2 * X[k]
    moved = normalised(point.params._replace(W=W), point.weights)
    return Departure(i, moved._replace(log_norm=moved.log_norm + point.log_norm))


def follow_branch(
    march: March, branch: Departure, compared: list[int], over: Callable[[], bool]
) -> Companion | None:
    """The path from a branch; None where it stays as close as it began, and the gate decides
    nothing."""
    later = [i for i in compared if i > branch.step]
    start = begun(march, BESIDE, branch)
    leaving = LEAVING * _distances(march, branch.step, branch.point, start.log_times[0])[1]
    found = follow(march, BESIDE, later[:PROBED], over, start)
    ends = zip(found.steps[1:], found.points[1:], found.log_times[1:], strict=True)
    if not any(_distances(march, *end)[1] > leaving for end in ends):
        return None
    return follow(march, BESIDE, later, over, found)


def compared_places(steps: int, saved: list[int]) -> list[int]:
    """Ends of steps at which companions are compared: those saved, of many only some."""
    some = [i for i in range(1, steps + 1) if i <= EARLY or i % APART == 0 or i == steps]
    return min([i for i in saved if i > 0], some, key=len)


def with_turns(march: March, compared: list[int], saved: list[int]) -> list[int]:
    """Those, and of the steps that are saved those in which gates change, where they are no more:
    an error of the time at which a neuron comes to rest on a kink is gone when both paths have."""
    if not isinstance(march.view, ReluView):
        return compared
    turns: list[int] = []
    for i in saved:
        if i > 0 and np.any(
            _sides(march.view, march.points[i]) != _sides(march.view, march.points[i - 1])
        ):
            turns.append(i)
        if len(turns) > len(compared):
            return compared
    return sorted({*compared, *turns})


def errors_at(
    march: March, companions: list[tuple[float, Companion]], places: list[int]
) -> dict[str, Array]:
    """Errors of states, relative states, margins, log-norms and weights, from companions and their
    factors; nan where unknown."""
    errors = np.zeros((len(places), len(NAMES)))
    for factor, companion in companions:
        known = {i: k for k, i in enumerate(companion.steps)}

        @cache
        def off(i: int, companion: Companion = companion, known: dict[int, int] = known) -> Array:
            return _distances(march, i, companion.points[known[i]], companion.log_times[known[i]])

        for k, i in enumerate(places):
            if i > companion.steps[-1]:
                errors[k] = np.nan
            if not companion.steps[0] <= i <= companion.steps[-1]:
                continue
            after = bisect_left(companion.steps, i)
            recent = companion.steps[max(after - RECENT, 0) : after + 1]
            errors[k] = np.maximum(errors[k], factor * np.max([off(j) for j in recent], axis=0))
    return {
        name: row + ROUNDED * np.array(places) * size
        for name, row, size in zip(NAMES, errors.T, _sizes(march, places), strict=True)
    }


def _sizes(march: March, places: list[int]) -> tuple[Array, ...]:
    """Of what each error is rounded."""
    ones = np.ones(len(places))
    largest = np.array([np.exp(march.points[i].log_norm / 2) for i in places])
    return largest, ones, ones * 0, ones, ones * 0


def _distances(march: March, i: int, other: Point, log_time: float) -> Array:
    """How far a companion is off after step i of the march."""
    point, there = march.points[i], other
    if march.risk_clock and i > 0:
        there = _at_the_time_of(march, i, other, log_time)
    with np.errstate(over="ignore", invalid="ignore"):  # a companion may have run away
        scale = np.exp((there.log_norm - point.log_norm) / 2)
        apart = largest_gap(point.params, leaf_map(lambda leaf: scale * leaf, there.params))
    return np.array(
        [
            apart * np.exp(point.log_norm / 2),
            largest_gap(point.params, there.params),
            _margin_gap(march.view, point, there),
            max(abs(point.log_norm - there.log_norm), apart),  # one number may agree by chance
            0.5 * float(np.sum(np.abs(point.weights - other.weights))),
        ]
    )


def _at_the_time_of(march: March, i: int, other: Point, log_time: float) -> Point:
    """Where a companion is when its own clock of the risk shows what that of the march does, to
    first order in the difference."""
    value = slope_at(march.view, march.loss, other).value
    lasted = np.exp(min(log_time - value, 300.0)) * np.expm1(
        min(march.log_times[i] - log_time, 300.0)
    )
    moved = normalised(
        combined(
            (1.0, other.params), (float(lasted), march.view.velocity(other.params, other.weights))
        ),
        other.weights,
    )
    return moved._replace(log_norm=moved.log_norm + other.log_norm)


def _margin_gap(view: MarginView, point: Point, other: Point) -> float:
    """The largest change of a margin h_i among samples that carry weight, and that of the least."""
    ours, theirs = view.margins(point.params), view.margins(other.params)
    weighty = np.maximum(point.weights, other.weights) >= WEIGHTY * np.max(point.weights)
    return max(
        abs(float(np.min(ours) - np.min(theirs))), float(np.max(np.abs(ours - theirs)[weighty]))
    )


def largest_gap(ours: Any, theirs: Any) -> float:
    return max(float(np.max(np.abs(a - b))) for a, b in zip(ours, theirs, strict=True))
