"""C, proof of Theorem 10, steps 1 and 3: where J'_∞ is large mass grows fastest, and where it is
not nothing is left of ν̄.

J' depends on ν through p = ∇S alone, so J'_∞ is that of the p with which long training ends. On a
line the sphere is a circle, of
neurons of either sign: J'_∞ is looked at all around, and the level sets of M − v and M − 4v, M =
max J'_∞, are points of it.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map
from ...flows.weights import integrate_weights
from ...losses import SmoothMargin
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .energy import MOMENTS, STEP as APART, Gaining
from .margin_examples import any_line_problem, line_problem
from .margin_hypotheses import (
    DISTINCT,
    EXPONENTIAL,
    EXPONENTIAL_TAIL,
    FULL_SUPPORT,
    INTERVALS,
    PLANAR,
    SEPARABLE,
    SIGNS,
    SMALL_START,
    SMOOTH,
)
from .margin_limits import of_f1_margin
from .trained import ALONG, CONVERGES, RTOL, Trained, trained

SHARES = (0.12, 0.09, 0.06, 0.03)
"""v over M, below 1/8 as C asks; the largest is used that leaves neurons on both sides."""
CIRCLE_PLACES = 20_000
"""Places of the circle at which J' is looked at."""
RAW_LOG_NORM = 7.0
"""log β up to which raw gradients are followed: their steps are bound by 1/β."""
RAW_RTOL = 1e-6
"""Tolerance of raw gradients; masses are compared with rates that differ by some percent."""
W_ERROR = 2.0
"""Of a weight's length, over the error of its entries, √2 on a line, rounded up."""
TIMES_SEEN = 24
"""Times at which masses are looked at from t₀ on."""
FITTED_LOG_NORM = 12.0
"""log β from which on the exponent of ‖ν‖ is fitted: what log n adds to margins is below
e^{−12}."""
CLOCK = "times of the flow, against γ₁ of a linear program or its certificate"
RATES = "differences in time of ∇L followed in the weights"


@dataclass(frozen=True, eq=False)
class Circle:
    """J'(θ, ε) = ε·g(θ), g = Σp_iy_i(⟨θ, x_i⟩)₊², all around."""

    problem: Problem
    weights: Array

    def at(self, angles: Array) -> tuple[Array, Array]:
        """g and its derivative."""
        X, q = self.problem.data.X, self.weights * self.problem.data.y
        hidden = np.maximum(np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T, 0.0)
        turned = np.column_stack([-np.sin(angles), np.cos(angles)]) @ X.T
        return hidden**2 @ q, 2 * (hidden * turned) @ q

    @cached_property
    def around(self) -> tuple[Array, Array]:
        return self.at(np.linspace(0.0, 2 * np.pi, CIRCLE_PLACES, endpoint=False))

    @property
    def largest(self) -> float:
        """M."""
        return float(np.max(np.abs(self.around[0])))

    def slope(self, level: float) -> float:
        """The least |g'| where |g| passes a level; infinite where it never does."""
        above = np.abs(self.around[0]) >= level
        there = np.flatnonzero(above != np.roll(above, -1))
        both = np.minimum(
            np.abs(self.around[1][there]), np.abs(self.around[1][(there + 1) % CIRCLE_PLACES])
        )
        return float(np.min(both, initial=np.inf))

    def apart(self, other: Circle) -> tuple[float, float]:
        """Largest differences of J' and of ∇J', with what half a step between places can add."""
        curvature = 2 * float(
            np.abs(self.weights - other.weights) @ np.sum(self.problem.data.X**2, axis=1)
        )
        value, slope = (
            float(np.max(np.abs(a - b))) for a, b in zip(self.around, other.around, strict=True)
        )
        return value + slope * np.pi / CIRCLE_PLACES, slope + curvature * np.pi / CIRCLE_PLACES

    def of(self, W: Array) -> Array:
        """J' of neurons."""
        return np.asarray(self.problem.model.signs) * self.at(np.arctan2(W[:, 1], W[:, 0]))[0]


@dataclass(frozen=True, eq=False)
class Settled:
    """A flow of raw gradients, J'_∞, v, and the times since which J' is within v and ∇J' within u/2
    of it."""

    flow: Trajectory
    limit: Circle
    v: float
    times: Array

    def masses(self, t: float) -> tuple[float, float, float, float]:
        """log ν_t(K_v) and log ν_t off K_{4v}, with their errors: 2Σ‖w_j‖ times that of the weights
        over the masses."""
        W, M, off = (
            self.flow.at(t).W,
            self.limit.largest,
            2 * W_ERROR * float(np.max(self.flow.error)),
        )
        values, lengths = self.limit.of(W), np.linalg.norm(W, axis=1)
        inside, outside = lengths[values >= M - self.v], lengths[values < M - 4 * self.v]
        sums = [float(np.sum(each**2)) for each in (inside, outside)]
        errors = [
            off * float(np.sum(each)) / total
            for each, total in zip((inside, outside), sums, strict=True)
        ]
        return float(np.log(sums[0])), float(np.log(sums[1])), errors[0], errors[1]

    def crossings(self) -> int:
        """Neurons that leave K_v, or K_{4v}, from one time to the next."""
        M, inside = (
            self.limit.largest,
            [self.limit.of(self.flow.at(float(t)).W) for t in self.times],
        )
        levels = (M - self.v, M - 4 * self.v)
        return sum(
            int(np.sum((a >= c) & (b < c))) for a, b in itertools.pairwise(inside) for c in levels
        )


