"""C, §§2.4–3 and Appendix H: wide networks train like their infinite limit, and towards the F1 max margin."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...diagnostics import transport_distance
from ...flows import gradient_flow
from ...inputs import Array
from ...limits import f1_max_margin, margin_certificate
from ...limits.margin.circle import largest_squared_gain, squared_f1_max_margin
from ...models import SignedTwoLayer, SignedTwoLayerParams
from ...records import Problem, Trajectory
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import line_problem, plane_problem, population_problem, relu_problem
from .hypotheses import EXPONENTIAL, FULL_SUPPORT, LINE, ON_D, PLANAR, RELU, SEPARABLE, SIGNS, SMALL_START, SMOOTH
from .setting import EARLY_NORM, inputs_of

NORM = 30.0
"""log β at which training is called long."""
RTOL = 1e-3
"""Of flows whose margin at the end is asked for: it is known far better than the weights."""
CLOSED = 1e-2
"""Relative distance from γ₁ at log β = 30 that still counts as arrived: C states no rate."""
WIDTHS = (20, 40, 80, 160, 320)
REFERENCE = 640
"""Neurons that stand for infinitely many."""
SPAN = 2.0
"""C's time over which widths are compared."""
FALLING = -0.25
"""Exponent in m that convergence is held against; independent neurons would give −½, a fit over five widths is ±0.2."""
TIGHTER = 1e-4
MIDWAY = EARLY_NORM
"""log β up to which the drift off D is followed at two tolerances."""
THINNER = (WIDTHS[0] / WIDTHS[-1]) ** 0.25
"""Samples of a law in the plane come at least as close to it as m^(−1/4) in transport distance; the exact power is −½."""
STABLE = float(np.exp(SPAN))
"""Growth of a distance between clouds that one e-folding per unit of C's time allows; C's own constant is not explicit."""
ROUNDING = 1e-9
"""By which a margin may exceed γ₁'s certified upper bound, whose gap this is."""
SCALES = (0.1, 10.0)


def _trained(problem: Problem, log_norm: float = NORM, rtol: float = RTOL) -> Trajectory:
    return gradient_flow(problem.model, problem.data, problem.loss, problem.params0, rtol=rtol, log_norm=log_norm)


def _deficit(flow: Trajectory, gamma: float, log_norm: float) -> float:
    """1 − margin/γ₁ when log β first reaches a size."""
    return 1 - _margin(flow, log_norm) / gamma


def _margin(flow: Trajectory, log_norm: float) -> float:
    """The margin when log β first reaches a size; NaN where training stands still before, as a finite network can."""
    k = int(np.searchsorted(flow.stats["log_norm"], log_norm - 1e-6))
    return float(flow.stats["margin"][k]) if k < len(flow.stats["margin"]) else np.nan


