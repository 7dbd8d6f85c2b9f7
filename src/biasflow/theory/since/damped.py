"""S: what weight decay and momentum do to conservation laws (Marcotte, Gribonval and Peyré 2024,
2025).

*Decay.* Under θ̇ = −∇L − κθ a law C of degree k, C(cθ) = c^k·C(θ), has Ċ = −κ⟨∇C, θ⟩ = −kκC by
Euler's identity: quadratic laws decay as e^{−2κt}, and w₊^{2−D} + w₋^{2−D} grows as e^{(D−2)κt}.
It is C(θe^{κt}) that is conserved (2025, Theorem 2.1); that laws vanish at the optimum (Remark 3.1)
is so for k > 0.

*Momentum.* Under θ̈ + γθ̇ = −∇L a quadratic law C(θ) = θᵀBθ, Bθ ⊥ ∇L, has Ċ = 2θᵀBθ̇ and
C̈ + γĊ = 2C(θ̇): it is no longer conserved, the motion itself drives it. Rotations U → UQ, V → VQ
keep UVᵀ, and e^{γt}(UᵀU̇ − U̇ᵀU + VᵀV̇ − V̇ᵀV) is constant (Noether): zero for ever from rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._numerics.deadlines import Deadline
from ...diagnostics import ConservationLaws
from ...diagnostics.commuting import flatten
from ...models import MatrixFactorisation, nonsmooth
from ..evidence import Evidence
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from .kept_quantities import LAWFUL, MOVING, flat_velocity, lawful_problem, laws_at, pace

FOLLOWED = 3.0
"""Times ‖θ‖/‖∇L‖ at the start that a motion is followed."""
DECAYED = 0.5
"""κ times this time."""
FRICTION = 2.0
"""γ times ‖θ‖/‖∇L‖, which makes a motion neither stiff nor free."""
SAVED = 33
TOLERANCES = (1e-9, 1e-12)
"""Of two integrations, whose difference is the error of the first, many times that of the
second."""
ROUNDING = 1e-11
"""Relative, of sums over the path."""


def _smooth(problem: Problem) -> str | None:
    return nonsmooth(problem.model, problem.start)


SMOOTH = Hypothesis("smooth", "predictions are smooth in the weights", on_problem(_smooth))


def _integrated(
    field: Callable[[Array], Array], start: Array, sizes: Array, times: Array, deadline: Deadline
) -> tuple[Array, Array]:
    """States (T, m) by Dormand and Prince's method of order eight, and their difference from a
    second, looser run. sizes: of the entries, against which errors are held."""
    from scipy.integrate import solve_ivp

    def velocity(t: float, state: Array) -> Array:
        if deadline.over():
            raise Unmeasured(f"there was time to follow the motion up to t = {t:g} only")
        return field(state)

    between, found = (times[0], times[-1]), []
    for r in TOLERANCES:
        run = solve_ivp(
            velocity, between, start, method="DOP853", t_eval=times, rtol=r, atol=r / 100 * sizes
        )
        if not run.success:
            raise Unmeasured(f"the motion could not be followed: {run.message}")
        found.append(run.y.T)
    return found[1], np.abs(found[0] - found[1])


def decayed_states(
    problem: Problem, kappa: float, times: Array, deadline: Deadline
) -> tuple[Array, Array]:
    """θ̇ = −∇L − κθ from the start, (T, P), and its error."""
    flat, unflatten = flatten(problem.start)
    sizes = np.full(flat.size, np.max(np.abs(flat)))
    return _integrated(
        lambda w: flat_velocity(problem, unflatten(w)) - kappa * w, flat, sizes, times, deadline
    )


def quadratic_values(laws: ConservationLaws, params: Any) -> Array:
    """The laws that are quadratic forms, at any vector; zero for the others."""
    if not np.any(laws.quadratic):
        return np.zeros(len(laws.labels))
    return np.where(laws.quadratic, laws.values(params), 0.0)


def moved_states(
    problem: Problem,
    gamma: float,
    velocity: Array,
    times: Array,
    laws: ConservationLaws,
    deadline: Deadline,
) -> tuple[Array, Array]:
    """θ̈ + γθ̇ = −∇L: θ, θ̇ and ∫C(θ̇) side by side, (T, 2P + K), and their error."""
    flat, unflatten = flatten(problem.start)
    P = flat.size

    def field(state: Array) -> Array:
        w, v = state[:P], state[P : 2 * P]
        force = flat_velocity(problem, unflatten(w)) - gamma * v
        return np.concatenate([v, force, quadratic_values(laws, unflatten(v))])

    count = len(laws.labels)
    start = np.concatenate([flat, velocity, np.zeros(count)])
    size, unit = float(np.max(np.abs(flat))), pace(problem)
    sizes = np.repeat([size, size / unit, size**2 / unit], [P, P, count])
    return _integrated(field, start, sizes, times, deadline)


def _decay(problem: Problem, laws: ConservationLaws, deadline: Deadline) -> Check:
    """C(t) against C(0)e^{−kκt}, over the sum of its terms; the null model is that it is
    conserved."""
    t1 = FOLLOWED * pace(problem)
    kappa = DECAYED / t1
    times = np.linspace(0, t1, SAVED)
    states, errors = decayed_states(problem, kappa, times, deadline)
    _, unflatten = flatten(problem.start)
    checkpoints = [unflatten(w) for w in states]
    followed = laws.drift(checkpoints, times=times, weight_decay=kappa)
    kept = laws.drift(checkpoints, times=times)
    loose = laws.drift([unflatten(w) for w in states + errors], times=times)
    error = float(np.max(np.abs(loose.values - followed.values) / followed.units))
    return Check(
        "largest |C(t) − C(0)e^{−kκt}|, over the sum of its terms",
        followed.worst,
        "==",
        0.0,
        error + ROUNDING,
        witness="−∇L − κθ followed in the weights",
        null=kept.worst,
    )


def _momentum(problem: Problem, laws: ConservationLaws, deadline: Deadline) -> tuple[Check, ...]:
    """Ċ + γ(C − C(0)) = 2∫C(θ̇), once integrated, from rest; the null model is that C is
    conserved, which leaves the right side alone."""
    chosen = laws.quadratic
    if not np.any(chosen):
        return ()
    flat, unflatten = flatten(problem.start)
    P = flat.size
    times = np.linspace(0, FOLLOWED * pace(problem), SAVED)
    gamma = FRICTION / pace(problem)
    states, errors = moved_states(problem, gamma, np.zeros(P), times, laws, deadline)

    def sides(found: Array) -> tuple[Array, Array]:
        """Both sides at every time; 2θᵀBv = (C(θ + v) − C(θ − v))/2."""
        values = np.array([laws.values(unflatten(row[:P])) for row in found])
        rates = np.array([_rate(laws, unflatten, row[:P], row[P : 2 * P]) for row in found])
        return rates + gamma * (values - values[0]), 2 * found[:, 2 * P :]

    left, right = sides(states)
    other, _ = sides(states + errors)
    size = float(np.max(np.abs(right[:, chosen])))
    apart = float(np.max(np.abs((left - right)[:, chosen]))) / size
    error = float(np.max(np.abs((other - left)[:, chosen])) + 2 * np.max(errors[:, 2 * P :])) / size
    return (
        Check(
            "largest |Ċ + γ(C − C(0)) − 2∫C(θ̇)|, over the largest 2|∫C(θ̇)|",
            apart,
            "==",
            0.0,
            error + ROUNDING,
            witness="θ̈ = −γθ̇ − ∇L followed in the weights",
            null=1.0,
        ),
    )


def _rate(laws: ConservationLaws, unflatten: Any, w: Array, v: Array) -> Array:
    return (laws.values(unflatten(w + v)) - laws.values(unflatten(w - v))) / 2


def _rotations(problem: Problem, laws: ConservationLaws, deadline: Deadline) -> tuple[Check, ...]:
    """e^{γt}(UᵀU̇ + VᵀV̇), its antisymmetric part, from a random velocity; the null model is that it
    is constant without the factor."""
    if not isinstance(problem.model, MatrixFactorisation) or problem.model.rank < 2:
        return ()
    flat, unflatten = flatten(problem.start)
    P = flat.size
    times = np.linspace(0, FOLLOWED * pace(problem), SAVED)
    gamma = FRICTION / pace(problem)
    speed = float(np.linalg.norm(flat)) / pace(problem) / np.sqrt(P)
    velocity = speed * np.random.default_rng(65).standard_normal(P)
    states, errors = moved_states(problem, gamma, velocity, times, laws, deadline)

    def turning(found: Array) -> Array:
        parts = [(unflatten(row[:P]), unflatten(row[P : 2 * P])) for row in found]
        momenta = [w.U.T @ v.U + w.V.T @ v.V for w, v in parts]
        return np.array([M - M.T for M in momenta])

    growth = np.exp(gamma * times)[:, None, None]
    found, other = turning(states), turning(states + errors)
    size = float(np.max(np.abs(found[0])))
    owed = float(np.max(growth * np.abs(other - found))) / size
    return (
        Check(
            "largest change of e^{γt}(UᵀU̇ − U̇ᵀU + VᵀV̇ − V̇ᵀV), relative",
            float(np.max(np.abs(growth * found - found[0]))) / size,
            "==",
            0.0,
            owed + ROUNDING * float(growth[-1, 0, 0]),
            witness="θ̈ = −γθ̇ − ∇L followed in the weights",
            null=float(np.max(np.abs(found - found[0]))) / size,
        ),
    )


def _damped(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    laws = laws_at(problem)

    def clock() -> Deadline:
        return Deadline(evidence.time_left / 3)

    return (
        *part("C(t) with weight decay", lambda: _decay(problem, laws, clock())),
        *part("C(t) with momentum", lambda: _momentum(problem, laws, clock())),
        *part("rotations with momentum", lambda: _rotations(problem, laws, clock())),
    )


def smooth_problem(key: int) -> Problem:
    """As `lawful_problem`, without the ReLU network."""
    kinds = (0, 1, 3, 4, 5)
    return lawful_problem(6 * (key // len(kinds)) + kinds[key % len(kinds)])


decay_claim = Claim(
    "S/laws-decay",
    "Under the penalty (κ/2)‖θ‖² a law of degree k follows C(0)e^{−kκt}: quadratic ones decay as "
    "e^{−2κt}, w₊^{2−D} + w₋^{2−D} grows as e^{(D−2)κt}. Under momentum, θ̈ + γθ̇ = −∇L, quadratic "
    "laws obey C̈ + γĊ = 2C(θ̇), and e^{γt}(UᵀU̇ − U̇ᵀU + VᵀV̇ − V̇ᵀV) is constant.",
    "Marcotte, Gribonval and Peyré 2024, and 2025, Theorem 2.1",
    (LAWFUL, SMOOTH, MOVING),
    smooth_problem,
    _damped,
    Kind.FLOW,
    "the motions with friction and decay, followed in the weights",
    "laws that are conserved",
)

CLAIMS = (decay_claim,)
