"""W, §5 and (58): how small α must be for Q_α^D to be the ℓ1 norm, and that no other order has the
same Q.

α^D·q_D(β/α^D) lies below |β| by at most (D/2)α^{D−2}|β|^{2/D}, and by that to leading order. So an
excess of ε over min ℓ1 needs an α that is a power of ε for D ≥ 3, with exponent 1/(D−2), and one
that is exponential in 1/ε for D = 2. On Lemma 2's two vectors, e₁ and 1/√d, where Q/‖·‖₁ differs by
a factor 1 + ε, that α is (2ε/(D(d^{(D−2)/(2D)} − 1)))^{1/(D−2)}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._numerics.deadlines import RECORDED_S
from ...errors import BiasflowError
from ...flows import limit
from ...models import DiagonalNetwork
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale
from ..mirror.limits_of_flows import of_this_flow
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .deeper import DEEP, INVERTED, LIMIT_ERROR
from .depth_two import l1_excess
from .ends import ROUNDING, end_check, end_error
from .families import diagonal_family
from .lemmas import POTENTIAL_ERROR, WITNESS as QUADRATURE, extremes, regulariser
from .regulariser import below_l1, depth_value, hypentropic_value, log_slack

TOLERATED = tuple(float(e) for e in np.geomspace(1e-4, 1e-8, 5))
"""ε at which the α that Lemma 2's vectors need is looked for: four decades, where leading orders
rule."""
TOLERATED_TWO = tuple(float(e) for e in np.geomspace(1e-2, 1e-5, 4))
"""The same for D = 2, where the logarithm of α goes like 1/ε."""
LARGE = tuple(float(x) for x in np.geomspace(1e6, 1e10, 5))
"""Arguments at which q_D' is compared with its limit: four decades."""
SCANNED_SCALES = 13
"""Scales at which another order's limit is tried before the best is refined."""
SCALE_ACCURACY = 1e-5
"""Accuracy of log α^D there; a limit moves by less than its size per unit of it."""
DECADES_SCANNED = 4.0
"""Decades of α^D on either side of the labels' size in which the scale of another order is sought:
both ends are reached."""
GRID = 60
"""Scales at which the ratio of (58) is taken."""


def relative_value(x: float, order: int) -> float:
    """q_D(x)/x."""
    return hypentropic_value(np.array([x]), 0.0) / x if order == 2 else depth_value(x, order) / x


def disproportion(log_alpha: float, order: int, d: int) -> float:
    """(Q(e₁)/‖e₁‖₁)/(Q(1/√d)/‖1/√d‖₁) − 1, without the difference of numbers near one."""
    if order == 2:
        values = [hypentropic_value(np.array([x]), log_alpha) / x for x in (1.0, d**-0.5)]
        return values[0] / values[1] - 1
    unit = float(np.exp(order * log_alpha))
    first, even = (unit / x * below_l1(x / unit, order) for x in (1.0, d**-0.5))
    return (even - first) / (1 - even)


def needed_log_alpha(eps: float, order: int, d: int) -> float:
    """log of the α at which that disproportion is ε."""
    low = -np.log(d) / eps if order == 2 else np.log(leading_alpha(eps, order, d)) - 5

    def log_ratio(log: float) -> float:
        with np.errstate(divide="ignore"):  # far below, ε rounds to zero
            return float(np.log(disproportion(log, order, d) / eps))

    return float(
        brentq(
            log_ratio,
            low,
            0.0,
            xtol=1e-13 * max(1.0, -low),
        )
    )


def leading_alpha(eps: float, order: int, d: int) -> float:
    """(2ε/(D(d^{(D−2)/(2D)} − 1)))^{1/(D−2)}; for large d, (2ε/D)^{1/(D−2)}·d^{−1/(2D)}."""
    return float((2 * eps / (order * (d ** ((order - 2) / (2 * order)) - 1))) ** (1 / (order - 2)))


def sufficient_epsilon(alpha: float, order: int, norm: float, d: int) -> float:
    """The least ε with α ≤ (2ε/D)^{1/(D−2)}(1+ε)^{−2/(D(D−2))}(‖β_L1‖₁/d)^{1/D}."""
    wanted = order / 2 * alpha ** (order - 2) * (d / norm) ** (1 - 2 / order)
    high = 2 * (wanted + wanted ** (order / (order - 2)) + 1)
    return float(
        brentq(
            lambda eps: eps * (1 + eps) ** (-2 / order) - wanted, 0.0, high, xtol=1e-15, rtol=1e-12
        )
    )


