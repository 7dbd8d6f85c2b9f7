"""B, B.6: the last phase. Theorem 2, and the criterion in its proof that Remark 1 points to.

The criterion, with its factor: if ‖∇L‖² ≥ μL on B(θ₀, r)∩Θ and 4L(θ₀) ≤ μr², the flow from θ₀ has
length ∫‖∇L‖dt ≤ ∫−dL/√(μL) ≤ 2√(L(θ₀)/μ) ≤ r, so that it stays in the ball, and L ≤ L(θ₀)e^{−μt}.
B's proof asks for L(θ₀) ≤ μr² only, which is
not enough: ‖∇L‖² = μL where L is quadratic, and its minimiser is 2√(L(θ₀)/μ) away.
Theorem 2 stands as printed although its proof ends at 2λ^{ε/240}: the length gives
2λ^{ε/120}/√‖D_−‖ + λ^{ε/31} for small λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind
from ..witness import witness_flow
from .course import Course
from .landscape import quotient
from .limit_networks import of_vanishing_scale
from .relu_examples import orthonormal_family, orthonormal_problem, tiny_family, tiny_problem
from .relu_hypotheses import ASSUMED, SMALL_START, TINY_START
from .relu_setting import Setting, distance, squared_norm
from .three_phases import GRADIENT, slopes

FACTOR = 4.0
"""Of L(θ₀) in the criterion."""
LENGTH = 2.0
"""Of √(L(θ₀)/μ) in the length of a flow."""
LEAST_DIFFERENCED_LOSS = 1e-14
"""Loss over its start down to which its logarithm is differenced: residuals are then 1e-7 of the
labels."""
STEPS = 400
"""Times at which the last phase is looked at: its length by the trapezoidal rule is below the arc
by 1e-4 of it at most."""
QUADRATURE_ERROR = 1e-3
"""Relative error of that rule on rates that fall by e^{−30} over so many steps."""
RADII = np.logspace(-4, -0.05, 120)
"""Radii that are tried, in units of √(n‖D_−‖)."""
START_OVER_LIMIT = 0.95
"""Size over its limit from which one neuron starts."""


def least_constant(s: Setting, centre: TwoLayerParams, radius: float) -> float:
    """A μ with ‖∇L‖² ≥ μL on B(centre, radius)∩Θ, by the corrected Lemma 14: masses that stay
    active (module landscape)."""
    least = np.inf
    for cluster in s.clusters:
        W = centre.W[cluster.neurons]
        lengths = np.linalg.norm(W, axis=1)
        for x in s.X[cluster.sign * s.y > 0]:
            on = W @ x > 0
            if not np.any(on):
                return 0.0
            steep = float(np.min((W @ x)[on] / lengths[on])) ** -2
            left = float(np.sum(lengths[on] ** 2)) - steep * radius**2
            least = min(least, max(np.sqrt(max(left, 0.0)) - radius, 0.0) ** 2)
    return 2 * float(least) / s.n


def _late(course: Course, begin: float) -> tuple[Any, list[TwoLayerParams], Any]:
    """Times from `begin` to where L is rounding, with states and losses in B's clock."""
    s, flow = course.setting, course.flow
    visible = np.flatnonzero(flow.loss >= LEAST_DIFFERENCED_LOSS * flow.loss[0])
    end = float(flow.times[min(int(visible[-1]) + 1, len(flow.times) - 1)])
    times = np.linspace(begin, max(end, begin), STEPS)
    states = [course.at(float(t)) for t in times]
    losses = (
        np.array([float(s.problem.loss(s.problem.model(state, s.X), s.y)) for state in states])
        / s.speed
    )
    return times * s.speed, states, losses


def _thm2(evidence: Evidence) -> tuple[Check, ...]:
    course = Course(evidence)
    flow, best = course.flow, course.limit.value
    return (
        Check(
            "final loss over its start",
            float(flow.loss[-1] / flow.loss[0]),
            "<=",
            1e-18,
            null=1.0,
            **course.notes,
        ),
        *part("‖θ(t) − θ*‖ from t₃ on", lambda: _from_t3(course, best)),
    )


