"""How fast a mirror flow must converge: R's bounds with their constants, global (§3.2) and local
(§2.2), and sharper ones.

All bounds speak about one mirror flow d/dt ∇φ(β) = −Xᵀ(Xβ−y) and D = D(β*, β(t)), β* its limit.
Where X has rank below n, or r vanishes somewhere, the linear rates are zero and the bounds say
nothing, as they should.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, Mask, instance, positive_float
from .._core.facts import record_line
from .._core.problems import MirrorProblem, Problem
from .._core.results import Limit, Trajectory
from .._numerics.deadlines import FLOW_S
from ..errors import InputError, RefusedError
from ..flows import gradient_flow, mirror_flow
from ..limits import mirror_limit
from ..models import mirror
from ..potentials import Hypentropy, MirrorPoint, Potential
from .operator import inverse_norm

UNBOUNDED_BEYOND = 1e5
"""Change of η beyond which a sublevel set is called unbounded: e^{1e5} is out of any float's
range."""
NORM_S = 20.0
"""Seconds for a norm of the data: in ℓ2 one decomposition, in ℓ1 and sup norm a bracket."""
BISECTIONS = 80


@dataclass(frozen=True, eq=False)
class ConvergenceBounds:
    """The constants of R's Lemmas 3.6 and 3.7 for a hypentropy Φ_r, and bounds on D_{Φ_r}(β*, β(t))
    as functions of time.

    inf_r, inverse_norm ‖Xᵀ†‖, mass M = sup‖β(t)‖₁, C = 2m·log(1 + 2M/(m·inf r)); kappa1 and kappa2
    as R prints them; sharp_rate and asymptotic_rate of D (R/sharp; the last is exact, not a bound);
    start_divergence D_{Φ_r}(β*, β₀); dual_norm ‖ν*‖ for ½Φ_r. speed: mirror time of ½Φ_r that
    passes in a unit of the flow's own time, 1 under ½‖·‖².
    """

    inf_r: float
    inverse_norm: float
    mass: float
    C: float
    kappa1: float
    kappa2: float
    sharp_rate: float
    asymptotic_rate: float
    start_divergence: float
    dual_norm: float
    speed: float

    def __repr__(self) -> str:
        return record_line(self)

    def linear(self, t: Any) -> Array:
        """D₀·e^{−κ₁t} (R, Lemma 3.6)."""
        return self.start_divergence * np.exp(-self.kappa1 * np.asarray(t))

    def sublinear(self, t: Any) -> Array:
        """1/(κ₂t + 1/D₀) (R, Lemma 3.7)."""
        return 1 / (self.kappa2 * np.asarray(t) + 1 / self.start_divergence)

    def sharp_linear(self, t: Any) -> Array:
        """D₀·e^{−4·inf r·t/‖Xᵀ†‖²} (R/sharp)."""
        return self.start_divergence * np.exp(-self.sharp_rate * np.asarray(t))

    def sharp_sublinear(self, t: Any) -> Array:
        """‖ν*‖²/t (R/sharp), at most D₀."""
        with np.errstate(divide="ignore"):
            return np.minimum(
                self.dual_norm**2 / (self.speed * np.asarray(t, dtype=float)), self.start_divergence
            )

    def objective(self, t: Any) -> Array:
        """F ≤ ½D₀/t (R, equation 3: D_φ = ½D_{Φ_r})."""
        with np.errstate(divide="ignore"):
            return self.start_divergence / (2 * self.speed * np.asarray(t, dtype=float))

    def sharp_objective(self, t: Any) -> Array:
        """F ≤ ‖ν*‖²/(2t²) (R/sharp)."""
        with np.errstate(divide="ignore"):
            return self.dual_norm**2 / (2 * (self.speed * np.asarray(t, dtype=float)) ** 2)


def gradient_bound(m: float, mass: float, log_r: float) -> float:
    """C = 2m·log(1 + 2M/(m·r)): a bound on ‖∇Φ_r(β) − ∇Φ_r(β*)‖₂ for ‖β‖₁, ‖β*‖₁ ≤ M in R^m."""
    with np.errstate(divide="ignore"):
        return 2 * m * float(np.logaddexp(0.0, np.log(2 * mass / m) - log_r))


def convergence_bounds(
    problem: Problem | MirrorProblem,
    trajectory: Trajectory | None = None,
    *,
    time_s: float | None = FLOW_S,
) -> ConvergenceBounds:
    """R's global bounds and the sharper ones, for a network or mirror flow whose potential is a
    multiple of a hypentropy.

    F is ½‖Xβ−y‖² whatever the problem's normalisation; times are the flow's own.

    Parameters
    ----------
    problem : Problem or MirrorProblem
    trajectory : Trajectory, optional
        The flow of the problem, where M = sup‖β(t)‖₁ is read off at the saved times and at the
        limit; integrated where it is not given.
    time_s : float, optional
        Seconds for that; None for no limit.

    Returns
    -------
    diagnostics.ConvergenceBounds

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=0.5)
    >>> found = bf.diagnostics.convergence_bounds(problem)
    >>> bool(found.kappa1 <= found.sharp_rate <= found.asymptotic_rate)
    True
    """
    found = as_mirror(problem)
    factor, inner = hypentropy_of(found.potential)
    if trajectory is None:
        trajectory = flow_of(problem, time_s)
    elif not same_problem(problem, trajectory.problem):
        raise InputError("trajectory: it is the flow of another problem")
    limit = mirror_limit(found.potential, found.X, found.y, found.beta0)
    best, start = found.potential.at(limit.value), found.origin
    betas = (
        trajectory.states
        if isinstance(problem, MirrorProblem)
        else problem.model.effective(trajectory.states)
    )
    speed, m = 1 / (2 * factor), found.X.shape[1]
    log_r = float(np.min(inner.log_units(m)))
    inf_r, op = float(np.exp(log_r)), inverse_norm(found.X, time_s=NORM_S).objective
    mass = max(float(np.max(np.sum(np.abs(betas), axis=1))), float(np.sum(np.abs(limit.value))))
    C = gradient_bound(m, mass, log_r)
    return ConvergenceBounds(
        inf_r,
        op,
        mass,
        C,
        speed * inf_r * _inverse_square(op),
        speed * _inverse_square(C * op) if np.isfinite(C * op) and C > 0 else 0.0,
        4 * speed * inf_r * _inverse_square(op),
        asymptotic_rate(found, limit),
        float(np.sum(best.divergence(start))) / factor,
        speed * float(np.linalg.norm(limit.stats["nu"])),
        speed,
    )


@dataclass(frozen=True, eq=False)
class LocalBounds:
    """R's Theorems 2.6 and 2.7 once D_φ(β*, β) ≤ radius, for any separable φ.

    The sublevel set lies in the box Π{D_{φ_i}(β*_i, ·) ≤ radius}, which is convex: least_weight ω_i
    is the least (φ*)'' on its side i, so φ'' ≤ L_φ = 1/min ω there, which is what the proof of
    Theorem 2.6 needs (a Lipschitz constant on the sublevel set alone is not enough). spread: C_φ =
    sup‖∇φ(β) − ∇φ(β*)‖_* over the box, by norm. linear: κ = 1/(L_φ‖Xᵀ†‖²) in ℓ2, and
    weighted: 1/‖Xᵀ†‖² in the norm ‖v‖² = Σω_iv_i² with L = 1, never smaller. sublinear: κ₂ =
    1/(C_φ‖Xᵀ†‖)² by norm, with the upper end of a bracketed norm.
    """

    radius: float
    least_weight: Array
    lipschitz: float
    spread: dict[str, float]
    linear: float
    weighted: float
    sublinear: dict[str, float]

    def __repr__(self) -> str:
        return record_line(self)


def local_bounds(
    problem: Problem | MirrorProblem, radius: float | None = None, norms: tuple[str, ...] = ("l2",)
) -> LocalBounds:
    """The constants of R's local theorems 2.6 and 2.7 at a radius.

    Parameters
    ----------
    problem : Problem or MirrorProblem
    radius : float, optional
        None: D_φ(β*, β₀), so that they hold from the start.
    norms : tuple of {'l2', 'l1', 'linf'}

    Returns
    -------
    diagnostics.LocalBounds

    Examples
    --------
    >>> problem = bf.MirrorProblem(bf.potentials.Hypentropy(0.1), [[1.0, 2.0, 3.0]], [6.0])
    >>> near, far = (bf.diagnostics.local_bounds(problem, radius) for radius in (1e-3, None))
    >>> bool(near.weighted > far.weighted)
    True
    """
    found = as_mirror(problem)
    limit = mirror_limit(found.potential, found.X, found.y, found.beta0)
    best, start = found.potential.at(limit.value), found.origin
    radius = (
        float(np.sum(best.divergence(start)))
        if radius is None
        else positive_float("radius", radius)
    )
    up, down = _reach(best, radius), _reach(best, radius, -1.0)
    omega = _least_weight(found.potential, best, up, down)
    farthest = np.maximum(up, down)
    spread = {
        "l2": float(np.linalg.norm(farthest)),
        "l1": float(np.sum(farthest)),
        "linf": float(np.max(farthest)),
    }
    op = inverse_norm(found.X, time_s=NORM_S).objective
    weighted = inverse_norm(found.X, weights=omega, time_s=NORM_S).objective
    upper = {norm: inverse_norm(found.X, norm, time_s=NORM_S).upper for norm in norms}
    least = float(np.min(omega))
    with np.errstate(divide="ignore"):
        return LocalBounds(
            radius,
            omega,
            float(np.divide(1.0, least)),
            spread,
            least * _inverse_square(op),
            _inverse_square(weighted),
            {norm: _inverse_square(spread[norm] * upper[norm]) for norm in norms},
        )


def _inverse_square(size: float) -> float:
    """1/size², which floats may hold no better than as zero or infinity."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return float(np.square(np.divide(1.0, size)))


