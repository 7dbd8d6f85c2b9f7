"""C, §2 and Appendix B: what is assumed of features and losses, and what the variation norm is."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...inputs import Array
from ...limits import arc_cosine_kernel, l1_max_margin
from ...losses import MarginLoss, SmoothMargin
from ...models import SignedTwoLayer, as_particles, augmented, sphere_measure
from ...records import Problem, leaf_map
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import network_problem, relu_problem, smooth_problem
from .hypotheses import NETWORK, RELU, SIGNS, SMOOTH
from .setting import inputs_of

ROUNDING = 1e-12
"""What sums over some hundred neurons in floats leave of an identity, relative."""
FACTORS = (0.5, 3.0)
TAIL = np.array([30.0, 100.0, 700.0])
"""−u at which a loss is compared with e^u."""
BEYOND = np.linspace(0.0, 700.0, 1401)
STEP = 1e-6
DIFFERENCE = 1e-8
"""What a central difference of step 1e-6 leaves, relative."""
INDEPENDENT = 100 * float(np.finfo(float).eps)
"""Least eigenvalue of the kernel of all features, over the largest, at which the functions φ(·, x_i) are independent."""
PAIRS = 400
TILTS = np.pi * np.array([1, 2, 3, 4, 5, 6, 7]) / 16
"""Angles t of neurons θ = (cos t·u, sin t·s); the fourth is balanced."""
SOLVED = 1e-9
"""Tolerance of the linear programs, relative."""


def _a1(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    f, size = problem.model(problem.params0, problem.data.X), _largest_value(problem)
    checks = []
    for factor in FACTORS:
        scaled = problem.model(_scaled(problem.params0, factor), problem.data.X)
        off = float(np.max(np.abs(scaled - factor**2 * f))) / (factor**2 * size)
        checks.append(Check(f"|f({factor:g}w) − {factor:g}²f(w)|, relative", off, "<=", ROUNDING))
    model, params = opposite(problem)
    return (
        *checks,
        Check("|f(Tw) + f(w)|, relative", float(np.max(np.abs(model(params, problem.data.X) + f))) / size, "<=", ROUNDING),
    )


def _largest_value(problem: Problem) -> float:
    """What a network of these norms can reach on the samples; the start's own may be zero, where neurons cancel or are off."""
    squares = sum(float(np.sum(leaf**2)) for leaf in problem.params0)
    longest = float(np.max(np.linalg.norm(problem.data.X, axis=1)))
    return squares * (longest**2 if isinstance(problem.model, SignedTwoLayer) else longest / 2)


def _scaled(params: Any, factor: float) -> Any:
    return leaf_map(lambda leaf: factor * leaf, params)


def opposite(problem: Problem) -> tuple[Any, Any]:
    """The network of the same norms with the opposite predictor (C, (A1): φ(Tθ, ·) = −φ(θ, ·))."""
    if isinstance(problem.model, SignedTwoLayer):
        return dataclasses.replace(problem.model, signs=-np.asarray(problem.model.signs)), problem.params0
    return problem.model, problem.params0._replace(a=-problem.params0.a)


def _a2(evidence: Evidence) -> tuple[Check, ...]:
    smooth: SmoothMargin = evidence.network.loss
    loss: MarginLoss = smooth.loss
    u = np.linspace(-20.0, 20.0, 401)
    slopes = (loss.log_loss(-u - STEP) - loss.log_loss(-u + STEP)) / (2 * STEP)
    claimed = np.exp(loss.log_slope(-u) - loss.log_loss(-u))
    return (
        Check("largest |log ℓ(u) − u| far out", float(np.max(np.abs(loss.log_loss(TAIL) + TAIL))), "<=", ROUNDING),
        Check("largest |log ℓ'(u) − u| far out", float(np.max(np.abs(loss.log_slope(TAIL) + TAIL))), "<=", ROUNDING),
        Check("least ℓ'(u)/ℓ(u) on [−20, 20]: ℓ increases strictly", float(np.min(claimed)), ">=", float(np.finfo(float).tiny)),
        Check(
            "least ℓ'(u) for u ≥ 0, at least ℓ'(0)",
            float(np.exp(np.min(loss.log_slope(-BEYOND)))),
            ">=",
            float(np.exp(loss.log_slope(np.zeros(1))[0])),
        ),
        Check("largest difference of ℓ' and differences of ℓ, over ℓ", float(np.max(np.abs(slopes - claimed))), "<=", DIFFERENCE),
    )