def _from_t3(course: Course, best: TwoLayerParams) -> tuple[Check, ...]:
    s, flow = course.setting, course.flow
    times, states, losses = _late(course, course.t3)
    size = float(np.sqrt(squared_norm(best)))
    error = max(course.error(course.t3), course.error(course.end)) * size
    far = max(distance(state, best) for state in [*states, flow.final])
    moved = max(distance(state, states[0]) for state in [*states, flow.final])
    powers: dict[str, Any] = {"log_base": s.log_scale, **course.notes}
    clear = losses >= LEAST_DIFFERENCED_LOSS * losses[0]
    rates = -np.diff(np.log(losses[clear])) / np.diff(times[clear]) / s.second.rate
    slowest = float(np.min(rates)) if rates.size else float("nan")
    apart = (
        max(float(np.max(np.abs(np.abs(st.a) - np.linalg.norm(st.W, axis=1)))) for st in states)
        / size
    )
    return (
        Check(
            "largest ‖θ(t) − θ*‖ from t₃ on",
            far,
            "<=",
            s.power(1 / 240),
            error,
            null=distance(s.start, best),
            exponent=s.epsilon / 240,
            **powers,
        ),
        Check(
            "largest ‖θ(t) − θ(t₃)‖ from t₃ on",
            moved,
            "<=",
            s.power(1 / 240),
            error,
            null=distance(s.start, flow.final),
            exponent=s.epsilon / 240,
            **powers,
        ),
        Check(
            "L(θ(t₃)), at most λ^{ε/60} (Lemma 13)",
            float(losses[0]),
            "<=",
            s.power(1 / 60),
            error * float(np.sqrt(2 * losses[0])),
            null=float(flow.loss[0] / s.speed),
            exponent=s.epsilon / 60,
            **powers,
        ),
        Check(
            "least decay of ln L over ‖D_−‖ from t₃ on: exponential",
            slowest,
            ">=",
            1.0,
            1e-3,
            null=0.0,
            **course.notes,
        ),
        Check(
            "largest ||a_j| − ‖w_j‖|/‖θ*‖ from t₃ on: in Θ",
            apart,
            "==",
            0.0,
            4 * error / size + 1e-9,
            size=1.0,
            **course.notes,
        ),
    )


def _rem1(evidence: Evidence) -> tuple[Check, ...]:
    """From the first state of the flow where the criterion is met, with a μ that is known; then one
    neuron, for the factor."""
    course = Course(evidence)
    alone = "how far one neuron moves where L ≤ μr² alone is asked for"
    return (
        *part("4L(θ₀)/(μr²) where the criterion is met", lambda: _criterion(course)),
        *part(alone, lambda: _one_neuron(evidence)),
    )


def _criterion(course: Course) -> tuple[Check, ...]:
    s = course.setting
    begin, radius, mu = _first_met(course)
    times, states, losses = _late(course, begin)
    error = 4 * course.error(begin)
    speeds = (
        np.array([float(np.linalg.norm(slopes(s.problem, state))) for state in states]) / s.speed
    )
    length = float(np.sum((speeds[1:] + speeds[:-1]) / 2 * np.diff(times)))
    allowed = LENGTH * float(np.sqrt(losses[0] / mu))
    far = max(distance(state, states[0]) for state in [*states, course.flow.final])
    decay = float(np.max(np.log(losses / losses[0]) + mu * (times - times[0])))
    nearest = min(
        float(quotient(s, state))
        for state, loss in zip(states, losses, strict=True)
        if loss >= LEAST_DIFFERENCED_LOSS * losses[0]
    )
    return (
        Check(
            "4L(θ₀)/(μr²): the criterion",
            FACTOR * float(losses[0]) / (mu * radius**2),
            "<=",
            1.0,
            error,
            null=FACTOR * float(s.y @ s.y) / (2 * s.n) / (mu * radius**2),
            **course.notes,
        ),
        Check("least ‖∇L‖²/(μL) along the rest", nearest / mu, ">=", 1.0, error, **course.notes),
        Check(
            "largest ‖θ(t) − θ₀‖/r",
            far / radius,
            "<=",
            1.0,
            error,
            null=float(np.sqrt(s.least_norm)) / radius,
            **course.notes,
        ),
        Check(
            "length of the rest over 2√(L(θ₀)/μ)",
            length / allowed,
            "<=",
            1.0,
            QUADRATURE_ERROR + error,
            **course.notes,
        ),
        Check(
            "largest ln(L(t)e^{μt}/L(θ₀))",
            decay,
            "<=",
            1e-6 + 2 * error,
            1e-6 + error,
            null=float(mu * (times[-1] - times[0])),
            **course.notes,
        ),
    )


