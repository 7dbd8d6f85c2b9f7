"""R, §5: what least squares has to do with it, how slow the divergence can be, what the bound loses, and the operator norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...diagnostics import inverse_norm, local_bounds
from ...diagnostics.bounds import asymptotic_rate
from ...errors import BiasflowError
from ...inputs import Array, positive_float, positive_int
from ...limits import bregman_projection
from ...potentials import Entropy
from ...potentials.base import MirrorPoint
from ...records import Limit
from ..evidence import Evidence
from ..examples import euclidean_problem, mirror_problem
from ..hypotheses import CONSISTENT, EUCLIDEAN, FREE, FULL_RANK, MIRROR, NONTRIVIAL, POWER, REPRESENTABLE, SQUARE
from ..verdicts import Check, Claim
from .objectives import Objective, least_squares, logistic, objective_flow, squared_hinge
from .rates import bounded

CONSERVED = 1e-6
"""Relative drift that integration to 1e-10 and the stop at a gradient of 1e-9 may leave."""
READ = 1e-8
"""Divergence, relative to its start, down to which it is compared with its closed form."""
DRAWS = 500


@dataclass(frozen=True)
class PowerProblem:
    """Entropy φ = x log x − x on x > 0 with F = μx^{n+1}/(n(n+1)), from β₀ (R, Lemma 5.1). F is convex on R for odd n only."""

    n: int
    mu: float
    beta0: float

    def __post_init__(self) -> None:
        positive_int("n", self.n)
        positive_float("mu", self.mu)
        positive_float("beta0", self.beta0)


def power_problem(key: int) -> PowerProblem:
    rng = np.random.default_rng((5, key))
    return PowerProblem(int(rng.integers(1, 9)), float(rng.uniform(0.3, 3.0)), float(rng.uniform(0.3, 3.0)))


def _sec5_1(evidence: Evidence) -> tuple[Check, ...]:
    """D_φ(β*, β_t) − D_φ(β̄, β_t) for another minimiser β̄. Its derivative is ⟨∇F(β_t), β* − β̄⟩ (the sign is wrong in print).

    Where all minimisers share Xβ that vanishes, and the end of the flow is the projection of the start; the ends are compared.
    """
    try:
        return _ends(evidence)
    except (BiasflowError, ValueError) as reason:  # scales so far apart that a general integrator overflows
        return (Check(f"flows of three objectives: {reason}", float("nan"), "==", 0.0),)


def _ends(evidence: Evidence) -> tuple[Check, ...]:
    m, labels = evidence.mirror, np.where(evidence.mirror.y < 0, -1.0, 1.0)
    raised = np.asarray(np.linalg.lstsq(m.X, labels, rcond=None)[0], dtype=np.float64)
    checks = []
    for objective, shared in ((least_squares(m.y), m.y), (logistic(labels), labels * np.log(2.0))):
        end = objective_flow(objective, evidence.origin, m.X)[0][-1].beta
        projected = bregman_projection(m.potential, m.X, shared, m.beta0).value
        distance = float(np.max(np.abs(end - projected)) / np.max(np.abs(projected)))
        checks.append(
            Check(f"end of the flow against the projection, relative, {objective.name}", distance, "==", 0.0, CONSERVED)
        )
    drift, predicted = _drift(evidence, squared_hinge(labels), raised)
    name = "squared hinge, β̄ with margins one larger"
    checks.append(Check(f"|drift of D_φ(β*, β_t) − D_φ(β̄, β_t)| over D₀, {name}", abs(drift), ">=", CONSERVED, CONSERVED))
    checks.append(
        Check(f"the same over ∫⟨∇F, β*−β̄⟩dt, {name}", drift / predicted, "==", 1.0, CONSERVED * (1 + 1 / abs(predicted)))
    )
    return tuple(checks)


def _drift(evidence: Evidence, objective: Objective, aside: Array) -> tuple[float, float]:
    """(change of D_φ(β*, β_t) − D_φ(β̄, β_t) along the flow, ∫⟨∇F, β*−β̄⟩dt), both over D_φ(β*, β₀), for β̄ = β* + aside."""
    points, nu = objective_flow(objective, evidence.origin, evidence.mirror.X)
    best, other = points[-1], evidence.mirror.potential.at(points[-1].beta + aside)

    def gap(point: MirrorPoint) -> float:
        return float(np.sum(best.divergence(point) - other.divergence(point)))

    start = float(np.sum(best.divergence(points[0])))
    return (gap(best) - gap(points[0])) / start, float(nu @ (evidence.mirror.X @ aside)) / start


def _lem5_1(evidence: Evidence) -> tuple[Check, ...]:
    from scipy.integrate import solve_ivp

    p: PowerProblem = evidence.problem
    t = np.geomspace(1e-2, 1e6, 60) / (p.mu * p.beta0**p.n)
    flow = solve_ivp(
        lambda s, u: -p.mu / p.n * np.exp(p.n * u), (0, t[-1]), [np.log(p.beta0)], "LSODA", t, rtol=1e-11, atol=1e-11
    )
    beta, formula = np.exp(flow.y[0]), (p.beta0 ** (-p.n) + p.mu * t) ** (-1 / p.n)
    potential = Entropy()
    D = np.array([float(potential.divergence(np.zeros(1), np.array([b]))) for b in beta])
    F = p.mu * beta ** (p.n + 1) / (p.n * (p.n + 1))
    slope = float(np.log(D[-1] / D[-10]) / np.log(t[-1] / t[-10])) * p.n
    return (
        Check("β(t)·(c + μt)^{1/n}", float(np.max(np.abs(beta / formula - 1))), "==", 0.0, 1e-8),
        Check("D_φ(0, β(t)) over β(t)", float(np.max(np.abs(D / beta - 1))), "==", 0.0, 1e-12),
        Check("n·d log D_φ/d log t at late times", slope, "==", -1.0, 1e-3),
        Check("max t·F(β(t))/D_φ(0, β₀) (R, equation 3)", float(np.max(t * F)) / p.beta0, "<=", 1.0, 1e-8),
    )


def _sec5_3(evidence: Evidence) -> tuple[Check, ...]:
    m, t, D, start = evidence.mirror, evidence.trajectory.times, evidence.divergences, evidence.start_divergence
    seen = READ * start < D
    exact = asymptotic_rate(m, evidence.projection)
    kappa = local_bounds(m).linear
    weight = float(evidence.origin.weight()[0])
    values, vectors = np.linalg.eigh(m.X @ m.X.T)
    content = (vectors.T @ (m.X @ evidence.origin.beta - m.y)) ** 2 / values
    solution = 0.5 / weight * np.exp(-2 * weight * values * t[:, None]) @ content
    known = evidence.trajectory.error[seen] * np.sqrt(m.X.shape[1])  # in ‖β−β*‖ = √(2wD)
    error = float(np.max(2 * known / np.sqrt(2 * weight * D[seen]))) + 1e-9
    return (
        Check("D_φ over its closed form", float(np.max(np.abs(D[seen] / solution[seen] - 1))), "==", 0.0, error),
        bounded("max D_φ over D₀e^{−κt}, κ of Theorem 2.6", D[seen], start * np.exp(-kappa * t[seen])),
        bounded("max D_φ over D₀e^{−2κt}, the gradient flow's own", D[seen], start * np.exp(-2 * kappa * t[seen])),
        Check("exact rate over the rate of Theorem 2.6", exact / kappa, "==", 2.0, 1e-10),
    )


def _sec5_4(evidence: Evidence) -> tuple[Check, ...]:
    X = evidence.mirror.X
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((DRAWS, X.shape[0]))
    omega = rng.uniform(0.1, 1.0, X.shape[1])
    sizes: dict[str, tuple[Limit, Callable[[Array], Array]]] = {
        "l2": (inverse_norm(X), lambda v: np.linalg.norm(v, axis=-1)),
        "weighted l2": (inverse_norm(X, weights=omega), lambda v: np.sqrt(np.sum(omega * v**2, axis=-1))),
        "l1": (inverse_norm(X, "l1"), lambda v: np.sum(np.abs(v), axis=-1)),
        "linf": (inverse_norm(X, "linf"), lambda v: np.max(np.abs(v), axis=-1)),
    }
    checks = []
    for name, (found, size) in sizes.items():
        reached = float(np.max(np.linalg.norm(draws, axis=1) / size(draws @ X)))
        checks += [
            Check(
                f"largest ‖u‖₂/‖Xᵀu‖ of {DRAWS} draws over the upper bound, {name}",
                reached / found.certificate.dual,
                "<=",
                1.0 + 1e-9,
            ),
            Check(f"‖Xᵀu‖ at the u found, ‖u‖₂ = {found.objective:.3g}, {name}", float(size(found.value @ X)), "==", 1.0, 1e-9),
        ]
    twin = inverse_norm(np.vstack([X, X[:1]])).objective
    return (*checks, Check("1/‖Xᵀ†‖ with a sample doubled", 1 / twin, "==", 0.0))


sec5_1 = Claim(
    "R/sec5.1",
    "D_φ(β*, β_t) − D_φ(β̄, β_t) is constant for every F = ℓ(Xβ) whose minimisers share Xβ (least squares, logistic on"
    " data that are not separable), so the limit is the projection of the start; for a squared hinge it moves."
    " Checked on the problem's X, with sign(y) as classes.",
    "R, §5.1",
    (MIRROR, SQUARE, FREE, REPRESENTABLE, CONSISTENT, NONTRIVIAL, FULL_RANK),
    mirror_problem,
    _sec5_1,
)
lem5_1 = Claim(
    "R/lem5.1",
    "Entropy with F = μx^{n+1}/(n(n+1)): β(t) = (c + μt)^{−1/n} and D_φ(0, β(t)) = β(t): arbitrarily slow while F ≤ D₀/t.",
    "R, Lemma 5.1",
    (POWER,),
    power_problem,
    _lem5_1,
)
sec5_3 = Claim(
    "R/sec5.3",
    "Euclidean potential: Theorem 2.6 gives D_φ ≤ D₀e^{−μt}, μ = σ_min(X)²; gradient flow has e^{−2μt} exactly.",
    "R, §5.3",
    (MIRROR, SQUARE, EUCLIDEAN, CONSISTENT, NONTRIVIAL, FULL_RANK),
    euclidean_problem,
    _sec5_3,
)
sec5_4 = Claim(
    "R/sec5.4",
    "‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} is 1/σ_min for (weighted) ℓ2, is bracketed for ℓ1 and ℓ∞, and is infinite below rank n.",
    "R, §5.4",
    (MIRROR, NONTRIVIAL, FULL_RANK),
    mirror_problem,
    _sec5_4,
)

CLAIMS = (sec5_1, lem5_1, sec5_3, sec5_4)
