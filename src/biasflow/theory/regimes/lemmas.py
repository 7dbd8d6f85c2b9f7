"""W, Lemmas 1 to 3: how far Q_α is from ℓ1 and ℓ2. Statements about every β, so tested at the
vectors that are worst.

Q is convex, symmetric and even: among vectors with the same ℓ1 norm it is largest at a multiple of
e₁ and least at a multiple of the vector of ones. As q(√s) is concave in s, it is the other way
round among those with the same ℓ2 norm. So these two, at all lengths that a lemma allows, decide it
for every β.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL, Array
from ..._core.problems import Problem
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, UNIFORM, start_scale
from ..unmeasured import Unmeasured
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from .depth_two import DEPTH_TWO
from .families import diagonal_family
from .regulariser import hypentropic_value

LENGTHS = 12
"""Lengths of vectors, over the range that a lemma allows, at which it is tested."""
WITNESS = "quadrature of arcsinh(u/2)"
POTENTIAL_ERROR = 1e-11
"""Relative error of the library's potential, a sum of d terms in double precision."""


def regulariser(problem: Problem, beta: Array) -> float:
    """α²·Q_α(β) as the library has it, Φ_{2α²}(β)."""
    return float(problem.model.potential(scale=start_scale(problem)).value(beta))


def by_definition(problem: Problem, beta: Array) -> float:
    """α²·Q_α(β) by quadrature."""
    return hypentropic_value(beta, float(np.log(start_scale(problem))))


def extremes(d: int) -> tuple[Array, Array]:
    """e₁ and the vector of ones."""
    return np.eye(d)[0], np.ones(d)


def _implementation(problem: Problem, vectors: Iterable[Array]) -> Check:
    """The library's potential against the definition, which every other check uses."""
    worst = max(
        abs(regulariser(problem, beta) / by_definition(problem, beta) - 1) for beta in vectors
    )
    return Check(
        "relative difference of Φ_{2α²} from α²Q_α",
        float(worst),
        "==",
        0.0,
        POTENTIAL_ERROR,
        witness=WITNESS,
    )


def lemma_1_epsilon(alpha: float, norm: float, d: int) -> float:
    """The least ε with α ≤ (2‖β‖₁)^{−1/(2ε)} and α ≤ e^{−d/(2ε‖β‖₁)}."""
    log = np.log(1 / alpha)
    return float(max(np.log(2 * norm) / (2 * log), d / (2 * norm * log)))


