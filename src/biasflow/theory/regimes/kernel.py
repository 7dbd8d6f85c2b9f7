"""W, §3: the kernel regime, for any homogeneous model: its definition, K_{w(t)} ≈ K_{w(0)}, and
where the flow then goes.

From α·w₀ the weights move by a relative m ∝ α^{−D} to fit the labels. An unbiased start that pairs
every weight with its opposite, as all of W's do, has no first order in m: kernel and predictor then
follow the linearised model up to m², α^{−2D}.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map, leaves
from ...errors import BiasflowError, RefusedError
from ...flows import METHODS, gradient_flow
from ...limits import (
    kernel_interpolator,
    min_l2,
    tangent_interpolator,
    tangent_kernel,
    tangent_kernel_limit,
)
from ...losses import SquareLoss
from ...models import (
    DiagonalNetwork,
    MatrixFactorisation,
    PredictorModel,
    TwoLayer,
    TwoLayerParams,
    nonsmooth,
)
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import exponent_check, fitted_exponent
from ..hypotheses import SQUARE, UNIFORM, consistent_failure, start_scale
from ..unmeasured import part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .families import diagonal_family

MOVEMENTS = tuple(float(m) for m in np.geomspace(1e-1, 9e-5, 7))
"""Relative movements ‖w − w₀‖/‖w₀‖ of the linearised network, which go like α^{−D}: three
decades."""
GATED = tuple(float(m) for m in np.geomspace(1e-1, 1e-6, 21))
"""The same for networks with gates, whose kernel is the limit's only once no gate changes on the
data: those that change are left out."""
ROUNDED_GATES = tuple(float(m) for m in np.geomspace(1.2e-2, 1e-6, 9))
"""The same where kinks are rounded, and the flow does not tell when a gate changes."""
FLOW_RTOL = 1e-12
"""Tolerance of these flows, whose weights hardly move: squares of the least movement are still
seen."""
SEEN, LOOKED = 60, 6
"""Times along a flow at which its predictions are looked at, and every how many its kernel."""
PREDICTOR_ROUNDING = 1e-15
"""Relative rounding of a predictor, per unit of weight."""
CLEAR_OF_ERROR = 5.0
"""Times its error by which a distance must exceed it to be fitted."""
STRETCH = 3.0
PLACES, TRIED = 20, 400
"""Inputs beside the data at which predictors are compared, and from how many they are chosen."""
UNBIASED_BELOW = 1e-12
"""f(w₀, x) relative to ‖w₀‖‖∇f(w₀, x)‖, which bounds it, below which a start is unbiased."""
DIFFERENCE_STEP = 1e-5
"""Step of central differences, over the largest weight: truncation and rounding are both near
1e-10."""
DERIVED = ("dual", "factored")
"""Flows of the library that go through a reduction of the gradient flow; all others follow the
gradient."""


def scaled(params: Any, factor: float) -> Any:
    return leaf_map(lambda leaf: factor * leaf, params)


def elsewhere(X: Array, places: int = PLACES) -> Array:
    """Random inputs, coordinates as large as the data's: outside their span, where linear
    predictors may still differ."""
    return np.random.default_rng(0).standard_normal((places, X.shape[1])) * np.sqrt(
        np.mean(X**2, axis=0)
    )


def quiet_places(problem: Problem, flow: Trajectory) -> Array:
    """Those among random inputs at which f bends least when the weights move as this flow does: no
    gate changes there."""
    candidates, start = elsewhere(problem.data.X, TRIED), problem.start

    def moved(share: float) -> Array:
        parts = iter(leaves(flow.final))
        return np.asarray(
            problem.model(
                leaf_map(lambda leaf: leaf + share * (next(parts) - leaf), start), candidates
            )
        )

    shares = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    values = np.array([moved(float(share)) for share in shares])
    slope = shares @ values / (shares @ shares)
    bend = np.max(np.abs(values - np.mean(values, axis=0) - np.outer(shares, slope)), axis=0)
    return candidates[np.argsort(bend / np.maximum(np.abs(slope), np.finfo(float).tiny))[:PLACES]]


def size(params: Any) -> float:
    """‖w‖."""
    return float(np.sqrt(sum(float(np.sum(np.square(leaf))) for leaf in leaves(params))))


def differenced_kernel(problem: Problem, nudge: float) -> Array:
    """K₀ = Σ(∂f/∂w)(∂f/∂w)ᵀ by central differences of the model's outputs: a route without its
    derivatives."""
    start = problem.start
    shapes = [np.shape(leaf) for leaf in leaves(start)]
    flat = np.concatenate([np.ravel(leaf) for leaf in leaves(start)])
    step = nudge * float(np.max(np.abs(flat)))

    def outputs(weights: Array) -> Array:
        parts = iter(np.split(weights, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]))
        sized = iter(shapes)
        return np.asarray(
            problem.model(
                leaf_map(lambda leaf: next(parts).reshape(next(sized)), start), problem.data.X
            )
        )

    K = np.zeros((problem.data.n, problem.data.n))
    for k in range(flat.size):
        shift = np.zeros_like(flat)
        shift[k] = step
        slope = (outputs(flat + shift) - outputs(flat - shift)) / (2 * step)
        K += np.outer(slope, slope)
    return K


def _homogeneity(problem: Problem) -> Check:
    """K at 3w₀ from the model's derivatives against 3^{2(D−1)}K₀ from differences of its
    outputs."""
    K, other = (
        differenced_kernel(problem, nudge) for nudge in (DIFFERENCE_STEP, 2 * DIFFERENCE_STEP)
    )
    stretched = tangent_kernel(problem.model, scaled(problem.start, STRETCH), problem.data.X)
    top = float(np.max(np.abs(K)))
    mismatch = (
        float(np.max(np.abs(stretched / STRETCH ** (2 * (problem.model.homogeneity - 1)) - K)))
        / top
    )
    error = float(np.max(np.abs(K - other))) / top + 10 * np.finfo(float).eps / DIFFERENCE_STEP
    quantity = "relative mismatch of K at scale α and α^{2(D−1)}K₀"
    return Check(quantity, mismatch, "==", 0.0, error, witness="differences of the model's outputs")


@dataclasses.dataclass(frozen=True)
class Departure:
    """How far a flow is from the linearised model's: in its limit, along the way, and in its
    kernel; with the errors of each."""

    end: float
    along: float
    kernel: float
    end_error: float
    along_error: float
    kernel_error: float


def bias_term(problem: Problem, X: Array) -> Array:
    """f(w(0), ·), the affine model's bias."""
    return np.asarray(problem.model(problem.start, X))


