"""C, §2.4 and Appendix D: what the smooth margin gains along its flow, its clock, and why margins
once reached are kept."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._core.trees import leaves
from ...flows import gradient_flow
from ...flows.weights import integrate_weights
from ...models import sphere_measure, transport_growth
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_smooth_problem, exponential_problem, few_problem, logistic_problem
from .margin_hypotheses import EXPONENTIAL, EXPONENTIAL_TAIL, SIGNS, SMALL_START, SMOOTH
from .measure_transport import FLOW_RTOL, SOURCE

TIME_FOLLOWED = 4.0
"""C's time over which the flow is followed, over 1/max‖x‖²: a neuron can grow by e⁸."""
NODES = (2, 1)
"""Gauss–Legendre nodes on each step of the flow: the first are used, the second tell the error."""
MOMENTS = 8
"""Times at which rates are looked at."""
STEP = 1e-3
"""Of central differences in time, over the same unit; twice the step tells their error."""
ERROR_FACTOR = 3.0
"""By which the difference of two step sizes, three times the error of the finer, is taken
larger."""
LARGEST_S = 25.0
"""S up to which flows are compared: the clock of the risk has then slowed by e^25."""
RTOL = 1e-6
"""Of the library's flow of the mean risk."""
ALONG = "∇L followed in the weights"
WRITTEN = "S and its soft-argmin written out along ∇L followed in the weights"


class Gaining:
    """A flow of raw gradients with what C's proofs say of it, in C's symbols: ν = Π₂(μ), J' = F' on
    the sphere, β = ‖ν‖."""

    def __init__(self, problem: Problem, time_s: float | None = None) -> None:
        self.problem, self.time_s = problem, time_s
        self.unit = 1 / float(np.max(np.sum(problem.data.X**2, axis=1)))

    @cached_property
    def flow(self) -> Trajectory:
        return need(
            integrate_weights(
                self.problem, TIME_FOLLOWED * self.unit, FLOW_RTOL, None, time_s=self.time_s
            )
        )

    @cached_property
    def end(self) -> float:
        """The last time, or an earlier one where the risk, e^{−S}, is not yet below
        e^{−LARGEST_S}."""
        t = float(self.flow.times[-1])
        while self.smooth(t) > LARGEST_S:
            t /= 2
        return t

    def scores(self, t: float) -> Array:
        """y_if(x_i), neuron by neuron."""
        W, data = self.flow.at(t).W, self.problem.data
        signs = np.asarray(self.problem.model.signs)
        return np.asarray(data.y * (np.maximum(data.X @ W.T, 0.0) ** 2 @ signs))

    def smooth(self, t: float) -> float:
        """F = S(ĥ) = −log((1/n)Σℓ(−u_i))."""
        return -_log_mean(np.asarray(self.problem.loss.loss.log_loss(self.scores(t))))

    def held(self, t: float) -> Callable[[float], float]:
        """s ↦ S_β(ĥ(ν̄_s)) with β = ‖ν_t‖ held, for the exponential: −log((1/n)Σe^{−βū_i})/β."""
        beta = self.norm(t)

        def value(s: float) -> float:
            return -_log_mean(-self.scores(s) * (beta / self.norm(s))) / beta

        return value

    def norm(self, t: float) -> float:
        """β = ν(S) = Σ‖w_j‖²."""
        return float(np.sum(self.flow.at(t).W ** 2))

    def forces(self, t: float) -> tuple[Array, Array, Array, Array]:
        """Masses of ν, J' and ‖∇J'‖² at its points, and p = ∇S, by the library."""
        p, params = self.problem, self.flow.at(t)
        weights = np.asarray(p.loss.weights(p.model(params, p.data.X), p.data.y))
        measure = sphere_measure(p.model, params)
        moving = transport_growth(measure, p.data.X, p.data.y, weights)
        return (
            np.exp(measure.log_masses),
            moving.potential,
            np.sum(moving.velocity**2, axis=1),
            weights,
        )

    def power(self, t: float) -> Array:
        """∫‖∇F'‖²dμ = ∫(‖∇J'‖² + 4|J'|²)dν, and its second part."""
        masses, potential, slope, _ = self.forces(t)
        radial = masses @ (4 * potential**2)
        return np.array([masses @ slope + radial, radial])

    def integrated(self, rate: Callable[[float], Any]) -> tuple[Any, Any]:
        """∫₀^T rate dt, step by step of the flow, and what rules with one node less change on each
        step, summed up."""
        times = self.flow.times[self.flow.times < self.end]
        edges = np.append(times, self.end)
        rules = [np.polynomial.legendre.leggauss(count) for count in NODES]
        total, off = np.zeros(()), np.zeros(())
        for a, b in itertools.pairwise(edges):
            middle, half = (a + b) / 2, (b - a) / 2
            fine, rough = (
                half * sum(w * rate(middle + half * x) for x, w in zip(*rule, strict=True))
                for rule in rules
            )
            total, off = total + fine, off + np.abs(fine - rough)
        return total, off

    @property
    def rounding(self) -> float:
        """Of F and of scores, from the flow's own error: those of the weights, times how fast they
        change."""
        reach = float(np.max(np.sum(self.problem.data.X**2, axis=1)))
        size = float(np.sqrt(self.norm(self.end)))
        return 4 * reach * size * float(np.max(self.flow.error)) + FLOW_RTOL * (1 + reach * size**2)

    def rates(self, value: Callable[[float], float], t: float) -> tuple[float, float]:
        """A rate by central differences in time, and its error."""
        h = STEP * self.unit
        near, far = ((value(t + k * h) - value(t - k * h)) / (2 * k * h) for k in (1, 2))
        return near, ERROR_FACTOR * abs(far - near) / 3 + FLOW_RTOL * (1 + abs(value(t))) / h


