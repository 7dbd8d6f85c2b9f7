"""Problems in units of their own: powers of two in which inputs and labels are of size one, and
flows taken back from there.

Gradient flow of a model with f(c·w, x) = c^D·f(w, x) and f(w, c·x) = c^p·f(w, x) follows scaling
laws. With inputs 2^j, weights 2^k and labels 2^e, e = Dk + pj, the flow of a square loss is the
same in the time 2^{2k−2e}; with e = 0 that of every loss is. Mirror flows do the same where their
potential has a unit. Multiplying by powers of two rounds nothing, so that flows which are
integrated in their own units follow these laws to the last bit, and no tolerance of an integrator
has a scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import frexp, gcd, inf, isfinite, ldexp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import SMALLEST_NORMAL, Array, all_finite, positive_float
from .._core.problems import MirrorProblem, Problem, data_in_units, problem_in_units
from .._core.results import Trajectory, altered, later, tells
from .._core.trees import leaf_map, leaves
from .._numerics.flow_frame import save_times
from ..errors import InputError, RefusedError, ScaleError
from ..losses import SquareLoss
from ..models import Model

FURTHEST = 1000
"""Exponent of the unit of time up to which floats hold the times of a flow, with some decades to
spare."""
LOG2 = float(np.log(2.0))
LATELY_SEEN, FEW_BYTES = 16, 2**16
"""Arrays whose largest entry is remembered, and their size up to which it is: flows from many
starts ask for that of the same data."""


@dataclass(frozen=True)
class Units:
    """Exponents of two, each of what is given over what it is in the problem's own units.

    states: the weights, or β of a mirror flow. metric: of ‖ẇ‖² over the square of time; for a
    mirror flow that of φ.
    """

    states: int = 0
    metric: int = 0
    labels: int = 0
    inputs: int = 0

    def __post_init__(self) -> None:
        if abs(self.time) > FURTHEST:
            raise InputError(
                f"X, y: the flow's own unit of time is 2^{self.time}, beyond float range; scale "
                f"the inputs by 2^{-self.inputs}"
                f" and the labels by 2^{-self.labels}"
            )

    @property
    def plain(self) -> bool:
        """Whether everything stays as it is given."""
        return not (self.states or self.metric or self.labels or self.inputs)

    @property
    def time(self) -> int:
        return self.metric - 2 * self.labels

    @property
    def dual(self) -> int:
        """Of ν, the integral of the residuals over time."""
        return self.metric - self.labels

    def shown(self, problem: Problem | MirrorProblem) -> tuple[float, float, float]:
        """What time and loss of the problem in its own units are times, and the log-norm Σ‖w‖²
        plus, in those given."""
        loss = _scaled(1.0, 2 * self.labels) if _is_square(problem) else 1.0
        return _scaled(1.0, self.time), loss, 2 * self.states * LOG2

    def data(self, X: Array, y: Array) -> tuple[Array, Array]:
        return _times_two_to(X, -self.inputs), _times_two_to(y, -self.labels)

    def ends(self, t1: float | None, times: ArrayLike | None) -> tuple[float | None, Array | None]:
        """The final time and the times to save in the problem's own units, or an error that names
        the one that is wrong."""
        t1 = None if t1 is None else positive_float("t1", t1)
        wanted = save_times(times, t1)
        last = t1 if t1 is not None else None if wanted is None else float(wanted[-1])
        if last is None or self.time == 0:
            return t1, wanted
        own = _scaled(last, -self.time)
        if not SMALLEST_NORMAL <= own < inf:
            name = "times" if t1 is None else "t1"
            raise InputError(
                f"{name}: {last:g} is beyond float range in the flow's own unit of time, "
                f"2^{self.time}"
            )
        end = None if t1 is None else own
        if wanted is None:
            return end, None
        with np.errstate(under="ignore"):
            return end, _times_two_to(wanted, -self.time)

    def problem(self, problem: Problem) -> Problem:
        """The problem in its own units. A start that leaves the range of floats there is refused,
        or kept by its logarithm."""
        if self.plain and problem.in_floats and np.isfinite(problem.first_loss):
            return problem
        X, y = self.data(problem.data.X, problem.data.y)
        data, factor = data_in_units(problem.data, X, y), -self.states * LOG2
        if not problem.in_floats:
            return Problem(
                problem.model, data, problem.loss, problem.start, problem.log_scale + factor
            )
        with np.errstate(over="ignore", under="ignore"):
            params = leaf_map(lambda leaf: _times_two_to(leaf, -self.states), problem.start)
        if not all(
            _held(leaf, scaled, -self.states)
            for leaf, scaled in zip(leaves(problem.start), leaves(params), strict=True)
        ):
            try:
                return Problem(problem.model, data, problem.loss, problem.start, factor)
            except RefusedError:
                raise self.lost(problem) from None
        own = problem_in_units(problem, data, params)
        loss = own.first_loss
        if isfinite(loss) and isfinite(_scaled(loss, 2 * self.labels)):
            return own
        largest = max(
            float(np.max(np.abs(leaf), initial=0.0)) for leaf in leaves(problem.first_state)
        )
        size = float(np.max(np.abs(problem.data.y)))
        raise ScaleError(
            f"start, y: weights up to {largest:g} and labels up to {size:g} make a loss that "
            "overflows; in units of"
            f" 2^{self.states} and 2^{self.labels} the flow is the same"
            if np.isfinite(loss)
            else f"start: weights up to {largest:g} make a loss that overflows"
        )

    def lost(self, problem: Problem) -> ScaleError:
        """What to say where the start leaves the range of floats in the problem's own units."""
        sizes = np.concatenate([np.ravel(np.abs(leaf)) for leaf in leaves(problem.start)])
        return ScaleError(
            f"start: weights between {np.min(sizes[sizes > 0]):g} and {np.max(sizes):g} do not "
            "fit in floats beside inputs up"
            f" to {np.max(np.abs(problem.data.X)):g} and labels up to "
            f"{np.max(np.abs(problem.data.y)):g}"
        )

    def restored(
        self,
        flow: Trajectory[Any],
        problem: Problem | MirrorProblem,
        degree: int = 1,
        told: Callable[[], Mapping[str, Any]] = dict,
    ) -> Trajectory[Any]:
        """A flow of the problem in its own units as that of the problem given. degree: of the
        predictor in the states. told: makes what its stats say besides, which has no units."""
        stats = tells(flow, "stats")
        if self.plain:
            return altered(flow, problem=problem, stats=later(lambda: {**stats(), **told()}))
        at, polar, events = flow.interpolant, flow.polar, tells(flow, "events")

        def states(value: Any) -> Any:
            return leaf_map(lambda leaf: _times_two_to(leaf, self.states), value)

        def shown(t: float) -> tuple[Any, Array]:
            assert polar is not None
            unit, log_norms = polar(self._own(t))
            return unit, log_norms + self.states * LOG2

        with np.errstate(over="ignore", under="ignore"):
            times = _times_two_to(flow.times, self.time)
            errors = flow.error, flow.predictor_error
            powers = self.states, degree * self.states
            scaled = [_times_two_to(*pair) for pair in zip(errors, powers, strict=True)]
            if not isfinite(times[-1]) or not (
                all_finite(*scaled) or (np.isinf(scaled) <= np.isinf(errors)).all()
            ):
                raise InputError(
                    f"X, y: the flow ends at {flow.times[-1]:g} in units of 2^{self.time}, with "
                    "an error in units of"
                    f" 2^{degree * self.states}, beyond float range"
                )
            return altered(
                flow,
                times=times,
                states=states(flow.states),
                loss=_times_two_to(flow.loss, 2 * self.labels)
                if _is_square(problem)
                else flow.loss,
                error=scaled[0],
                events=later(lambda: self._events(events())),
                stats=later(lambda: {**self._stats(stats()), **told()}),
                problem=problem,
                interpolant=None if at is None else lambda t: states(at(self._own(t))),
                polar=None if polar is None else shown,
                predictor_error=scaled[1],
                **self._series(flow),
            )

    def _events(self, events: tuple[Any, ...]) -> tuple[Any, ...]:
        """Named tuples that begin with their time."""
        with np.errstate(over="ignore", under="ignore"):
            moments = _times_two_to(np.array([event[0] for event in events]), self.time).tolist()
        return tuple(
            tuple.__new__(type(event), (moment, *event[1:]))
            for moment, event in zip(moments, events, strict=True)
        )

    def _own(self, t: float) -> float:
        """A time in the problem's own units."""
        return float(np.ldexp(t, -self.time))

    def _series(self, flow: Trajectory[Any]) -> dict[str, Any]:
        """What varies in time, by its name."""
        found: dict[str, Any] = {}
        for name, power in (
            ("dual", self.dual),
            ("smooth_time", self.time),
            ("margin", -self.metric),
            ("margin_error", -self.metric),
        ):
            if (value := getattr(flow, name)) is not None:
                found[name] = _times_two_to(value, power)
        for name, shift in (
            ("log_norm", 2 * self.states),
            ("log_norms", self.states),
            ("log_time", self.time),
        ):
            if (value := getattr(flow, name)) is not None:
                found[name] = value + shift * LOG2
        return found

    def _stats(self, stats: Mapping[str, Any]) -> dict[str, Any]:
        factors = {
            "early_until": self.time,
            "stiffest_rate": -self.time,
            "rounding": self.states + self.inputs,
        }
        with np.errstate(over="ignore", under="ignore"):
            scaled = {
                name: float(np.ldexp(stats[name], power))
                for name, power in factors.items()
                if name in stats
            }
        moved = [
            branch._replace(time=float(np.ldexp(branch.time, self.time)))
            for branch in stats.get("branches", ())
        ]
        return {**stats, **scaled, **({"branches": tuple(moved)} if moved else {})}


