"""W, §6: matrix completion by gradient flow on UVᵀ, from the kernel to the rich regime.

An orthogonal matrix on the right of U and V leaves UVᵀ and its gradient flow as they are, so 2k
columns can be turned into as many as there are rows without changing the flow (`narrowed`). An
unbiased start α[U₀, −U₀], α[V₀, V₀] is then known by U₀U₀ᵀ and
V₀V₀ᵀ: Gaussian factors of k columns have k(1 + Δ) with ‖Δ‖ ~ k^{−1/2}, so the limit is that of the
identity start at α√k, up to a distance linear in Δ. This is the scaling that W leaves open (§8,
effect of width).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map
from ..._numerics.deadlines import RECORDED_S
from ...data import completion, observed_entries
from ...errors import BiasflowError, RefusedError
from ...flows import gradient_flow
from ...limits import tangent_kernel, tangent_kernel_limit
from ...losses import SquareLoss
from ...models import FactorParams, MatrixFactorisation
from ..evidence import Evidence
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .kernel import DIFFERENCE_STEP, departure, differenced_kernel

UNITS = (10.0, 100.0, 1000.0, 11_000.0)
"""Scales at which the approach to the kernel limit is measured, over three decades: WWᵀ of the
start over the largest label."""
SHARP, PLAIN = 1e-12, 1e-4
"""Tolerances of flows whose small differences count, and of those that only look for a scale."""
SEARCH, MIDDLE = 1e-6, 1e-9
"""Tolerances of raw flows between the regimes: of those that look for a scale, and of those whose
limits are compared."""
WIDTHS = (16, 50, 160, 500, 1600, 5000, 17_000)
"""Numbers of columns k at which Gaussian starts are looked at: three decades."""
NARROW, WIDE = 256, 65_536
"""Columns of the start whose Δ is scaled down, and of one whose transition is compared with the
identity's."""
DELTA_FACTORS = (1.0, 0.1, 0.01, 0.0009)
"""Factors on Δ."""
DRAWS = 32
"""Random starts over which sizes are averaged."""
SIGMAS = 5.0
"""Standard errors that a random quantity may be off."""
RICH_SCALE = 1e-6
"""WWᵀ of a start, in units of the largest label, that stands for α → 0."""
LOW, HIGH = (1e-3, 1e-4, 1e-5), 30.0
"""The same for the scales between which the transition is sought: the first of the low ones that is
below it."""
REGIMES_APART = 1e-2
"""Relative distance of the rich from the kernel limit above which there is a transition to look
for."""
ZERO_SHARE = 1e-12
"""Share of its terms below which UVᵀ is zero."""
TRANSITION_ACCURACY = 2e-3
"""Accuracy of the logarithm of a transition scale."""
RAW = "∇L followed in the factors"


def flow_limit(problem: Problem, params: FactorParams, rtol: float = PLAIN) -> tuple[Array, float]:
    """M(∞) of the library's flow from these factors, and its numerical error."""
    flow = gradient_flow(
        problem.model, problem.data, problem.loss, params, rtol=rtol, time_s=RECORDED_S
    )
    return problem.model.effective(flow.final), float(flow.predictor_error[-1])


def raw_flow(problem: Problem, factor: float, rtol: float, time_s: float) -> Trajectory:
    """The flow from a multiple of the start by raw gradients."""
    larger = dataclasses.replace(problem, start=scaled(problem.start, factor))
    return need(witness_flow(larger, rtol=rtol, time_s=time_s))


def raw_limit(problem: Problem, factor: float, rtol: float, time_s: float) -> tuple[Array, float]:
    """M(∞) of that flow, and its error."""
    run = raw_flow(problem, factor, rtol, time_s)
    return problem.model.effective(run.final), float(run.predictor_error[-1])


def scaled(params: FactorParams, factor: float) -> FactorParams:
    return leaf_map(lambda leaf: factor * leaf, params)


def narrowed(problem: Problem) -> Problem:
    """The same flow with as many columns as U and V have rows together."""
    U, V = problem.start
    rows = len(U) + len(V)
    if problem.model.rank <= rows:
        return problem
    W = np.asarray(np.linalg.qr(np.vstack([U, V]).T)[1]).T
    model = MatrixFactorisation(problem.model.shape, rows)
    return Problem(model, problem.data, problem.loss, FactorParams(W[: len(U)], W[len(U) :]))


def doubled(problem: Problem, first: Array, second: Array) -> Problem:
    """The unbiased start [U₀, −U₀], [V₀, V₀]."""
    start = FactorParams(np.hstack([first, -first]), np.hstack([second, second]))
    return Problem(
        MatrixFactorisation(problem.model.shape, 2 * first.shape[1]),
        problem.data,
        problem.loss,
        start,
    )