def asymptotic_rate(problem: MirrorProblem, limit: Limit) -> float:
    """2λ_min(X·diag(w*)·Xᵀ): the rate at which D finally decays (R/sharp); zero below rank n."""
    weight = problem.potential.at(limit.value).weight()
    singular = np.linalg.svd(problem.X * np.sqrt(weight), compute_uv=False)
    rounding = max(problem.X.shape) * np.finfo(float).eps * float(singular[0])
    return (
        0.0
        if len(singular) < len(problem.y) or singular[-1] <= rounding
        else 2 * float(singular[-1]) ** 2
    )


def as_mirror(problem: Problem | MirrorProblem) -> MirrorProblem:
    """The mirror problem of a network, half-lines oriented by the start; or the one given."""
    instance("problem", problem, (Problem, MirrorProblem))
    found = problem if isinstance(problem, MirrorProblem) else mirror(problem)
    if found.beta0 is None:
        return found
    return MirrorProblem(found.potential.oriented(found.beta0), found.X, found.y, found.beta0)


def same_problem(first: Problem | MirrorProblem, second: Problem | MirrorProblem) -> bool:
    """Whether two problems have the same data and start, in the same coordinates."""
    if isinstance(first, MirrorProblem) or isinstance(second, MirrorProblem):
        if not (isinstance(first, MirrorProblem) and isinstance(second, MirrorProblem)):
            return False
        one, two = (first.X, first.y, first.beta0), (second.X, second.y, second.beta0)
    else:
        one, two = (
            (first.data.X, first.data.y, *first.start),
            (second.data.X, second.data.y, *second.start),
        )
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(one, two, strict=True))


