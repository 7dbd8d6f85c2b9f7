"""S: what gradient flow conserves, and that nothing else is (Marcotte, Gribonval and Peyré
2023)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, MirrorProblem, Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map, leaves
from ..._numerics.deadlines import RECORDED_S
from ..._numerics.double_precision import jax_in_double
from ...diagnostics import ConservationLaws, conservation_laws
from ...diagnostics.commuting import flatten
from ...errors import RefusedError
from ...losses import LogisticLoss, SquareLoss
from ...models import (
    DeepNetwork,
    DiagonalNetwork,
    DiagonalParams,
    FactorParams,
    FixedDirections,
    MatrixFactorisation,
    Model,
    ProductNetwork,
    ProductParams,
    TwoLayer,
)
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import ERROR_FACTOR, downhill, witness_flow

STATES = 6
"""Random states at which gradients are looked at, besides the start."""
DIFFERENCE_STEP = 1e-4
"""Relative step of four-point differences of laws: rounding, divided by it, is 1e-12."""
DIFFERENCE_ROUNDING = 1e-9
"""What such differences, summed over all parameters, may leave of zero, relative to their terms."""
STEP_ROUNDING = 1e-10
"""What rounding may leave of the exact change in a step, relative to the change."""
PIECE_OF_PATH = 0.4
"""How far a piece of the reachable path goes: its time times ‖∇L‖/‖θ‖ at the start."""
STEPS_IN_PIECE = 96
"""Of the classical Runge–Kutta method."""
INTEGRATION_ERROR = 1e-9
"""Relative error of its derivatives at least: (PIECE_OF_PATH/STEPS_IN_PIECE)⁴ is 3e-10. Half as
many steps tell it where gradients change faster."""
MORE_PIECES = 2
"""Pieces of the path beyond the directions that the laws leave, in which more could show."""
INPUTS = 2000
"""At which gradients of networks with kinks are looked at: cones of gates may be narrow."""
TELLING_GAP = 30.0
"""Ratio of singular values from which a rank is one."""
SLOW = 3.0
"""Times ‖θ‖/‖∇L‖ at the start that a flow without an end is followed."""


def laws_at(problem: Problem) -> ConservationLaws:
    """The laws near the start of a problem."""
    return conservation_laws(problem.model, problem.start, dim=problem.data.d, time_s=RECORDED_S)


def _network(problem: Any) -> str | None:
    if isinstance(problem, MirrorProblem) or not isinstance(problem, Problem):
        return "a mirror flow has no weights; give a Problem of a network"
    if not problem.in_floats:
        return "the start is below float range"
    try:
        found = laws_at(problem)
    except RefusedError as reason:
        return str(reason)
    return None if found.laws else "no law of this model is known here"


def _moving(problem: Problem) -> str | None:
    velocity = np.concatenate([np.ravel(p) for p in leaves(downhill(problem, problem.start))])
    flat, _ = flatten(problem.start)
    values = laws_at(problem).values(problem.start)
    if not np.all(np.isfinite(values)):
        return "a weight is zero at the start, where the law has a pole"
    if not np.any(velocity) or not np.any(flat):
        return "∇L vanishes at the start"
    return None


LAWFUL = Hypothesis(
    "lawful",
    "a network with a conservation law that is known as a formula, from a start in floats",
    on_problem(_network),
    structural=True,
)
MOVING = Hypothesis(
    "moving", "∇L ≠ 0 at the start, and the laws are finite there", on_problem(_moving)
)


def law_gradients(laws: ConservationLaws, state: Any) -> Array:
    """∇C of every law, (K, P), by four-point differences of the formulas."""
    flat, unflatten = flatten(state)
    top = float(np.max(np.abs(flat)))
    rows = []
    for i, w in enumerate(flat):
        h = DIFFERENCE_STEP * (abs(w) if w else top)

        def shifted(k: int, i: int = i, h: float = h) -> Array:
            moved = flat.copy()
            moved[i] += k * h
            return laws.values(unflatten(moved))

        rows.append((8 * (shifted(1) - shifted(-1)) - (shifted(2) - shifted(-2))) / (12 * h))
    return np.array(rows).T


def flat_velocity(problem: Problem, state: Any) -> Array:
    """−∇L, (P,)."""
    return np.concatenate([np.ravel(part) for part in leaves(downhill(problem, state))])


def _random_states(problem: Problem) -> list[Any]:
    """States of the start's size with its signs; what is zero there is anything."""
    flat, unflatten = flatten(problem.start)
    size = float(np.max(np.abs(flat)))
    found = []
    for k in range(STATES):
        rng = np.random.default_rng((61, k))
        noise = rng.standard_normal(flat.size)
        found.append(unflatten(np.where(flat != 0, flat * np.exp(0.5 * noise), 0.3 * size * noise)))
    return found


