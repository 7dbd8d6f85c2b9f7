"""R, §5: what least squares has to do with it, how slow the divergence can be, and what the bound
loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, positive_float, positive_int
from ..._core.problems import MirrorProblem
from ..._core.results import Certificate, Limit
from ...diagnostics import local_bounds
from ...diagnostics.bounds import asymptotic_rate
from ...errors import BiasflowError
from ...limits import bregman_projection
from ...potentials import Entropy
from ..evidence import Evidence
from ..examples import euclidean_family, euclidean_problem, mirror_family, mirror_problem
from ..fits import exponent_check
from ..hypotheses import (
    CONSISTENT,
    EUCLIDEAN,
    FREE,
    FULL_RANK,
    MIRROR,
    POWER,
    REPRESENTABLE,
    SQUARE,
)
from ..verdicts import Check, Claim, Kind, unknown_check
from .conditions import MOVES
from .limits_of_flows import of_this_flow
from .local import constant_check, eigen_error, least_eigenvalue
from .measured import EPS, SLOW_FLOW, Measured, exponential_check, farthest, measured, within_floats
from .objectives import Objective, least_squares, logistic, objective_flow, squared_hinge

CLEAR_OF_ERROR = 100.0
"""Times its error by which the drift under a squared hinge must exceed it to be called one."""
FITTED_TIMES = (1e4, 1e9)
"""Times, in units of the start's own, over which the decay of D_φ is fitted: the offset c is 1e-4
of them."""


@dataclass(frozen=True)
class PowerProblem:
    """Entropy φ = x log x − x on x > 0 with F = μx^{n+1}/(n(n+1)), from β₀ (R, Lemma 5.1). F is
    convex on R for odd n only."""

    n: int
    mu: float
    beta0: float

    def __post_init__(self) -> None:
        positive_int("n", self.n)
        positive_float("mu", self.mu)
        positive_float("beta0", self.beta0)


def power_problem(key: int) -> PowerProblem:
    rng = np.random.default_rng((5, key))
    return PowerProblem(
        int(rng.integers(1, 9)), float(rng.uniform(0.3, 3.0)), float(rng.uniform(0.3, 3.0))
    )


def power_family(key: int) -> PowerProblem:
    """n to 30, μ and β₀ over six decades."""
    rng = np.random.default_rng((67, key))
    return PowerProblem(
        int(rng.integers(1, 31)),
        float(10.0 ** rng.uniform(-3, 3)),
        float(10.0 ** rng.uniform(-3, 3)),
    )


@within_floats
def _sec5_1(evidence: Evidence) -> tuple[Check, ...]:
    """D_φ(β*, β_t) − D_φ(β̄, β_t) for another minimiser β̄. Its derivative is ⟨∇F(β_t), β* − β̄⟩
    (the sign is wrong in print).

    Where all minimisers share Xβ that vanishes, and the end of the flow is the projection of the
    start.
    """
    m, labels = evidence.mirror, np.where(evidence.mirror.y < 0, -1.0, 1.0)
    shares: tuple[tuple[Objective, Array], ...] = (
        (least_squares(m.y), m.y),
        (logistic(labels), labels * np.log(2.0)),
    )
    checks = []
    for objective, fit in shares:
        try:
            limit = (
                evidence.limit
                if objective.name == "least squares"
                else bregman_projection(m.potential, m.X, fit, m.beta0)
            )
            checks += _conserved(_followed(evidence, objective, limit, fit), objective.name)
        # scales so far apart that a general integrator overflows
        except (BiasflowError, ValueError) as reason:
            checks.append(unknown_check(f"the flow of the {objective.name} objective", str(reason)))
    try:
        checks += _drift(
            _followed(evidence, squared_hinge(labels), None, m.y), squared_hinge(labels), labels
        )
    except (BiasflowError, ValueError) as reason:
        checks.append(unknown_check("the flow of the squared hinge", str(reason)))
    return tuple(checks)


def _followed(
    evidence: Evidence, objective: Objective, limit: Limit[Array] | None, fit: Array
) -> Measured:
    """What is measured on the flow of an objective; β* is its end where no limit is given."""
    problem: MirrorProblem = evidence.mirror
    flow = objective_flow(objective, problem, evidence.time_left / 4)
    best = (
        limit
        if limit is not None
        else Limit(flow.final, 0.0, Certificate(0.0, 0.0, 0.0, "heuristic"))
    )
    return Measured(
        Evidence(problem, flow, time_s=evidence.deadline), best, fit, "∇F followed in β"
    )


def _conserved(m: Measured, name: str) -> list[Check]:
    """The end against the projection, and the largest change of the difference, for the β̄ = β* + z
    nearest to the start."""
    size = float(np.max(np.abs(m.best)))
    w = m.formulas.weight(m.betas[-1])
    step = np.sqrt(w) * np.abs(
        np.linalg.lstsq(m.X * np.sqrt(w), m.fit - m.X @ m.betas[-1], rcond=None)[0]
    )
    error = float(np.max(m.spread[-1] + 2 * step + m.best_error)) / size
    distance = float(np.max(np.abs(m.betas[-1] - m.best))) / size
    end = f"end of the flow against the projection, relative, {name}"
    checks = [Check(end, distance, "==", 0.0, error, **m.notes)]
    aside = np.asarray(np.linalg.lstsq(m.X, m.fit, rcond=None)[0]) - m.best
    if float(np.max(np.abs(aside))) <= 1e-6 * size:
        aside = np.zeros(m.d)
        null = np.linalg.svd(m.X)[2][len(m.X) :]
        if len(null) == 0:
            return checks  # one minimiser: nothing to compare
        aside = size * null[-1]
    gap, unsure = _gap(m, aside)
    change, allowed = np.abs(gap - gap[0]) / m.D[0], (unsure + unsure[0]) / m.D[0]
    k = farthest(change, allowed)
    quantity = f"|change of D_φ(β*, β_t) − D_φ(β̄, β_t)| over D₀, {name}"
    checks.append(Check(quantity, float(change[k]), "==", 0.0, float(allowed[k]), **m.notes))
    return checks


def _gap(m: Measured, aside: Array) -> tuple[Array, Array]:
    """D_φ(β*, β_t) − D_φ(β̄, β_t), β̄ = β* + aside, and its error: only ⟨∇φ(β_t), aside⟩ of it
    depends on t."""
    other = m.best + aside
    gap = m.divergence(m.best) - m.divergence(other)
    rounding = np.sum(
        m.formulas.rounding(m.best, m.betas) + m.formulas.rounding(other, m.betas), axis=1
    )
    return gap, m.dual_error @ np.abs(aside) + rounding


def _drift(m: Measured, objective: Objective, labels: Array) -> list[Check]:
    """Under a squared hinge, with margins one larger at β̄."""
    name = "squared hinge, β̄ with margins one larger"
    if m.times.size < 2:
        return [unknown_check(f"drift under a {name}", "the start has all margins already")]
    aside = np.asarray(np.linalg.lstsq(m.X, labels, rcond=None)[0], dtype=np.float64)
    last = np.array([len(m.times) - 1])
    total, quadrature = m.integral(
        lambda beta: np.asarray(-(objective.gradient(m.X @ beta) @ (m.X @ aside))), last
    )
    gap, unsure = _gap(m, aside)
    drift, error = gap[-1] - gap[0], float(unsure[0] + unsure[-1] + quadrature[0])
    bend = np.max(m.spread @ np.abs(m.X).T, axis=1) * float(np.sum(np.abs(m.X @ aside)))
    error += float(np.sum(np.diff(m.times) * np.maximum(bend[1:], bend[:-1])))
    notes = m.notes
    start, there = (
        float(np.linalg.norm(objective.gradient(m.X @ beta))) for beta in (m.start, m.best + aside)
    )
    return [
        Check(
            f"‖∇ℓ‖ at β̄ over that at the start: a minimiser, {name}",
            there / start,
            "==",
            0.0,
            64 * EPS,
            witness="the definition",
        ),
        Check(
            f"|drift of D_φ(β*, β_t) − D_φ(β̄, β_t)| over its error, {name}",
            abs(drift) / error,
            ">=",
            CLEAR_OF_ERROR,
            **notes,
        ),
        Check(
            f"drift over ∫⟨∇F, β*−β̄⟩dt, {name}",
            drift / float(total[0]),
            "==",
            1.0,
            error / abs(float(total[0])),
            **notes,
        ),
    ]


def closed_form(p: PowerProblem, t: Array) -> Array:
    """β(t) = (β₀^{−n} + μt)^{−1/n}, as R's Lemma 5.1 says."""
    return (p.beta0 ** (-p.n) + p.mu * t) ** (-1 / p.n)