def _sec5(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D, d, alpha = problem.model.depth, problem.data.d, start_scale(problem)
    ended = end_check(evidence)
    shift = (
        d * end_error(evidence) / float(np.sum(np.abs(evidence.predictors[-1])))
        if ended.status != "inconclusive"
        else 0.0
    )
    excess = Check(
        "‖β̂_α‖₁/‖β_L1‖₁ − 1 against the least ε with α ≤ "
        "(2ε/D)^{1/(D−2)}(1+ε)^{−2/(D(D−2))}(‖β_L1‖₁/d)^{1/D}",
        l1_excess(evidence, evidence.limit.value),
        "<=",
        sufficient_epsilon(alpha, D, evidence.l1.objective, d),
        abs(evidence.l1.certificate.gap) + LIMIT_ERROR + shift,
        witness=evidence.source,
        reason=evidence.missing,
        null=l1_excess(evidence, evidence.l2.value),
        base=alpha,
        exponent=float(D - 2),
    )
    return (ended, excess, *_needed(D, max(d, 2)))


def _needed(D: int, d: int) -> tuple[Check, ...]:
    """What Lemma 2's vectors need, as a power of ε and with its constant, against D = 2."""
    logs = np.array([needed_log_alpha(eps, D, d) for eps in TOLERATED])
    ratios = np.exp(logs) / np.array([leading_alpha(eps, D, d) for eps in TOLERATED])
    two = np.array([-needed_log_alpha(eps, 2, d) for eps in TOLERATED_TWO])
    notes: dict[str, Any] = {"witness": INVERTED, "null": 0.0}
    return (
        exponent_check(
            "exponent in ε of the α at which Q is an ℓ1 norm up to ε",
            TOLERATED,
            np.exp(logs),
            1 / (D - 2),
            **notes,
        ),
        Check(
            "that α over (2ε/(D(d^{(D−2)/(2D)} − 1)))^{1/(D−2)}, at the least ε",
            float(ratios[-1]),
            "==",
            1.0,
            # what is left falls with a power of ε
            2 * abs(float(ratios[-1] - ratios[-2])) + ROUNDING / TOLERATED[-1],
            witness=INVERTED,
        ),
        exponent_check(
            "D = 2: exponent in ε of log(1/α) for the same ε",
            TOLERATED_TWO,
            two,
            -1.0,
            witness=QUADRATURE,
            null=0.0,
        ),
    )


def nearest(problem: Problem, order: int, end: Array) -> float:
    """The least distance, over all α, of that order's limit from `end`, over the largest entry of
    `end`."""
    size = float(np.max(np.abs(end)))
    model = DiagonalNetwork(order)

    def distance(log_unit: float) -> float:
        value = limit(model, problem.data, log_scale=log_unit / order, time_s=RECORDED_S).value
        return float(np.max(np.abs(value - end))) / size

    logs = np.log(size) + np.log(10.0) * np.linspace(
        -DECADES_SCANNED, DECADES_SCANNED, SCANNED_SCALES
    )
    found = [distance(float(log)) for log in logs]
    k = int(np.argmin(found))
    bounds = (float(logs[max(k - 1, 0)]), float(logs[min(k + 1, SCANNED_SCALES - 1)]))
    return min(
        float(
            minimize_scalar(
                distance, bounds=bounds, method="bounded", options={"xatol": SCALE_ACCURACY}
            ).fun
        ),
        found[k],
    )


def others(order: int) -> tuple[int, ...]:
    """Orders that are compared: two, the only one whose q' is unbounded, and the neighbours."""
    return tuple(sorted({2, order - 1, order + 1}))


def _unique(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D, end = problem.model.depth, evidence.predictors[-1]
    slack = np.exp(log_slack(np.array(LARGE), D))
    notes: dict[str, Any] = {"witness": INVERTED, "null": -(D - 1) / (D + 1)}  # that of order D + 1
    checks = [
        exponent_check(
            "exponent in x of 1 − q_D'(x), −(D−2)/D: another for every D",
            LARGE,
            slack,
            -(D - 2) / D,
            **notes,
        )
    ]
    ended = end_check(evidence)
    checks.append(ended)
    if ended.status == "inconclusive":
        return tuple(checks)
    error = end_error(evidence) / float(np.max(np.abs(end))) + SCALE_ACCURACY
    own = nearest(problem, D, end)
    for order in others(D):
        quantity = (
            f"least distance of β(T) from the limits of order {order} at any α, over ‖β(T)‖_∞"
        )
        try:
            found = nearest(problem, order, end)
        except BiasflowError as reason:
            checks.append(unknown_check(quantity, str(reason)))
            continue
        checks.append(
            Check(
                quantity,
                found,
                ">=",
                0.0,
                error,
                witness=evidence.source,
                reason=evidence.missing,
                null=own,
            )
        )
    return tuple(checks)


def log_ratio(log_alpha: float, order: int, d: int) -> float:
    """log of Q(e₁)/Q(1/√d) from the definition of Q."""
    x = np.exp(-order * log_alpha)
    return float(
        np.log(relative_value(float(x), order) / relative_value(float(x) * d**-0.5, order))
        - np.log(d) / 2
    )


def _eq58(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D, d = problem.model.depth, problem.data.d
    logs = np.linspace(-100.0 if D == 2 else -8.0 * np.log(10) / D, 3 * np.log(10) / D, GRID)
    values = np.array([log_ratio(float(log), D, d) for log in logs])
    growth = np.diff(values) / np.diff(logs)
    first, ones = extremes(d)
    ratio = float(np.log(regulariser(problem, first) / regulariser(problem, ones / np.sqrt(d))))
    at = log_ratio(float(np.log(start_scale(problem))), D, d)
    witness = QUADRATURE if D == 2 else INVERTED
    above = float(values[0] + np.log(d) / 2)
    return (
        Check(
            "least d log ρ/d log α over α, ρ = Q(e₁)/Q(1/√d)",
            float(np.min(growth)),
            ">=",
            0.0,
            10 * ROUNDING / float(logs[1] - logs[0]),
            witness=witness,
            null=0.0,  # a multiple of a norm, for which ρ does not depend on α
        ),
        Check(
            "largest ρ over one, its value for ℓ2: log",
            float(values[-1]),
            "<=",
            0.0,
            10 * ROUNDING,
            witness=witness,
        ),
        Check(
            "least ρ over 1/√d, its value for ℓ1: log",
            above,
            ">=",
            0.0,
            10 * ROUNDING,
            witness=witness,
        ),
        Check(
            "log ρ at the start's α, the library's less the definition's",
            ratio - at,
            "==",
            0.0,
            POTENTIAL_ERROR,
            witness=witness,
        ),
    )


def _several(problem: Any) -> str | None:
    X = problem.data.X
    free = X.shape[1] - int(np.linalg.matrix_rank(X))
    return (
        None
        if free >= 2
        else f"interpolators have {free} free directions, where one α can be matched by another"
    )


def _wide(problem: Any) -> str | None:
    return None if problem.data.d >= 2 else "d = 1: e₁ and 1/√d are the same"


SEVERAL = Hypothesis("free", "the null space of X has two dimensions or more", on_problem(_several))
PLANE = Hypothesis("plane", "d ≥ 2", on_problem(_wide))

sec5 = Claim(
    "W/sec5",
    "For D ≥ 3 the α needed to approximate ℓ1 is polynomial rather than exponential: α ≤ "
    "(2ε/D)^{1/(D−2)}(1+ε)^{−2/(D(D−2))}(‖β_L1‖₁/d)^{1/D} gives ‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁, and for Q "
    "to be proportional to ℓ1 up to ε on e₁ and 1/√d, α = (2ε/(D(d^{(D−2)/(2D)} − 1)))^{1/(D−2)} "
    "is needed, to leading order; for D = 2, log(1/α) ~ 1/ε.",
    'W, Section 5 ("polynomial rather then exponential"; the constants are ours)',
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.03, 0.2, 0.3][key % 3]),
    _sec5,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights; a linear program; h_D inverted by bisection",
    null="the minimum-ℓ2 (kernel) solution; an α that does not depend on ε",
    family=lambda key: diagonal_family(key, 3 + key % 3),
    limit=of_this_flow,
)
unique = Claim(
    "W/unique",
    "For D ≥ 3 the regulariser Q_α^D cannot be obtained with another order: 1 − q_D'(x) ~ "
    "x^{−(D−2)/D}, and the limit of the flow is not that of any D' ≠ D at any α'.",
    'W, Section 5 ("the regularizer is unique")',
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL, SEVERAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.4, 0.5, 0.6][key % 3]),
    _unique,
    kind=Kind.UNIQUENESS,
    witness="∇L followed in the weights; h_D inverted by bisection",
    null="the same order D, whose limit is there",
    family=lambda key: diagonal_family(key, 3 + key % 3),
    limit=of_this_flow,
)
eq58 = Claim(
    "W/eq58",
    "Q(e₁)/Q(1/√d) increases with α, from 1/√d (ℓ1) to 1 (ℓ2), for every D ≥ 2.",
    "W, equation (58), and Figure 2b",
    (depth(2), UNIFORM, CONSISTENT, NONTRIVIAL, PLANE),
    lambda key: diagonal_problem(key, depth=2 + key % 4, scale=[0.3, 0.5, 1.0][key % 3]),
    _eq58,
    kind=Kind.STATIC,
    witness=f"{QUADRATURE}; {INVERTED}",
    null="a norm in place of Q, whose ratio does not depend on α",
    family=lambda key: diagonal_family(key, 2 + key % 4),
)

CLAIMS = (sec5, unique, eq58)
