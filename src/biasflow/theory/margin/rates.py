"""C, §§4–5 and Appendices E, F: ascent on fixed features is online mirror ascent, and how fast its margin grows."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ...flows import feature_ascent
from ...inputs import Array
from ...limits import l1_max_margin, l2_max_margin
from ...losses import SmoothMargin
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import feature_problem
from .hypotheses import EXPONENTIAL, LONG, RELU, SEPARATES, SIGNS
from .setting import EARLY, STEPS, output_features, signed_features

RECURSION_STEPS = 300
"""Steps over which the recursions are followed one by one."""
ROUNDING = 1e-10
"""What a step in floats leaves of an identity, relative."""
Step = Callable[[Array, Array, float, float], Array]
"""ā after a step, from features, ā, η and β."""
SMALL_STEP = 0.99
"""log(1+x) ≥ 0.99x for the steps after half of the run, where x ≤ 0.01."""


def _prop6(evidence: Evidence) -> tuple[Check, ...]:
    Z = signed_features(evidence.network)
    run, best = feature_ascent(Z, STEPS), l1_max_margin(Z)
    promised = run.guarantee(best.objective)
    lead = run.best[:-1] - promised
    return (
        Check(f"least lead of the best margin over the guarantee (at T: {promised[-1]:.3g})", float(np.min(lead)), ">=", 0.0),
        Check("best margin at T, at most γ₁^(m)", float(run.best[-1]), "<=", best.certificate.dual * (1 + ROUNDING)),
    )


def _prop7(evidence: Evidence) -> tuple[Check, ...]:
    Z = output_features(evidence.network)
    run, best = feature_ascent(Z, STEPS, "output"), l2_max_margin(Z)
    promised = run.guarantee(best.objective)
    lead = run.best[:-1] - promised
    return (
        Check(f"least lead of the best margin over the guarantee (at T: {promised[-1]:.3g})", float(np.min(lead)), ">=", 0.0),
        Check("best margin at T, at most γ₂^(m)", float(run.best[-1]), "<=", best.certificate.dual * (1 + ROUNDING)),
    )


def _mirror(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    return (
        *_recursions("directions", signed_features(problem), _simplex, _plain_directions),
        *_recursions("output", output_features(problem), _ball, _plain_output),
    )


def _recursions(training: str, Z: Array, online: Step, plain: Step) -> tuple[Check, ...]:
    """Every step of a run against C's recursion on ā, and against plain ascent on r from the same point."""
    run = feature_ascent(Z, RECURSION_STEPS, training, keep=range(RECURSION_STEPS + 1))
    defects = np.zeros((2, RECURSION_STEPS))
    for t, (bar, after) in enumerate(itertools.pairwise(run.iterates)):
        for k, step in enumerate((online, plain)):
            moved = step(Z, bar, float(run.step_sizes[t]), float(run.beta[t]))
            defects[k, t] = np.max(np.abs(moved - after)) / np.max(np.abs(after))
    return (
        Check(f"{training}: largest defect of C's recursion on ā in a step, relative", float(np.max(defects[0])), "<=", ROUNDING),
        Check(
            f"{training}: largest distance to plain ascent on r, normalised, in a step", float(np.max(defects[1])), "<=", ROUNDING
        ),
    )


def _gradient(Z: Array, u: Array) -> Array:
    """Zᵀ∇S(u)."""
    return Z.T @ SmoothMargin().weights(u, np.ones(u.size))


def _simplex(Z: Array, bar: Array, eta: float, beta: float) -> Array:
    """b_j = ā_j(1 + 4ηg_j + 4η²g_j²), g = ∇G_β(ā); ā ← b/‖b‖₁."""
    g = _gradient(Z, beta * (Z @ bar))
    b = bar * (1 + 4 * eta * g + 4 * eta**2 * g**2)
    return b / np.sum(b)


def _ball(Z: Array, bar: Array, eta: float, beta: float) -> Array:
    """b = ā + η/(mβ)·∇G_β(ā); ā ← b/max{1, √m‖b‖₂}."""
    b = bar + eta / (bar.size * beta) * _gradient(Z, beta * (Z @ bar))
    return b / max(1.0, float(np.sqrt(bar.size) * np.linalg.norm(b)))


def _plain_directions(Z: Array, bar: Array, eta: float, beta: float) -> Array:
    """r ← r + ηm∇F_m(r), ∇F_m = (2/m)r_jg_j, from r = √(mβā); a = r²/m over ‖a‖₁."""
    r = np.sqrt(bar.size * beta * bar)
    r = r + eta * 2 * r * _gradient(Z, Z @ r**2 / r.size)
    return r**2 / np.sum(r**2)