def _scaled(number: float, power: int) -> float:
    """2^power·number, a finite one; infinite where that overflows."""
    try:
        return ldexp(number, power)
    except OverflowError:
        return inf


def _times_two_to(array: Array, power: int) -> Array:
    """2^power·array: as one product, the faster way, where floats hold the factor."""
    if -FURTHEST <= power <= FURTHEST:
        return np.multiply(array, 2.0**power)
    return np.ldexp(array, power)


def _held(given: Array, scaled: Array, power: int) -> bool:
    """Whether floats hold every entry of 2^power·given to full precision."""
    if power == 0:
        return True
    size = np.abs(scaled)
    if power > 0 and not all_finite(size):
        return False
    least = size.min(initial=inf)
    return bool(least >= SMALLEST_NORMAL or np.all(size[given != 0] >= SMALLEST_NORMAL))


def _is_square(problem: Problem | MirrorProblem) -> bool:
    return isinstance(problem, MirrorProblem) or isinstance(problem.loss, SquareLoss)


def exponent(array: Any) -> int:
    """e with 2^{e−1} ≤ max|array| < 2^e; zero where there is nothing."""
    largest = _largest(array)
    return frexp(largest)[1] if largest > 0 else 0


def _largest(array: Array) -> float:
    if array.nbytes <= FEW_BYTES and array.dtype == np.float64:
        return _largest_of(array.tobytes())
    return float(np.abs(array).max(initial=0.0))


