"""C, §2.4: networks of more and more neurons from one law follow the flow of measures that starts
from it (Theorem 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...models import SignedTwoLayer, SignedTwoLayerParams
from ..evidence import Evidence
from ..fits import CONFIDENCE
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_trained_problem, wide_problem
from .margin_hypotheses import DISTINCT, EXPONENTIAL_TAIL, SIGNS, SMOOTH
from .margin_setting import ask_for_time

WIDTHS = (24, 76, 240, 760, 2400)
"""Two decades of neurons: C states no rate, so that more of them could not settle it, and draws
tell more than widths."""
DRAWS = (96, 96, 64, 48, 48)
"""Networks of each width, of which root mean squares are known to a tenth, and the exponent to half
of what tells."""
PLAIN_SUM = (10, 100, 1000)
"""Widths at which the null model, a plain sum of neurons, is looked at."""
QUADRATURE = 13
"""log₂ of the points of a scrambled Sobol sequence, with both signs, that stand for the law; a
second one tells their error."""
INTERACTION_CHANGE = 0.25
"""Change Σ|∇S(t) − ∇S(0)|, of at most two, at which neurons have felt each other: there they are
compared. The theorem is about every time, so any would do. As Σ|∇S(u) − ∇S(v)| ≤ max|u − v|,
networks whose scores are nearer to the law's than this are driven by forces that are off by less
than those have moved; where the widest are not, more neurons are needed."""
LOOK_LOG_POINTS = 8
"""log₂ of the points of the sequence that tells when."""
LOOK_STEP = 0.25
"""Step of that first look, over the largest ‖x‖², which is half of the field's rate."""
LOOK_STEPS = 300
"""Steps of that first look, after which neurons are said not to interact."""
STEPS = 20
"""Of the classical Runge–Kutta method, the same for networks and law, so that its error, some 1e-4,
cancels in their distance."""
TIMES_SEEN = 4
"""Times at which networks and law are compared, the largest difference counts."""
NO_LIMIT = 0.0
"""Exponent in m of distances that do not fall."""
NO_RATE = "C states convergence without a rate, and m stays finite"
LAW = "the flow of the law, by quadrature over its neurons"


@dataclass(frozen=True, eq=False)
class LawFlow:
    """The law's scores y_ih(μ_t, x_i) at times (T, n), and the forces c(t) = y·∇S at the
    Runge–Kutta stages."""

    times: Array
    scores: Array
    forces: list[Array]

    def carried(self, X: Array, neurons: Array, signs: Any) -> Array:
        """X_t(w) at the times: where the law's flow carries neurons, (T, m, d)."""
        h, states = float(self.times[1] - self.times[0]), [neurons]
        for four in self.forces:
            states.append(_step(states[-1], h, partial(_stage, X, signs, four)))
        return np.array(states)


def _stage(X: Array, signs: Any, four: Array, w: Array, k: int) -> Array:
    return _slope(X, w, signs, four[k])


def _slope(X: Array, w: Array, signs: Any, force: Array) -> Array:
    """∇F'_μ(w) = Σ_ic_i∇φ(w, x_i), φ = ε(⟨w, x⟩)₊²."""
    return np.asarray(2 * signs[:, None] * ((np.maximum(w @ X.T, 0.0) * force) @ X))


def _step(w: Array, h: float, slope: Callable[[Array, int], Array]) -> Array:
    """Classical Runge–Kutta."""
    a = slope(w, 0)
    b = slope(w + h / 2 * a, 1)
    c = slope(w + h / 2 * b, 2)
    d = slope(w + h * c, 3)
    return np.asarray(w + h / 6 * (a + 2 * b + 2 * c + d))


def law_flow(problem: Problem, size: float, until: float | None, key: int) -> LawFlow | None:
    """dX/dt = ∇F'_μ(X) from w ~ N(0, size²), ε = ±1 with equal shares, written from C, (8); None
    where it does not interact."""
    X, y = problem.data.X, problem.data.y
    neurons, signs = _law(size, X.shape[1], key)
    if until is None:
        until = _interacting_from(problem, size, key)
    return None if until is None else _marched(problem, X, y, neurons, signs, until, STEPS)