def final_weights(run: Trained) -> Array:
    """p where long training ends; the last step ends at a norm, too short for its weights to
    tell."""
    found = run.flow.sample_weights
    if found is not None:
        return np.asarray(found[-2])
    p, state = run.problem, leaf_map(lambda leaf: leaf[-2], run.flow.states)
    return np.asarray(p.loss.weights(p.model(state, p.data.X), p.data.y))


def settled(run: Trained, time_s: float) -> Settled:
    """Steps 1 and 3 from t₀ on; `Unmeasured` if they do not begin."""
    limit = Circle(run.problem, final_weights(run))
    end = float(run.flow.times[run.place(RAW_LOG_NORM)])
    flow = need(integrate_weights(run.problem, end, RAW_RTOL, None, time_s=time_s))
    p = run.problem
    times = np.linspace(0.0, float(flow.times[-1]), 10 * TIMES_SEEN)
    states = [flow.at(float(t)) for t in times]
    apart = np.array(
        [
            Circle(p, np.asarray(p.loss.weights(p.model(w, p.data.X), p.data.y))).apart(limit)
            for w in states
        ]
    )
    M = limit.largest
    for share in SHARES:
        v = share * M
        slope = min(limit.slope(M - v), limit.slope(M - 4 * v))
        near = (apart[:, 0] <= v) & (apart[:, 1] <= slope / 2)
        first = int(near.size - np.argmin(near[::-1])) if not np.all(near) else 0
        if first >= near.size - 1:
            continue
        begun, ended = (limit.of(states[k].W) for k in (first, -1))
        if np.any(begun >= M - v) and np.any(ended < M - 4 * v):
            return Settled(flow, limit, v, np.linspace(times[first], times[-1], TIMES_SEEN))
    raise Unmeasured(
        f"J' is not within v of its limit by log β = {RAW_LOG_NORM:g}, or no neuron has J'_∞ ≥ M − "
        "v"
    )


