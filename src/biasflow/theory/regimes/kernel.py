"""W, §3: the kernel regime, for any homogeneous model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BiasflowError, RefusedError
from ...flows import METHODS, gradient_flow
from ...inputs import Array
from ...limits import kernel_interpolator, limit, min_l2, tangent_interpolator, tangent_kernel, tangent_kernel_limit
from ...losses import SquareLoss
from ...models import DiagonalNetwork, TwoLayer, TwoLayerParams
from ...records import Dataset, Problem, leaf_map, leaves
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import SQUARE, UNIFORM, consistent_failure, start_scale
from ..verdicts import Check, Claim, Hypothesis, on_problem

UNITS = (30.0, 300.0)
"""Scales at which the approach to the kernel limit is measured for diagonal networks: α^D this many times its largest entry."""
ROUNDED = 1e-9
"""Relative distance at the first scale below which the second is rounding."""
EXPONENT_ERROR = 0.02
"""The next term is 1/30² of the leading one at the first scale."""
MOVEMENTS = (1e-2, 1e-5)
"""Relative movements ‖w − w₀‖/‖w₀‖ of the linearised network, which go like α^{−D}, at which other models are looked at. The
second is small, since a ReLU network has its limit's kernel only once no gate changes on the data."""
NEAR = 1e-3
"""Relative distance of the predictions at the second of them that counts as arrived."""
STRETCH = 3.0
PLACES = 20
"""Inputs beside the data at which predictors are compared."""
UNBIASED = 1e-12
"""f(w₀, x) relative to ‖w₀‖‖∇f(w₀, x)‖, which bounds it, below which a start is unbiased."""


def scaled(params: Any, factor: float) -> Any:
    return leaf_map(lambda leaf: factor * leaf, params)


def elsewhere(X: Array) -> Array:
    """Inputs that are no data: random combinations of those that are."""
    return np.random.default_rng(0).standard_normal((PLACES, len(X))) @ X / np.sqrt(len(X))


def size(params: Any) -> float:
    """‖w‖."""
    squares: list[float] = []
    leaf_map(lambda leaf: squares.append(float(np.sum(leaf**2))), params)
    return float(np.sqrt(sum(squares)))