def _a3(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    K = arc_cosine_kernel(data.X, activation="squared_relu")
    lengths = np.sqrt(np.diag(K))
    values = np.linalg.eigvalsh(K / np.outer(lengths, lengths))
    return (
        Check(
            "least eigenvalue of the correlations of φ(·, x_i), over the largest",
            float(values[0] / values[-1]),
            ">=",
            INDEPENDENT,
        ),
        Check("largest ‖∇φ(w, x) − ∇φ(w', x)‖/(2‖(x, 1)‖²‖w − w'‖)", _lipschitz(augmented(data.X)), "<=", 1.0, ROUNDING),
    )


def _lipschitz(inputs: Array) -> float:
    """Over pairs of neurons near and far; ∇φ = 2ε(⟨w, x⟩)₊x."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((PAIRS, inputs.shape[1]))
    other = w + rng.standard_normal(w.shape) * np.geomspace(1e-6, 10, PAIRS)[:, None]
    jumps = 2 * np.abs(np.maximum(w @ inputs.T, 0.0) - np.maximum(other @ inputs.T, 0.0))
    lengths = np.linalg.norm(inputs, axis=1)
    return float(np.max(jumps * lengths / (2 * lengths**2 * np.linalg.norm(w - other, axis=1)[:, None])))


def _pi2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    measure, f = sphere_measure(problem.model, problem.params0), problem.model(problem.params0, problem.data.X)
    off = float(np.max(np.abs(measure(problem.data.X) - f))) / _largest_value(problem)
    squares = sum(float(np.sum(leaf**2)) for leaf in problem.params0)
    twice = sphere_measure(problem.model, _scaled(problem.params0, 2.0))
    return (
        Check("|f of Π₂(μ) − f|, relative", off, "<=", ROUNDING),
        Check("largest |‖θ_j‖ − 1|", float(np.max(np.abs(np.linalg.norm(measure.points, axis=1) - 1))), "<=", ROUNDING),
        Check("mass, over Σ‖w_j‖²", float(np.exp(measure.log_norm)) / squares, "==", 1.0, ROUNDING),
        Check(
            "largest change of the normalised measure when w is doubled",
            float(np.max(np.abs(twice.shares - measure.shares))),
            "<=",
            ROUNDING,
        ),
    )


def _prop9(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, (a, W) = inputs_of(problem), problem.params0
    measure, f = as_particles(problem.params0), problem.model(problem.params0, problem.data.X)
    path_norm = float(np.sum(np.abs(a) * np.linalg.norm(W, axis=1)))
    tilted = path_norm / (np.sin(TILTS) * np.cos(TILTS))
    u = measure.directions
    Z = data.y[:, None] * np.maximum(augmented(data.X) @ np.vstack([u, u]).T, 0.0) * np.repeat([1.0, -1.0], len(u))
    plain = l1_max_margin(Z)
    checks = (
        Check(
            "|f of the balanced measure − f|, relative",
            float(np.max(np.abs(measure(data.X) - f))) / _largest_value(problem),
            "<=",
            ROUNDING,
        ),
        Check("its mass, over Σ|b_j|‖a_j‖", measure.norm / path_norm, "==", 2.0, ROUNDING),
        Check(
            "least mass of tilted measures for the same f, over the balanced one",
            float(np.min(tilted)) / measure.norm,
            "==",
            1.0,
            ROUNDING,
        ),
    )
    if not plain.stats["separable"]:  # every margin is zero, and any measure without a predictor optimal
        return checks
    both = l1_max_margin(np.hstack([np.sin(t) * np.cos(t) * Z for t in TILTS]))
    off = np.delete(both.value.reshape(len(TILTS), -1), len(TILTS) // 2, axis=0)
    return (
        *checks,
        Check("max margin over tilted neurons, over that of (⟨u, ·⟩)₊", both.objective / plain.objective, "==", 0.5, SOLVED),
        Check("its mass off ‖a‖ = |c|", float(np.sum(off)), "<=", SOLVED),
    )


a1 = Claim(
    "C/A1",
    "The feature is 2-homogeneous and balanced: φ(rw, ·) = r²φ(w, ·), and −φ(θ, ·) = φ(Tθ, ·) for some T of the sphere.",
    "C, Assumption (A1)",
    (NETWORK,),
    network_problem,
    _a1,
)
a2 = Claim(
    "C/A2",
    "The loss increases strictly, has the tail ℓ(u) ~ ℓ'(u) ~ e^u as u → −∞, and a slope bounded below for u ≥ 0.",
    "C, Assumption (A2)",
    (NETWORK,),
    network_problem,
    _a2,
)
a3 = Claim(
    "C/A3",
    "The functions φ(·, x_i) are linearly independent, with Lipschitz gradients.",
    "C, Assumption (A3)",
    (SMOOTH,),
    smooth_problem,
    _a3,
)
pi2 = Claim(
    "C/pi2",
    "Π₂ puts a neuron's squared norm at its direction on the sphere: the predictor is unchanged, the mass is Σ‖w_j‖².",
    "C, eq. (3)",
    (NETWORK,),
    network_problem,
    _pi2,
)
prop9 = Claim(
    "C/prop9",
    "‖f‖_{F1} = 2‖f‖_{F̃1}: a neuron is cheapest balanced, ‖a‖ = |c| = 1/√2, and optimal measures sit there alone.",
    "C, Proposition 9",
    (RELU, SIGNS),
    relu_problem,
    _prop9,
)

CLAIMS = (a1, a2, a3, pi2, prop9)