def _log_mean(logs: Array) -> float:
    """log of the mean of e^{logs}, with all its digits if they are tiny."""
    top = float(np.max(logs))
    return top + float(np.log1p(np.mean(np.expm1(logs - top))))


def _energy(evidence: Evidence) -> tuple[Check, ...]:
    found = Gaining(evidence.network, evidence.time_left / 4)
    gain = found.smooth(found.end) - found.smooth(0.0)
    if gain <= found.rounding:
        return (
            unknown_check("gain of F", f"{gain:.2g} was gained, which the flow does not resolve"),
        )
    (predicted, radial), (off, _) = found.integrated(found.power)
    share = float(radial) / gain
    speed, error = found.rates(found.smooth, found.end / 2)
    middle = float(found.power(found.end / 2)[0])
    error_gain = (float(off) + found.rounding) / gain
    return (
        Check(
            "∫∫‖∇F'‖²dμ dt, over F(μ_T) − F(μ_0)",
            float(predicted) / gain,
            "==",
            1.0,
            error_gain,
            witness=WRITTEN,
            null=share,
        ),
        Check(
            "∫‖∇F'‖²dμ, over dF/dt halfway",
            middle / speed,
            "==",
            1.0,
            error / speed,
            witness=SOURCE,
        ),
        Check(
            "∫∫4|J'|²dν dt, over F(μ_T) − F(μ_0): growth alone gains less",
            share,
            "<=",
            1.0,
            error_gain,
            witness=WRITTEN,
        ),
    )


