"""Two-layer ReLU networks by raw gradients: ẇ = −∇L(w) from kink to kink.

Shares no line with `flows/relu`: the weights themselves, Dormand and Prince's method of order 8,
and the first kink of each step found on its dense output.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Result, Trajectory
from ...flows import GateEvent
from ...models import TwoLayerParams
from .dop853_step import AT_POINTS, POINTS, basis, dense, dense_value, stages, step_error
from .kink_sides import HIGH, KINK, LOW, SLIDE, START_KINK, VELOCITY_ROUNDING, Groups, Network


@dataclass(frozen=True)
class WitnessControls:
    """How a flow is followed in the weights, and when it has ended."""

    converged_loss: float = 1e-20
    """Loss, relative to its start, at which the flow has ended."""
    still_factor: float = 10.0
    """Times the tolerance of a step: velocity of a neuron over the fastest rate at the start and
    the largest neuron, and its growth rate over that rate, at which it stands still. Steps at the
    limit of stability leave about that much."""
    looser_factor: float = 100.0
    """Times the tolerance of the second run, whose distance from the first is the error."""
    local_share: float = 0.1
    """Share of the tolerance that a step may use."""
    finest_rtol: float = 1e-14
    """Tolerance of a step below which rounding decides."""
    first_step: float = 1e-2
    """First step in units of the fastest neuron's rate."""
    slide_blur: float = 10.0
    """Times the tolerance of a step by which what neurons add to h may be off where the end of a
    slide is looked for."""
    most_steps: int = 100_000
    """Steps after which a flow is given up."""
    steady_velocity: float = 1e-13
    """Velocity of a neuron across itself, over the fastest rate at the start and its size, that is
    rounding: it does not turn."""
    nearly_steady_velocity: float = 1e-8
    """The same where a flow is about to be steady: half its step then, since steps at the limit of
    stability leave noise."""
    unseen_share: float = 1e-17
    """What neurons that grow add to h, over the smallest label, below which no other notices."""
    exponent_bits: int = 64
    """Binary digits by which a neuron may leave one before it is written with another exponent."""


CONTROLS = WitnessControls()


@dataclass
class _Piece:
    """One step: its start, length, neurons, and the coefficients of its dense output."""

    t: float
    h: float
    phi: Array
    F: Array
    exponents: Array

    def neurons(self, t: float) -> tuple[Array, Array]:
        """(φ, s): neurons are φ_j·2^{s_j}."""
        x = np.clip((t - self.t) / self.h, 0.0, 1.0) if self.h > 0 else 0.0
        return self.phi + np.tensordot(basis(x), self.F, 1), self.exponents


@dataclass
class _Stretch:
    """A time over which no neuron turns: each grows or shrinks at a rate of its own, or rests."""

    t: float
    h: float
    phi: Array
    rates: Array
    exponents: Array

    def neurons(self, t: float) -> tuple[Array, Array]:
        digits = self.rates * min(max(t - self.t, 0.0), self.h) / np.log(2)
        whole = np.floor(digits)
        return self.phi * np.exp2(digits - whole)[:, None], self.exponents + whole.astype(int)


@dataclass
class _Run:
    """A flow that was followed."""

    start: tuple[Array, Array]
    pieces: list[_Piece | _Stretch] = field(default_factory=list)
    events: list[GateEvent] = field(default_factory=list)
    result: Result = Result.REACHED_T1
    _begins: Array | None = None

    @property
    def ends(self) -> Array:
        return np.array([0.0, *(piece.t + piece.h for piece in self.pieces)])

    def neurons(self, t: float) -> tuple[Array, Array]:
        if not self.pieces:
            return self.start
        if self._begins is None:
            self._begins = np.array([piece.t for piece in self.pieces])
        return self.pieces[max(int(np.searchsorted(self._begins, t, side="right")) - 1, 0)].neurons(
            t
        )

    def at(self, t: float) -> TwoLayerParams:
        return _weights(*self.neurons(t))

    def polar(self, t: float) -> tuple[TwoLayerParams, Array]:
        """Weights of unit neurons, and log‖(a_j, w_j)‖."""
        phi, exponents = self.neurons(t)
        size = np.linalg.norm(phi, axis=1)
        unit = np.divide(phi, size[:, None], out=np.zeros_like(phi), where=size[:, None] > 0)
        with np.errstate(divide="ignore"):
            return TwoLayerParams(unit[:, 0], unit[:, 1:]), np.log(size) + np.log(2) * exponents


