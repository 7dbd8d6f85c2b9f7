"""C, §2: what is assumed of features and losses, and networks as measures on the sphere."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.trees import leaf_map
from ...losses import MarginLoss, SmoothMargin
from ...models import SignedTwoLayer, TwoLayer, augmented, sphere_measure
from ..evidence import Evidence
from ..fits import exponent_check
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import network_family, network_problem, smooth_problem
from .margin_hypotheses import NETWORK, SMOOTH
from .margin_setting import inputs_of

ROUNDING = 1e-12
"""What sums over some hundred neurons in floats leave of an identity, relative."""
EPS = float(np.finfo(float).eps)
FACTORS = (0.5, 3.0, 1e3)
TAIL = np.geomspace(1e2, 1e6, 13)
"""−u at which a loss is compared with e^u."""
MARGINS_TRIED = np.append(np.linspace(0.0, 700.0, 1401), np.geomspace(1e3, 1e6, 4))
STEP = 1e-6
DIFFERENCE = 1e-8
"""What a central difference of step 1e-6 leaves, relative."""
PAIRS = 400
NEIGHBOURS = 1e-9
"""Rounding of a difference quotient of two neurons 1e-6 apart."""
PLAIN = "φ written out and summed over neurons"


def _a1(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    X, size = problem.data.X, largest_value(problem)
    plain = plain_sum(problem, problem.start)
    checks = [
        Check(
            "|f(w) − Σφ(w_j, ·)|, relative",
            off(_called(problem, 1.0), plain, size),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        )
    ]
    for factor in FACTORS:
        wrong = off(_called(problem, factor), factor**2 * plain, factor**2 * size)
        linear = off(factor * plain, factor**2 * plain, factor**2 * size)
        checks.append(
            Check(
                f"|f({factor:g}w) − {factor:g}²f(w)|, relative",
                wrong,
                "==",
                0.0,
                2 * ROUNDING,
                PLAIN,
                null=linear,
            )
        )
    model, params = opposite(problem)
    lengths = [float(np.sum(leaf**2)) for leaf in (*params, *problem.start)]
    half = len(lengths) // 2
    return (
        *checks,
        Check(
            "|f(Tw) + f(w)|, relative",
            off(model(params, X), -plain, size),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        ),
        Check(
            "‖Tw‖², over ‖w‖²",
            sum(lengths[:half]) / sum(lengths[half:]),
            "==",
            1.0,
            ROUNDING,
            PLAIN,
        ),
    )


def off(one: Array, other: Array, size: float) -> float:
    return float(np.max(np.abs(one - other))) / size


def _called(problem: Problem, factor: float) -> Array:
    called: Array = problem.model(_scaled(problem.start, factor), problem.data.X)
    return called


def plain_sum(problem: Problem, params: Any) -> Array:
    """Σ_jφ(w_j, x_i), one neuron after the other."""
    total = np.zeros(problem.data.n)
    for j, w in enumerate(params.W):
        active = np.maximum(problem.data.X @ w, 0.0)
        squared = isinstance(problem.model, SignedTwoLayer)
        total += np.asarray(problem.model.signs)[j] * active**2 if squared else params.a[j] * active
    return total


def largest_value(problem: Problem) -> float:
    """What a network of these norms can reach on the samples; the start's own may be zero, where
    neurons cancel or are off."""
    squares = sum(float(np.sum(leaf**2)) for leaf in problem.start)
    longest = float(np.max(np.linalg.norm(problem.data.X, axis=1)))
    return max(
        squares * (longest**2 if isinstance(problem.model, SignedTwoLayer) else longest / 2),
        float(np.finfo(float).tiny),
    )


def _scaled(params: Any, factor: float) -> Any:
    return leaf_map(lambda leaf: factor * leaf, params)


def opposite(problem: Problem) -> tuple[Any, Any]:
    """The network of the same norms with the opposite predictor (C, (A1): φ(Tθ, ·) = −φ(θ, ·))."""
    if isinstance(problem.model, SignedTwoLayer):
        return dataclasses.replace(
            problem.model, signs=-np.asarray(problem.model.signs)
        ), problem.start
    return problem.model, problem.start._replace(a=-problem.start.a)


def _a2(evidence: Evidence) -> tuple[Check, ...]:
    smooth: SmoothMargin = evidence.network.loss
    loss: MarginLoss = smooth.loss
    u = np.linspace(-20.0, 20.0, 401)
    slopes = (loss.log_loss(-u - STEP) - loss.log_loss(-u + STEP)) / (2 * STEP)
    claimed = np.exp(loss.log_slope(-u) - loss.log_loss(-u))
    least = float(np.exp(np.min(loss.log_slope(-MARGINS_TRIED))))
    at_zero = float(np.exp(loss.log_slope(np.zeros(1))[0]))
    values = "ℓ evaluated at 400 places, and out to u = −10⁶"
    return (
        *_tail(loss.log_loss(TAIL), "ℓ"),
        *_tail(loss.log_slope(TAIL), "ℓ'"),
        Check(
            "least slope of log ℓ on [−20, 20], by differences: ℓ increases strictly",
            float(np.min(slopes)),
            ">=",
            0.0,
            DIFFERENCE,
            values,
        ),
        Check(
            "largest difference of ℓ'/ℓ and differences of log ℓ",
            float(np.max(np.abs(slopes - claimed))),
            "<=",
            3 * DIFFERENCE,
            DIFFERENCE,
            values,
        ),
        Check(
            "least ℓ'(u) for 0 ≤ u ≤ 10⁶, over ℓ'(0)",
            least / at_zero if at_zero else 0.0,
            ">=",
            TELLING,
            ROUNDING,
            values,
            null=0.0,
        ),
    )


def _tail(logs: Array, name: str) -> tuple[Check, ...]:
    """log ℓ(u) − u → 0 as u → −∞: the power of |u|, and what is left far out, up to what it still
    changed over three decades."""
    quantity, witness = f"|log {name}(u) − u| at u = {-TAIL[-1]:g}", "ℓ evaluated out to u = −10⁶"
    if not np.all(np.isfinite(logs)):
        return (
            unknown_check(
                quantity, f"log {name} is not finite between u = {-TAIL[0]:g} and {-TAIL[-1]:g}"
            ),
        )
    left, rounding = np.abs(logs + TAIL), 4 * EPS * float(TAIL[-1])
    change = float(abs(left[-1] - left[np.searchsorted(TAIL, TAIL[-1] / 1e3)]))
    checks = [Check(quantity, float(left[-1]), "<=", 2 * rounding, max(rounding, change), witness)]
    if np.all(logs < 0):
        error = 4 * EPS + left / TAIL
        checks.append(
            exponent_check(
                f"power of |u| in −log {name}(u)",
                TAIL,
                -logs,
                1.0,
                error,
                witness=witness,
                null=0.0,
            )
        )
    return tuple(checks)


def _a3(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    rows = augmented(data.X)
    lipschitz, jumping = _lipschitz(rows)
    return (
        Check(
            "least angle of two inputs (x, 1), over rounding",
            _least_angle(rows) / EPS,
            ">=",
            1.0,
            0.0,
            "angles of pairs",
        ),
        Check(
            "least over i of how far a point of i's kink is from the others' kinks: no other "
            "function bends there",
            _lone_kinks(rows),
            ">=",
            0.0,
            8 * EPS,
            "a kink of each function alone",
        ),
        Check(
            "largest ‖∇φ(w, x) − ∇φ(w', x)‖/(2‖(x, 1)‖²‖w − w'‖)",
            lipschitz,
            "<=",
            1 + 2 * NEIGHBOURS,
            NEIGHBOURS,
            "gradients at pairs of neurons",
            null=jumping,
        ),
    )


def _least_angle(rows: Array) -> float:
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    gaps = [
        float(np.min(np.linalg.norm(unit[i + 1 :] - unit[i], axis=1))) for i in range(len(unit) - 1)
    ]
    return min(gaps, default=1.0)


def _lone_kinks(rows: Array) -> float:
    """φ(·, x_i) alone bends where ⟨w, x̃_i⟩ = 0 and no other ⟨w, x̃_j⟩ is: then no combination of
    the others equals it."""
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    rng = np.random.default_rng(0)
    least = 1.0
    for i, row in enumerate(unit):
        w = rng.standard_normal((PAIRS, unit.shape[1]))
        w -= np.outer(w @ row, row)
        w -= np.outer(w @ row, row)  # again: what rounding left
        size = np.linalg.norm(w, axis=1)
        w = w[size > 0] / size[size > 0, None]
        # ⟨w, x̃_j⟩ = ⟨w, x̃_j − x̃_i⟩, which keeps its digits for near neighbours
        others = np.delete(unit, i, axis=0) - row
        if len(others):
            least = min(least, float(np.max(np.min(np.abs(w @ others.T), axis=1))))
    return least


def _lipschitz(rows: Array) -> tuple[float, float]:
    """Over pairs of neurons near and far, for the squared ReLU and, as a rival, for the ReLU, whose
    gradient jumps."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((PAIRS, rows.shape[1]))
    other = w + rng.standard_normal(w.shape) * np.geomspace(1e-6, 10, PAIRS)[:, None]
    smooth, kinked = (
        SignedTwoLayer(PAIRS, rows.shape[1], signs=np.ones(PAIRS)),
        TwoLayer(PAIRS, rows.shape[1]),
    )
    distance, largest = np.linalg.norm(w - other, axis=1), [0.0, 0.0]
    for row in rows:
        scale = 2 * float(row @ row) * distance
        start = [type(smooth.init(1.0))(each) for each in (w, other)]
        one, two = (smooth.gradient(each, row[None], np.ones(1)).W for each in start)
        largest[0] = max(largest[0], float(np.max(np.linalg.norm(one - two, axis=1) / scale)))
        one, two = (
            kinked.gradient(
                kinked.init(1.0)._replace(a=np.ones(PAIRS), W=each), row[None], np.ones(1)
            ).W
            for each in (w, other)
        )
        largest[1] = max(largest[1], float(np.max(np.linalg.norm(one - two, axis=1) / scale)))
    return largest[0], largest[1]