def departure(problem: Problem, flow: Trajectory, places: Array) -> Departure:
    """Distances, each relative, of a flow from the affine model at its start, at the data and
    elsewhere.

    That is f₀ + (1 − e^{−2cKt})(y − f₀) with its bias term f₀ = f(w(0), ·), which is zero for an
    unbiased start.
    """
    model, start = problem.model, problem.start
    X, y = problem.data.X, problem.data.y
    bias, bias_elsewhere = (bias_term(problem, at) for at in (X, places))
    K, across = tangent_kernel(model, start, X), tangent_kernel(model, start, places, X)
    values, vectors = np.linalg.eigh(K)
    kept = values > len(y) * np.finfo(float).eps * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    target = bias_elsewhere + across @ inverse @ (y - bias)
    reach = max(float(np.max(np.abs(target))), float(np.max(np.abs(y))))
    final = flow.final
    left = model(final, X) - y  # what is not fitted yet is extrapolated by the kernel
    end = float(np.max(np.abs(model(final, places) - across @ inverse @ left - target))) / reach
    along, moved = 0.0, 0.0
    speed = 2 * problem.loss.factor(problem.data.n)
    for k, t in enumerate(_moments(values[kept], speed, float(flow.times[-1]))):
        state = flow.at(t)
        linear = bias + vectors @ (
            -np.expm1(-speed * np.maximum(values, 0.0) * t) * (vectors.T @ (y - bias))
        )
        along = max(along, float(np.max(np.abs(model(state, X) - linear))) / reach)
        if k % LOOKED == 0:
            moved = max(
                moved,
                float(np.max(np.abs(tangent_kernel(model, state, X) - K)))
                / float(np.max(np.abs(K))),
            )
    largest = max(float(np.max(np.abs(leaf))) for leaf in leaves(start))
    off = float(np.max(flow.error)) / largest
    slopes = float(np.sqrt(np.max(np.diag(tangent_kernel(model, start, np.vstack([X, places]))))))
    linear = isinstance(model, DiagonalNetwork | MatrixFactorisation)  # in its predictor
    gain = float(np.max(np.linalg.norm(np.vstack([X, places]), axis=1))) if linear else slopes
    wrong = flow.predictor_error if linear else flow.error
    outputs = gain * np.array([float(wrong[-1]), float(np.max(wrong))])  # at the end, on the way
    outputs = (outputs + PREDICTOR_ROUNDING * size(start) * slopes) / reach
    return Departure(
        end, along, moved, float(outputs[0]), float(outputs[1]), 4 * off + 10 * PREDICTOR_ROUNDING
    )


def _moments(rates: Array, speed: float, last: float) -> Array:
    """Times at which every mode of the linearised model is seen to decay."""
    low, high = 0.1 / (speed * float(rates[-1])), min(20 / (speed * float(rates[0])), last)
    return np.geomspace(min(low, high / 2), high, SEEN)


