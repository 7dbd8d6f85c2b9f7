"""C, §3 and Appendix H: training goes towards the F1 max margin, and ReLU networks stay on the set they start from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...inputs import Array
from ...records import Problem, Trajectory, leaf_map
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind
from .examples import any_line_problem, any_relu_problem, line_problem, plane_problem, population_problem, relu_problem
from .hypotheses import (
    DISTINCT,
    EXPONENTIAL,
    EXPONENTIAL_TAIL,
    FULL_SUPPORT,
    KNOWN,
    LINE,
    NETWORK,
    ON_D,
    PLANAR,
    RELU,
    SEPARABLE,
    SIGNS,
    SMALL_START,
    SMOOTH,
)
from .raw import RTOL as RTOL_RAW
from .raw import log_norm, raw_flow
from .trained import ALONG, CLOSED, CONVERGES, PROVEN, RTOL, SEARCH, Trained, arrival, gamma_checks, raw_check, trained

SCALES = (0.1, 10.0)
STEP = 1e-5
"""Of central differences of the loss; their error is some 1e-9 of the gradient."""
DIFFERENCES = 1e-7
"""What a central difference leaves of a component of the gradient, over the largest one."""
DRIFT = 100.0
"""Tolerances by which a_j² − ‖w_j‖² may drift: a thousand steps, whose errors add to thirty if their signs are random."""
SEEN = 6
"""Times at which a raw flow is looked at."""
LONGEST = 60.0
"""C's time up to which a raw flow is followed, if its gradients last."""