def _pi2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    measure, size = sphere_measure(problem.model, problem.start), largest_value(problem)
    plain = plain_sum(problem, problem.start)
    squares = np.sum(
        np.column_stack([leaf.reshape(problem.model.width, -1) for leaf in problem.start]) ** 2,
        axis=1,
    )
    twice = sphere_measure(problem.model, _scaled(problem.start, 2.0))
    total = float(np.sum(squares))
    points = np.linalg.norm(measure.points, axis=1)
    return (
        Check(
            "|f(w) − Σφ(w_j, ·)|, relative",
            off(_called(problem, 1.0), plain, size),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        ),
        Check(
            "|f of Π₂(μ) − f|, relative",
            off(measure(problem.data.X), plain, size),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        ),
        Check(
            "largest |‖θ_j‖ − 1|", float(np.max(np.abs(points - 1))), "==", 0.0, 2 * ROUNDING, PLAIN
        ),
        Check(
            "mass, over Σ‖w_j‖²",
            float(np.exp(measure.log_norm)) / total,
            "==",
            1.0,
            ROUNDING,
            PLAIN,
            null=float(np.sum(np.sqrt(squares))) / total,
        ),
        Check(
            "largest difference of a neuron's share and ‖w_j‖²/Σ‖w‖²",
            float(np.max(np.abs(measure.shares - squares / total))),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
            null=float(np.max(np.abs(1 / squares.size - squares / total))),
        ),
        Check(
            "mass when w is doubled, over fourfold",
            float(np.exp(twice.log_norm)) / (4 * total),
            "==",
            1.0,
            ROUNDING,
            PLAIN,
        ),
    )


