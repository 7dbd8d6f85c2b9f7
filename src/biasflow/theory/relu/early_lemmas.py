"""B, B.3 and B.7: the first phase up to t_{+1} = −ε ln λ/‖D_+‖ (Lemma 7), neurons that do not
collapse (Lemma 9), Lemma 16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..evidence import Evidence
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .course import Course
from .relu_examples import orthonormal_family, orthonormal_problem
from .relu_hypotheses import ASSUMED, PHASES_APART, SMALL_START
from .relu_setting import LabelCluster, Setting, row_norms, unit_rows
from .three_phases import GRADIENT, KINK_COSINE

GROWTH = 2.0
"""Times cλ^{1−ε} that no neuron exceeds in Lemma 7 (i), and times λ^ε that misalignments do not in
(ii)."""
COLLAPSE = 0.5
"""Times c̲λ^{1+ε} that neurons of the clusters exceed in Lemma 9."""
TIMES = 60
"""Times at which the first phase is looked at."""
SOLUTION_ERROR = 1e-8
"""Relative error of a solution of a linear system of two equations over a few hundred time
constants."""
PIECES = 8
"""Stretches on which f' falls short of its bound by another constant."""


def _lem7(evidence: Evidence) -> tuple[Check, ...]:
    course = Course(evidence)
    s, time = course.setting, course.setting.time(course.setting.epsilon, course.setting.first)
    (state, logs), start, error, power = (
        course.polar(time),
        s.unit,
        course.relative(time),
        s.power(1),
    )
    top, late = (
        float(np.max(each) - np.log(GROWTH * s.c)) / s.log_scale
        for each in (logs, course.polar(course.end)[1])
    )
    aligned, before = (s.first.misalignment(each) / s.first.rate for each in (state, start))
    spread = error * (np.sqrt(2 * aligned) + error)
    what = "(i) exponent of λ in the largest ‖w_j‖/2c at t_{+1}"
    checks = [
        Check(what, top, ">=", 1 - s.epsilon, error / abs(s.log_scale), null=late, **course.notes),
        Check(
            "(ii) misalignment of S_{+,1} with D_+ at t_{+1}, over ‖D_+‖",
            aligned,
            "<=",
            GROWTH * power,
            spread,
            null=before,
            log_base=s.log_scale,
            exponent=s.epsilon,
            **course.notes,
        ),
    ]
    quantity = "(iii) largest cosine in S_{+,1} with an input of a negative label, at t_{+1}"
    if power > PHASES_APART:  # gates close after a time that does not depend on λ
        return (
            *checks,
            unknown_check(
                quantity, f"λ^ε = {power:.2g}: λ may not be below B's λ*, which is not explicit"
            ),
        )
    open_, opened = (_largest_cosine(s, s.first, each.W) for each in (state, start))
    return (
        *checks,
        Check(
            quantity, open_, "==", 0.0, KINK_COSINE + error, size=1.0, null=opened, **course.notes
        ),
    )


def _largest_cosine(s: Setting, cluster: LabelCluster, W: Array) -> float:
    return float(np.max(unit_rows(W[cluster.neurons]) @ s.X[cluster.sign * s.y < 0].T, initial=0.0))


def _lem9(evidence: Evidence) -> tuple[Check, ...]:
    """In units of c̲λ: the bound is then λ^ε/2, or λ^{rε}/2. Neurons shrink while they are open on
    labels of the other sign."""
    course = Course(evidence)
    s = course.setting
    least = float(np.log(np.min(row_norms(s.unit.W))))
    starts = np.log(row_norms(s.unit.W))
    checks = []
    for cluster, power, name in (
        (s.first, 1.0, "(i) S_{+,1} up to t_{+1}"),
        (s.second, s.ratio, "(ii) S_{−,1} up to t_{−1}"),
    ):
        end = s.time(s.epsilon, cluster)
        logs = np.array(
            [course.polar(t)[1][cluster.neurons] - s.log_scale for t in np.linspace(0, end, TIMES)]
        )
        found, error = float(np.exp(np.min(logs) - least)), course.relative(end)
        notes: dict[str, Any] = {
            "log_base": s.log_scale,
            "exponent": power * s.epsilon,
            **course.notes,
        }
        quantity = f"{name}: least ‖w_j‖/(c̲λ)"
        checks.append(
            Check(
                quantity, found, ">=", COLLAPSE * s.power(power), error * found, null=0.0, **notes
            )
        )
        shrunk = float(np.max(starts[cluster.neurons] - np.min(logs, axis=0)))
        other = s.second if cluster is s.first else s.first
        share = shrunk / (other.rate * end * s.speed)
        quantity = (
            f"{name}: largest ln(‖w_j(0)‖/‖w_j‖) over the rate of the other labels times the time"
        )
        checks.append(Check(quantity, share, "<=", 1.0, error + 1e-9, **course.notes))
    return tuple(checks)