def gated_flow(
    problem: Problem, t1: float | None, times: ArrayLike | None, rtol: float, time_s: float
) -> Trajectory | str:
    """The flow to t1, or until it ends; or a sentence that says why it could not be followed.

    stats: 'steps', and 'relative', the error of each neuron over its size at every saved time, the
    largest of them.
    """
    deadline = time.monotonic() + time_s
    wanted = None if times is None else np.asarray(times, dtype=np.float64)
    if wanted is not None and t1 is None:
        t1 = float(np.max(wanted))
    main = _followed(problem, t1, rtol, deadline)
    if isinstance(main, str):
        return main
    end = float(main.ends[-1])
    rough = _followed(problem, end, CONTROLS.looser_factor * rtol, deadline) if end > 0 else main
    if isinstance(rough, str):
        return rough
    saved = main.ends if wanted is None else wanted
    states = [main.at(t) for t in saved]
    distances = [_distances(main.neurons(t), rough.neurons(t)) for t in saved]
    stacked = TwoLayerParams(np.array([s.a for s in states]), np.array([s.W for s in states]))
    loss = np.asarray(problem.loss(problem.model(stacked, problem.data.X), problem.data.y))
    stats = {
        "method": "gates",
        "steps": len(main.pieces),
        "relative": np.array([d[1] for d in distances]),
    }
    error = np.array([d[0] for d in distances])
    return Trajectory(
        saved,
        stacked,
        loss,
        error,
        tuple(main.events),
        stats,
        main.result,
        problem,
        main.at,
        main.polar,
    )