def _interacting_from(problem: Problem, size: float, key: int) -> float | None:
    """The time at which ∇S has moved by INTERACTION_CHANGE, on fewer neurons; None where that is
    later than can be waited for."""
    X, y = problem.data.X, problem.data.y
    neurons, signs = _law(size, X.shape[1], key, LOOK_LOG_POINTS)
    pace = LOOK_STEP / float(np.max(np.sum(X**2, axis=1)))
    flow = _marched(problem, X, y, neurons, signs, LOOK_STEPS * pace, LOOK_STEPS)
    weights = np.array([_soft(problem, u) for u in flow.scores])
    moved = np.flatnonzero(np.sum(np.abs(weights - weights[0]), axis=1) >= INTERACTION_CHANGE)
    return float(flow.times[moved[0]]) if moved.size else None


def _law(size: float, d: int, key: int, power: int = QUADRATURE) -> tuple[Array, Array]:
    from scipy.stats import norm, qmc

    points = norm.ppf(qmc.Sobol(d, scramble=True, seed=key).random_base2(power)) * size
    return np.concatenate([points, points]), np.repeat([1.0, -1.0], len(points))


def _soft(problem: Problem, u: Array) -> Array:
    """∇S(u) = ℓ'(−u_i)/Σℓ(−u_j)."""
    loss = problem.loss.loss
    logs = np.asarray(loss.log_loss(u))
    top = float(np.max(logs))
    return np.asarray(
        np.exp(np.asarray(loss.log_slope(u)) - top - np.log(np.sum(np.exp(logs - top))))
    )


def _marched(
    problem: Problem, X: Array, y: Array, w: Array, signs: Array, span: float, steps: int
) -> LawFlow:
    h, scores, forces = span / steps, [], []
    for _ in range(steps):
        four: list[Array] = []

        def slope(v: Array, k: int, four: list[Array] = four) -> Array:
            u = y * (signs @ np.maximum(v @ X.T, 0.0) ** 2) / len(v)
            four.append(y * _soft(problem, u))
            return _slope(X, v, signs, four[k])

        scores.append(y * (signs @ np.maximum(w @ X.T, 0.0) ** 2) / len(w))
        w = _step(w, h, slope)
        forces.append(np.array(four))
    scores.append(y * (signs @ np.maximum(w @ X.T, 0.0) ** 2) / len(w))
    return LawFlow(np.linspace(0.0, span, steps + 1), np.array(scores), forces)


def _thm2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    size = float(np.sqrt(np.mean(problem.start.W**2)) * np.sqrt(problem.model.width))
    law = law_flow(problem, size, None, 0)
    if law is None:
        why = (
            f"∇S moves by less than {INTERACTION_CHANGE:g} for long: the neurons do not interact, "
            "and any scaling would pass"
        )
        return (unknown_check("exponent in m of the distance from the flow of the law", why),)
    ask_for_time(evidence)
    other = law_flow(problem, size, float(law.times[-1]), 1)
    assert other is not None
    off = float(np.max(np.abs(law.scores - other.scores)))
    found = []
    for m, draws in zip(WIDTHS, DRAWS, strict=True):
        ask_for_time(evidence)
        found.append(_distances(problem, law, size, m, draws))
    (values, neurons), spreads = (
        np.transpose([one.rms for one in found]),
        np.transpose([one.spread for one in found]),
    )
    if values[-1] > INTERACTION_CHANGE:
        why = (
            f"{WIDTHS[-1]} neurons are {values[-1]:.2g} from the law before they interact: more "
            "are needed"
        )
        return (unknown_check("exponent in m of the distance from the flow of the law", why),)
    null = [_distances(problem, law, size, m, 2, plain_sum=True).rms[0] for m in PLAIN_SUM]
    slope = float(np.polyfit(np.log(PLAIN_SUM), np.log(null), 1)[0])
    owed = off / values
    return (
        _exponent(
            "exponent in m of the distance of predictors from the law's",
            values,
            spreads[0],
            owed,
            slope,
        ),
        _exponent(
            "exponent in m of the distance of neurons from where the law carries them",
            neurons,
            spreads[1],
            owed,
        ),
        _unbiased(law, found, off),
    )


def _unbiased(law: LawFlow, found: list[Distances], off: float) -> Check:
    """The mean over draws of the widest networks' scores, off the law's, over how far the law
    moved.

    Its error: the draws, at 99% over all scores and times together; quadrature; and what is left at
    m of the bias of the narrowest, which falls as 1/m, since a network's deviation has mean zero to
    first order.
    """
    from scipy import stats

    few, many = found[0], found[-1]
    moved = float(np.max(np.abs(law.scores - law.scores[0])))
    quantile = float(stats.t.ppf(1 - (1 - CONFIDENCE) / 2 / many.bias.size, DRAWS[-1] - 1))
    left = float(np.max(np.abs(few.bias) + quantile * few.deviation)) * WIDTHS[0] / WIDTHS[-1]
    error = quantile * float(np.max(many.deviation)) + left + off
    quantity = (
        f"mean over draws of the scores of {WIDTHS[-1]} neurons, off the law's, over how "
        "far these moved"
    )
    return Check(
        quantity,
        float(np.max(np.abs(many.bias))) / moved,
        "==",
        0.0,
        error / moved,
        witness=LAW,
        reason=NO_RATE,
    )


