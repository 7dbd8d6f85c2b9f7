"""C, §§4–5 and Appendices E, F: ascent on fixed features is online mirror ascent, and how fast its
margin grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ...training import feature_ascent
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind
from .fixed import LONG, SEPARATES, Features, fixed
from .margin_examples import any_feature_problem, feature_problem
from .margin_hypotheses import EXPONENTIAL, RELU, SIGNS
from .margin_setting import STEPS
from .plain import EXTENDED, PlainAscent, c_steps, plain_ascent

STEPS_FOLLOWED = 300
"""Steps over which the recursions are followed, fewer where rounding grows sooner."""
AGREEMENT = 1e-10
"""Relative difference that rounding leaves where a run in float64 is within 1e-12 of the extended
one at twice the steps."""
FORMULA = 1e-9
"""What partial sums over 1e5 steps in float64 leave of a closed formula, relative."""
SOLVER_GAP = 1e-9
"""Gap of a margin that a linear program's tolerance of 1e-10, or non-negative least squares, leave,
over the largest entry."""
PLAIN = "r ← r + ηm∇F(r) as C writes it, in extended precision"
DUALITY = "weak duality, from a and p alone"
GROWTH = 4.0
"""β(t+1)/β(t) = 1 + 4η∇S·Zā + 4η²Σā_jg_j² (C's proof of Lemma 18 lacks the 4)."""
SMALL_STEP = 0.99
"""log(1 + x) ≥ 0.99x for x = 2ηγ₁^(m) ≤ 1/(8√(t+1)) ≤ 0.02, so from t = 39 on."""


def _slow(run: PlainAscent, Z: Array, output: bool, gamma: float, t: Array) -> Array:
    """√t times what the proposition allows the best margin to be short of γ; its sum B only over
    the steps that were taken."""
    largest, log_n = float(np.max(np.abs(Z))), float(np.log(Z.shape[0]))
    if output:
        return np.full(t.shape, largest * (2 * np.sqrt(2.0) + np.sqrt(3.0) * log_n / gamma))
    terms = np.exp(-run.log_beta) / np.sqrt(np.arange(1.0, run.length + 1))
    sums = np.cumsum(terms)[np.minimum(t.astype(int), run.length) - 1]
    return np.asarray(largest * (8 * np.log(Z.shape[1]) + np.log(t) + 1) + 4 * log_n * sums)


def _rate(evidence: Evidence, output: bool) -> tuple[Check, ...]:
    """The guarantee for all t up to STEPS. The best margin never falls and B never shrinks, so that
    for larger t than were followed the best margin so far and the sum so far give a stronger
    statement."""
    features = fixed(evidence).layer if output else fixed(evidence).directions
    run, gamma, t = features.plain, features.best.objective, np.arange(1.0, STEPS + 1)
    allowed = _slow(run, features.Z, output, gamma, t) / np.sqrt(t)
    reached = run.best[np.minimum(t.astype(int), run.length) - 1]
    share = (gamma - reached) / allowed
    k = min(run.length, features.rough.length)
    owed = float(np.max(np.abs(run.best[:k] - features.rough.best[:k]))) / float(np.min(allowed))
    untrained = float(np.max((gamma - run.margin[0]) / allowed))
    name = "γ₂^(m)" if output else "γ₁^(m)"
    return (
        *_same_run(features),
        *_game(features, name),
        Check(
            f"largest share of what is allowed by which the best margin is short of {name}, t ≤ "
            f"{STEPS}",
            float(np.max(share)),
            "<=",
            1.0,
            owed + AGREEMENT,
            witness=PLAIN,
            null=untrained,
        ),
        Check(
            "the library's guarantee against the formula, largest difference over γ, t ≤ steps "
            "followed",
            _formula(features, gamma),
            "==",
            0.0,
            FORMULA,
            witness="the formula evaluated on that run",
        ),
        Check(
            f"excess of the best margin over {name}, relative",
            max(float(max(run.best[-1], features.run.best[-1])) / features.bracket[1] - 1, 0.0),
            "<=",
            _left(features),
            witness=DUALITY,
        ),
    )


def _formula(features: Features, gamma: float) -> float:
    """The library's guarantee, whose sums follow its own β, over as many steps as its run and the
    plain one agree."""
    t = np.arange(1.0, features.compared + 1)
    mine = gamma - _slow(features.plain, features.Z, features.output, gamma, t) / np.sqrt(t)
    return float(
        np.max(
            np.abs(features.run.guarantee(gamma)[: t.size] - mine) / np.maximum(np.abs(mine), gamma)
        )
    )


def _same_run(features: Features) -> tuple[Check, ...]:
    """The library's run is C's: its steps, its margins and its norms."""
    run, plain, k = features.run, features.plain, features.compared
    eta = c_steps(features.Z, features.output)
    steps = STEPS if not features.output else k
    beta = np.exp(plain.log_beta.astype(EXTENDED))
    wanted = np.asarray(eta(np.arange(steps), beta[:steps] if features.output else 1), float)
    size = max(float(np.max(np.abs(plain.margin))), float(np.finfo(float).tiny))
    margins = float(np.max(np.abs(run.margin[:k] - plain.margin[:k]))) / size
    norms = float(np.max(np.abs(run.log_beta[:k] - plain.log_beta[:k])))
    return (
        Check(
            "largest |η(t)/C's − 1|",
            float(np.max(np.abs(run.step[:steps] / wanted - 1))),
            "==",
            0.0,
            AGREEMENT,
            witness="the proposition's η",
        ),
        Check(
            f"largest difference of margins from C's recursion, {k} steps, relative",
            margins,
            "==",
            0.0,
            AGREEMENT,
            witness=PLAIN,
        ),
        Check(
            f"largest difference of log β from C's recursion, {k} steps",
            norms,
            "==",
            0.0,
            AGREEMENT,
            witness=PLAIN,
        ),
    )


def _game(features: Features, name: str) -> tuple[Check, ...]:
    lower, upper = features.bracket
    value = features.best.objective
    off = max(value - upper, lower - value, 0.0) + upper - lower
    quantity = f"{name} against what its own a and p prove, relative"
    return (Check(quantity, off / upper, "==", 0.0, _left(features), witness=DUALITY),)


def _left(features: Features) -> float:
    """What the solvers may leave of the margin, relative."""
    return SOLVER_GAP * float(np.max(np.abs(features.Z))) / features.bracket[1]


def _prop6(evidence: Evidence) -> tuple[Check, ...]:
    return _rate(evidence, output=False)


def _prop7(evidence: Evidence) -> tuple[Check, ...]:
    return _rate(evidence, output=True)


def _mirror(evidence: Evidence) -> tuple[Check, ...]:
    both = fixed(evidence)
    return (
        *_recursions(both.directions),
        *_second_order(both.directions),
        *_recursions(both.layer),
        *_nearest(both.layer),
    )


def _recursions(features: Features) -> tuple[Check, ...]:
    """The library's iterates and C's recursion on ā, each run by itself, against plain ascent on
    r."""
    k = min(features.compared, STEPS_FOLLOWED)
    plain = plain_ascent(features.Z, features.output, k, keep=True)
    run = feature_ascent(features.Z, k, features.training, keep=range(k + 1))
    online = _online(features.Z, features.output, k)
    rows = plain.iterates.shape[0]
    size = max(float(np.max(np.abs(plain.iterates))), float(np.finfo(float).tiny))
    checks = []
    for name, iterates in (
        ("C's recursion on ā", online),
        ("the library's iterates", run.iterates),
    ):
        off = float(np.max(np.abs(iterates[:rows] - plain.iterates))) / size
        quantity = (
            f"{features.training}: {name} against plain ascent on r, normalised, {rows} "
            "steps, relative"
        )
        checks.append(Check(quantity, off, "==", 0.0, AGREEMENT, witness=PLAIN))
    return tuple(checks)


def _gradient(Z: Any, u: Any) -> Array:
    """Zᵀ∇S(u), ∇S the soft-argmin of the exponential."""
    p = np.exp(np.min(u) - u)
    return np.asarray(Z.T @ (p / np.sum(p)))


def _online(Z: Array, output: bool, steps: int) -> Array:
    """ā(t): b = ā + η/(mβ)∇G_β(ā) over max{1, √m‖b‖₂}; or b_j = ā_j(1 + 4ηg_j + 4η²g_j²) over ‖b‖₁,
    β multiplied by the same."""
    Z = np.asarray(Z, EXTENDED)
    m, eta, beta = Z.shape[1], c_steps(Z, output), EXTENDED(1)
    bar = np.zeros(m, EXTENDED) if output else np.full(m, 1 / EXTENDED(m))
    rows = [bar]
    for t in range(steps):
        g = _gradient(Z, beta * (Z @ bar))
        b = bar + eta(t, beta) / (m * beta) * g if output else _multiplied(bar, eta(t, beta), g)
        grown = max(EXTENDED(1), np.sqrt(m * (b @ b))) if output else np.sum(b)
        bar, beta = b / grown, beta * grown
        rows.append(bar)
    return np.array(rows, float)


def _multiplied(bar: Any, eta: Any, g: Any) -> Array:
    """ā_j(1 + 4ηg_j + 4η²g_j²)."""
    return np.asarray(bar * (1 + 4 * eta * g + 4 * eta**2 * g**2))


def _second_order(features: Features) -> tuple[Check, ...]:
    """Mirror ascent multiplies by e^{4ηg}; with x = 2ηg, |x| ≤ 1/8, |2·log(1 + x) − 2x| ≤ x²/(1 −
    |x|)."""
    bars = features.run.iterates[features.run.kept < features.compared]
    largest, sizes = float(np.max(np.abs(features.Z))), features.run.step
    worst = 0.0
    for bar, t in zip(bars, features.run.kept, strict=False):
        g = _gradient(features.Z, np.exp(features.run.log_beta[t]) * (features.Z @ bar))
        x = 2 * sizes[t] * g
        factors = _multiplied(np.ones_like(bar), sizes[t], g)
        worst = max(
            worst, float(np.max(np.abs(np.log(factors) - 2 * x))) / (2 * sizes[t] * largest) ** 2
        )
    quantity = (
        "directions: largest |log b_j/ā_j − 4ηg_j| over (2η‖z‖_∞)²: a perturbation of second order"
    )
    return (Check(quantity, worst, "<=", 8 / 7, AGREEMENT, witness="series of the logarithm"),)


def _nearest(features: Features) -> tuple[Check, ...]:
    """ā is the point of the ball nearest to b: ⟨b − ā, v − ā⟩ ≤ 0 for every v in it."""
    rng, m, k = (
        np.random.default_rng(0),
        features.Z.shape[1],
        min(features.compared, STEPS_FOLLOWED),
    )
    bars = plain_ascent(features.Z, True, k, keep=True).iterates
    run = plain_ascent(features.Z, True, k)
    v = rng.standard_normal((50, m))
    v /= np.sqrt(m) * np.linalg.norm(v, axis=1)[:, None]
    worst = 0.0
    for t in range(len(bars) - 1):
        b = bars[t + 1] * np.exp(run.growth[t])
        worst = max(worst, float(np.max((v - bars[t + 1]) @ (b - bars[t + 1]))) * m)
    quantity = "output: largest m⟨b − ā, v − ā⟩ over points v of the ball: ā is the projection of b"
    return (Check(quantity, worst, "<=", AGREEMENT, witness=PLAIN),)


def _lem17(evidence: Evidence) -> tuple[Check, ...]:
    features = fixed(evidence).directions
    run, early = features.plain, features.plain.length // 10
    last, t = run.length - 1, np.arange(1.0, run.length + 1)
    rate = SMALL_STEP * GROWTH * features.best.objective / (16 * float(np.max(np.abs(features.Z))))
    growth = rate * (np.sqrt(last) - np.sqrt(early))
    tail = float(np.sum(np.exp(run.log_beta[early] - run.log_beta[early:]) / np.sqrt(t[early:])))
    return (
        *_same_run(features),
        Check(
            "log β(T) − log β(T/10)",
            run.log_beta[last] - run.log_beta[early],
            ">=",
            growth,
            AGREEMENT,
            witness=PLAIN,
            null=0.0,
        ),
        Check(
            "β(T/10)·Σ1/(β√(s+1)) from T/10 to T, at most 1/√(T/10) + 2/c, c = 0.99γ₁^(m)/4‖z‖",
            tail,
            "<=",
            2 / rate + 1 / np.sqrt(early + 1),
            AGREEMENT,
            witness=PLAIN,
            null=float(np.sum(1 / np.sqrt(t[early:]))),
        ),
    )


def _lem18(evidence: Evidence) -> tuple[Check, ...]:
    features = fixed(evidence).directions
    run, gamma, half = features.plain, features.best.objective, features.plain.length // 2
    eta = c_steps(features.Z, False)
    sizes = np.asarray(eta(np.arange(run.growth.size), 1), float)
    some = run.margin[:-1] > 0
    exact = np.log1p(GROWTH * sizes * np.maximum(run.margin[:-1], 0.0))
    promised = np.log1p(GROWTH * gamma / 2 * sizes)
    least = GROWTH * gamma * np.sqrt(run.length - 1) / (32 * float(np.max(np.abs(features.Z))))
    return (
        *_same_run(features),
        Check(
            "least log β(t+1)/β(t) over log(1 + 4η·margin), all t with a margin",
            float(np.min(run.growth[some] / exact[some])),
            ">=",
            1.0,
            AGREEMENT,
            witness=PLAIN,
            null=0.0,
        ),
        Check(
            "least log β(t+1)/β(t) over log(1 + 4η·γ₁^(m)/2) after T/2: β increases",
            float(np.min(run.growth[half:] / promised[half:])),
            ">=",
            1.0,
            AGREEMENT,
            witness=PLAIN,
            null=0.0,
        ),
        Check(
            "log β(T), at least γ₁^(m)√T/(8‖z‖)",
            run.log_beta[-1],
            ">=",
            least,
            AGREEMENT,
            witness=PLAIN,
            null=0.0,
        ),
    )


HYPOTHESES = (RELU, EXPONENTIAL, SIGNS, SEPARATES)
prop6 = Claim(
    "C/prop6",
    "Fixed directions, η = 1/(16‖z‖_∞√(t+1)): the best margin is at least γ₁^(m) − (‖z‖_∞(8log m "
    "+ log t + 1) + 4B_t log n)/√t.",
    "C, Proposition 6 and eq. (15)",
    HYPOTHESES,
    feature_problem,
    _prop6,
    Kind.STATIC,
    PLAIN,
    "the start, r ∝ 1, never trained",
    any_feature_problem,
)
prop7 = Claim(
    "C/prop7",
    "Output layer, η = β√2/(‖z‖_∞√(t+1)): the best margin is at least γ₂^(m) − (‖z‖_∞/√t)(2√2 + "
    "√3·log n/γ₂^(m)).",
    "C, Proposition 7",
    HYPOTHESES,
    feature_problem,
    _prop7,
    Kind.STATIC,
    PLAIN,
    "the start, r = 0, never trained",
    any_feature_problem,
)
mirror = Claim(
    "C/mirror",
    "Normalised iterates are online mirror ascent on the simplex (directions; perturbed), "
    "projected ascent on the ball (output).",
    "C, Appendices E and F",
    HYPOTHESES,
    feature_problem,
    _mirror,
    Kind.STATIC,
    PLAIN,
    family=any_feature_problem,
)
lem17 = Claim(
    "C/lem17",
    "β(t) → ∞ and Σ1/(β(s)√(s+1)) is bounded: from T/10 on at the rate that a margin of γ₁^(m)/2 "
    "gives.",
    "C, Lemma 17",
    (*HYPOTHESES, LONG),
    feature_problem,
    _lem17,
    Kind.EXISTENCE,
    PLAIN,
    "a norm that does not grow",
    any_feature_problem,
)
lem18 = Claim(
    "C/lem18",
    "β(t) increases for t large and log β(t) ≳ γ₁^(m)√t: by log(1 + 4η·γ₁^(m)/2) in each step "
    "(C's proof lacks the 4).",
    "C, Lemma 18",
    (*HYPOTHESES, LONG),
    feature_problem,
    _lem18,
    Kind.STATIC,
    PLAIN,
    "a norm that does not grow",
    any_feature_problem,
)

CLAIMS = (prop6, prop7, mirror, lem17, lem18)