def _cor11(evidence: Evidence) -> tuple[Check, ...]:
    found = Gaining(evidence.network, evidence.time_left / 4)
    n, rows = found.problem.data.n, []
    edge = 4 * STEP * found.unit
    times = np.linspace(edge, found.end - edge, MOMENTS)
    for t in times:
        speed, error = found.rates(lambda s: found.smooth(s) / found.norm(s), float(t))
        rows.append((speed, error, *_parts(found, float(t))))
    speed, error, fixed, entropy, growth = np.array(rows).T
    gained, owed = np.array([found.rates(found.held(float(t)), float(t)) for t in times]).T
    least = int(np.argmax(np.abs(gained - fixed) - owed))
    size = np.abs(fixed) + np.abs(entropy * growth) + error
    off = np.abs(speed - (fixed - entropy * growth)) / size
    worst = int(np.argmax(off - error / size))
    allowed = _allowed(n, growth)
    slack = (speed - allowed) / size
    tight = int(np.argmin(slack - error / size))
    start, last = (found.smooth(t) / found.norm(t) for t in (0.0, found.end))
    bound = _kept(found, start)
    return (
        Check(
            "d/dt S_‖ν‖(ĥ(ν̄)) off the variance and ∂_βS_β·d‖ν‖/dt, relative",
            float(off[worst]),
            "==",
            0.0,
            float(error[worst] / size[worst]),
            witness=SOURCE,
        ),
        Check(
            "d/dt S_β(ĥ(ν̄)) at fixed β off ∫‖∇J'‖²dν̄ + 4 Var J', which is not negative, relative",
            float(abs(gained[least] - fixed[least]) / size[least]),
            "==",
            0.0,
            float(owed[least] / size[least]),
            witness=SOURCE,
            null=float(np.max(fixed / size)),
        ),
        Check(
            "least of (d/dt S_‖ν‖ − log n·d/dt(1/‖ν‖)), relative, where ‖ν‖ grows; of d/dt S_‖ν‖ "
            "where not",
            float(slack[tight]),
            ">=",
            0.0,
            float(error[tight] / size[tight]),
            witness=SOURCE,
        ),
        Check(
            "S_‖ν‖(ĥ(ν̄_T)) less S_‖ν‖(ĥ(ν̄_0)) − log n·∫(dβ)₊/β²",
            last - bound,
            ">=",
            0.0,
            found.rounding / found.norm(0.0),
            witness=WRITTEN,
        ),
    )


def _allowed(n: int, growth: Array) -> Array:
    """log n·d/dt(1/‖ν‖) = −log n·(d‖ν‖/dt)/‖ν‖² where ‖ν‖ grows, else zero; growth:
    (d‖ν‖/dt)/‖ν‖²."""
    return np.asarray(-np.log(n) * np.maximum(growth, 0.0))


def _parts(found: Gaining, t: float) -> tuple[float, float, float]:
    """At fixed β: ∫‖∇J'‖²dν̄ + 4(∫|J'|²dν̄ − (∫J'dν̄)²); Σp_i log(np_i); and (d‖ν‖/dt)/‖ν‖²,
    d‖ν‖/dt = 4∫J'dν."""
    masses, potential, slope, p = found.forces(t)
    beta = float(np.sum(masses))
    share = masses / beta
    mean = float(share @ potential)
    fixed = float(share @ slope + 4 * (share @ (potential - mean) ** 2))
    logs = np.log(p.size * np.maximum(p, np.finfo(float).tiny))
    return fixed, float(p @ logs), 4 * mean / beta


def _kept(found: Gaining, start: float) -> float:
    """S at the start less log n·∫(dβ)₊/β² along the flow: log n(1/β_0 − 1/β_T) where β grows
    throughout."""
    betas = np.array([found.norm(t) for t in np.linspace(0.0, found.end, 400)])
    inverse = 1 / betas
    lost = float(np.sum(np.maximum(inverse[:-1] - inverse[1:], 0.0)))
    return start - float(np.log(found.problem.data.n)) * lost