@dataclass(frozen=True)
class Inequality:
    """Constants of Lemma 16 and the start of a function: f' ≤ −af + b∫f + c, f(0) = start; key: of
    what it falls short by."""

    a: float
    b: float
    c: float
    start: float
    key: int = 0


def _signs(problem: Any) -> str | None:
    if not isinstance(problem, Inequality):
        return f"found {type(problem).__name__}, needs the constants of a comparison"
    return (
        None
        if problem.a > 0 and min(problem.b, problem.c, problem.start) >= 0
        else "needs a > 0 and b, c, f(0) ≥ 0"
    )


def lemma_bound(p: Inequality, t: Array) -> Array:
    """(f(0) + c/a)e^{bt/a}, logarithmically."""
    return np.asarray(np.log(p.start + p.c / p.a) + p.b * t / p.a)


def printed_bound(p: Inequality, t: Array) -> Array:
    """(f(0) + c)(1 + e^{bt/a}), logarithmically."""
    return np.asarray(np.log(p.start + p.c) + np.logaddexp(0.0, p.b * t / p.a))


def _lem16(evidence: Evidence) -> tuple[Check, ...]:
    """The largest f there is, with equality in its inequality; others that fall short of it; and
    the printed bound."""
    p: Inequality = evidence.problem
    if p.start + p.c == 0:
        return (unknown_check("largest ln f − ln(f(0) + c/a) − bt/a", "f = 0"),)
    rng = np.random.default_rng(p.key)
    rate = 2 * p.b / (np.sqrt(p.a**2 + 4 * p.b) + p.a)  # the larger root of x² + ax = b
    # beyond, f overflows
    end = min(10 / p.a + 10 / (np.sqrt(p.b) + p.a), 300 / max(rate, p.a / 100))
    worst = max(
        _excess(p, np.zeros(PIECES), end, lemma_bound),
        *(_excess(p, p.c * rng.uniform(0, 1, PIECES), end, lemma_bound) for _ in range(4)),
    )
    witness = "f' = −af + b∫f + c − s, s ≥ 0, by matrix exponentials"
    # b = 0 and f(0) = 0: f → c/a, and c/a² where the constant is c/a as in the statement; the
    # printed bound is 2c there
    example = Inequality(0.1, 0.0, 1.0, 0.0)
    checks = [
        Check(
            "largest ln f − ln(f(0) + c/a) − bt/a",
            worst,
            "<=",
            SOLUTION_ERROR * 2,
            SOLUTION_ERROR,
            witness=witness,
        ),
        Check(
            "ln f over the printed (f(0) + c)(1 + e^{bt/a}) for a = 0.1, b = 0, c = 1, f(0) = 0",
            _excess(example, np.zeros(PIECES), 100 / example.a, printed_bound),
            "==",
            float(np.log(5.0)),
            1e-6,
            witness=witness,
            null=0.0,
        ),
        Check(
            "the same with the constant c/a of the statement",
            _excess(
                Inequality(0.1, 0.0, 10.0, 0.0),
                np.zeros(PIECES),
                100 / example.a,
                lambda q, t: printed_bound(example, t),
            ),
            "==",
            float(np.log(50.0)),
            1e-6,
            witness=witness,
            null=0.0,
        ),
    ]
    if p.c > 0:
        alone = Inequality(p.a, 0.0, p.c, 0.0)
        found = _excess(alone, np.zeros(PIECES), 40 / p.a, lemma_bound)
        checks.append(
            Check(
                "the same for b = 0 and f(0) = 0, where it is attained",
                found,
                "==",
                0.0,
                1e-6,
                witness=witness,
            )
        )
    quantity = "rate of the largest f over b/a"
    if p.b == 0:
        return (
            *checks,
            Check(
                "largest f over f(0) + c/a for b = 0",
                float(np.exp(worst)),
                "<=",
                1.0 + 2 * SOLUTION_ERROR,
                SOLUTION_ERROR,
                witness=witness,
            ),
        )
    rounding = 4 * float(np.finfo(float).eps)
    found = float(rate * p.a / p.b)
    return (
        *checks,
        Check(quantity, found, "<=", 1 + 2 * rounding, rounding, witness="roots of x² + ax = b"),
    )