def _random_problem(problem: Problem, k: int) -> Problem:
    """The same network on other data, with another loss where k is odd."""
    rng = np.random.default_rng((62, k))
    X = rng.standard_normal((3, problem.data.d))
    y = rng.choice([-1.0, 1.0], 3)
    loss = LogisticLoss() if k % 2 else SquareLoss("half")
    return Problem(problem.model, Dataset(X, y), loss, problem.start)


def _orthogonality(problem: Problem, laws: ConservationLaws) -> Check:
    """⟨∇C, ∇L⟩ on the problem's own data and on others, relative to the sum of its terms; the null
    model is ‖θ‖²."""
    worst, null = 0.0, 0.0
    for k, state in enumerate([problem.start, *_random_states(problem)]):
        flat, _ = flatten(state)
        gradients = law_gradients(laws, state)
        for other in (problem, _random_problem(problem, k)):
            g = flat_velocity(other, state)
            terms = np.abs(gradients) @ np.abs(g)
            used = terms > 0
            worst = max(worst, float(np.max(np.abs(gradients @ g)[used] / terms[used], initial=0)))
            size = float(np.abs(flat) @ np.abs(g))
            null = max(null, float(abs(flat @ g)) / size) if size > 0 else null
    return Check(
        "largest |⟨∇C, ∇L⟩| over the sum of its terms",
        worst,
        "==",
        0.0,
        DIFFERENCE_ROUNDING,
        witness=f"∇L at {STATES + 1} states, on the data given and on {STATES + 1} others",
        null=float(null),
    )


def followed(evidence: Evidence) -> Trajectory | str:
    """The flow to look at: what was given, else raw gradients."""
    problem = evidence.network
    if evidence.given_flow is not None:
        return evidence.given_flow
    if problem.loss.attained:
        return evidence.witness
    t1 = SLOW * pace(problem)
    return witness_flow(problem, t1, np.linspace(0, t1, 33), time_s=evidence.time_left / 2)


def pace(problem: Problem) -> float:
    """‖θ‖/‖∇L‖ at the start: the time in which weights change by their own size."""
    flat, _ = flatten(problem.start)
    velocity = flat_velocity(problem, problem.start)
    return float(np.linalg.norm(flat) / np.linalg.norm(velocity))


def _drift(evidence: Evidence, laws: ConservationLaws) -> Check:
    """Along a flow that knows of no law; its error in the weights becomes one of the laws by
    ∇C."""
    quantity = "largest drift of C along the flow, over the sum of its terms"
    flow = followed(evidence)
    if isinstance(flow, str):
        return unknown_check(quantity, flow)
    drift = laws.drift(flow)
    units = np.where(drift.units > 0, drift.units, 1.0)
    error = 0.0
    for k in range(len(flow.times)):
        state = _state(flow, k)
        spread = np.sum(np.abs(law_gradients(laws, state)), axis=1) / units
        error = max(error, float(np.max(spread)) * float(flow.error[k]))
    flat0, flat1 = (flatten(_state(flow, k))[0] for k in (0, -1))
    squares = [float(flat @ flat) for flat in (flat0, flat1)]
    null = abs(squares[1] - squares[0]) / max(squares)
    source = evidence.source if problem_attained(evidence) else "∇L followed in the weights"
    return Check(
        quantity,
        drift.worst,
        "==",
        0.0,
        ERROR_FACTOR * error + DIFFERENCE_ROUNDING,
        witness=source,
        null=null,
    )