def follow(problem: Problem, time_s: float) -> tuple[Trajectory, str]:
    """The flow by raw gradients where it can be had, else the library's; and what it rests on:
    nothing if on a reduction."""
    if nonsmooth(problem.model, problem.start) is None:
        run = witness_flow(problem, time_s=time_s, rtol=FLOW_RTOL)
        if not isinstance(run, str):
            return run, "∇L followed in the weights"
    flow = gradient_flow(problem, rtol=FLOW_RTOL, time_s=time_s)
    method = str(flow.stats.get("method", ""))
    return (
        flow,
        "" if method in DERIVED else f"∇L followed by the flow of {method or 'the weights'}",
    )


def _regime(problem: Problem, paired: bool, time_s: float) -> tuple[Check, ...]:
    """Flows from larger and larger multiples of the start against the linearised model: limit, way
    and kernel."""
    kernel = tangent_interpolator(problem.model, problem.start, problem.data.X, problem.data.y)
    moved = kernel.objective / size(problem.start)
    gated = GATED if isinstance(problem.model, TwoLayer) else ROUNDED_GATES
    movements = MOVEMENTS if nonsmooth(problem.model, problem.start) is None else gated
    found: list[Departure] = []
    sources: list[str] = []
    scales: list[float] = []
    for movement in movements:
        start = scaled(problem.start, (moved / movement) ** (1 / problem.model.homogeneity))
        larger = dataclasses.replace(problem, start=start)
        flow, source = follow(larger, time_s / len(movements))
        if flow.events:  # a gate changed on the data: not there yet
            continue
        if not found:
            places = quiet_places(larger, flow)
        sources.append(source)
        scales.append(1 / movement)
        found.append(departure(larger, flow, places))
    source = sources[0] if sources and all(sources) else ""
    names = {
        "end": "distance of the limit from that of least tangent-kernel norm",
        "along": "largest distance from the linearised model's flow",
        "kernel": "largest change of the kernel, ‖K_{w(t)} − K_{w(0)}‖/‖K_{w(0)}‖",
    }
    return tuple(
        law_check(
            f"exponent in α^D of the {words}",
            np.array(scales),
            *departure_columns(found, name),
            paired,
            source,
        )
        for name, words in names.items()
    )


def departure_columns(found: list[Departure], name: str) -> tuple[Array, Array]:
    return np.array([getattr(d, name) for d in found]), np.array(
        [getattr(d, f"{name}_error") for d in found]
    )


def law_check(
    quantity: str, scales: Array, values: Array, errors: Array, paired: bool, source: str
) -> Check:
    """The exponent: −2 from α·1, at most −1 in general; where there is nothing to fit, that there
    is nothing."""
    # beyond the first that is not, all is noise
    seen = np.logical_and.accumulate(values > CLEAR_OF_ERROR * errors)
    if not len(values):
        return unknown_check(
            quantity, "a gate changes on the data at every scale that was looked at"
        )
    if not np.any(seen):  # with as many samples as directions every interpolator is the same
        words = quantity.replace("exponent in α^D of the ", "") + ", at every scale"
        return Check(
            words,
            float(np.max(values)),
            "==",
            0.0,
            float(CLEAR_OF_ERROR * np.max(errors)),
            witness=source,
        )
    if np.sum(seen) < 3:
        return unknown_check(
            quantity, "the distance is below the flow's error at all but the first scales"
        )
    x, y, error = scales[seen], values[seen], (errors / values)[seen]
    # the distance from any other limit does not fall
    notes: dict[str, Any] = {"witness": source, "null": 0.0}
    if paired:
        return exponent_check(quantity, x, y, -2.0, error, **notes)
    slope, spread, decades = fitted_exponent(x, y, error)
    return Check(quantity, slope, "<=", -1.0, spread, decades=decades, **notes)


def _uniform(problem: Problem) -> tuple[Check, ...]:
    """Diagonal networks from α·1: the kernel is 2D²α^{2(D−1)}⟨x, x'⟩, and its limit min ℓ2."""
    D, alpha = problem.model.depth, start_scale(problem)
    kernel = tangent_kernel_limit(problem.model, problem.data, problem.start).value
    apart = float(np.max(np.abs(min_l2(problem.data.X, problem.data.y).value - kernel))) / float(
        np.max(np.abs(kernel))
    )
    k, other = (
        differenced_kernel(problem, nudge) / alpha ** (2 * (D - 1))
        for nudge in (DIFFERENCE_STEP, 2 * DIFFERENCE_STEP)
    )
    top = float(np.max(np.abs(k)))
    printed = float(np.max(np.abs(k - 2 * D**2 * problem.data.X @ problem.data.X.T))) / top
    error = float(np.max(np.abs(k - other))) / top + 10 * np.finfo(float).eps / DIFFERENCE_STEP
    spread = np.linalg.svd(problem.data.X, compute_uv=False)
    rank = spread > len(spread) * np.finfo(float).eps * spread[0]
    condition = float(spread[0] / spread[rank][-1]) ** 2
    return (
        Check(
            "relative distance from min ℓ2 to the least tangent-kernel norm",
            apart,
            "==",
            0.0,
            1e-13 * condition,
            witness="min ℓ2",
        ),
        Check(
            "relative distance of K₀(x, x') from 2D²α^{2(D−1)}⟨x, x'⟩",
            printed,
            "==",
            0.0,
            error,
            witness="differences of the model's outputs",
        ),
    )


