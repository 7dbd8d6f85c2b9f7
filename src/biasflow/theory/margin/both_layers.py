"""C, §3 and Appendix H: training goes towards the F1 max margin, and ReLU networks stay on the set
they start from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map
from ..evidence import Evidence
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind
from .margin_examples import (
    any_population_problem,
    any_relu_problem,
    any_trained_problem,
    line_problem,
    plane_problem,
    population_problem,
    relu_problem,
)
from .margin_hypotheses import (
    DISTINCT,
    EXPONENTIAL,
    EXPONENTIAL_TAIL,
    FULL_SUPPORT,
    NETWORK,
    ON_D,
    PLANAR,
    RELU,
    SEPARABLE,
    SIGNS,
    SMALL_START,
    SMOOTH,
)
from .margin_limits import of_f1_margin
from .raw import RawRun, log_norm, raw_flow
from .trained import (
    ALONG,
    CLOSED,
    CONVERGES,
    PROVEN,
    RTOL,
    SEARCH,
    SMOOTHLY,
    Trained,
    arrivals,
    gamma_checks,
    raw_checks,
    trained,
)

SCALES = (0.1, 10.0)
STEP = 1e-3
"""Of differences of the loss, as the largest change of a margin: eps/STEP of rounding, STEP⁴ of
truncation, both some 1e-13."""
ROUNDED = 8 * float(np.finfo(float).eps)
"""Rounding of the loss over the sizes it is computed from: a few operations, each off by half an
eps."""
TIMES_SEEN = 6
"""Times at which a raw flow is looked at."""
LONGEST_TIME = 60.0
"""C's time up to which a raw flow is followed, if its gradients last."""