def _exponent(
    quantity: str, distances: Array, spread: Array, owed: Array, null: float | None = None
) -> Check:
    """A fitted exponent with the 99% error that the draws leave, more where the distances are off a
    line by more.

    spread: standard errors of the distances, relative, from their draws. owed: what quadrature may
    add to each.
    """
    from scipy import stats

    u, v = np.log(WIDTHS), np.log(distances)
    centred = u - np.mean(u)
    weight = centred / (centred @ centred)
    slope = float(weight @ v)
    rest = (v - np.mean(v) - slope * centred) / spread
    beyond = max(1.0, float(np.sqrt(rest @ rest / (len(u) - 2))))
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, min(DRAWS) - 1))
    error = quantile * beyond * float(np.sqrt(weight**2 @ spread**2)) + float(np.abs(weight) @ owed)
    return Check(quantity, slope, "<=", NO_LIMIT, error, witness=LAW, reason=NO_RATE, null=null)


@dataclass(frozen=True, eq=False)
class Distances:
    """Networks of one width against the law: root mean squares over draws of the largest distances
    over time, of predictors and of neurons, with their standard errors, relative; the mean
    deviation of each score and its standard error, (T, n)."""

    rms: Array
    spread: Array
    bias: Array
    deviation: Array


def _distances(
    problem: Problem, law: LawFlow, size: float, m: int, draws: int, plain_sum: bool = False
) -> Distances:
    places = np.linspace(0, STEPS, TIMES_SEEN + 1).astype(int)[1:]
    rng = np.random.default_rng((m, draws))
    signs, found, deviations = 1.0 - 2.0 * (np.arange(m) % 2), [], []
    for _ in range(draws):
        start = size * rng.standard_normal((m, problem.data.d))
        moved = _neurons_at(problem, start, m, law.times, plain_sum)[places]
        carried = law.carried(problem.data.X, start, signs)[places]
        share = 1.0 if plain_sum else 1 / m
        u = [
            share * problem.data.y * (signs @ np.maximum(w @ problem.data.X.T, 0.0) ** 2)
            for w in moved
        ]
        deviations.append(np.array(u) - law.scores[places])
        apart = np.max(np.sqrt(np.mean(np.sum((moved - carried) ** 2, axis=2), axis=1)))
        found.append((np.max(np.abs(deviations[-1])), apart))
    squares = np.square(found)
    mean = np.mean(squares, axis=0)
    return Distances(
        np.sqrt(mean),
        np.std(squares, axis=0, ddof=1) / np.sqrt(draws) / (2 * mean),
        np.mean(deviations, axis=0),
        np.std(deviations, axis=0, ddof=1) / np.sqrt(draws),
    )


def _neurons_at(
    problem: Problem, neurons: Array, m: int, times: Array, plain_sum: bool = False
) -> Array:
    """C's w_j, by raw gradients of the library's network, which is a plain sum: its weights are
    w_j/√m. At times, (T, m, d)."""
    root = 1.0 if plain_sum else np.sqrt(m)
    model, X, y = SignedTwoLayer(m, problem.data.d), problem.data.X, problem.data.y

    def downhill(v: Array, stage: int) -> Array:
        params = SignedTwoLayerParams(v)
        return np.asarray(-model.gradient(params, X, problem.loss.gradient(model(params, X), y)).W)

    states = [neurons / root]
    for h in np.diff(times):
        states.append(_step(states[-1], h, downhill))
    return np.array(states) * root


thm2 = Claim(
    "C/thm2",
    "Networks of m neurons from one law follow one flow of measures as m → ∞, uniformly on bounded "
    "time: the distance from it falls with m, and deviations of predictors from it average to zero "
    "over draws of the neurons, to first order.",
    "C, Theorem 2",
    (SMOOTH, EXPONENTIAL_TAIL, SIGNS, DISTINCT),
    wide_problem,
    _thm2,
    Kind.ASYMPTOTIC,
    LAW,
    "a sum of neurons without the factor 1/m",
    lambda key: any_trained_problem(key, smooth=True),
)

CLAIMS = (thm2,)