def _thm3(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, flow = inputs_of(problem), _trained(problem)
    best = squared_f1_max_margin(data.X, data.y).certificate
    p, margin = flow.stats["weights"][-1], _margin(flow, NORM)
    p = p / np.sum(p)
    upper, _ = largest_squared_gain(problem.data.X, p * data.y)
    shares = _shares(flow.final)
    values = problem.model(SignedTwoLayerParams(flow.final.W * np.exp(-NORM / 2)), problem.data.X) * data.y / np.sum(shares)
    mean, error = float(p @ values), float(flow.stats["margin_error"][-1]) / best.dual
    return (
        Check("margin at log β = 30, over γ₁", margin / best.dual, ">=", 1 - CLOSED, error),
        Check("the same, at most one", margin / best.dual, "<=", 1.0, error + ROUNDING),
        Check(
            "its distance from one, over that at log β = 8",
            _deficit(flow, best.dual, NORM),
            "<=",
            _deficit(flow, best.dual, EARLY_NORM),
            error,
        ),
        Check("(i) slack of the neurons, over γ₁: (max J − ∫J dν̄)/γ₁", (upper - mean) / best.dual, "<=", CLOSED, error),
        Check(
            "(ii) slack of the samples, over γ₁: (Σp_iy_if(x_i) − margin)/γ₁", (mean - margin) / best.dual, "<=", CLOSED, error
        ),
    )


def _shares(params: SignedTwoLayerParams) -> Array:
    """‖w_j‖²/β at β = e^NORM."""
    return np.sum((params.W * np.exp(-NORM / 2)) ** 2, axis=1)


def _cor4(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data = inputs_of(problem)
    gamma = f1_max_margin(data.X, data.y).certificate.dual
    flow = _trained(problem)
    error = float(flow.stats["margin_error"][-1]) / gamma
    checks = [
        Check("1 − margin/γ₁ at log β = 30", _deficit(flow, gamma, NORM), "<=", CLOSED, error),
        Check("the same, at most that at log β = 8", _deficit(flow, gamma, NORM), "<=", _deficit(flow, gamma, EARLY_NORM), error),
        Check("proven gap to γ₁ of the trained network, relative", _gap(flow, problem), "<=", CLOSED, error),
    ]
    for scale in SCALES:
        start = type(problem.params0)(*(scale * leaf for leaf in problem.params0))
        scaled = _trained(dataclasses.replace(problem, params0=start))
        error = float(scaled.stats["margin_error"][-1]) / gamma
        checks.append(Check(f"1 − margin/γ₁ from {scale:g} times the start", _deficit(scaled, gamma, NORM), "<=", CLOSED, error))
    return tuple(checks)


def _gap(flow: Trajectory, problem: Problem) -> float:
    data = inputs_of(problem)
    return margin_certificate(flow.final, data.X, data.y).relative_gap


def _thm5(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, flow = inputs_of(problem), _trained(problem)
    gamma = f1_max_margin(data.X, data.y).certificate.dual
    error = float(flow.stats["margin_error"][-1]) / gamma
    judged = margin_certificate(flow.final, data.X, data.y, weights=flow.stats["weights"][-1])
    return (
        Check("largest Σ_j|a_j² − ‖w_j‖²|/β: the flow stays on D, to its tolerance", _drift(flow), "<=", RTOL),
        Check("1 − margin/γ₁ on the sample of the population", _deficit(flow, gamma, NORM), "<=", CLOSED, error),
        Check("(i) slack of the neurons for λ = ∇S, over γ₁", judged.direction_slack / gamma, "<=", CLOSED, error),
        Check("(ii) slack of the samples for λ = ∇S, over γ₁", judged.sample_slack / gamma, "<=", CLOSED, error),
    )


def _drift(flow: Trajectory) -> float:
    """The largest change of Σ|a_j² − ‖w_j‖²| from the start, over β."""
    a, W = flow.states
    off = a**2 - np.sum(W**2, axis=-1)
    return float(np.max(np.sum(np.abs(off - off[0]), axis=-1) / np.exp(flow.stats["log_norm"])))


def _lem26(evidence: Evidence) -> tuple[Check, ...]:
    loose, tight = (_trained(evidence.network, MIDWAY, rtol) for rtol in (RTOL, TIGHTER))
    a, _ = tight.states
    turned = float(np.sum(np.any(np.sign(a) != np.sign(a[0]), axis=0)))
    return (
        Check("largest Σ_j|a_j² − ‖w_j‖²|/β at rtol 1e-3", _drift(loose), "<=", RTOL),
        Check("the same at rtol 1e-4: it falls with the tolerance", _drift(tight), "<=", max(_drift(loose) / 2, ROUNDING)),
        Check("output weights that change sign", turned, "==", 0.0),
    )


def _thm2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    rng = np.random.default_rng(0)
    size = float(np.sqrt(np.mean(problem.params0.W**2)) * np.sqrt(problem.model.width))
    neurons = size * rng.standard_normal((REFERENCE, problem.data.d))
    exact = _neurons_at(problem, neurons, REFERENCE)
    coupled, clouds = [], []
    for m in WIDTHS:
        moved = _neurons_at(problem, neurons, m)
        coupled.append(np.sqrt(np.max(np.mean(np.sum((moved - exact[:, :m]) ** 2, axis=-1), axis=-1))))
        clouds.append([_distance(part, whole) for part, whole in zip(moved, exact, strict=True)])
    spread = np.array(clouds)
    slope, error = _fit(np.array(coupled))
    return (
        Check("exponent in m of the distance of the same neurons from the reference", slope, "<=", FALLING, error),
        Check(
            "transport distance to the reference of the widest, over that of the narrowest, largest over t",
            float(np.max(spread[-1]) / np.max(spread[0])),
            "<=",
            THINNER,
        ),
        Check(
            "largest transport distance at t > 0 over that at t = 0: bounded on bounded time",
            float(np.max(spread / spread[:, :1])),
            "<=",
            STABLE,
        ),
    )


def _neurons_at(problem: Problem, neurons: Array, m: int) -> Array:
    """C's w_j (= √m times those of the plain sum) of the first m neurons at three times, (3, m, d)."""
    model = SignedTwoLayer(m, problem.data.d)
    start = SignedTwoLayerParams(neurons[:m] / np.sqrt(m))
    flow = gradient_flow(model, problem.data, problem.loss, start, rtol=TIGHTER, times=[0.0, SPAN / 2, SPAN], method="weights")
    return flow.states.W * np.sqrt(m)


def _distance(cloud: Array, other: Array) -> float:
    """W₂ of neurons with alternating signs, which transport keeps."""
    halves = [transport_distance(cloud[sign::2], other[sign::2]) for sign in (0, 1)]
    return float(np.sqrt(np.mean(np.square(halves))))


def _fit(distances: Array) -> tuple[float, float]:
    """Slope of log distance against log m, and its standard error."""
    x = np.log(WIDTHS) - np.mean(np.log(WIDTHS))
    slope = float(x @ np.log(distances) / (x @ x))
    rest = np.log(distances) - np.mean(np.log(distances)) - slope * x
    return slope, float(np.sqrt(rest @ rest / (len(WIDTHS) - 2) / (x @ x)))


thm2 = Claim(
    "C/thm2",
    "Networks of m neurons from one law follow one flow of measures as m → ∞, uniformly on bounded time.",
    "C, Theorem 2",
    (SMOOTH, SIGNS),
    line_problem,
    _thm2,
)
thm3 = Claim(
    "C/thm3",
    "If ∇S and the normalised measure converge, the limit of training both layers is an F1 max-margin classifier.",
    "C, Theorem 3",
    (SMOOTH, SIGNS, SEPARABLE, LINE, FULL_SUPPORT, SMALL_START),
    line_problem,
    _thm3,
)
cor4 = Claim(
    "C/cor4",
    "As m, t → ∞ the normalised margin tends to γ₁: here for a ReLU network from σ = 10 and from a tenth and ten times that."
    " From smaller starts few directions survive, and a finite network can end below γ₁ for good.",
    "C, Corollary 4",
    (RELU, SIGNS, SEPARABLE, PLANAR, FULL_SUPPORT, SMALL_START),
    plane_problem,
    _cor4,
)
thm5 = Claim(
    "C/thm5",
    "ReLU networks that start on D = {‖a‖ = |b|} stay there and, on a population, tend to the F1 max margin.",
    "C, Theorem 5 and Proposition 29",
    (RELU, SIGNS, EXPONENTIAL, SEPARABLE, PLANAR, ON_D, FULL_SUPPORT, SMALL_START),
    population_problem,
    _thm5,
)
lem26 = Claim(
    "C/lem26",
    "The set D = {‖a‖ = |b|} is invariant, and no output weight changes sign on it.",
    "C, Lemma 26",
    (RELU, SIGNS, SEPARABLE, ON_D, SMALL_START),
    lambda key: relu_problem(key, balanced=True),
    _lem26,
)

CLAIMS = (thm2, thm3, cor4, thm5, lem26)