def problem_attained(evidence: Evidence) -> bool:
    """Whether the evidence's own trajectory is what was followed."""
    return evidence.given_flow is not None or evidence.network.loss.attained


def _state(flow: Trajectory, k: int) -> Any:
    return leaf_map(lambda leaf: leaf[k], flow.states)


def _steps(problem: Problem, laws: ConservationLaws) -> tuple[Check, ...]:
    """C(θ − γ∇L) − C(θ) = γ²·C(∇L), for quadratic C: steps are no flow, by exactly so much."""
    chosen = laws.quadratic
    if not np.any(chosen):
        return ()
    flat, unflatten = flatten(problem.start)
    velocity = flat_velocity(problem, problem.start)
    worst, null = 0.0, np.inf
    for step in (0.1, 0.3, 1.0):
        gamma = step * pace(problem)
        change = laws.values(unflatten(flat + gamma * velocity)) - laws.values(problem.start)
        expected = gamma**2 * laws.values(unflatten(velocity))
        size = float(np.max(np.abs(expected[chosen])))
        worst = max(worst, float(np.max(np.abs((change - expected)[chosen]))) / size)
        null = min(null, float(np.max(np.abs(change[chosen]))) / size)
    return (
        Check(
            "largest |C(θ − γ∇L) − C(θ) − γ²·C(∇L)|, over the largest γ²·|C(∇L)|",
            worst,
            "==",
            0.0,
            STEP_ROUNDING,
            witness="steps of gradient descent",
            null=null,
        ),
    )