def _sec3(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    uniform = isinstance(problem.model, DiagonalNetwork) and UNIFORM.test(evidence) is None
    static = (_homogeneity(problem), *(_uniform(problem) if uniform else ()))
    flows = part("flows from larger starts", lambda: _regime(problem, uniform, evidence.time_left))
    return static + flows


def _homogeneous(problem: Any) -> str | None:
    if not isinstance(problem, Problem):
        return f"found {type(problem).__name__}, needs a Problem with a homogeneous model"
    try:
        return None if problem.model.homogeneity > 0 else "the model is homogeneous of degree zero"
    except RefusedError as error:
        return str(error)


def _unbiased(problem: Problem) -> str | None:
    places = np.vstack([problem.data.X, elsewhere(problem.data.X)])
    values = np.abs(problem.model(problem.start, places))
    bound = size(problem.start) * np.sqrt(
        np.diag(tangent_kernel(problem.model, problem.start, places))
    )
    worst = int(np.argmax(values - UNBIASED_BELOW * bound))
    return (
        None
        if values[worst] <= UNBIASED_BELOW * bound[worst]
        else f"f(w₀, x) = {values[worst]:.3g} at an input, needs zero everywhere"
    )


def _reachable(problem: Problem) -> str | None:
    """y in the range of the tangent kernel at the start."""
    linear = isinstance(problem.model, PredictorModel)
    return (consistent_failure(problem) if linear else None) or _in_range(problem)


def _in_range(problem: Problem) -> str | None:
    try:
        kernel_interpolator(
            tangent_kernel(problem.model, problem.start, problem.data.X), problem.data.y
        )
    except BiasflowError as error:
        return str(error)
    return None


def _nontrivial(problem: Problem) -> str | None:
    return None if np.any(problem.data.y) else "all labels are zero"


def _integrable(problem: Problem) -> str | None:
    refusals = [method.refuses(problem) for method in METHODS]
    return None if None in refusals else f"no flow fits: {refusals[0]}"


def _example(key: int) -> Problem:
    """Diagonal networks of depth 2 to 4; for every fourth key a two-layer ReLU network."""
    return paired_neurons(key) if key % 4 == 3 else diagonal_problem(key, depth=2 + key % 3)


def paired_neurons(key: int) -> Problem:
    """A two-layer ReLU network whose neurons come in opposite pairs."""
    rng = np.random.default_rng(key)
    X = rng.standard_normal((5, 6))
    half = TwoLayer(16, 6).init(0.5, key=key)
    start = TwoLayerParams(np.append(half.a, -half.a), np.vstack([half.W, half.W]))
    return Problem(TwoLayer(32, 6), Dataset(X, rng.standard_normal(5)), SquareLoss("sum"), start)


HOMOGENEOUS = Hypothesis(
    "homogeneous",
    "a model that is D-homogeneous in its weights",
    on_problem(_homogeneous),
    structural=True,
)
LABELLED = Hypothesis("nontrivial", "y ≠ 0", on_problem(_nontrivial))

sec3 = Claim(
    "W/sec3",
    "The tangent kernel at scale α is α^{2(D−1)}K₀; from an unbiased start the limit of the flow "
    "tends to the interpolator of least tangent-kernel norm as α → ∞, and flow and kernel to those "
    "of the linearised model, at the rate α^{−D} or faster (for diagonal networks from α·1 to min "
    "ℓ2, at the rate α^{−2D}).",
    "W, Section 3",
    (
        HOMOGENEOUS,
        SQUARE,
        Hypothesis("unbiased", "the start is unbiased: F(w₀) = 0", on_problem(_unbiased)),
        Hypothesis(
            "reachable",
            "y is in the range of the tangent kernel at the start",
            on_problem(_reachable),
        ),
        LABELLED,
        Hypothesis("flow", "the gradient flow can be integrated", on_problem(_integrable)),
    ),
    _example,
    _sec3,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights; differences of the model's outputs",
    null="any other interpolator, from which the distance does not fall",
    family=lambda key: diagonal_family(key, 2 + key % 3),
)

CLAIMS = (sec3,)
