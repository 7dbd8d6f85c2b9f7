"""Conditions that several theorems share. Each test returns None, or a sentence that says what
fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.problems import MirrorProblem, Problem
from ..diagnostics.bounds import as_mirror, hypentropy_of
from ..errors import BiasflowError, RefusedError
from ..limits.constraints import reduce_constraints
from ..losses import SquareLoss
from ..models import DiagonalNetwork, FixedDirections, PredictorModel, mirror, nonsmooth
from ..potentials import Euclidean
from .evidence import Evidence
from .verdicts import Hypothesis, on_problem

UNIFORM_TOLERANCE = 1e-12
"""Relative differences of the weights of a start that is uniform: what thousands of operations in
double precision may leave."""
LARGEST_LOG_R = 600.0
"""Largest |log r| for which r, and its ratios to β, are floats."""


def _system(problem: Any) -> tuple[Any, Any]:
    if isinstance(problem, MirrorProblem):
        return problem.X, problem.y
    if not isinstance(problem.model, PredictorModel):
        raise RefusedError(f"{type(problem.model).__name__}: not linear in a predictor")
    return problem.model.features(problem.data.X), problem.data.y


def _diagonal(problem: Any) -> str | None:
    if isinstance(problem, Problem) and isinstance(problem.model, DiagonalNetwork):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs a DiagonalNetwork"


def consistent_failure(problem: Any) -> str | None:
    try:
        reduce_constraints(*_system(problem))
    except BiasflowError as error:
        return str(error)
    return None


def _nontrivial(problem: Any) -> str | None:
    return None if np.any(_system(problem)[1]) else "all labels are zero: there is nothing to learn"


def _unique(evidence: Evidence) -> str | None:
    if evidence.l1.stats["unique"] and evidence.path.stats["unique"]:
        return None
    return (
        "several interpolators share the least ℓ1 norm, or a plateau is not the only fit of "
        "its kind"
    )


def _full_rank(problem: Any) -> str | None:
    X, y = _system(problem)
    rank = int(np.linalg.matrix_rank(X))
    return None if rank == len(y) else f"X has rank {rank}, needs n = {len(y)}"


def _square(problem: Any) -> str | None:
    if isinstance(problem, MirrorProblem) or isinstance(problem.loss, SquareLoss):
        return None
    return f"found {type(problem.loss).__name__}, needs a square loss"


def _mirror(problem: Any) -> str | None:
    if isinstance(problem, MirrorProblem):
        return None
    if not isinstance(problem, Problem):
        return f"found {type(problem).__name__}, needs a Problem or a MirrorProblem"
    try:
        mirror(problem)
    except BiasflowError as error:
        return str(error)
    return None


def _uniform(problem: Any) -> str | None:
    failure = _diagonal(problem)
    if failure is not None:
        return failure
    problem.model.checked(problem.start, problem.data.d)
    return (
        None
        if start_scale(problem) > 0 and start_spread(problem) <= UNIFORM_TOLERANCE
        else "the start is not α·1 with α > 0"
    )


def _reached(problem: Any) -> str | None:
    """Labels reachable inside the domain: always on all of R^d, by a linear program on
    half-lines."""
    from ..limits.half_lines import forced_zeros

    problem = problem if isinstance(problem, MirrorProblem) else mirror(problem)
    potential = (
        problem.potential if problem.beta0 is None else problem.potential.oriented(problem.beta0)
    )
    signs = potential.half_lines(problem.X.shape[1])
    if not np.any(signs):
        return None
    try:
        zero = forced_zeros(problem.X, problem.y, signs)
    except BiasflowError as error:
        return str(error)
    return (
        f"every solution has β_{int(np.flatnonzero(zero)[0])} = 0, on the boundary of the domain"
        if np.any(zero)
        else None
    )


def _half_lines(problem: Any) -> Any:
    """±1 where a coordinate is confined, once the start has said its sign."""
    problem = as_mirror(problem)
    return problem.potential.half_lines(problem.X.shape[1])


def _confined(problem: Any) -> str | None:
    return (
        None
        if np.any(_half_lines(problem))
        else "the domain is all of R^d: Theorem 2.2 speaks about it"
    )


def _free(problem: Any) -> str | None:
    if np.any(_half_lines(problem)):
        return "some coordinates live on half-lines"
    return _onto(problem)


def _onto(problem: Any) -> str | None:
    problem = as_mirror(problem)
    try:
        problem.potential.at_dual(np.full(problem.X.shape[1], 50.0))
    except BiasflowError:
        return "∇φ is bounded: it does not map the domain onto R^d"
    return None


def _hypentropy(problem: Any) -> str | None:
    try:
        hypentropy_of(as_mirror(problem).potential)
    except BiasflowError as error:
        return str(error)
    return None


def _positive(problem: Any) -> str | None:
    signs = _half_lines(problem)
    return f"r_{int(np.flatnonzero(signs)[0])} = 0, needs inf r > 0" if np.any(signs) else None


def _representable(problem: Any) -> str | None:
    problem = as_mirror(problem)
    units = problem.potential.log_units(problem.X.shape[1])
    extreme = np.isfinite(units) & (np.abs(units) > LARGEST_LOG_R)
    return (
        f"log r_{int(np.flatnonzero(extreme)[0])} = {units[extreme][0]:g}: the formulas leave the "
        "range of floats"
        if np.any(extreme)
        else None
    )


def _felt(problem: Any) -> str | None:
    return (
        None
        if np.any(problem.model.features(problem.data.X))
        else "no direction is active on any input: nothing moves"
    )


def _euclidean(problem: Any) -> str | None:
    _, inner = as_mirror(problem).potential.unscaled()
    return (
        None
        if isinstance(inner, Euclidean)
        else f"found {type(inner).__name__}, needs the Euclidean potential"
    )


def _fixed(problem: Any) -> str | None:
    if isinstance(problem, Problem) and isinstance(problem.model, FixedDirections):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs a network with FixedDirections"


def _cone(problem: Any) -> str | None:
    return nonsmooth(problem.model, problem.start)


def _power(problem: Any) -> str | None:
    named = type(problem).__name__
    return None if named == "PowerProblem" else f"found {named}, needs a PowerProblem(n, mu, beta0)"


def depth(least: int, most: int | None = None) -> Hypothesis:
    """Hypothesis on the depth D of a diagonal network."""
    words = f"depth D ≥ {least}" if most is None else f"depth D = {least}"

    def test(problem: Any) -> str | None:
        failure = _diagonal(problem)
        if failure is not None:
            return failure
        D = problem.model.depth
        return None if least <= D and (most is None or most >= D) else f"D = {D}, needs {words}"

    return Hypothesis("depth", words, on_problem(test), structural=True)


def start_scale(problem: Problem) -> float:
    """α of a uniform start."""
    return float(problem.start.plus[0])


def start_spread(problem: Problem) -> float:
    """How far the weights of a start are from its first one, relative to that one: rounding, for a
    uniform start."""
    weights = np.concatenate([np.ravel(leaf) for leaf in problem.start])
    return float(np.max(np.abs(weights / weights[0] - 1))) if weights[0] != 0 else float("inf")


DIAGONAL = Hypothesis("diagonal", "a diagonal network", on_problem(_diagonal), structural=True)
CONSISTENT = Hypothesis("consistent", "Xβ = y has a solution", on_problem(consistent_failure))
NONTRIVIAL = Hypothesis("nontrivial", "y ≠ 0", on_problem(_nontrivial))
UNIQUE = Hypothesis(
    "unique", "the minimum-ℓ1 interpolator and every plateau on the way are unique", _unique
)
FULL_RANK = Hypothesis("full rank", "X has rank n", on_problem(_full_rank))
SQUARE = Hypothesis("square", "the loss is a square loss", on_problem(_square))
MIRROR = Hypothesis(
    "mirror",
    "the flow is a mirror flow of a Legendre potential",
    on_problem(_mirror),
    structural=True,
)
UNIFORM = Hypothesis("uniform", "the start is α·1 (unbiased: F(w₀) = 0)", on_problem(_uniform))
REACHED = Hypothesis(
    "reached", "minimisers of F exist inside the domain of φ", on_problem(_reached)
)
HALF_LINES = Hypothesis(
    "half-lines",
    "some coordinates live on a half-line, so that the domain has a boundary",
    on_problem(_confined),
)
CONTINUOUS = Hypothesis(
    "continuous", "φ extends continuously to the boundary, and ∇φ is onto", on_problem(_onto)
)
FREE = Hypothesis("free", "the domain is R^d and ∇φ is onto", on_problem(_free))
HYPENTROPY = Hypothesis(
    "hypentropy",
    "the potential is a multiple of a hypentropy",
    on_problem(_hypentropy),
    structural=True,
)
POSITIVE = Hypothesis("positive", "inf r > 0", on_problem(_positive))
EUCLIDEAN = Hypothesis(
    "Euclidean", "φ is a multiple of ½‖·‖²", on_problem(_euclidean), structural=True
)
FIXED = Hypothesis(
    "fixed directions",
    "a two-layer network with fixed directions",
    on_problem(_fixed),
    structural=True,
)
CONE = Hypothesis("cone", "a_j² ≥ b_j² for every neuron (R/lemA2)", on_problem(_cone))
REPRESENTABLE = Hypothesis("floats", "r and 1/r are floats", on_problem(_representable))
FELT = Hypothesis("felt", "some direction is active on some input", on_problem(_felt))
POWER = Hypothesis(
    "power", "entropy with F = μx^{n+1}/(n(n+1)) on x > 0", on_problem(_power), structural=True
)