def _distances(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[float, float]:
    """The largest distance of an entry of θ or of a_jw_j, and the largest of a neuron over its
    size; a rate that is rounded and followed over some thousand growths is off by as many
    roundings."""
    (here, exponents), there = (
        one,
        np.ldexp(other[0], np.clip(other[1] - one[1], -2000, 2000)[:, None]),
    )
    size = np.max(np.abs(here), axis=1)
    apart = np.max(np.abs(here - there), axis=1) + np.finfo(float).eps * np.abs(exponents) * size
    products = np.max(np.abs(here[:, :1] * here[:, 1:] - there[:, :1] * there[:, 1:]), axis=1)
    absolute = max(np.max(np.ldexp(apart, exponents)), np.max(np.ldexp(products, 2 * exponents)))
    return float(absolute), float(
        np.max(np.divide(apart, size, out=np.zeros_like(size), where=size > 0))
    )


def _followed(problem: Problem, t1: float | None, rtol: float, deadline: float) -> _Run | str:
    march = _March(problem, max(CONTROLS.local_share * rtol, CONTROLS.finest_rtol))
    failure = march.begin()
    if failure is not None:
        return failure
    run = _Run((march.phi, march.net.exponents))
    while True:
        run.result, done = march.ended(t1)
        if done:
            run.events = march.events
            return run
        if time.monotonic() > deadline:
            return (
                f"the weights took longer than the time limit (t = {march.t:.4g}, "
                f"{len(run.pieces)} steps)"
            )
        if len(run.pieces) >= CONTROLS.most_steps:
            return f"the weights took more than {CONTROLS.most_steps} steps (t = {march.t:.4g})"
        outcome = march.advance(t1)
        if isinstance(outcome, str):
            return outcome
        run.pieces.append(outcome)


class _March:
    """The state of an integration: neurons φ_j = θ_j·2^{−s_j}, sides of kinks, time, step."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        a, W = problem.start
        groups = Groups(problem.data.X)
        log_scale = np.broadcast_to(problem.log_scale, a.shape)
        exponents = np.floor(log_scale / np.log(2))
        self.net = Network(
            problem, np.full((len(a), len(groups.U)), LOW), exponents.astype(int), groups
        )
        self.phi = np.column_stack([a, W]) * np.exp(log_scale - exponents * np.log(2))[:, None]
        smallest = np.abs(problem.data.y[problem.data.y != 0])
        self.unseen = (
            np.log(CONTROLS.unseen_share * np.min(smallest) / len(a)) if smallest.size else -np.inf
        )
        self.calm = np.inf
        self.tolerance, self.t = tolerance, 0.0
        self.events: list[GateEvent] = []

    def begin(self) -> str | None:
        net = self.net
        self._rescale(0)
        phi = self.phi
        size = np.max(np.abs(phi), axis=1)
        products = phi[:, 1:] @ net.groups.U.T
        net.sides[...] = np.where(products > 0, HIGH, LOW)
        net.refresh()
        lost = np.flatnonzero(
            (np.max(np.abs(phi[:, 1:]), axis=1, initial=0.0) == 0) & (phi[:, 0] != 0)
        )
        if lost.size:
            return f"w_{int(lost[0])} = 0 lies on every kink"
        for j in np.flatnonzero(
            np.any(np.abs(products) <= START_KINK * size[:, None], axis=1) & (size > 0)
        ):
            failure = net.decide(
                phi, int(j), np.flatnonzero(np.abs(products[j]) <= START_KINK * size[j]), start=True
            )
            if failure is not None:
                return failure
        net.refresh()
        velocity = net(phi)
        self.rate0 = float(np.max(self._rates(velocity), initial=0.0))
        self.loss0 = net.value(phi)
        self.step = CONTROLS.first_step / self.rate0 if self.rate0 > 0 else np.inf
        return None if np.isfinite(self.loss0) else "the loss at the start is not finite"

    def _rates(self, velocity: Array) -> Array:
        size = np.max(np.abs(self.phi), axis=1)
        return np.divide(
            np.max(np.abs(velocity), axis=1), size, out=np.zeros_like(size), where=size > 0
        )

    def _rescale(self, digits: int) -> None:
        """Write neurons that left one by more than some binary digits with another exponent."""
        shift = np.frexp(np.max(np.abs(self.phi), axis=1))[1]
        shift = np.where((np.abs(shift) > digits) & np.any(self.phi != 0, axis=1), shift, 0)
        if np.any(shift):
            self.phi = np.ldexp(self.phi, -shift[:, None])
            self.net.exponents = self.net.exponents + shift
            self.net.refresh()

    def ended(self, t1: float | None) -> tuple[Result, bool]:
        """Why the flow is over, and whether it is."""
        if t1 is not None:
            return Result.REACHED_T1, self.t >= t1
        value = self.net.value(self.phi)
        if self.net.loss.attained and value <= CONTROLS.converged_loss * self.loss0:
            return Result.CONVERGED, True
        if self.rate0 == 0:
            return Result.DEAD, True
        velocity = self.net(self.phi)
        sizes = np.ldexp(
            np.max(np.abs(self.phi), axis=1), self.net.exponents - int(np.max(self.net.exponents))
        )
        still = CONTROLS.still_factor * self.tolerance * self.rate0
        moving = self._rates(velocity) * sizes > still * np.max(sizes)
        squares = np.maximum(np.sum(self.phi**2, axis=1), np.finfo(float).tiny)
        growing = np.sum(velocity * self.phi, axis=1) / squares > still
        return Result.STATIONARY, not np.any(moving | growing)

    def _stretch(self, velocity: Array, left: float) -> _Stretch | None:
        """Where no neuron turns, the time until one of those that grow is seen by the others, if
        that is long; None elsewhere."""
        phi, size = self.phi, np.max(np.abs(self.phi), axis=1)
        rates = np.sum(velocity * phi, axis=1) / np.maximum(
            np.sum(phi**2, axis=1), np.finfo(float).tiny
        )
        turning = float(
            np.max(
                np.max(np.abs(velocity - rates[:, None] * phi), axis=1)
                / np.where(size > 0, size, 1.0)
            )
        )
        # whoever is seen by the others has to rest
        scales = [turning, *np.abs(rates[self._seen()])]
        if max(scales) > CONTROLS.nearly_steady_velocity * self.rate0:
            self.calm = np.inf
            return None
        if max(scales) > CONTROLS.steady_velocity * self.rate0:
            self.calm = min(self.calm, self.step / 2)
            return None
        rates[(np.abs(rates) <= CONTROLS.steady_velocity * self.rate0) | self._seen()] = 0.0
        grows = rates > 0
        if not np.any(grows):
            return None
        h = float(np.min((self.unseen - self._output_sizes()[grows]) / (2 * rates[grows])))
        h = min(h, left)
        return _Stretch(self.t, h, phi, rates, self.net.exponents) if h > 4 * self.step else None

    def _output_sizes(self) -> Array:
        """log of what each neuron adds to h at most."""
        with np.errstate(divide="ignore"):
            sizes = np.abs(self.phi[:, 0]) * np.max(np.abs(self.phi[:, 1:] @ self.net.XT), axis=1)
            return np.asarray(np.log(sizes) + 2 * np.log(2) * self.net.exponents)

    def _seen(self) -> Array:
        return np.asarray(self._output_sizes() > self.unseen)

    def advance(self, t1: float | None) -> _Piece | _Stretch | str:
        """One step, shortened where a kink is reached, which is then decided; or a stretch over
        which no neuron turns."""
        net, phi = self.net, self.phi
        left = np.inf if t1 is None else t1 - self.t
        first = net(phi)
        stretch = self._stretch(first, left)
        if stretch is not None:
            self.t = t1 if t1 is not None and stretch.h == left else self.t + stretch.h
            self.phi, net.exponents = stretch.neurons(self.t)
            net.refresh()
            return stretch
        h, size = (
            min(self.step, self.calm, left),
            np.maximum(np.max(np.abs(phi), axis=1), np.finfo(float).tiny),
        )
        if not np.isfinite(h):  # nothing moves: the rest is one step
            h = left
        while True:
            K, new = stages(net, phi, first, h)
            error = step_error(K, h, np.maximum(size, np.max(np.abs(new), axis=1))) / self.tolerance
            if error <= 1:
                break
            h *= max(0.2, 0.9 * error ** (-1 / 8)) if np.isfinite(error) else 0.1
            if h <= 1e-14 * max(self.t, CONTROLS.first_step / max(self.rate0, 1e-300) * 1e-6):
                return f"the step fell below rounding at t = {self.t:.4g}"
        grown = h * min(5.0, 0.9 * max(error, 1e-12) ** (-1 / 8))
        F = dense(net, phi, new, K, h)
        found = self._first_kink(phi, F, size)
        if found is None:
            piece = self._piece(h, phi, F)
            self.phi, self.t, self.step = new, self.t + h, grown
            if left - h <= 1e-14 * self.t and t1 is not None:
                self.t = t1
        else:
            x, j, g = found
            K, new = stages(net, phi, first, h * x)
            piece = self._piece(h * x, phi, dense(net, phi, new, K, h * x))
            self.phi, self.t, self.step = new, self.t + h * x, max(h, grown)
            failure = self._decide(j, g)
            if failure is not None:
                return failure
        self._rescale(CONTROLS.exponent_bits)
        return piece

    def _piece(self, h: float, phi: Array, F: Array) -> _Piece:
        return _Piece(self.t, h, phi, F.reshape(7, *phi.shape), self.net.exponents)

    def _first_kink(self, phi: Array, F: Array, size: Array) -> tuple[float, int, int] | None:
        """The first place in a step, as a share of it, where a neuron crosses a kink, or a slide
        ends."""
        net, F = self.net, F.reshape(7, *phi.shape)
        moved = phi[:, 1:] + np.tensordot(AT_POINTS, F[..., 1:], 1)
        sides = net.sides
        beyond = sides * (moved @ net.groups.U.T) < -KINK * size[:, None]
        best: tuple[float, int, int] | None = None
        at = int(np.argmax(np.any(beyond, axis=(1, 2))))  # those found later are crossed later
        for j, g in np.argwhere(beyond[at]):
            kink, side, margin = net.groups.U[g], float(sides[j, g]), KINK * float(size[j])
            height = _height(float(phi[j, 1:] @ kink), F[:, j, 1:] @ kink, side, margin)
            if best is None or height(best[0]) < 0:
                high = POINTS[at] if best is None else best[0]
                best = (_root(height, POINTS[at - 1] if at else 0.0, high), int(j), int(g))
        ended = self._slide_end(phi, F) if net.projections else None
        return ended if best is None or (ended is not None and ended[0] < best[0]) else best

    def _slide_end(self, phi: Array, F: Array) -> tuple[float, int, int] | None:
        """Where in a step a share of the high side first leaves [0, 1], or the output of a sliding
        neuron changes sign."""
        size = np.max(np.abs(phi), axis=1)

        def tightest(x: float) -> tuple[float, int, int]:
            state = phi + np.tensordot(basis(x), F, 1)
            outputs = np.sign(phi[:, 0]) * state[:, 0] / size
            return min(
                (min(room, float(outputs[j])) + VELOCITY_ROUNDING, j, g)
                for room, j, g in self.net.rooms(state, CONTROLS.slide_blur * self.tolerance)
            )

        if tightest(1.0)[0] >= 0:  # at the end, where the state is the most accurate
            return None
        place = _root(lambda x: tightest(x)[0], 0.0, 1.0)
        return (place, *tightest(place)[1:])

    def _decide(self, j: int, g: int) -> str | None:
        net, phi = self.net, self.phi
        old = net.sides[j].copy()
        size = float(np.max(np.abs(phi[j])))
        if old[g] == SLIDE and abs(phi[j, 0]) <= 1e3 * KINK * size:
            return (
                f"the output of neuron {j} changes sign on a kink, from where flows leave to "
                "both sides"
            )
        near = np.abs(phi[j, 1:] @ net.groups.U.T) <= 10 * KINK * size
        near[g] = True
        failure = net.decide(phi, j, np.flatnonzero(near | (old == SLIDE)))
        net.refresh()
        for k in np.flatnonzero(net.groups.orientation):
            before, after = (
                side[net.groups.of[k]] * net.groups.orientation[k] for side in (old, net.sides[j])
            )
            if before != after:
                self.events.append(
                    GateEvent(
                        self.t,
                        j,
                        int(k),
                        _KINDS[SLIDE if after == 0 else 2 if before == 0 else after],
                    )
                )
        return failure


_KINDS = {SLIDE: "slide in", 2: "slide out", HIGH: "on", LOW: "off"}


def _height(base: float, slopes: Array, side: float, margin: float) -> Callable[[float], float]:
    """How far within a step a neuron is above the margin beyond its kink."""
    numbers = slopes.tolist()
    return lambda x: side * (base + dense_value(numbers, x)) + margin


def _root(function: Any, low: float, high: float) -> float:
    """Where a function that is negative at `high` gets there from above."""
    return (
        float(low)
        if function(low) <= 0
        else float(brentq(function, low, high, xtol=1e-15, rtol=1e-14))
    )


def _weights(phi: Array, exponents: Array) -> TwoLayerParams:
    theta = np.ldexp(phi, exponents[:, None])
    return TwoLayerParams(theta[:, 0], theta[:, 1:])