def reachable(problem: Problem, pieces: int) -> tuple[int, float]:
    """How many directions training on one data set after the other can reach, and the gap of
    singular values that says so.

    From the start, random data sets are trained on in turn, each for a while τ_k: the rank of
    ∂θ/∂τ is the dimension of the orbit (Sussmann 1973). No bracket is taken, and no law known.
    """
    others = [_random_problem(problem, 2 * k) for k in range(pieces)]
    taus = np.array([PIECE_OF_PATH * pace(other) for other in others])
    flat, unflatten = flatten(problem.start)
    with jax_in_double():
        import jax
        import jax.numpy as jnp

        X = jnp.asarray(np.stack([other.data.X for other in others]))
        y = jnp.asarray(np.stack([other.data.y for other in others]))

        def field(w: Any, X: Any, y: Any) -> Any:
            return -jax.grad(lambda v: jnp.sum((problem.model(unflatten(v), X) - y) ** 2) / 2)(w)

        def piece(w: Any, part: Any, steps: int) -> Any:
            tau, X, y = part
            h = tau / steps

            def step(_: Any, w: Any) -> Any:
                k1 = field(w, X, y)
                k2 = field(w + h / 2 * k1, X, y)
                k3 = field(w + h / 2 * k2, X, y)
                k4 = field(w + h * k3, X, y)
                return w + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

            return jax.lax.fori_loop(0, steps, step, w), None

        def end(factors: Any, steps: int) -> Any:
            parts = factors * jnp.asarray(taus), X, y
            return jax.lax.scan(partial(piece, steps=steps), jnp.asarray(flat), parts)[0]

        tell = jax.jit(jax.jacfwd(end), static_argnums=1)
        directions, rough = (
            need(np.asarray(tell(jnp.ones(pieces), steps)))
            for steps in (STEPS_IN_PIECE, STEPS_IN_PIECE // 2)
        )
    values = np.linalg.svd(directions, compute_uv=False)
    # a method of order four: with half the steps it is off by sixteen times as much
    off = float(np.linalg.norm(directions - rough, 2)) / 15
    error = max(INTEGRATION_ERROR * values[0], off)
    values = np.maximum(np.append(values, 0.0), error)
    ratios = values[:-1] / values[1:]
    # below the last gap there is nothing but errors, of which three times the estimate are allowed
    last = np.flatnonzero((ratios >= TELLING_GAP) & (values[1:] <= 3 * error))
    if not last.size:
        raise Unmeasured("singular values have no gap: gradients change too fast for the steps")
    return int(last[-1]) + 1, float(ratios[last[-1]])


def _count(problem: Problem, laws: ConservationLaws) -> Check:
    """P less the directions that training reaches, against the number of laws."""
    quantity = "parameters less the directions that training on any data reaches"
    if laws.number is None:
        return unknown_check(quantity, f"between {laws.lower} and {laws.upper} laws are known")
    if problem.model.kinks is not None or isinstance(problem.model, FixedDirections):
        return _count_of_gradients(problem, laws)
    rank, gap = reachable(problem, laws.parameters - laws.number + MORE_PIECES)
    return Check(
        quantity,
        laws.parameters - rank,
        "==",
        laws.number,
        witness=f"flows on one data set after the other, singular values with a gap of {gap:.1e}",
        null=float(laws.parameters - problem.model.effective(problem.start).size),
    )


def _count_of_gradients(problem: Problem, laws: ConservationLaws) -> Check:
    """Where kinks forbid to differentiate flows: gradients alone, which span no more."""
    inputs = np.random.default_rng(63).standard_normal((INPUTS, problem.data.d))
    parts = leaves(problem.model.jacobian(problem.start, inputs))
    rows = np.hstack([np.reshape(part, (len(inputs), -1)) for part in parts])
    rank = int(np.linalg.matrix_rank(rows, tol=1e-9 * np.linalg.norm(rows)))
    return Check(
        "parameters less the rank of gradients at random inputs",
        laws.parameters - rank,
        "==",
        float(laws.parameters if laws.number is None else laws.number),
        witness=f"∇f at {len(inputs)} inputs, singular values",
    )


def _laws(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    laws = laws_at(problem)
    return (
        *part("⟨∇C, ∇L⟩", lambda: _orthogonality(problem, laws)),
        *part("drift of C along the flow", lambda: _drift(evidence, laws)),
        *part("steps of descent", lambda: _steps(problem, laws)),
        *part("number of laws", lambda: _count(problem, laws)),
    )


def lawful_problem(key: int) -> Problem:
    """A factorisation, diagonal networks of depth three and two, a ReLU network, a deep linear one,
    in turn, from starts where no law is zero."""
    rng = np.random.default_rng((64, key))
    model: Model
    kinds = (
        lambda: (MatrixFactorisation((3, 2), 2), 6),
        lambda: (DiagonalNetwork(3), 3),
        lambda: (TwoLayer(3, 2), 2),
        lambda: (DeepNetwork((2, 2, 2), activation="linear"), 2),
        lambda: (DiagonalNetwork(2), 4),
        lambda: (ProductNetwork(), 4),
    )
    model, d = kinds[key % len(kinds)]()
    data = Dataset(rng.standard_normal((4, d)), rng.standard_normal(4))
    return Problem(model, data, SquareLoss("half"), _start(model, d, key, rng))


def _start(model: Any, d: int, key: int, rng: np.random.Generator) -> Any:
    if isinstance(model, MatrixFactorisation):
        rows, cols = model.shape
        return FactorParams(
            rng.standard_normal((rows, model.rank)), 0.5 * rng.standard_normal((cols, model.rank))
        )
    if isinstance(model, DiagonalNetwork):
        return DiagonalParams(rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d))
    if isinstance(model, ProductNetwork):
        return ProductParams(rng.standard_normal(d), 0.5 * rng.standard_normal(d))
    if isinstance(model, TwoLayer):
        return model.init(0.5, key=key, balanced=False)
    return model.init(1.0, key=key)


laws_claim = Claim(
    "S/laws",
    "For all data and losses gradient flow has P − dim Lie(∇φ)(θ) independent conservation laws at "
    "generic θ: w₊^{2−D} + w₋^{2−D} (w₊w₋ for D = 2), UᵀU − VᵀV, ‖w_j‖² − a_j² and their like keep "
    "their values; a step of descent changes quadratic ones by γ²C(∇L).",
    "Marcotte, Gribonval and Peyré 2023, Theorem 3.3, and 2025, Proposition 5.1, sharpened",
    (LAWFUL, MOVING),
    lawful_problem,
    _laws,
    Kind.FLOW,
    "raw gradients on any data, a flow that knows of no law, and what trainings in turn can reach",
    "‖θ‖², which is not conserved",
)

CLAIMS = (laws_claim,)
