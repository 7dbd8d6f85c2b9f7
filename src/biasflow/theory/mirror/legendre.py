"""R, §2 for any potential of Legendre type, separable or not: ½‖·‖_p², forms βᵀAβ, entropies of
matrices, or a reader's own.

The flow is R's definition, d/dt ∇φ(β) = −∇F(β), followed in η = ∇φ(β) with ∇φ*. The limit is looked
for in β with φ and ∇φ alone: D_φ(β, β₀) is minimised over the interpolators β̂ + Nu, N a basis of
the null space of X. The two share no line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ..._core.arguments import Array, matrix, vector
from ..._numerics.failed_steps import without_warnings
from ...errors import BiasflowError, InputError
from ...limits.constraints import reduce_constraints
from ..evidence import Evidence
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check

FINE, ROUGH = 1e-11, 1e-9
"""Tolerances of the flow; the difference of the two bounds the error of the first."""
ENDED_LOSS = 1e-22
"""Loss over its start at which the flow has ended."""
LONGEST_TIME = 1e9
"""Time, in units of the start's own, after which it is given up."""
TIMES_SEEN = 30
"""Times at which divergences are compared with the integral of F."""
KNOWN_ERROR = 1e-6
"""Error of the flow's end, or of the minimiser's, over its size, beyond which their distance says
nothing."""
INVERSE_TOLERANCE = 1e-8
"""Relative distance of ∇φ*(∇φ(β)) from β up to which the two are inverse to each other."""
DIVERGENCE_ROUNDING = 1e-10
"""Relative rounding of a divergence's terms: powers, logarithms and eigenvectors of matrices of a
few rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class LegendreProblem:
    """Least squares with a potential φ of Legendre type on an open convex set of R^d, given by φ,
    ∇φ and ∇φ* = (∇φ)⁻¹."""

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    X: Array
    y: Array
    beta0: Array
    name: str = "φ"

    def __post_init__(self) -> None:
        for name in ("value", "gradient", "inverse"):
            if not callable(getattr(self, name)):
                raise InputError(
                    f"{name}: expected a function of β, found {type(getattr(self, name)).__name__}"
                )
        object.__setattr__(self, "X", matrix("X", self.X))
        object.__setattr__(self, "y", vector("y", self.y, self.X.shape[0]))
        object.__setattr__(self, "beta0", vector("beta0", self.beta0, self.X.shape[1]))

    def divergence(self, beta: Array, start: Array) -> float:
        """D_φ(β, β₀) from its definition."""
        return float(self.value(beta) - self.value(start) - self.gradient(start) @ (beta - start))

    def terms(self, beta: Array, start: Array) -> float:
        """The size of what cancels in it."""
        slope = np.abs(self.gradient(start)) @ (np.abs(beta) + np.abs(start))
        return float(abs(self.value(beta)) + abs(self.value(start)) + slope)


@without_warnings()
def _followed(
    p: LegendreProblem, rtol: float, times: Array | None = None
) -> tuple[Array, Array] | str:
    """(times, rows of η and ∫F) until the loss is gone, or at these times."""
    from scipy.integrate import solve_ivp

    X, y, d = p.X, p.y, len(p.beta0)
    start = p.gradient(p.beta0)
    first = float(np.sum((X @ p.beta0 - y) ** 2)) / 2

    def field(t: float, state: Array) -> Array:
        residual = X @ p.inverse(state[:d]) - y
        return np.append(-(X.T @ residual), 0.5 * float(residual @ residual))

    def done(t: float, state: Array) -> float:
        residual = X @ p.inverse(state[:d]) - y
        return float(
            np.log(max(0.5 * float(residual @ residual), 1e-300) / first) - np.log(ENDED_LOSS)
        )

    done.terminal = True  # type: ignore[attr-defined]
    pull = float(np.max(np.abs(field(0.0, np.append(start, 0.0))[:d])))
    span = LONGEST_TIME * max(float(np.max(np.abs(start))), 1.0) / pull
    scale = np.append(np.full(d, max(float(np.max(np.abs(start))), 1.0)), first / pull)
    whole = times is None
    span = span if times is None else float(times[-1])
    run = solve_ivp(
        field,
        (0.0, span),
        np.append(start, 0.0),
        "LSODA",
        times,
        rtol=rtol,
        atol=rtol * scale,
        events=done if whole else None,
    )
    if not run.success or run.status != (1 if whole else 0) or not np.all(np.isfinite(run.y)):
        return "the flow did not come to its end"
    return run.t, run.y.T


def projection(p: LegendreProblem) -> Array:
    """argmin D_φ(β, β₀) among interpolators, by φ and ∇φ on β̂ + Nu; from a point of the domain."""
    from scipy.optimize import minimize

    singular, right = np.linalg.svd(p.X)[1:]
    rank = int(np.sum(singular > max(p.X.shape) * np.finfo(float).eps * singular[0]))
    null, tilt = right[rank:], p.gradient(p.beta0)
    base = interior_point(p)
    if len(null) == 0:
        return base

    def objective(u: Array) -> tuple[float, Array]:
        beta = base + u @ null
        with np.errstate(all="ignore"):
            value, slope = p.value(beta) - tilt @ beta, null @ (p.gradient(beta) - tilt)
        outside = not (np.isfinite(value) and np.all(np.isfinite(slope)))
        return (float("inf"), np.zeros_like(u)) if outside else (float(value), slope)

    found = np.zeros(len(null))
    for _ in range(3):  # restarted with a fresh metric
        found = minimize(
            objective, found, jac=True, method="BFGS", options={"gtol": 1e-13, "maxiter": 2000}
        ).x
    return np.asarray(base + _newton(p, base, null, found) @ null)


def _newton(p: LegendreProblem, base: Array, null: Array, u: Array) -> Array:
    """A few Newton steps with ∇²φ by differences of ∇φ, where BFGS has lost its digits to rounding
    of φ."""
    tilt = p.gradient(p.beta0)
    for _ in range(4):
        beta = base + u @ null
        slope = null @ (p.gradient(beta) - tilt)
        step = 1e-6 * max(float(np.max(np.abs(beta))), 1e-300)
        bend = np.array(
            [
                null @ (p.gradient(beta + step * z) - p.gradient(beta - step * z)) / (2 * step)
                for z in null
            ]
        )
        moved = u - np.linalg.solve(bend, slope)
        further = null @ (p.gradient(base + moved @ null) - tilt)
        if not np.all(np.isfinite(further)) or np.max(np.abs(further)) >= np.max(np.abs(slope)):
            return u
        u = moved
    return u


def interior_point(p: LegendreProblem) -> Array:
    """An interpolator inside the domain: the nearest to the start, or where the flow of a rough
    integration ends."""
    near = p.beta0 + np.linalg.lstsq(p.X, p.y - p.X @ p.beta0, rcond=None)[0]
    with np.errstate(all="ignore"):
        if np.all(np.isfinite(p.gradient(near))):
            return np.asarray(near)
    rough = _followed(p, 1e-4)
    if isinstance(rough, str):
        raise BiasflowError("no interpolator inside the domain was found")
    inside = p.inverse(rough[1][-1][: len(p.beta0)])
    return np.asarray(inside + np.linalg.lstsq(p.X, p.y - p.X @ inside, rcond=None)[0])


def _legendre(evidence: Evidence) -> tuple[Check, ...]:
    p: LegendreProblem = evidence.problem
    d, names = (
        len(p.beta0),
        (
            "‖β(T) − β*‖_∞ over ‖β*‖_∞, flow against projection",
            "largest |D_φ(β̄, β₀) − D_φ(β̄, β(t)) − 2∫F| over D_φ(β̄, β₀), β̄ = β* and another "
            "interpolator",
            "max over t of 2t·F(β(t))/D_φ(β*, β₀) (equation 3, halved)",
            "least (D_φ(β̄, β₀) − D_φ(β*, β₀))/D_φ(β̄, β*): β* is nearest",
        ),
    )
    fine = _followed(p, FINE)
    rough = fine if isinstance(fine, str) else _followed(p, ROUGH, fine[0])
    if isinstance(fine, str) or isinstance(rough, str):
        return tuple(
            unknown_check(name, fine if isinstance(fine, str) else str(rough)) for name in names
        )
    (times, rows), spread = fine, np.abs(fine[1] - rough[1])
    end, other = (p.inverse(found[-1, :d]) for found in (rows, rough[1]))
    best, size = projection(p), float(np.max(np.abs(end)))
    error = 2 * float(np.max(np.abs(end - other))) / size + 1e-9
    kernel = p.beta0 + np.linalg.lstsq(p.X, p.y - p.X @ p.beta0, rcond=None)[0]
    rival = best + room(p, best)
    along, along_error, ratio = 0.0, float("inf"), 0.0
    at = np.unique(np.linspace(1, len(times) - 1, TIMES_SEEN).astype(int))
    whole = p.divergence(best, p.beta0)
    for target in (best, rival):
        top = p.divergence(target, p.beta0)
        for k in at:
            beta = p.inverse(rows[k, :d])
            off = abs(top - p.divergence(target, beta) - 2 * rows[k, d]) / top
            made = DIVERGENCE_ROUNDING * (p.terms(target, p.beta0) + p.terms(target, beta)) / top
            made += float(2 * spread[k, d] + spread[k, :d] @ np.abs(target - beta)) / top
            made += (
                error * size * float(np.sum(np.abs(p.gradient(target) - p.gradient(beta)))) / top
            )
            if off - made > along - along_error:
                along, along_error = off, made
    for k in at:
        residual = p.X @ p.inverse(rows[k, :d]) - p.y
        ratio = max(ratio, float(times[k]) * float(residual @ residual) / whole)
    apart = p.divergence(rival, best)
    pythagoras = (p.divergence(rival, p.beta0) - whole) / apart
    blurred = DIVERGENCE_ROUNDING * (p.terms(rival, p.beta0) + p.terms(best, p.beta0)) / apart
    blurred += error * size * float(np.sum(np.abs(p.gradient(rival) - p.gradient(best)))) / apart
    flow, primal = "d/dt ∇φ(β) = −∇F(β) followed in ∇φ", "D_φ minimised in β"
    distance = float(np.max(np.abs(end - best))) / size
    first = (
        Check(
            names[0],
            distance,
            "==",
            0.0,
            error,
            witness=f"{flow}; {primal}",
            null=float(np.max(np.abs(end - kernel))) / size,
        )
        if error <= KNOWN_ERROR
        else unknown_check(names[0], f"the flow's end is known to {error:.1g} only")
    )
    return (
        first,
        Check(names[1], along, "==", 0.0, along_error, witness=flow, size=1.0),
        Check(names[2], ratio, "<=", 1.0, 1e-6, witness=flow, null=10 * ratio),
        Check(names[3], pythagoras, "==", 1.0, blurred, witness=primal),
    )


def room(p: LegendreProblem, best: Array) -> Array:
    """A step in the null space that stays inside the domain; zero where there is none."""
    singular, right = np.linalg.svd(p.X)[1:]
    null = right[int(np.sum(singular > max(p.X.shape) * np.finfo(float).eps * singular[0])) :]
    step = np.random.default_rng(5).standard_normal(len(null)) @ null
    step *= float(np.max(np.abs(best))) / float(np.max(np.abs(step)))
    for _ in range(60):
        with np.errstate(all="ignore"):
            if np.all(np.isfinite(p.gradient(best + 2 * step))):
                return np.asarray(step)
        step /= 2
    return np.asarray(step)


def power_norm(
    p: float,
) -> tuple[Callable[[Array], float], Callable[[Array], Array], Callable[[Array], Array]]:
    """φ = ½‖β‖_p², whose gradient is inverse to that of ½‖η‖_q², 1/p + 1/q = 1."""

    def half_square(r: float) -> Callable[[Array], Array]:
        def gradient(v: Array) -> Array:
            size = float(np.sum(np.abs(v) ** r)) ** (1 / r)
            return (
                np.asarray(np.sign(v) * np.abs(v) ** (r - 1) * size ** (2 - r))
                if size > 0
                else np.zeros_like(v)
            )

        return gradient

    return (
        lambda v: 0.5 * float(np.sum(np.abs(v) ** p)) ** (2 / p),
        half_square(p),
        half_square(p / (p - 1)),
    )


def turned_cosh(
    B: Array,
) -> tuple[Callable[[Array], float], Callable[[Array], Array], Callable[[Array], Array]]:
    """φ = Σcosh((Bβ)_i), a potential that is separable in other axes only where B is orthogonal."""
    back = np.linalg.inv(B)
    return (
        lambda v: float(np.sum(np.cosh(B @ v))),
        lambda v: np.asarray(B.T @ np.sinh(B @ v)),
        lambda eta: np.asarray(back @ np.arcsinh(back.T @ eta)),
    )


def matrix_entropy(
    rows: int,
) -> tuple[Callable[[Array], float], Callable[[Array], Array], Callable[[Array], Array]]:
    """φ = tr(S log S − S) on positive definite matrices, β their entries on and above the diagonal,
    these times √2."""
    index = np.triu_indices(rows)
    weight = np.where(index[0] == index[1], 1.0, np.sqrt(2.0))

    def packed(S: Array) -> Array:
        return np.asarray(S[index] * weight)

    def eigen(v: Array) -> tuple[Array, Array]:
        S = np.zeros((rows, rows))
        S[index] = v / weight
        if not np.all(np.isfinite(S)):
            return np.full(rows, np.nan), np.eye(rows)
        values, vectors = np.linalg.eigh(S + np.triu(S, 1).T)
        return values, vectors

    def mapped(v: Array, function: Callable[[Array], Array]) -> Array:
        values, vectors = eigen(v)
        return packed((vectors * function(values)) @ vectors.T)

    def value(v: Array) -> float:
        values, _ = eigen(v)
        return (
            float(np.sum(values * np.log(values) - values)) if np.all(values > 0) else float("nan")
        )

    def logarithm(v: Array) -> Array:
        values, _ = eigen(v)
        return mapped(v, np.log) if np.all(values > 0) else np.full(v.shape, np.nan)

    return value, logarithm, lambda eta: mapped(eta, np.exp)


def legendre_problem(key: int) -> LegendreProblem:
    """½‖·‖_{3/2}², Σcosh(Bβ), and the entropy of 3×3 matrices, in turn."""
    rng = np.random.default_rng((113, key))
    n, kind = 3, key % 3
    if kind == 2:
        return _matrix_problem(rng, n, 3, 1.0)
    d = 7
    X, y, beta0 = rng.standard_normal((n, d)), rng.standard_normal(n), 0.3 * rng.standard_normal(d)
    functions = (
        power_norm(1.5) if kind == 0 else turned_cosh(np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    )
    return LegendreProblem(*functions, X, y, beta0, ("½‖·‖_{3/2}²", "Σcosh(Bβ)")[kind])


def _matrix_problem(rng: np.random.Generator, n: int, rows: int, unit: float) -> LegendreProblem:
    value, gradient, inverse = matrix_entropy(rows)
    d = rows * (rows + 1) // 2
    X = rng.standard_normal((n, d))
    inside, start = (inverse(spread * rng.standard_normal(d)) for spread in (0.7, 0.3))
    return LegendreProblem(
        value, gradient, inverse, X, unit * (X @ inside), unit * start, "tr(S log S − S)"
    )


def legendre_family(key: int) -> LegendreProblem:
    """p from 1.2 to 4, quadratic forms, Σcosh in any axes, matrices of two to four rows; data over
    two decades."""
    rng = np.random.default_rng((127, key))
    kind, d = key % 4, int(rng.integers(2, 9))
    n = int(rng.integers(1, d))
    if kind == 3:
        rows = int(rng.integers(2, 5))
        return _matrix_problem(
            rng, int(rng.integers(1, rows * (rows + 1) // 2)), rows, 10 ** rng.uniform(-1, 1)
        )
    X, y = (
        rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1),
        rng.standard_normal(n) * 10 ** rng.uniform(-1, 1),
    )
    beta0 = rng.standard_normal(d) * 10 ** rng.uniform(-2, 0)
    A = np.eye(d) + 0.4 * rng.standard_normal((d, d))
    if kind == 0:
        return LegendreProblem(*power_norm(float(rng.uniform(1.2, 4.0))), X, y, beta0, "½‖·‖_p²")
    if kind == 1:
        A = A.T @ A + 0.1 * np.eye(d)
        return LegendreProblem(
            lambda v: 0.5 * float(v @ A @ v),
            lambda v: np.asarray(A @ v, dtype=np.float64),
            lambda eta: np.asarray(np.linalg.solve(A, eta), dtype=np.float64),
            X,
            y,
            beta0,
            "½βᵀAβ",
        )
    return LegendreProblem(*turned_cosh(A), X, y, beta0, "Σcosh(Bβ)")


def _given(problem: object) -> str | None:
    return (
        None
        if isinstance(problem, LegendreProblem)
        else f"found {type(problem).__name__}, needs a LegendreProblem"
    )


def _pair(problem: LegendreProblem) -> str | None:
    """∇φ*(∇φ(β)) = β at the start, and ⟨∇φ(β) − ∇φ(β'), β − β'⟩ > 0 nearby."""
    p, rng = problem, np.random.default_rng(3)
    slope = p.gradient(p.beta0)
    if not np.all(np.isfinite(slope)):
        return "β₀ is not inside the domain: ∇φ is not finite there"
    size = max(float(np.max(np.abs(p.beta0))), float(np.finfo(float).tiny))
    off = float(np.max(np.abs(p.inverse(slope) - p.beta0))) / size
    if not off <= INVERSE_TOLERANCE:
        return f"∇φ* is not the inverse of ∇φ: at the start it misses by {off:.2g}"
    for _ in range(5):
        eta = slope + rng.standard_normal(slope.shape)
        there = p.inverse(eta)
        back = p.gradient(there) if np.all(np.isfinite(there)) else np.full_like(eta, np.nan)
        if not float(np.max(np.abs(back - eta))) <= INVERSE_TOLERANCE * max(
            1.0, float(np.max(np.abs(eta)))
        ):
            return (
                "∇φ is not onto, or ∇φ* not its inverse: ∇φ(∇φ*(η)) is not η at some η near ∇φ(β₀)"
            )
        if not float((eta - slope) @ (there - p.beta0)) > 0:
            return "∇φ* is not monotone: φ is not strictly convex"
    return None


def _solvable(problem: LegendreProblem) -> str | None:
    try:
        reduce_constraints(problem.X, problem.y)
    except BiasflowError as error:
        return str(error)
    X, y = problem.X, problem.y
    moves = float(np.max(np.abs(X @ problem.beta0 - y))) > 1e-9 * float(
        np.max(np.abs(y), initial=1e-300)
    )
    return None if moves else "the start is a minimiser of F already: nothing moves"


def _choice(problem: LegendreProblem) -> str | None:
    free = problem.X.shape[1] - int(np.linalg.matrix_rank(problem.X))
    return None if free else "there is one interpolator only: nothing to choose"


legendre = Claim(
    "R/legendre",
    "For any φ of Legendre type with ∇φ onto, separable or not, mirror flow converges to the "
    "Bregman projection of β₀ onto the"
    " interpolators, D_φ(β̄, β(t)) falls by 2∫F for each of them, and F ≤ D_φ(β*, β₀)/(2t).",
    "R, §2 and Theorem 2.2, (2), (3), for potentials that are not separable",
    (
        Hypothesis(
            "potential",
            "a LegendreProblem(value, gradient, inverse, X, y, beta0)",
            on_problem(_given),
            structural=True,
        ),
        Hypothesis(
            "pair",
            "∇φ is onto, ∇φ* its inverse, and φ strictly convex (seen near β₀)",
            on_problem(_pair),
        ),
        Hypothesis(
            "solvable", "Xβ = y has a solution, and the start is none", on_problem(_solvable)
        ),
        Hypothesis("choice", "there are several interpolators", on_problem(_choice)),
    ),
    legendre_problem,
    _legendre,
    kind=Kind.FLOW,
    witness="the flow in ∇φ; D_φ minimised in β",
    null="the interpolator nearest to the start in ℓ2; a flow ten times slower",
    family=legendre_family,
)

CLAIMS = (legendre,)