def started(problem: Problem, k: int | None = None, key: int = 0) -> Problem:
    """The same data with the identity start (k = None) or a Gaussian one of 2k columns, at scale
    one."""
    shape = problem.model.shape
    if k is None:
        model = MatrixFactorisation(shape, 2 * max(shape))
        return Problem(model, problem.data, problem.loss, model.init(1.0))
    model = MatrixFactorisation(shape, 2 * k)
    return Problem(model, problem.data, problem.loss, model.init(1.0, key=key, law="gaussian"))


def deviating(problem: Problem, share: float, key: int = 0) -> Problem:
    """U₀U₀ᵀ = 1 + share·Δ, with the Δ of a Gaussian start of `NARROW` columns; V₀ alike."""
    roots = []
    for leaf in started(problem, NARROW, key).start:
        half = leaf[:, NARROW:]
        values, vectors = np.linalg.eigh(
            np.eye(len(half)) + share * (half @ half.T / NARROW - np.eye(len(half)))
        )
        root = np.zeros((len(half), max(problem.model.shape)))
        root[:, : len(half)] = (vectors * np.sqrt(values)) @ vectors.T
        roots.append(root)
    return doubled(problem, *roots)


def rotated(problem: Problem) -> Problem:
    """U₀ and V₀ with orthonormal rows in random directions."""
    size, rng = sum(problem.model.shape), np.random.default_rng(0)
    first, second = (
        np.linalg.qr(rng.standard_normal((size, rows)))[0].T for rows in problem.model.shape
    )
    return doubled(problem, first, second)


def matched(problem: Problem, unit: float) -> float:
    """The factor that gives the start's WWᵀ a mean diagonal of `unit` times the largest label."""
    mean = np.mean(np.concatenate([np.sum(leaf * leaf, axis=1) for leaf in problem.start]))
    return float(np.sqrt(unit * np.max(np.abs(problem.data.y)) / mean))


def transition_scale(
    problem: Problem, rtol: float = PLAIN, end: Callable[..., tuple[Array, float]] = flow_limit
) -> float:
    """The factor on the start at which the limit is halfway, in distance, from the rich to the
    kernel one.

    end(problem, params, rtol): where the flow from these factors ends.
    """
    from scipy.optimize import brentq

    kernel = tangent_kernel_limit(problem.model, problem.data, problem.start).value
    rich = flow_limit(problem, scaled(problem.start, matched(problem, RICH_SCALE)))[0]
    apart = float(np.linalg.norm(rich - kernel))

    def beyond(log_factor: float) -> float:
        M = end(problem, scaled(problem.start, float(np.exp(log_factor))), rtol)[0]
        return float(np.linalg.norm(M - kernel)) / apart - 0.5

    high = np.log(matched(problem, HIGH))
    for unit in LOW:
        low = np.log(matched(problem, unit))
        if beyond(low) > 0:
            return float(np.exp(brentq(beyond, low, high, xtol=TRANSITION_ACCURACY)))
        high = low
    raise RefusedError(f"the transition lies below {LOW[-1]:g} of the largest label")


def kernel_spread(problem: Problem, k: int, key: int) -> float:
    """Root mean square of 2√k·K_nm/K̄ over pairs of entries in one row or column: one in the mean,
    for Gaussian starts."""
    start = narrowed(started(problem, k, key))
    K = tangent_kernel(start.model, start.start, np.eye(start.data.d))
    i, j = (index.ravel() for index in np.indices(start.model.shape))
    related = (i[:, None] == i) ^ (j[:, None] == j)
    return float(2 * np.sqrt(k) * np.sqrt(np.mean(K[related] ** 2)) / np.mean(np.diag(K)))


def printed_kernel(problem: Problem) -> Array:
    """⟨U[i,:], U[i',:]⟩·1(j = j') + ⟨V[j,:], V[j',:]⟩·1(i = i') for the observed entries, as W
    prints it."""
    U, V = problem.start
    i, j = np.divmod(np.argmax(problem.data.X, axis=1), problem.model.shape[1])
    return np.asarray(
        (U @ U.T)[np.ix_(i, i)] * (j[:, None] == j) + (V @ V.T)[np.ix_(j, j)] * (i[:, None] == i)
    )


def _printed(problem: Problem) -> Check:
    """That kernel, at a start whose rows share directions, against differences of the model's
    outputs."""
    start = narrowed(started(problem, 2 * sum(problem.model.shape), key=1))
    K, top = differenced_kernel(start, DIFFERENCE_STEP), printed_kernel(start)
    off = float(np.max(np.abs(K - top))) / float(np.max(np.abs(top)))
    name = (
        "a Gaussian start: largest distance of K from ⟨U_i, U_i'⟩1(j = j') + ⟨V_j, V_j'⟩1(i = "
        "i'), relative"
    )
    return Check(name, off, "==", 0.0, 1e-9, witness="differences of the model's outputs", size=1.0)