def _clock(evidence: Evidence) -> tuple[Check, ...]:
    found = Gaining(evidence.network, evidence.time_left / 4)
    p = found.problem
    late, off = (float(each) for each in found.integrated(lambda t: np.exp(found.smooth(t))))
    risk = dataclasses.replace(p, loss=p.loss.loss)
    again = need(integrate_weights(risk, late, FLOW_RTOL, None, time_s=found.time_s))
    size = float(np.sqrt(found.norm(found.end)))
    same = float(np.max(np.abs(found.flow.at(found.end).W)))
    velocity = float(np.max(np.abs(_speed(risk, again.final))))
    owed = float(np.max(found.flow.error) + np.max(again.error)) + off * velocity + FLOW_RTOL * size
    apart = _distance(again.final, found.flow.at(found.end))
    still = _distance(
        p.start if late < found.end else again.at(found.end), found.flow.at(found.end)
    )
    by_library = "the library's flow of the mean risk at τ, off raw gradients, relative"

    def library() -> Check:
        own = need(
            gradient_flow(risk, times=[0.0, late], rtol=RTOL, throw=False, time_s=found.time_s)
        )
        return Check(
            by_library,
            _distance(own.final, again.final) / same,
            "==",
            0.0,
            (float(own.error[-1]) + float(np.max(again.error)) + FLOW_RTOL * size) / same,
            witness=ALONG,
            null=still / same,
        )

    slopes = [_speed(each, found.flow.at(found.end)) for each in (p, risk)]
    return (
        Check(
            "weights under the mean risk at τ = ∫e^S dt, off those under S at t, relative",
            apart / same,
            "==",
            0.0,
            owed / same,
            witness=ALONG,
            null=still / same,
        ),
        *part(by_library, library),
        Check(
            "∇F·risk + ∇risk at the end, relative",
            float(
                np.max(np.abs(slopes[0] * np.exp(-found.smooth(found.end)) - slopes[1]))
                / np.max(np.abs(slopes[1]))
            ),
            "==",
            0.0,
            found.rounding + FLOW_RTOL,
            witness=WRITTEN,
        ),
    )


def _speed(problem: Problem, params: Any) -> Array:
    """−∇L of the library."""
    output = problem.loss.gradient(problem.model(params, problem.data.X), problem.data.y)
    return np.asarray(-problem.model.gradient(params, problem.data.X, output).W)


def _distance(one: Any, other: Any) -> float:
    return max(
        float(np.max(np.abs(a - b))) for a, b in zip(leaves(one), leaves(other), strict=True)
    )


energy = Claim(
    "C/energy",
    "F(μ_T) − F(μ_0) = ∫₀^T∫‖∇F'_μ‖²dμ dt, which is ∫∫(‖∇J'‖² + 4|J'|²)dν dt ≥ ∫∫4|J'|²dν dt.",
    "C, proof of Theorem 10, step 2",
    (SMOOTH, EXPONENTIAL_TAIL, SIGNS, SMALL_START),
    few_problem,
    _energy,
    Kind.FLOW,
    WRITTEN,
    "growth without transport",
    any_smooth_problem,
)
cor11 = Claim(
    "C/cor11",
    "d/dt S_‖ν‖(ĥ(ν̄)) ≥ n·d/dt(1/‖ν‖) where ‖ν‖ grows (C prints −n, which is false), and log n "
    "may stand for n: a smooth margin once reached is lost by log(n)/‖ν‖ at most.",
    "C, proof of Corollary 11",
    (SMOOTH, EXPONENTIAL, SIGNS, SMALL_START),
    exponential_problem,
    _cor11,
    Kind.FLOW,
    SOURCE,
    "",
    lambda key: any_smooth_problem(key, exponential=True),
)
clock = Claim(
    "C/clock",
    "The flow of the mean risk is that of the smooth margin in another time, dτ = e^S dt.",
    "C, §2.4",
    (SMOOTH, EXPONENTIAL_TAIL, SIGNS, SMALL_START),
    logistic_problem,
    _clock,
    Kind.FLOW,
    ALONG,
    "the mean risk in the same time",
    any_smooth_problem,
)

CLAIMS = (energy, cor11, clock)