def _thm3(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    return (
        *gamma_checks(run),
        *raw_checks(run),
        *arrivals(run, "at log β = 30", ladder=True),
        *part("Proposition 12 at the end", lambda: _conditions(run)),
    )


def _conditions(run: Trained) -> tuple[Check, ...]:
    """Proposition 12 with weights p that the search found: with the network's own a sum that is 1 −
    margin/γ₁."""
    if not run.arrived:  # then the sum is known to be open, and `arrival` says why
        return ()
    p = run.searched.weights
    values = run.problem.data.y * run.problem.model(run.state(-1), run.problem.data.X)
    mean, error = float(p @ values), run.error + run.searched.gap
    neurons, samples = (
        (run.searched.upper - mean) / run.gamma,
        (mean - float(np.min(values))) / run.gamma,
    )
    return (
        Check(
            "(i) slack of the neurons, (max J − ∫J dν̄)/γ₁",
            neurons,
            "<=",
            CLOSED,
            error,
            witness=SEARCH,
        ),
        Check(
            "(ii) slack of the samples, (Σp_iy_if(x_i) − margin)/γ₁",
            samples,
            "<=",
            CLOSED,
            error,
            witness=SEARCH,
        ),
    )


def _cor4(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    checks = [*gamma_checks(run), *raw_checks(run)]
    checks += arrivals(run, "at log β = 30", ladder=True)
    if evidence.given_flow is None:
        for scale in SCALES:
            start = _scaled(evidence.network.start, scale)
            problem = dataclasses.replace(evidence.network, start=start)
            other = Trained(evidence, problem)
            checks += arrivals(other, f"from {scale:g} times the start")
    return tuple(checks)


def _scaled(params: Any, by: float) -> Any:
    return leaf_map(lambda leaf: by * leaf, params)


def _thm5(evidence: Evidence) -> tuple[Check, ...]:
    run = trained(evidence)
    reason = (
        "an illustration: finitely many atoms have no density, which (A4) asks for, and "
        "finitely many neurons no full support"
    )
    return (
        *gamma_checks(run),
        *raw_checks(run),
        Check(
            "largest Σ_j|a_j² − ‖w_j‖²|/β: the flow stays on D, to its tolerance",
            _drift(run.flow),
            "<=",
            RTOL,
            reason=reason,
        ),
        *arrivals(run, "on the sample of the population", ladder=True),
        *part("Proposition 12 at the end", lambda: _conditions(run)),
    )


def _drift(flow: Trajectory) -> float:
    """The largest change of Σ|a_j² − ‖w_j‖²| from the start, over β."""
    a, W = flow.states
    off = a**2 - np.sum(W**2, axis=-1)
    beta = np.sum(a**2, axis=-1) + np.sum(W**2, axis=(-1, -2))
    return float(np.max(np.sum(np.abs(off - off[0]), axis=-1) / beta))


def _lem26(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    slopes = _Differences(problem)
    raw = raw_flow(problem, np.linspace(0.0, LONGEST_TIME, TIMES_SEEN + 1)[1:])
    a0, W0 = problem.start
    seen = list(zip(raw.states, raw.looser, strict=True))
    off, owed = (
        max(_off_balance(*w) for w, _ in seen),
        max(_apart(w, loose) for w, others in seen for loose in others),
    )
    turned, doubtful = (
        sum(int(np.sum(which)) for which in flips)
        for flips in zip(*(_flips(a0, *pair) for pair in seen), strict=True)
    )
    reached = max(log_norm(w) for w in raw.states)
    return (
        Check(
            "largest component of ∇L off differences of L, over the largest one",
            *slopes.gradient_defect(),
            witness="differences of the loss",
        ),
        Check(
            "largest |a_j∂_aL − ⟨w_j, ∂_wL⟩| by these differences, over |a_j|‖∂_wL‖: D is left at "
            "no rate",
            *slopes.leaving(),
            witness="differences of the loss",
            null=slopes.leaving(tilted=True)[0],
        ),
        Check(
            f"largest Σ_j|a_j² − ‖w_j‖²|/β up to log β = {reached:.3g}, within what looser runs "
            "are off",
            off,
            "==",
            0.0,
            owed,
            witness=ALONG,
            null=_off_balance(1.5 * a0, W0),
        ),
        Check(
            "least log|a_j(t)/a_j(0)|/(max‖x‖·t): no output weight reaches zero",
            *_lasting(problem, raw),
            witness=ALONG,
        ),
        Check(
            "output weights that change sign",
            float(turned),
            "==",
            0.0,
            float(doubtful),
            witness=ALONG,
        ),
    )


def _flips(a0: Array, w: Any, others: tuple[Any, ...]) -> tuple[Array, Array]:
    """Output weights of another sign than at the start, and those among them of which some looser
    run says otherwise."""
    turned = np.sign(w.a) != np.sign(a0)
    return turned, turned & np.any([np.sign(loose.a) == np.sign(a0) for loose in others], axis=0)


def _lasting(problem: Problem, raw: RawRun) -> tuple[float, str, float, float]:
    """The least rate of log|a_j| against its bound, with the largest difference of that rate in
    looser runs."""
    rate = float(np.max(np.linalg.norm(problem.data.X, axis=1)))
    found = []
    for w, others, t in zip(raw.states, raw.looser, raw.times, strict=True):
        tight, *loose = (np.log(np.abs(v.a / problem.start.a)) / (rate * t) for v in (w, *others))
        j = int(np.argmin(tight))
        found.append((float(tight[j]), max(float(abs(tight[j] - other[j])) for other in loose)))
    least, error = min(found)
    return least, ">=", -1.0, error


def _off_balance(a: Array, W: Array) -> float:
    squares = np.sum(W**2, axis=1)
    return float(np.sum(np.abs(a**2 - squares)) / (np.sum(a**2) + np.sum(squares)))


def _apart(w: Any, loose: Any) -> float:
    """Error of Σ|a_j² − ‖w_j‖²|/β: by how much a_j² and ‖w_j‖² are others in a looser run, whose
    error is the larger one."""
    size = float(np.sum(w.a**2) + np.sum(w.W**2))
    squares = np.abs(np.sum(w.W**2, axis=1) - np.sum(loose.W**2, axis=1))
    return float(np.sum(np.abs(w.a**2 - loose.a**2) + squares)) / size + ROUNDED


class _Differences:
    """∂_aL and ∂_wL at the start by differences of the smooth margin, written out, with their
    errors; away from kinks.

    Up to the first change of a gate the network is linear in each weight, so the gates are held and
    every step is as long as
    moves a margin by STEP: small weights need no small steps. A formula of fourth order and the one
    of twice its step tell the truncation, the sizes of margins and losses the rounding.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        (a, W), X, y = problem.start, problem.data.X, problem.data.y
        inner = W @ X.T
        gates = inner > 0
        self.clear = np.all(np.abs(inner) > X.shape[1] * ROUNDED * np.abs(W) @ np.abs(X.T), axis=1)
        """Neurons whose gates rounding does not decide."""
        self._margins = y * (a @ np.where(gates, inner, 0.0))
        self.by_a, self.error_a = self._along(y * np.where(gates, inner, 0.0))
        self.by_w, self.error_w = self._along(y * a[:, None, None] * gates[:, None, :] * X.T)

    def _along(self, change: Array) -> tuple[Array, Array]:
        """Derivatives of L along changes (..., n) of the margins, and their errors."""
        size = np.max(np.abs(change), axis=-1, keepdims=True)
        unit = change / np.where(size > 0, size, 1.0)
        low, high = (self._formula(unit, h) for h in (2 * STEP, STEP))
        logs = np.asarray(self.problem.loss.loss.log_loss(self._margins))
        rounding = (
            1.5
            * ROUNDED
            * (1 + float(np.max(np.abs(self._margins))) + float(np.max(np.abs(logs))))
            / STEP
        )
        return high * size[..., 0], (np.abs(high - low) + rounding) * size[..., 0]

    def _formula(self, unit: Array, h: float) -> Array:
        one, two = (self._loss(k * h * unit) - self._loss(-k * h * unit) for k in (1, 2))
        return np.asarray((8 * one - two) / (12 * h))

    def _loss(self, moved: Array) -> Array:
        logs = np.asarray(self.problem.loss.loss.log_loss(self._margins + moved))
        top = np.max(logs, axis=-1, keepdims=True)
        return np.asarray(np.log(np.mean(np.exp(logs - top), axis=-1)) + top[..., 0])

    def gradient_defect(self) -> tuple[float, str, float, float]:
        """The library's gradient against these."""
        params, X, y = self.problem.start, self.problem.data.X, self.problem.data.y
        mine = self.problem.model.gradient(
            params, X, self.problem.loss.gradient(self.problem.model(params, X), y)
        )
        pairs = ((mine.a - self.by_a, self.error_a), (mine.W - self.by_w, self.error_w))
        size = max(float(np.max(np.abs(by))) for by in (self.by_a, self.by_w))
        off, error = (
            max(float(np.max(np.abs(pair[k][self.clear]), initial=0.0)) for pair in pairs)
            for k in (0, 1)
        )
        return off / size, "==", 0.0, error / size

    def leaving(self, tilted: bool = False) -> tuple[float, str, float, float]:
        """Half the rate of a_j² − ‖w_j‖², relative; tilted: of features that are not homogeneous,
        with a bias beside them."""
        a, W = self.problem.start
        by_w = self.by_w * (np.arange(W.shape[1]) < W.shape[1] - 1) if tilted else self.by_w
        size = np.maximum(
            np.abs(a) * np.linalg.norm(by_w, axis=1), float(np.max(np.abs(a * self.by_a)))
        )
        off = np.abs(a * self.by_a - np.sum(W * by_w, axis=1)) / size
        error = (np.abs(a) * self.error_a + np.sum(np.abs(W) * self.error_w, axis=1)) / size
        return (
            float(np.max(off[self.clear], initial=0.0)),
            "==",
            0.0,
            float(np.max(error[self.clear], initial=0.0)),
        )


thm3 = Claim(
    "C/thm3",
    "If ∇S and the normalised measure converge, the limit of training both layers is an F1 "
    "max-margin classifier.",
    "C, Theorem 3",
    (
        SMOOTH,
        EXPONENTIAL_TAIL,
        SIGNS,
        SEPARABLE,
        DISTINCT,
        PLANAR,
        FULL_SUPPORT,
        SMALL_START,
        CONVERGES,
    ),
    line_problem,
    _thm3,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    lambda key: any_trained_problem(key, smooth=True),
    limit=of_f1_margin,
)
cor4 = Claim(
    "C/cor4",
    "As m, t → ∞ the normalised margin tends to γ₁: from the start, and from a tenth and ten times "
    "of it. Networks of finite width can end below γ₁ for good, at a KKT point. ReLUs, which (A3) "
    "excludes, are an illustration.",
    "C, Corollary 4",
    (NETWORK, EXPONENTIAL_TAIL, SIGNS, SEPARABLE, DISTINCT, PLANAR, FULL_SUPPORT, SMALL_START),
    plane_problem,
    _cor4,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    any_trained_problem,
    limit=of_f1_margin,
)
thm5 = Claim(
    "C/thm5",
    "ReLU networks that start on D = {‖a‖ = |b|} stay there and, on a population with a density, "
    "tend to the F1 max margin, if ∇S and ν̄ converge weakly and (*) J' in C¹, with the Morse–Sard "
    "property; here an illustration on a sample.",
    "C, Theorem 5",
    (
        RELU,
        EXPONENTIAL,
        SIGNS,
        SEPARABLE,
        DISTINCT,
        PLANAR,
        ON_D,
        FULL_SUPPORT,
        SMALL_START,
        CONVERGES,
        SMOOTHLY,
    ),
    population_problem,
    _thm5,
    Kind.ASYMPTOTIC,
    PROVEN,
    "the start, not trained",
    any_population_problem,
    limit=of_f1_margin,
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