def _first_met(course: Course) -> tuple[float, float, float]:
    """When the criterion is first met, with the radius and μ."""
    s = course.setting
    grown = course.grown(s.second, s.n * s.second.rate / 2)
    for k in np.flatnonzero(
        (course.flow.times >= grown)
        & (course.flow.loss >= LEAST_DIFFERENCED_LOSS * course.flow.loss[0])
    ):
        t = float(course.flow.times[k])
        state, loss = course.at(t), float(course.flow.loss[k]) / s.speed
        for radius in np.sqrt(s.n * s.second.rate) * RADII:
            mu = least_constant(s, state, float(radius))
            if FACTOR * loss <= mu * radius**2 * (1 - 1e-6):
                return t, float(radius), mu
    raise Unmeasured("at no time of the flow a ball satisfies it")


def _one_neuron(evidence: Evidence) -> tuple[Check, ...]:
    """One neuron, one label y: on Θ ‖∇L‖² = 4‖w‖²L, and the limit is √2(√y − ‖w‖) away. r: the
    least with L ≤ μ(r)r²."""
    y = float(np.max(np.abs(evidence.network.data.y)))
    size = START_OVER_LIMIT * np.sqrt(y)
    problem = Problem(
        TwoLayer(1, 1),
        Dataset(np.ones((1, 1)), np.array([y])),
        SquareLoss("half-mean"),
        TwoLayerParams(np.array([size]), np.array([[size]])),
    )
    flow = need(witness_flow(problem, time_s=evidence.time_left / 4))
    left = (y - size**2) ** 2 / 2

    def needed(factor: float) -> float:
        """The least r with factor·L ≤ μ(r)r², μ(r) = 4(‖w‖ − r/√2)²: a quadratic."""
        b = np.sqrt(2) * size
        return float((b - np.sqrt(b**2 - 4 * np.sqrt(factor * left / 2))) / 2)

    moved = _moved(flow)
    gradient = "∇L followed in the weights"
    return (
        Check(
            "how far one neuron moves over r, where L ≤ μr² alone is asked for",
            moved / needed(1.0),
            ">=",
            1.0,
            1e-6,
            witness=gradient,
        ),
        Check("the same where 4L ≤ μr²", moved / needed(FACTOR), "<=", 1.0, 1e-6, witness=gradient),
    )


def _moved(flow: Trajectory) -> float:
    return distance(flow.final, TwoLayerParams(flow.states.a[0], flow.states.W[0]))


thm2 = Claim(
    "B/thm2",
    "From t₃ on the flow stays balanced and within λ^{ε/240} of θ*, with L(θ(t₃)) ≤ λ^{ε/60}, and "
    "L vanishes at a rate of at least ‖D_−‖.",
    "B, Theorem 2 (its proof ends at 2λ^{ε/240}; the length of the flow gives the printed radius)",
    (*ASSUMED, TINY_START),
    tiny_problem,
    _thm2,
    Kind.FLOW,
    GRADIENT,
    "the start",
    tiny_family,
    below_floats=True,
    limit=of_vanishing_scale,
)
rem1 = Claim(
    "B/rem1",
    "If ‖∇L‖² ≥ μL on B(θ₀, r)∩Θ and 4L(θ₀) ≤ μr², the flow from θ₀ ∈ Θ stays in the ball, is at "
    "most 2√(L(θ₀)/μ) long, and L ≤ L(θ₀)e^{−μt}. With L(θ₀) ≤ μr² alone it may leave.",
    "B, proof of Theorem 2 (a factor 4 corrected) and Remark 1; Chatterjee (2022)",
    (*ASSUMED, SMALL_START),
    orthonormal_problem,
    _rem1,
    Kind.FLOW,
    GRADIENT,
    "the start",
    orthonormal_family,
    below_floats=True,
)

CLAIMS = (thm2, rem1)