def _plain_output(Z: Array, bar: Array, eta: float, beta: float) -> Array:
    """r ← r + ηm∇F(r), ∇F = g/m, from r = mβā; a = r/m over the largest of β and √m‖a‖₂."""
    r = bar.size * beta * bar
    a = (r + eta * _gradient(Z, Z @ r / r.size)) / r.size
    return a / max(beta, float(np.sqrt(a.size) * np.linalg.norm(a)))


def _lem17(evidence: Evidence) -> tuple[Check, ...]:
    Z = signed_features(evidence.network)
    run, gamma = feature_ascent(Z, STEPS), l1_max_margin(Z).objective
    rate = SMALL_STEP * gamma / (4 * run.largest)
    growth = rate * (np.sqrt(STEPS) - np.sqrt(EARLY))
    terms = np.exp(-run.log_beta[EARLY:-1]) / np.sqrt(np.arange(EARLY + 1.0, STEPS + 1.0))
    tail = 2 / (rate * run.beta[EARLY])
    return (
        Check("log β(T) − log β(T/10)", float(run.log_beta[-1] - run.log_beta[EARLY]), ">=", float(growth)),
        Check("Σ1/(β√(s+1)) from T/10 to T, at most 2/(cβ(T/10)), c = γ₁^(m)/4‖z‖", float(np.sum(terms)), "<=", float(tail)),
    )


def _lem18(evidence: Evidence) -> tuple[Check, ...]:
    Z = signed_features(evidence.network)
    run, gamma = feature_ascent(Z, STEPS), l1_max_margin(Z).objective
    half = STEPS // 2
    growth, promised = np.diff(run.log_beta), np.log1p(2 * gamma * run.step_sizes)
    exact = np.log1p(4 * run.step_sizes * np.maximum(run.margin[:-1], 0.0))
    return (
        Check("least log β(t+1) − log β(t) after T/2: β increases", float(np.min(growth[half:])), ">=", 0.0),
        Check(
            "least growth over log(1 + 4η·margin), all t with a margin",
            float(np.min((growth - exact)[run.margin[:-1] > 0])),
            ">=",
            -ROUNDING,
        ),
        Check("least growth over log(1 + 4η·γ₁^(m)/2) after T/2", float(np.min((growth - promised)[half:])), ">=", 0.0),
        Check("log β(T), at least γ₁^(m)√T/(8‖z‖)", float(run.log_beta[-1]), ">=", gamma * np.sqrt(STEPS) / (8 * run.largest)),
    )


HYPOTHESES = (RELU, EXPONENTIAL, SIGNS, SEPARATES)
prop6 = Claim(
    "C/prop6",
    "Fixed directions, η = 1/(16‖z‖_∞√(t+1)): the best margin is at least γ₁^(m) − (‖z‖_∞(8log m + log t + 1) + 4B_t log n)/√t.",
    "C, Proposition 6 and eq. (15)",
    HYPOTHESES,
    feature_problem,
    _prop6,
)
prop7 = Claim(
    "C/prop7",
    "Output layer, η = β√2/(‖z‖_∞√(t+1)): the best margin is at least γ₂^(m) − (‖z‖_∞/√t)(2√2 + √3·log n/γ₂^(m)).",
    "C, Proposition 7",
    HYPOTHESES,
    feature_problem,
    _prop7,
)
mirror = Claim(
    "C/mirror",
    "Normalised iterates are online mirror ascent on the simplex (directions; perturbed), projected ascent on the ball (output).",
    "C, Appendices E and F",
    HYPOTHESES,
    feature_problem,
    _mirror,
)
lem17 = Claim(
    "C/lem17",
    "β(t) → ∞ and Σ1/(β(s)√(s+1)) is bounded.",
    "C, Lemma 17",
    (*HYPOTHESES, LONG),
    feature_problem,
    _lem17,
)
lem18 = Claim(
    "C/lem18",
    "β(t) increases for t large and log β(t) ≳ γ₁^(m)√t: by log(1 + 4η·γ₁^(m)/2) in each step (C's proof lacks the 4).",
    "C, Lemma 18",
    (*HYPOTHESES, LONG),
    feature_problem,
    _lem18,
)

CLAIMS = (prop6, prop7, mirror, lem17, lem18)