def _lem5_1(evidence: Evidence) -> tuple[Check, ...]:
    """β̇ = −β·F'(β), F' = μβⁿ/n, followed in log β; D_φ(0, β) from the entropy."""
    p: PowerProblem = evidence.problem
    t = np.append(np.geomspace(1e-2, FITTED_TIMES[0], 30), np.geomspace(*FITTED_TIMES, 12)[1:]) / (
        p.mu * p.beta0**p.n
    )
    fine, rough = (_power_flow(p, t, tolerance) for tolerance in (1e-12, 1e-10))
    if fine is None or rough is None:
        return (unknown_check("the flow", "its integration gave up"),)
    error = float(np.max(np.abs(fine / rough - 1))) + 64 * EPS * p.n * abs(np.log(p.beta0) + 1)
    potential = Entropy()
    D = np.array([float(potential.divergence(np.zeros(1), np.array([b]))) for b in fine])
    F = p.mu * fine ** (p.n + 1) / (p.n * (p.n + 1))
    loss = p.mu / (p.n * (p.n + 1)) * closed_form(p, t) ** (p.n + 1)
    late, witness = t >= FITTED_TIMES[0] / (p.mu * p.beta0**p.n), "β̇ = −β·F'(β) followed in log β"
    bound = float(np.max(t * F)) / p.beta0
    return (
        Check(
            "β(t)·(c + μt)^{1/n}, farthest from one",
            _farthest(fine / closed_form(p, t)),
            "==",
            1.0,
            error,
            witness=witness,
        ),
        Check(
            "F(β(t)) over its closed form, farthest from one",
            _farthest(F / loss),
            "==",
            1.0,
            (p.n + 1) * error,
            witness=witness,
        ),
        Check(
            "D_φ(0, β(t)) over β(t), farthest from one",
            _farthest(D / fine),
            "==",
            1.0,
            16 * EPS,
            witness="the entropy at (0, β)",
        ),
        exponent_check(
            "exponent of D_φ(0, β(t)) in t", t[late], D[late], -1 / p.n, error, witness=witness
        ),
        Check(
            "max t·F(β(t))/D_φ(0, β₀) (R, equation 3)",
            bound,
            "<=",
            1.0,
            bound * (p.n + 1) * error,
            witness=witness,
        ),
    )