def flow_of(problem: Problem | MirrorProblem, time_s: float | None) -> Trajectory:
    """The flow of a problem until it has converged."""
    if isinstance(problem, MirrorProblem):
        return mirror_flow(problem, time_s=time_s)
    return gradient_flow(problem, time_s=time_s)


def hypentropy_of(potential: Potential) -> tuple[float, Hypentropy]:
    """(c, Φ_r) where the potential is c·Φ_r with one number c."""
    factor, inner = potential.unscaled()
    if isinstance(inner, Hypentropy):
        return factor, inner
    raise RefusedError(f"needs a multiple of a hypentropy, found {type(potential).__name__}")


def _reach(best: MirrorPoint, radius: float, side: float = 1.0) -> Array:
    """The |δ| per coordinate at which D_{φ_i}(β*_i, β_i) reaches the radius when η_i moves by ±δ;
    inf where it never does."""

    def beyond(delta: Array) -> Mask:
        with np.errstate(all="ignore"):
            D = best.divergence(best.moved(side * delta))
        return ~(radius >= D)

    low, high = np.zeros_like(best.eta), np.ones_like(best.eta)
    while not np.all(beyond(high) | (high > UNBOUNDED_BEYOND)):
        low, high = np.where(beyond(high), low, high), np.where(beyond(high), high, 2 * high)
    unbounded = ~beyond(high)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        outside = beyond(middle)
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    return np.where(unbounded | (high > UNBOUNDED_BEYOND), np.inf, high)


def _least_weight(potential: Potential, best: MirrorPoint, up: Array, down: Array) -> Array:
    """inf (φ*)'' per coordinate for η between η*−down and η*+up: at the end nearer to η = 0, at 0
    where it lies between.

    On a half-line (φ*)'' = |β| falls towards the wall. Every potential here is even with (φ*)''
    growing in |η|, or lives on half-lines.
    """
    d = best.eta.size
    signs = potential.half_lines(d)
    with np.errstate(invalid="ignore"):  # at a wall η* is infinite, and so is what is added to it
        low, high = best.eta - down, best.eta + up
    inner = np.clip(0.0, low, high)
    toward_wall = np.where(signs > 0, low, high)
    target = np.where(signs != 0, toward_wall, inner)
    with np.errstate(all="ignore"):
        weight = best.moved(np.where(np.isfinite(target), target, 0.0) - best.eta).weight()
    return np.where(np.isfinite(target), weight, 0.0)