def _thm10(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    names = (
        "neurons that leave K_v or K_{4v} after t₀",
        "step 1: least d/dt log ν(K_v), over 4(M − 2v)",
        "step 3: largest d/dt log ν(S∖K_{4v}), over 4(M − 3v)",
    )
    found = settled(run, evidence.time_left / 2)
    M, v, t = found.limit.largest, found.v, found.times
    inside, outside, *errors = np.array([found.masses(float(each)) for each in t]).T
    span = np.diff(t)
    owed = [2 * float(np.max(error)) / float(np.min(span)) for error in errors]
    leaving = found.crossings()
    low, high = step_rates(M, v)
    return (
        Check(names[0], float(leaving), "==", 0.0, witness=ALONG),
        Check(
            names[1],
            float(np.min(np.diff(inside) / span)) / low,
            ">=",
            1.0,
            owed[0] / low,
            witness=ALONG,
            null=0.0,
        ),
        Check(
            names[2],
            float(np.max(np.diff(outside) / span)) / high,
            "<=",
            1.0,
            owed[1] / high,
            witness=ALONG,
            null=M / (M - 3 * v),
        ),
    )


def step_rates(M: float, v: float) -> tuple[float, float]:
    """Of ν(K_v) at least, and of ν(S∖K_{4v}) at most: 4(M − 2v) and 4(M − 3v)."""
    return 4 * (M - 2 * v), 4 * (M - 3 * v)


def _growth(evidence: Evidence) -> tuple[Check, ...]:
    quantity = f"exponent of ‖ν‖ in e^{{4γ₁t}}, from log β = {FITTED_LOG_NORM:g} on"
    early = (
        "least of ¼d log‖ν‖/dt − margin, relative",
        "least of margin + log(n)/‖ν‖ − ¼d log‖ν‖/dt, relative",
    )
    return (
        *part(quantity, lambda: _fitted(evidence, quantity)),
        *part(", ".join(early), lambda: _bracket(evidence, early)),
    )


def _fitted(evidence: Evidence, quantity: str) -> Check:
    run = trained(evidence)
    if not run.arrived:
        why = (
            f"training ends at {1 - run.deficit:.4g} of γ₁, log β = {run.log_norms[-1]:.3g}: "
            "for want of width or of time"
        )
        return unknown_check(quantity, why)
    loose = (
        Trained(evidence, run.problem, need(run._followed(10 * RTOL))) if run.given is None else run
    )
    (slope, lacking), (other, _) = (_rate(each, run.gamma) for each in (run, loose))
    first = run.place(FITTED_LOG_NORM)
    steps = 4 * run.gamma * (run.flow.times[first:] - run.flow.times[first])
    error = np.abs(slope - other) * steps + lacking
    grown = run.log_norms[first:] - run.log_norms[first]
    return exponent_check(
        quantity,
        np.exp(steps),
        np.exp(grown),
        growth_exponent(),
        error,
        witness=CLOCK,
        null=0.0,
    )


def growth_exponent() -> float:
    """‖w‖² grows at 2⟨w, ∇F'(w)⟩ = 4F'(w), F' being 2-homogeneous, and ∫J'dν̄ → γ₁."""
    return 1.0


def _rate(run: Trained, gamma: float) -> tuple[float, float]:
    """(log‖ν‖ gained over 4γ₁t, what it may lack of that by 1 − margin/γ₁ and log(n)/‖ν‖) from
    FITTED_LOG_NORM on.

    4·margin ≤ d log‖ν‖/dt ≤ 4(margin + log(n)/‖ν‖), since p is a soft-argmin.
    """
    first = run.place(FITTED_LOG_NORM)
    t, logs = run.flow.times[first:], run.log_norms[first:]
    off = 1 - run.margin(first) / gamma + np.log(run.problem.data.n) * np.exp(-logs[0]) / gamma
    return float((logs[-1] - logs[0]) / (4 * gamma * (t[-1] - t[0]))), abs(
        float(off)
    ) * 4 * gamma * float(t[-1] - t[0])


def _bracket(evidence: Evidence, names: tuple[str, str]) -> tuple[Check, ...]:
    """Early, along raw gradients: margin ≤ ¼d log‖ν‖/dt ≤ margin + log(n)/‖ν‖, each less the other
    over their sizes."""
    found = Gaining(evidence.network, evidence.time_left / 4)
    edge, rows = 4 * APART * found.unit, []
    for t in np.linspace(edge, found.end - edge, MOMENTS):
        rate, error = found.rates(lambda s: float(np.log(found.norm(s))), float(t))
        margin = float(np.min(found.scores(float(t)))) / found.norm(float(t))
        more = float(np.log(found.problem.data.n)) / found.norm(float(t))
        size = abs(margin) + more
        rows.append(
            ((rate / 4 - margin) / size, (margin + more - rate / 4) / size, error / 4 / size)
        )
    below, above, owed = np.array(rows).T
    pairs = [(values, int(np.argmin(values - owed))) for values in (below, above)]
    return tuple(
        Check(
            name,
            float(values[k]),
            ">=",
            -2 * float(owed[k]),
            float(owed[k]),
            witness=RATES,
            null=-1.0,
        )
        for name, (values, k) in zip(names, pairs, strict=True)
    )


def step_problem(key: int) -> Problem:
    """Forty squared ReLUs on six inputs of a line."""
    return line_problem(key, n=6, m=40)


def growing_problem(key: int) -> Problem:
    """The same under the exponential's smooth margin."""
    return dataclasses.replace(line_problem(key, n=6, m=60), loss=SmoothMargin())


def any_growing_problem(key: int) -> Problem:
    return dataclasses.replace(any_line_problem(key), loss=SmoothMargin())


ASKED = (SMOOTH, EXPONENTIAL_TAIL, SIGNS, SEPARABLE, DISTINCT, FULL_SUPPORT, SMALL_START, CONVERGES)
thm10 = Claim(
    "C/thm10",
    "From when J'_ν is within v of J'_∞ and ∇J'_ν within u/2, u the least slope where J'_∞ = M − v "
    "or M − 4v, no mass leaves K_v = {J'_∞ ≥ M − v} or K_{4v}, ν(K_v) grows at 4(M − 2v) or "
    "faster, so without bound, and ν off K_{4v} at 4(M − 3v) or slower (C prints 4(m − "
    "3v)ν(K_{4v})): in ν̄ nothing is left of it.",
    "C, proof of Theorem 10, steps 1 and 3",
    (*ASKED[:1], INTERVALS, *ASKED[1:]),
    step_problem,
    _thm10,
    Kind.FLOW,
    ALONG,
    "mass that does not grow; mass that grows alike everywhere",
    any_line_problem,
    limit=of_f1_margin,
)
growth = Claim(
    "C/growth",
    "log‖ν_t‖ ~ 4γ₁t where ∇S and ν̄ converge: for ℓ = exp 4·margin ≤ d/dt log‖ν‖ ≤ 4(margin + "
    "log(n)/‖ν‖), and the margin tends to γ₁ = M.",
    "C, proof of Theorem 10, step 1 (the rate of which it gives 4(M − 2v))",
    (SMOOTH, EXPONENTIAL, SIGNS, SEPARABLE, DISTINCT, PLANAR, FULL_SUPPORT, SMALL_START, CONVERGES),
    growing_problem,
    _growth,
    Kind.ASYMPTOTIC,
    f"{CLOCK}; {RATES}",
    "a norm that does not grow",
    any_growing_problem,
    limit=of_f1_margin,
)

CLAIMS = (thm10, growth)