def _delta(problem: Problem) -> tuple[Check, ...]:
    """The tangent kernel is a delta kernel at the identity, and up to k^{−1/2} at Gaussian
    starts."""
    identity = started(problem)
    K = differenced_kernel(identity, DIFFERENCE_STEP)
    off = float(np.max(np.abs(K - K[0, 0] * np.eye(len(K))))) / K[0, 0]
    filled = np.zeros(problem.model.shape)
    i, j, values = observed_entries(problem.data, problem.model.shape)
    filled[i, j] = values
    kernel = tangent_kernel_limit(identity.model, identity.data, identity.start).value
    apart = float(np.max(np.abs(kernel - filled))) / float(np.max(np.abs(filled)))
    spreads = np.array(
        [[kernel_spread(problem, k, key) / np.sqrt(k) for key in range(DRAWS)] for k in WIDTHS]
    )
    mean = np.mean(spreads, axis=1)
    # the fit's scatter sees it too, at its confidence
    error = np.std(spreads, axis=1, ddof=1) / np.sqrt(DRAWS) / mean
    quantity = "Gaussian starts: exponent in k of K off the diagonal over K on it"
    return (
        _printed(problem),
        Check(
            "identity start: largest |K − K₁₁·δ|/K₁₁",
            off,
            "==",
            0.0,
            1e-9,
            witness="differences of the model's outputs",
        ),  # the model is bilinear: differences are exact up to rounding
        Check(
            "identity start: distance of the kernel limit from zeros on the unobserved entries",
            apart,
            "==",
            0.0,
            ZERO_SHARE,
            witness="the entries themselves",
        ),
        exponent_check(
            quantity, WIDTHS, mean, -0.5, error, witness=f"{DRAWS} fresh draws for each k", null=0.0
        ),
    )


def _large(problem: Problem, time_s: float) -> tuple[Check, ...]:
    """From large starts the limit tends to the one of least tangent-kernel norm: zeros elsewhere,
    for the identity."""
    checks = []
    for name, start in (("own start", narrowed(problem)), ("identity start", started(problem))):
        quantity = f"{name}: exponent in α² of the distance of M(∞) from the kernel limit"
        found = []
        for unit in UNITS:
            factor = matched(start, unit)
            run = raw_flow(start, factor, SHARP, time_s / 8)
            larger = dataclasses.replace(start, start=scaled(start.start, factor))
            found.append(departure(larger, run, np.eye(problem.data.d)))
        ends, errors = np.array([d.end for d in found]), np.array([d.end_error for d in found])
        seen = ends > 3 * errors
        if np.sum(seen) < 3:
            checks.append(unknown_check(quantity, "the distance is below the flow's error"))
            continue
        scales = np.array(UNITS)[seen]
        checks.append(
            exponent_check(
                quantity, scales, ends[seen], -2.0, (errors / ends)[seen], witness=RAW, null=0.0
            )
        )
    return tuple(checks)


def _width(problem: Problem, evidence: Evidence) -> tuple[Check, ...]:
    """Gaussian starts at α/√k end where the identity start at α does, up to the deviation of
    U₀U₀ᵀ/k from one."""
    identity = started(problem)

    def raw(start: Problem, params: FactorParams, rtol: float) -> tuple[Array, float]:
        return raw_limit(
            dataclasses.replace(start, start=params), 1.0, rtol, evidence.time_left / 8
        )

    transition = transition_scale(identity, SEARCH, raw)
    at_one, error = raw_limit(identity, transition, MIDDLE, evidence.time_left / 8)
    size = float(np.max(np.abs(at_one)))
    turned, turned_error = raw_limit(rotated(problem), transition, MIDDLE, evidence.time_left / 8)
    apart = float(np.max(np.abs(turned - at_one))) / size
    ends = [
        raw_limit(deviating(problem, share), transition, MIDDLE, evidence.time_left / 8)
        for share in DELTA_FACTORS
    ]
    away = np.array([float(np.linalg.norm(M - at_one)) / size for M, _ in ends])
    errors = np.array([(e + error) * np.sqrt(problem.data.d) / size for _, e in ends])
    wide = narrowed(started(problem, WIDE))
    ratio = np.sqrt(WIDE) * transition_scale(wide, SEARCH, raw) / transition
    drawn = SIGMAS * np.sqrt(2 / WIDE)  # U₀U₀ᵀ/k has the standard deviation √(2/k) on its diagonal
    return (
        Check(
            "relative distance of the limits from U₀U₀ᵀ = V₀V₀ᵀ = 1 in other directions and from "
            "the identity",
            apart,
            "==",
            0.0,
            2 * (error + turned_error) / size + 10 * MIDDLE,
            witness=RAW,
        ),
        exponent_check(
            "exponent in ‖U₀U₀ᵀ/k − 1‖ of the distance of M(∞) from the identity start's",
            DELTA_FACTORS,
            away,
            1.0,
            errors / away,
            witness=RAW,
            null=0.0,
        ),
        Check(
            f"√k·α at the transition, k = {WIDE}, over the identity start's",
            float(ratio),
            "==",
            1.0,
            float(drawn + 2 * TRANSITION_ACCURACY),
            witness=RAW,
            null=float(np.sqrt(WIDE)),
        ),
    )