def _excess(p: Inequality, short: Array, end: float, bound: Any) -> float:
    """The largest ln f − ln bound where f' = −af + b∫f + c − s with s constant on pieces, ever f ≥
    0; exact on each piece."""
    state, worst, h = np.array([p.start, 0.0]), -np.inf, end / (len(short) * TIMES)
    values, vectors = np.linalg.eig(np.array([[-p.a, p.b], [1.0, 0.0]]) * h)
    for k, missing in enumerate(short):
        c = p.c - missing
        for i in range(TIMES):
            state = _stepped(state, values, vectors, c * h)
            if state[0] < 0:
                return float(worst)  # f is not negative: this one ends here
            t = np.array((k * TIMES + i + 1) * h)
            if state[0] > 0:
                worst = max(worst, float(np.log(state[0]) - bound(p, t)))
    return float(worst)


def _stepped(state: Array, values: Array, vectors: Array, drive: float) -> Array:
    """e^{A}state + ∫₀¹e^{As}ds·(drive, 0): A has real eigenvalues, one of them possibly zero."""
    grown = np.exp(values)
    filled = np.divide(np.expm1(values), values, out=np.ones_like(values), where=values != 0)
    inner = np.linalg.solve(vectors, np.column_stack([state, [drive, 0.0]]))
    return np.asarray(np.real(vectors @ (grown * inner[:, 0] + filled * inner[:, 1])))


def inequality(key: int) -> Inequality:
    rng = np.random.default_rng((61, key))
    a, b, c, start = rng.uniform(0.2, 2.0, 4)
    return Inequality(float(a), float(b), float(c), float(start), key)


def inequality_family(key: int) -> Inequality:
    """Constants over eight decades, some of them zero."""
    rng = np.random.default_rng((67, key))
    a, b, c, start = 10.0 ** rng.uniform(-4, 4, 4)
    return Inequality(
        float(a),
        float(b * (key % 3 > 0)),
        float(c * (key % 5 > 0)),
        float(start * (key % 10 != 1)),
        key,
    )


WAITS = (*ASSUMED, SMALL_START)
lem7 = Claim(
    "B/lem7",
    "At t_{+1} = −ε ln λ/‖D_+‖ every ‖w_j‖ ≤ 2cλ^{1−ε}, S_{+,1} is aligned with D_+ to 2λ^ε and "
    "inactive on negative labels.",
    "B, Lemma 7 ((iii) reads ≤ 0)",
    WAITS,
    orthonormal_problem,
    _lem7,
    Kind.FLOW,
    GRADIENT,
    "the start (directions) and the end of the flow (norms)",
    orthonormal_family,
    below_floats=True,
)
lem9 = Claim(
    "B/lem9",
    "Up to t_{±1} neurons of the clusters do not collapse: ‖w_j‖ > c̲λ^{1+ε}/2 in S_{+,1} and > "
    "c̲λ^{1+rε}/2 in S_{−,1}; they shrink at the rate of the labels of the other sign at most.",
    "B, Lemma 9",
    WAITS,
    orthonormal_problem,
    _lem9,
    Kind.FLOW,
    GRADIENT,
    "neurons that vanish",
    orthonormal_family,
    below_floats=True,
)
lem16 = Claim(
    "B/lem16",
    "If f ≥ 0 and f' ≤ −af + b∫f + c with a > 0, b, c ≥ 0, then f(t) ≤ (f(0) + c/a)e^{bt/a}.",
    "B, Lemma 16 (corrected: printed with c/a and the bound (f(0) + c)(1 + e^{bt/a}))",
    (
        Hypothesis(
            "comparison",
            "constants of a comparison, a > 0 and b, c, f(0) ≥ 0",
            on_problem(_signs),
            structural=True,
        ),
    ),
    inequality,
    _lem16,
    Kind.STATIC,
    "solutions by matrix exponentials",
    "the printed bound",
    inequality_family,
)

CLAIMS = (lem7, lem9, lem16)