def _lem1(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    alpha, d = start_scale(problem), problem.data.d
    log = np.log(1 / alpha)
    norms = np.unique(
        np.append(np.geomspace(max(alpha**2, 1e-3), 1e6 * d, LENGTHS), [0.5, d / 2, float(d)])
    )
    norms = norms[norms >= alpha**2]
    shares: list[float] = []
    kernel: list[float] = []
    vectors = [length * unit / np.sum(unit) for length in norms for unit in extremes(d)]
    for beta in vectors:
        norm = float(np.sum(np.abs(beta)))
        eps = lemma_1_epsilon(alpha, norm, d)
        shares.append(abs(by_definition(problem, beta) / (2 * log * norm) - 1) / eps)
        kernel.append(abs(float(np.sum(beta**2)) / (4 * alpha**2) / (2 * log * norm) - 1) / eps)
    return (
        _implementation(problem, vectors),
        Check(
            "|α²Q/(ln(1/α²)‖β‖₁) − 1|/ε at the least ε of the lemma, largest over β",
            float(max(shares)),
            "<=",
            1.0,
            POTENTIAL_ERROR,
            witness=WITNESS,
            null=float(max(kernel)),
        ),
    )


def lemma_2_epsilon(alpha: float, d: int) -> float:
    """The largest ε with d ≥ max(e, 12^{4ε}) and α ≥ d^{−1/4−1/(8ε)}; at most zero where there is
    none."""
    cap = np.log(d) / (4 * np.log(12))
    excess = -np.log(alpha) / np.log(d) - 0.25
    return float(min(cap, 1 / (8 * excess)) if excess > 0 else cap)


def _lem2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    d, alpha = problem.data.d, start_scale(problem)
    first, ones = extremes(d)
    even = ones / np.sqrt(d)
    eps = lemma_2_epsilon(alpha, d)
    ratio = (
        by_definition(problem, first)
        / np.sum(first)
        / (by_definition(problem, even) / np.sum(even))
    )
    return (
        _implementation(problem, (first, even)),
        Check(
            "(Q(e₁)/‖e₁‖₁)/(Q(1/√d)/‖1/√d‖₁) − 1 against the largest ε of the lemma",
            float(ratio) - 1,
            ">=",
            eps,
            POTENTIAL_ERROR,
            witness=WITNESS,
            null=0.0,  # a multiple of the ℓ1 norm, which the lemma says Q is not
        ),
    )


def lemma_3_epsilon(alpha: float, norm: float) -> float:
    """The least ε with α ≥ √‖β‖₂(1 + ε^{−1/4})."""
    return float((alpha / np.sqrt(norm) - 1) ** -4.0)


def _lem3(evidence: Evidence) -> tuple[Check, ...]:
    problem, alpha = evidence.network, start_scale(evidence.network)
    shares: list[float] = []
    rich: list[float] = []
    lengths = alpha**2 * np.geomspace(1e-4, 0.9, LENGTHS)
    if lengths[0] ** 2 < SMALLEST_NORMAL / alpha**2:
        raise Unmeasured(f"at α = {alpha:g}, α²Q of the vectors compared is below the least float")
    vectors = [
        length * unit / np.linalg.norm(unit)
        for length in lengths
        for unit in extremes(problem.data.d)
    ]
    for beta in vectors:
        norm = float(np.linalg.norm(beta))
        eps = lemma_3_epsilon(alpha, norm)
        unit = 4 * alpha**2 / norm  # times ‖β‖₂, which may have no square
        shares.append(abs(unit * (by_definition(problem, beta) / norm) - 1) / eps)
        rich.append(abs(unit * (float(np.sum(np.abs(beta))) / norm) - 1) / eps)
    # of the difference from one, in double precision
    rounding = 1e-15 / lemma_3_epsilon(alpha, float(lengths[0]))
    return (
        _implementation(problem, vectors),
        Check(
            "|4α⁴Q/‖β‖₂² − 1|/ε at the least ε of the lemma, largest over β",
            float(max(shares)),
            "<=",
            1.0,
            rounding,
            witness=WITNESS,
            null=float(max(rich)),
        ),
    )


def _scale_hypothesis(id: str, statement: str, holds: Any) -> Hypothesis:
    def test(problem: Any) -> str | None:
        return (
            None
            if holds(problem)
            else f"α = {start_scale(problem):g}, d = {problem.data.d}: needs {statement}"
        )

    return Hypothesis(id, statement, on_problem(test))


SMALL = _scale_hypothesis("small", "α < 1", lambda p: start_scale(p) < 1)
WIDE = _scale_hypothesis(
    "wide",
    "d ≥ 3 > e, so that d ≥ 12^{4ε} and α ≥ d^{−1/4−1/(8ε)} for some ε > 0",
    lambda p: p.data.d >= 3,
)

lem1 = Claim(
    "W/lem1",
    "α ≤ min{1, √‖β‖₁, (2‖β‖₁)^{−1/(2ε)}, e^{−d/(2ε‖β‖₁)}} gives |α²Q(β/α²)/ln(1/α²) − ‖β‖₁| ≤ "
    "ε‖β‖₁.",
    "W, Lemma 1",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, SMALL),
    lambda key: diagonal_problem(key, scale=[1e-3, 1e-12, 1e-60][key % 3]),
    _lem1,
    kind=Kind.STATIC,
    witness=WITNESS,
    null="the kernel regime's ‖β‖²/(4α²) in place of α²Q",
    family=lambda key: diagonal_family(key, 2, extreme=True),
)
lem2 = Claim(
    "W/lem2",
    "For d ≥ max(e, 12^{4ε}) and α ≥ d^{−1/4−1/(8ε)}, Q is not proportional to ℓ1: Q(e₁)/‖e₁‖₁ ≥ "
    "(1+ε)Q(1/√d)/‖1/√d‖₁.",
    "W, Lemma 2",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, WIDE),
    lambda key: diagonal_problem(key, scale=[1.0, 1e-2, 1e-6][key % 3], d=200),
    _lem2,
    kind=Kind.STATIC,
    witness=WITNESS,
    null="a multiple of the ℓ1 norm in place of Q",
    family=lambda key: diagonal_family(key, 2, extreme=True),
)
lem3 = Claim(
    "W/lem3",
    "α ≥ √‖β‖₂(1 + ε^{−1/4}) gives |4α⁴Q(β/α²) − ‖β‖₂²| ≤ ε‖β‖₂².",
    "W, Lemma 3",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, scale=[3.0, 10.0, 100.0][key % 3]),
    _lem3,
    kind=Kind.STATIC,
    witness=WITNESS,
    null="the rich regime's ‖β‖₁ in place of α²Q",
    family=lambda key: diagonal_family(key, 2, extreme=True),
)

CLAIMS = (lem1, lem2, lem3)