def _thm3(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    return (
        *gamma_checks(run),
        raw_check(run),
        arrival(run, "at log β = 30", ladder=True),
        *_conditions(run),
    )


def _conditions(run: Trained) -> tuple[Check, ...]:
    """Proposition 12 with weights p that the search found: with the network's own a sum that is 1 − margin/γ₁."""
    if not run.arrived:  # then the sum is known to be open, and `arrival` says why
        return ()
    p = run.searched.weights
    values = run.problem.data.y * run.problem.model(run.state(-1), run.problem.data.X)
    mean, error = float(p @ values), run.error + run.searched.gap
    neurons, samples = (run.searched.upper - mean) / run.gamma, (mean - float(np.min(values))) / run.gamma
    return (
        Check("(i) slack of the neurons, (max J − ∫J dν̄)/γ₁", neurons, "<=", CLOSED, error, witness=SEARCH),
        Check("(ii) slack of the samples, (Σp_iy_if(x_i) − margin)/γ₁", samples, "<=", CLOSED, error, witness=SEARCH),
    )


def _cor4(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    checks = [*gamma_checks(run), raw_check(run), arrival(run, "at log β = 30", ladder=True)]
    if evidence.given_flow is None:
        for scale in SCALES:
            start = _scaled(evidence.network.params0, scale)
            other = Trained(dataclasses.replace(evidence.network, params0=start), None, evidence.given_limit)
            checks.append(arrival(other, f"from {scale:g} times the start"))
    return tuple(checks)


def _scaled(params: Any, by: float) -> Any:
    return leaf_map(lambda leaf: by * leaf, params)


def _thm5(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    reason = (
        "an illustration: finitely many atoms have no density, which (A4) asks for, and finitely many neurons no full support"
    )
    return (
        *gamma_checks(run),
        raw_check(run),
        Check("largest Σ_j|a_j² − ‖w_j‖²|/β: the flow stays on D, to its tolerance", _drift(run.flow), "<=", RTOL, reason=reason),
        arrival(run, "on the sample of the population", ladder=True),
        *_conditions(run),
    )


def _drift(flow: Trajectory) -> float:
    """The largest change of Σ|a_j² − ‖w_j‖²| from the start, over β."""
    a, W = flow.states
    off = a**2 - np.sum(W**2, axis=-1)
    beta = np.sum(a**2, axis=-1) + np.sum(W**2, axis=(-1, -2))
    return float(np.max(np.sum(np.abs(off - off[0]), axis=-1) / beta))


def _lem26(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    raw = raw_flow(problem, np.linspace(0.0, LONGEST, SEEN + 1)[1:])
    a0, W0 = problem.params0
    off = [_off_balance(a, W) for a, W in raw.states]
    rate = float(np.max(np.linalg.norm(problem.data.X, axis=1)))
    lasting = [float(np.min(np.log(np.abs(w.a / a0)))) / (rate * t) for w, t in zip(raw.states, raw.times, strict=True)]
    turned = sum(int(np.sum(np.sign(w.a) != np.sign(a0))) for w in raw.states)
    reached = max(log_norm(w) for w in raw.states)
    return (
        Check(
            "largest component of ∇L off central differences of L, relative",
            _gradient_defect(problem),
            "<=",
            DIFFERENCES,
            witness="differences of the loss",
        ),
        Check(
            "largest |a_j∂_aL − ⟨w_j, ∂_wL⟩| by these differences, over |a_j|‖∂_wL‖: D is left at no rate",
            _leaving(problem),
            "<=",
            DIFFERENCES,
            witness="differences of the loss",
            null=_leaving(problem, tilted=True),
        ),
        Check(
            f"largest Σ_j|a_j² − ‖w_j‖²|/β up to log β = {reached:.3g}, over the tolerance",
            max(off) / RTOL_RAW,
            "<=",
            DRIFT,
            witness=ALONG,
            null=_off_balance(1.5 * a0, W0) / RTOL_RAW,
        ),
        Check(
            "least log|a_j(t)/a_j(0)|/(max‖x‖·t): no output weight reaches zero", min(lasting), ">=", -1.0, RTOL, witness=ALONG
        ),
        Check("output weights that change sign", float(turned), "==", 0.0, witness=ALONG),
    )


def _off_balance(a: Array, W: Array) -> float:
    squares = np.sum(W**2, axis=1)
    return float(np.sum(np.abs(a**2 - squares)) / (np.sum(a**2) + np.sum(squares)))


def _differences(problem: Problem) -> tuple[Array, Array]:
    """∂_aL and ∂_wL by central differences of the smooth margin, written out; away from kinks."""
    a, W = problem.params0

    def loss(a: Array, W: Array) -> float:
        u = problem.data.y * (a @ np.maximum(W @ problem.data.X.T, 0.0))
        logs = np.asarray(problem.loss.loss.log_loss(u))
        return float(np.log(np.mean(np.exp(logs - np.max(logs)))) + np.max(logs))

    by_a, by_w = np.zeros_like(a), np.zeros_like(W)
    size = STEP * float(np.max(np.abs(a)))
    for j in range(a.size):
        moved = np.where(np.arange(a.size) == j, size, 0.0)
        by_a[j] = (loss(a + moved, W) - loss(a - moved, W)) / (2 * size)
        for k in range(W.shape[1]):
            turn = moved[:, None] * (np.arange(W.shape[1]) == k)
            by_w[j, k] = (loss(a, W + turn) - loss(a, W - turn)) / (2 * size)
    return by_a, by_w


def _gradient_defect(problem: Problem) -> float:
    """The library's gradient against differences, on neurons whose gates do not change within the step."""
    params, X, y = problem.params0, problem.data.X, problem.data.y
    mine = problem.model.gradient(params, X, problem.loss.gradient(problem.model(params, X), y))
    by_a, by_w = _differences(problem)
    clear = _clear(problem)
    size = max(float(np.max(np.abs(by_a))), float(np.max(np.abs(by_w))))
    return max(float(np.max(np.abs(mine.a - by_a))), float(np.max(np.abs(mine.W - by_w)[clear], initial=0.0))) / size


def _clear(problem: Problem) -> Array:
    a, W = problem.params0
    reach = 2 * STEP * float(np.max(np.abs(a))) * np.linalg.norm(problem.data.X, axis=1)
    return np.asarray(np.min(np.abs(W @ problem.data.X.T) - reach, axis=1) > 0)


def _leaving(problem: Problem, tilted: bool = False) -> float:
    """Half the rate of a_j² − ‖w_j‖², relative; tilted: of features that are not homogeneous, with a bias beside them."""
    (a, W), (by_a, by_w), clear = problem.params0, _differences(problem), _clear(problem)
    if tilted:
        by_w = by_w * (np.arange(W.shape[1]) < W.shape[1] - 1)
    size = np.maximum(np.abs(a) * np.linalg.norm(by_w, axis=1), float(np.max(np.abs(a * by_a))))
    return float(np.max((np.abs(a * by_a - np.sum(W * by_w, axis=1)) / size)[clear], initial=0.0))


thm3 = Claim(
    "C/thm3",
    "If ∇S and the normalised measure converge, the limit of training both layers is an F1 max-margin classifier.",
    "C, Theorem 3",
    (SMOOTH, EXPONENTIAL_TAIL, SIGNS, SEPARABLE, DISTINCT, LINE, FULL_SUPPORT, SMALL_START, CONVERGES),
    line_problem,
    _thm3,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    any_line_problem,
)
cor4 = Claim(
    "C/cor4",
    "As m, t → ∞ the normalised margin tends to γ₁: from the start, and from a tenth and ten times of it. Networks of finite"
    " width can end below γ₁ for good, at a KKT point. ReLUs, which (A3) excludes, are an illustration.",
    "C, Corollary 4",
    (NETWORK, EXPONENTIAL_TAIL, SIGNS, SEPARABLE, DISTINCT, KNOWN, FULL_SUPPORT, SMALL_START),
    plane_problem,
    _cor4,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    lambda key: any_relu_problem(key) if key % 2 else any_line_problem(key),
)
thm5 = Claim(
    "C/thm5",
    "ReLU networks that start on D = {‖a‖ = |b|} stay there and, on a population with a density, tend to the F1 max margin; here"
    " an illustration on a sample.",
    "C, Theorem 5 and Proposition 29",
    (RELU, EXPONENTIAL, SIGNS, SEPARABLE, DISTINCT, PLANAR, ON_D, FULL_SUPPORT, SMALL_START, CONVERGES),
    population_problem,
    _thm5,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    lambda key: any_relu_problem(key, balanced=True),
)
lem26 = Claim(
    "C/lem26",
    "The set D = {‖a‖ = |b|} is invariant, and no output weight changes sign on it.",
    "C, Lemma 26",
    (RELU, SIGNS, SEPARABLE, ON_D, SMALL_START),
    lambda key: relu_problem(key, balanced=True),
    _lem26,
    Kind.FLOW,
    ALONG,
    "a start off D, a feature that is not homogeneous",
    lambda key: any_relu_problem(key, balanced=True),
)

CLAIMS = (thm3, cor4, thm5, lem26)