def _sec3(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D = problem.model.homogeneity
    K = tangent_kernel(problem.model, problem.params0, problem.data.X)
    stretched = tangent_kernel(problem.model, scaled(problem.params0, STRETCH), problem.data.X)
    mismatch = float(np.max(np.abs(stretched / STRETCH ** (2 * (D - 1)) - K)) / np.max(np.abs(K)))
    checks = (Check("relative mismatch of K at scale α and α^{2(D−1)}K₀", mismatch, "<=", 1e-12),)
    uniform = isinstance(problem.model, DiagonalNetwork) and UNIFORM.test(evidence) is None
    return checks + (_diagonal(problem) if uniform else _by_flow(problem))


def _diagonal(problem: Problem) -> tuple[Check, ...]:
    """Diagonal networks from α·1, where the limit is known exactly at every scale."""
    model, D, kernel = problem.model, problem.model.depth, tangent_kernel_limit(problem.model, problem.data, problem.params0)
    top = float(np.max(np.abs(kernel.value)))
    scales = [(unit * top) ** (1 / D) for unit in UNITS]
    distances = [float(np.max(np.abs(limit(model, problem.data, scale=a).value - kernel.value))) for a in scales]
    apart = float(np.max(np.abs(min_l2(problem.data.X, problem.data.y).value - kernel.value))) / top
    alpha = start_scale(problem)
    k = tangent_kernel(model, problem.params0, problem.data.X) / alpha ** (2 * (D - 1))
    printed = float(np.max(np.abs(k / (2 * D**2) - problem.data.X @ problem.data.X.T)) / np.max(np.abs(k)))
    checks = [
        Check("relative distance from min ℓ2 to the least tangent-kernel norm", apart, "<=", 1e-9),
        Check("relative distance of K₀(x, x') from 2D²α^{2(D−1)}⟨x, x'⟩", printed, "<=", 1e-12),
    ]
    if distances[0] > ROUNDED * top:  # with as many samples as coordinates every interpolator is the same
        exponent = np.log(distances[1] / distances[0]) / np.log(scales[1] / scales[0])
        checks.append(Check("exponent of ‖β_α(∞) − β_K‖ in α, over −2D", exponent / (-2 * D), "==", 1.0, EXPONENT_ERROR))
    return tuple(checks)


def _by_flow(problem: Problem) -> tuple[Check, ...]:
    """Any model: the flow from larger and larger multiples of the start, compared at inputs that are no data."""
    model, ds, D = problem.model, problem.data, problem.model.homogeneity
    kernel = tangent_interpolator(model, problem.params0, ds.X, ds.y)
    places = elsewhere(ds.X)
    target = kernel.value(places)
    moved = kernel.objective / size(problem.params0)
    distances, errors = [], []
    for movement in MOVEMENTS:
        start = scaled(problem.params0, (moved / movement) ** (1 / D))
        flow = gradient_flow(model, ds, problem.loss, start)
        distances.append(float(np.max(np.abs(model(flow.final, places) - target)) / np.max(np.abs(target))))
        slopes = np.sqrt(np.max(np.diag(tangent_kernel(model, start, places))) * sum(map(np.size, leaves(start))))
        errors.append(float(flow.error[-1] * slopes / np.max(np.abs(target))) + ROUNDED)
    checks = [
        Check("relative distance of predictions from the kernel limit at ‖Δw‖/‖w₀‖ = 1e-5", distances[1], "<=", NEAR, errors[1])
    ]
    fall, span = distances[0] / max(distances[1], errors[1]), MOVEMENTS[0] / MOVEMENTS[1]
    if distances[0] > span * errors[1]:
        checks.append(Check("exponent of that distance in α, over −D, at least", float(np.log(fall) / np.log(span)), ">=", 1.0))
    return tuple(checks)


def _homogeneous(problem: Any) -> str | None:
    if not isinstance(problem, Problem):
        return f"found {type(problem).__name__}, needs a Problem with a homogeneous model"
    try:
        return None if problem.model.homogeneity > 0 else "the model is homogeneous of degree zero"
    except RefusedError as error:
        return str(error)


def _unbiased(problem: Problem) -> str | None:
    places = np.vstack([problem.data.X, elsewhere(problem.data.X)])
    values = np.abs(problem.model(problem.params0, places))
    bound = size(problem.params0) * np.sqrt(np.diag(tangent_kernel(problem.model, problem.params0, places)))
    worst = int(np.argmax(values - UNBIASED * bound))
    return (
        None if values[worst] <= UNBIASED * bound[worst] else f"f(w₀, x) = {values[worst]:.3g} at an input, needs zero everywhere"
    )


def _reachable(problem: Problem) -> str | None:
    """y in the range of the tangent kernel at the start."""
    try:
        problem.model.features(problem.data.X)
    except RefusedError:
        return _in_range(problem)
    return consistent_failure(problem) or _in_range(problem)


def _in_range(problem: Problem) -> str | None:
    try:
        kernel_interpolator(tangent_kernel(problem.model, problem.params0, problem.data.X), problem.data.y)
    except BiasflowError as error:
        return str(error)
    return None


def _nontrivial(problem: Problem) -> str | None:
    return None if np.any(problem.data.y) else "all labels are zero"


def _integrable(problem: Problem) -> str | None:
    refusals = [method.refuses(problem) for method in METHODS]
    return None if None in refusals else f"no flow fits: {refusals[0]}"


def _example(key: int) -> Problem:
    """Diagonal networks of depth 2 to 4; for every fourth key a two-layer ReLU network whose neurons come in opposite pairs."""
    if key % 4 != 3:
        return diagonal_problem(key, depth=2 + key % 3)
    rng = np.random.default_rng(key)
    X = rng.standard_normal((5, 6))
    half = TwoLayer(16, 6).init(0.5, key=key)
    start = TwoLayerParams(np.append(half.a, -half.a), np.vstack([half.W, half.W]))
    return Problem(TwoLayer(32, 6), Dataset(X, rng.standard_normal(5)), SquareLoss("sum"), start)


sec3 = Claim(
    "W/sec3",
    "The tangent kernel at scale α is α^{2(D−1)}K₀; from an unbiased start the limit of the flow tends to the interpolator of"
    " least tangent-kernel norm as α → ∞, at the rate α^{−D} or faster (for diagonal networks min ℓ2, at the rate α^{−2D}).",
    "W, Section 3",
    (
        Hypothesis("homogeneous", "a model that is D-homogeneous in its weights", on_problem(_homogeneous), structural=True),
        SQUARE,
        Hypothesis("unbiased", "the start is unbiased: F(w₀) = 0", on_problem(_unbiased)),
        Hypothesis("reachable", "y is in the range of the tangent kernel at the start", on_problem(_reachable)),
        Hypothesis("nontrivial", "y ≠ 0", on_problem(_nontrivial)),
        Hypothesis("flow", "the gradient flow can be integrated", on_problem(_integrable)),
    ),
    _example,
    _sec3,
)

CLAIMS = (sec3,)