@lru_cache(maxsize=LATELY_SEEN)
def _largest_of(content: bytes) -> float:
    """Known by their content, since arrays may be written to."""
    return float(np.abs(np.frombuffer(content)).max(initial=0.0))


def own_units(problem: Problem) -> Units:
    """Those of inputs and labels, as far as the model has laws; the weights' where every label is
    zero."""
    model, X, y = problem.model, problem.data.X, problem.data.y
    try:
        D = int(model.homogeneity)
    except RefusedError:
        return Units()
    p = model.degree if isinstance(model, Model) and model.degree is not None else 0
    j = exponent(X) if p else 0
    if not isinstance(problem.loss, SquareLoss):
        j -= j % (D // gcd(D, p)) if p else 0
        k = -(p * j) // D
        return Units(k, 2 * k, 0, j)
    if _largest(y) > 0:
        k = (exponent(y) - p * j) // D
    else:
        k = max(exponent(leaf) for leaf in leaves(problem.start)) if problem.in_floats else 0
    return Units(k, 2 * k, D * k + p * j, j)


def own_mirror(problem: MirrorProblem) -> tuple[Units, MirrorProblem]:
    """A mirror flow in units of inputs and labels where φ has a unit, in units of the inputs alone
    where it has none."""
    potential, X, y, start = problem.potential, problem.X, problem.y, problem.beta0
    j, d = exponent(X), X.shape[1]
    b = exponent(y) - j if np.any(y) else 0 if start is None else exponent(start)
    measured = potential.in_units(b)
    if measured is None:
        b, measured = 0, (potential, 0)
    own, metric = measured
    units = Units(b, metric, b + j, j)
    if start is None and np.any(potential.half_lines(d)):
        start = problem.origin.beta
    largest = float(np.max(np.abs(y)))
    with np.errstate(over="ignore", under="ignore"):
        begin = None if start is None else np.ldexp(start, -b)
        if start is not None and begin is not None and not _held(start, begin, -b):
            least = np.min(np.abs(start[start != 0]))
            raise ScaleError(
                f"beta0: entries down to {least:g} do not fit in floats beside labels up to "
                f"{largest:g}"
            )
        if not np.isfinite(largest * largest * len(y)):
            raise ScaleError(
                f"y: labels up to {largest:g} make a loss that overflows; with β in units of "
                f"2^{b} and y of 2^{units.labels} the"
                " flow is the same"
            )
    return units, MirrorProblem(own, *units.data(X, y), begin)