def _farthest(ratios: Array) -> float:
    return float(ratios[int(np.argmax(np.abs(ratios - 1)))])


def _power_flow(p: PowerProblem, t: Array, tolerance: float) -> Array | None:
    from scipy.integrate import solve_ivp

    unit = p.mu * p.beta0**p.n

    def slope(s: float, u: Array) -> Array:
        """du/ds, u = log(β/β₀), s = μβ₀ⁿt."""
        return -np.exp(p.n * u) / p.n

    flow = solve_ivp(
        slope, (0, t[-1] * unit), [0.0], "DOP853", t * unit, rtol=tolerance, atol=tolerance
    )
    return p.beta0 * np.exp(flow.y[0]) if flow.success else None


def euclidean_decay(
    X: Array, y: Array, start: Array, weight: float, times: Array
) -> tuple[Array, Array]:
    """D_φ(β*, β(t)) = ½rᵀf(XXᵀ)r/w, f(λ) = e^{−2wλt}/λ, r = Xβ₀ − y, by singular values of X; and
    its rounding.

    The decomposition is that of X + E, ‖E‖ at most e: in singular coordinates XXᵀ then moves by
    (σ_i + σ_j)e at most, and rᵀf(XXᵀ)r by Σ|a_ia_j|·|f[λ_i, λ_j]|(σ_i + σ_j)e to first order. f and
    |f'| fall, so that the divided difference is at most f(λ)·min(1/|λ_i − λ_j|, 1/λ + 2wt), λ the
    smaller of the two.
    """
    n, d = X.shape
    left, sigma = np.linalg.svd(X, full_matrices=False)[:2]
    residual = X @ start - y
    content, values = left.T @ residual, sigma**2
    e = 4 * (n + d) * EPS * float(sigma[0])
    blurred = (d + 2) * EPS * np.abs(left).T @ (
        np.abs(X) @ np.abs(start) + np.abs(y)
    ) + n * EPS * float(np.linalg.norm(residual))
    least = np.minimum(values[:, None], values)
    with np.errstate(divide="ignore"):
        apart = 1 / np.abs(values[:, None] - values)
    pairs = np.abs(content[:, None] * content) * (sigma[:, None] + sigma) * e / least
    found, error = np.empty_like(times), np.empty_like(times)
    for k, t in enumerate(times):
        f = np.exp(-2 * weight * values * t) / values
        found[k] = 0.5 / weight * float(f @ content**2)
        moved = float(
            np.sum(
                pairs
                * np.exp(-2 * weight * least * t)
                * np.minimum(apart, 1 / least + 2 * weight * t)
            )
        )
        error[k] = 0.5 / weight * (moved + float(f @ (2 * np.abs(content) * blurred + blurred**2)))
    return found, error + 8 * EPS * found