a1 = Claim(
    "C/A1",
    "The feature is 2-homogeneous and balanced: φ(rw, ·) = r²φ(w, ·), and −φ(θ, ·) = φ(Tθ, ·) for "
    "some T of the sphere.",
    "C, Assumption (A1)",
    (NETWORK,),
    network_problem,
    _a1,
    kind=Kind.ASSUMPTION,
    witness=PLAIN,
    null="a feature of degree one",
    family=network_family,
)
a2 = Claim(
    "C/A2",
    "The loss increases strictly, has the tail ℓ(u) ~ ℓ'(u) ~ e^u as u → −∞, and a slope bounded "
    "below for u ≥ 0.",
    "C, Assumption (A2)",
    (NETWORK,),
    network_problem,
    _a2,
    kind=Kind.ASYMPTOTIC,
    witness="the loss evaluated over four decades of u",
    null="a tail that is a constant",
    family=network_family,
)
a3 = Claim(
    "C/A3",
    "The functions φ(·, x_i) are linearly independent, with Lipschitz gradients.",
    "C, Assumption (A3)",
    (SMOOTH,),
    smooth_problem,
    _a3,
    kind=Kind.ASSUMPTION,
    witness="a kink of each function alone; gradients at pairs of neurons",
    null="a ReLU, whose gradient jumps",
    family=lambda key: network_family(key, smooth=True),
)
pi2 = Claim(
    "C/pi2",
    "Π₂ puts a neuron's squared norm at its direction on the sphere: the predictor is unchanged, "
    "the mass is Σ‖w_j‖².",
    "C, eq. (3)",
    (NETWORK,),
    network_problem,
    _pi2,
    kind=Kind.STATIC,
    witness=PLAIN,
    null="norms for squared norms, and equal shares",
    family=network_family,
)
CLAIMS = (a1, a2, a3, pi2)