def _sec6(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    return (
        *_delta(problem),
        *part("the limit from large starts", lambda: _large(problem, evidence.time_left)),
        *part("the limit and the transition for wide factors", lambda: _width(problem, evidence)),
    )


def _factorised(problem: Any) -> str | None:
    if isinstance(problem, Problem) and isinstance(problem.model, MatrixFactorisation):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs a MatrixFactorisation"


def _indicators(problem: Any) -> str | None:
    try:
        entries = observed_entries(problem.data, problem.model.shape)
    except BiasflowError as error:
        return str(error)
    if entries.values.size < problem.data.n:
        return "an entry is observed twice"
    return None if problem.data.n < problem.data.d else "every entry is observed"


def _unbiased(problem: Any) -> str | None:
    U, V = problem.start
    size = float(np.max(np.abs(U) @ np.abs(V).T))
    return (
        None
        if size > 0 and np.max(np.abs(U @ V.T)) <= ZERO_SHARE * size
        else "UVᵀ is not zero at the start"
    )


def _distinct(problem: Any) -> str | None:
    for start in (problem, started(problem)):
        try:
            kernel = tangent_kernel_limit(start.model, start.data, start.start).value
        except BiasflowError as error:
            return f"too few columns for the tangent kernel to fit: {error}"
    rich = flow_limit(start, scaled(start.start, matched(start, RICH_SCALE)))[0]
    apart = float(np.max(np.abs(rich - kernel)))
    return (
        None
        if apart > REGIMES_APART * float(np.max(np.abs(kernel)))
        else "small and large starts have the same limit"
    )


FACTORISED = Hypothesis(
    "factorised", "a matrix factorisation", on_problem(_factorised), structural=True
)
INDICATORS = Hypothesis(
    "completion",
    "the inputs are indicators of distinct entries, and some entry is not observed",
    on_problem(_indicators),
)
UNBIASED = Hypothesis("unbiased", "UVᵀ = 0 at the start", on_problem(_unbiased))
DISTINCT = Hypothesis(
    "distinct",
    "the tangent kernel can fit the entries, and small starts have another limit",
    on_problem(_distinct),
)


def completion_problem(key: int, shape: tuple[int, int] = (4, 4), observed: int = 9) -> Problem:
    """A rank-one completion problem; every other key has the identity start, the others a Gaussian
    one."""
    data = completion(shape, 1, observed, key=key)
    model = MatrixFactorisation(shape, 2 * max(shape) + 4 * (key % 2))
    start = model.init(0.1, key=key, law=("identity", "gaussian")[key % 2])
    return Problem(model, data, SquareLoss("sum"), start)


def _family(key: int) -> Problem:
    """Other shapes, from few entries to nearly all, and labels over four decades."""
    rng = np.random.default_rng((31, key))
    rows, columns = (int(size) for size in rng.integers(2, 6, 2))
    problem = completion_problem(key, (rows, columns), int(rng.integers(2, rows * columns)))
    data = dataclasses.replace(problem.data, y=problem.data.y * 10 ** rng.uniform(-2, 2))
    return dataclasses.replace(problem, data=data)


sec6 = Claim(
    "W/sec6",
    "In matrix completion the tangent kernel at the start is a delta kernel (identity start; "
    "Gaussian factors as k → ∞, at the rate k^{−1/2}), so a large α leaves unobserved entries "
    "unchanged, up to α^{−4}; the transition scale falls with k, for large k like k^{−1/2}.",
    "W, Section 6",
    (FACTORISED, SQUARE, CONSISTENT, INDICATORS, NONTRIVIAL, UNBIASED, DISTINCT),
    completion_problem,
    _sec6,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the factors; fresh draws",
    null="a start whose rows share a direction, or a scale that does not depend on k",
    family=_family,
)

CLAIMS = (sec6,)