@within_floats
def _sec5_3(evidence: Evidence) -> tuple[Check, ...]:
    m = measured(evidence)
    weight = float(m.formulas.least[0])
    seen = m.resolved
    solution, rounded = euclidean_decay(m.X, m.y, m.start, weight, m.times[seen])
    off, unsure = np.abs(m.D[seen] / solution - 1), (m.D_error[seen] + rounded) / solution
    k = farthest(off, unsure)
    kappa = local_bounds(evidence.mirror).linear
    exact = asymptotic_rate(evidence.mirror, m.limit)
    mu = weight * least_eigenvalue(m.X, np.ones(m.d))
    error = 16 * EPS + eigen_error(m.X, np.ones(m.d))
    start = np.unique(np.append(0, seen))
    notes = m.notes
    return (
        Check(
            "D_φ over its closed form, less one",
            float(off[k]),
            "==",
            0.0,
            float(unsure[k]),
            **notes,
        ),
        constant_check("κ of Theorem 2.6 over σ_min(X)²", kappa, mu, error, m),
        constant_check("exact rate over 2σ_min(X)²", exact, 2 * mu, error, m),
        exponential_check("least log(D₀/D(t))/t, against κ of Theorem 2.6", m, start, kappa),
        exponential_check(
            "least log(D₀/D(t))/t, against 2κ, the gradient flow's own",
            m,
            start,
            2 * mu * (1 - error),
        ),
    )


sec5_1 = Claim(
    "R/sec5.1",
    "D_φ(β*, β_t) − D_φ(β̄, β_t) is constant for every F = ℓ(Xβ) whose minimisers share Xβ (least "
    "squares, logistic on data that are not separable), so the limit is the projection of the "
    "start; for a squared hinge it moves. Checked on the problem's X, with sign(y) as classes.",
    "R, §5.1",
    (MIRROR, SQUARE, FREE, REPRESENTABLE, CONSISTENT, MOVES, FULL_RANK),
    mirror_problem,
    _sec5_1,
    kind=Kind.FLOW,
    witness="flows of three objectives in β, D_φ by quadrature",
    family=mirror_family,
    limit=of_this_flow,
)
lem5_1 = Claim(
    "R/lem5.1",
    "Entropy with F = μx^{n+1}/(n(n+1)): β(t) = (c + μt)^{−1/n} and D_φ(0, β(t)) = β(t): "
    "arbitrarily slow while F ≤ D₀/t.",
    "R, Lemma 5.1",
    (POWER,),
    power_problem,
    _lem5_1,
    kind=Kind.FLOW,
    witness="the flow followed in log β",
    family=power_family,
)
sec5_3 = Claim(
    "R/sec5.3",
    "Euclidean potential: Theorem 2.6 gives D_φ ≤ D₀e^{−μt}, μ = σ_min(X)²; gradient flow has "
    "e^{−2μt} exactly.",
    "R, §5.3",
    (MIRROR, SQUARE, EUCLIDEAN, CONSISTENT, MOVES, FULL_RANK),
    euclidean_problem,
    _sec5_3,
    kind=Kind.FLOW,
    witness="gradient flow followed in β, singular values of X",
    null=SLOW_FLOW,
    family=euclidean_family,
    limit=of_this_flow,
)

CLAIMS = (sec5_1, lem5_1, sec5_3)
