"""W, §6: matrix completion by gradient flow on UVᵀ, from the kernel to the rich regime.

The flow sees a start through its WWᵀ alone, W = [U; V] (`flows/factored.py`). An unbiased start α[U₀, −U₀], α[V₀, V₀] has the
blocks 2α²U₀U₀ᵀ and 2α²V₀V₀ᵀ and zeros between them: Gaussian factors of k columns tend to 2kα² times the identity as k grows, so
the limit is that of the identity start at α√k, up to k^{−1/2}. This is the scaling that W leaves open (§8, effect of width).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data import completion, observed_entries
from ...errors import BiasflowError
from ...flows import gradient_flow
from ...inputs import Array
from ...limits import min_frobenius_norm, tangent_kernel, tangent_kernel_limit
from ...losses import SquareLoss
from ...models import FactorParams, MatrixFactorisation
from ...records import Problem, leaf_map
from ..evidence import Evidence
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..verdicts import Check, Claim, Hypothesis, on_problem

UNITS = (30.0, 300.0)
"""Scales at which the approach to the kernel limit is measured: the start's WWᵀ this many times the largest label."""
SHARP, PLAIN = 1e-10, 1e-4
"""Tolerances of flows whose small differences count, and of the others."""
EXPONENT_ERROR = 0.05
"""The next term of the expansion in α⁻⁴, at the first scale, for labels that differ in size."""
KNOWN = 1e-8
"""Relative distance between limits that is far above what a loss of 1e-20 of its start leaves open."""
WIDTHS = (64, 1024)
"""Numbers of columns k at which Gaussian starts are compared."""
NARROW, WIDE = 32, 8192
"""The same for the transition scale, whose search takes several flows."""
DRAWS = 8
"""Random starts over which errors are averaged."""
SIGMAS = 5.0
"""Standard errors that a random quantity may be off."""
RICH = 1e-6
"""WWᵀ of a start, in units of the largest label, that stands for α → 0 where the transition is sought."""
APART = 1e-2
"""Relative distance of the rich from the kernel limit above which there is a transition to look for."""
ROUNDED = 1e-12
"""Share of its terms below which UVᵀ is zero."""
HALFWAY = 0.05
"""Accuracy of the logarithm of a transition scale."""


def flow_limit(problem: Problem, params: FactorParams, rtol: float = PLAIN) -> tuple[Array, float]:
    """M(∞) of the flow from these factors, and its numerical error."""
    flow = gradient_flow(problem.model, problem.data, problem.loss, params, rtol=rtol)
    return problem.model.effective(flow.final), float(flow.error[-1])


def scaled(params: FactorParams, factor: float) -> FactorParams:
    return leaf_map(lambda leaf: factor * leaf, params)


def started(problem: Problem, k: int | None = None, key: int = 0) -> Problem:
    """The same data with the identity start (k = None) or a Gaussian one of 2k columns, at scale one."""
    shape = problem.model.shape
    if k is None:
        model = MatrixFactorisation(shape, 2 * max(shape))
        return Problem(model, problem.data, problem.loss, model.init(1.0))
    model = MatrixFactorisation(shape, 2 * k)
    return Problem(model, problem.data, problem.loss, model.init(1.0, key=key, start="gaussian"))


def rotated(identity: Problem, k: int) -> Problem:
    """U₀ and V₀ with orthogonal rows of length √k in random directions."""
    shape = identity.model.shape
    k = max(k, *shape)
    rng = np.random.default_rng(0)
    first, second = (np.sqrt(k) * np.linalg.qr(rng.standard_normal((k, size)))[0].T for size in shape)
    start = FactorParams(np.hstack([first, -first]), np.hstack([second, second]))
    return Problem(MatrixFactorisation(shape, 2 * k), identity.data, identity.loss, start)


def matched(problem: Problem, unit: float) -> float:
    """The factor that gives the start's WWᵀ a mean diagonal of `unit` times the largest label."""
    mean = np.mean(np.concatenate([np.sum(leaf * leaf, axis=1) for leaf in problem.params0]))
    return float(np.sqrt(unit * np.max(np.abs(problem.data.y)) / mean))


def transition_scale(problem: Problem, rtol: float = PLAIN) -> float:
    """The factor on the start at which the limit is halfway, in distance, from the rich to the kernel one."""
    from scipy.optimize import brentq

    kernel = tangent_kernel_limit(problem.model, problem.data, problem.params0).value
    rich = flow_limit(problem, scaled(problem.params0, matched(problem, RICH)), rtol)[0]
    apart = float(np.linalg.norm(rich - kernel))

    def beyond(log_factor: float) -> float:
        M = flow_limit(problem, scaled(problem.params0, float(np.exp(log_factor))), rtol)[0]
        return float(np.linalg.norm(M - kernel)) / apart - 0.5

    low, high = np.log(matched(problem, RICH)), np.log(matched(problem, UNITS[0]))
    return float(np.exp(brentq(beyond, low, high, xtol=HALFWAY)))


def kernel_spread(problem: Problem, k: int, key: int) -> float:
    """Root mean square of 2√k·K_nm/K̄ over pairs of observations in one row or column: one in the mean, for Gaussian starts."""
    start = started(problem, k, key)
    K = tangent_kernel(start.model, start.params0, start.data.X)
    i, j, _ = observed_entries(start.data, start.model.shape)
    related = (i[:, None] == i) ^ (j[:, None] == j)
    return float(2 * np.sqrt(k) * np.sqrt(np.mean(K[related] ** 2)) / np.mean(np.diag(K)))


def _delta(problem: Problem) -> tuple[Check, ...]:
    """The tangent kernel is a delta kernel at the identity, and up to k^{−1/2} at Gaussian starts."""
    identity = started(problem)
    K = tangent_kernel(identity.model, identity.params0, identity.data.X)
    off = float(np.max(np.abs(K - K[0, 0] * np.eye(len(K))))) / K[0, 0]
    filled = min_frobenius_norm(problem.model.shape, *observed_entries(problem.data, problem.model.shape)).value
    kernel = tangent_kernel_limit(identity.model, identity.data, identity.params0).value
    apart = float(np.max(np.abs(kernel - filled)))
    spreads = np.array([[kernel_spread(problem, k, key) for key in range(DRAWS)] for k in WIDTHS])
    exponent, error = _exponent(spreads / np.sqrt(WIDTHS)[:, None], WIDTHS)
    return (
        Check("identity start: largest |K − K₁₁·δ|/K₁₁", off, "<=", 1e-13),
        Check("identity start: distance of the kernel limit from zeros on the unobserved entries", apart, "<=", 1e-12),
        Check("Gaussian starts: exponent in k of K off the diagonal over K on it", exponent, "==", -0.5, error),
    )


def _large(problem: Problem) -> tuple[Check, ...]:
    """From large starts the limit tends to the one of least tangent-kernel norm: zeros elsewhere, for the identity."""
    checks = []
    for name, start in (("own start", problem), ("identity start", started(problem))):
        kernel = tangent_kernel_limit(start.model, start.data, start.params0).value
        ends = [flow_limit(start, scaled(start.params0, matched(start, unit)), SHARP) for unit in UNITS]
        distances = [float(np.max(np.abs(M - kernel))) for M, _ in ends]
        if distances[1] > KNOWN * float(np.max(np.abs(kernel))):
            exponent = np.log(distances[1] / distances[0]) / np.log(UNITS[1] / UNITS[0]) * 2
            checks.append(Check(f"{name}: exponent in α of ‖M(∞) − M_K‖, over −4", exponent / -4, "==", 1.0, EXPONENT_ERROR))
    hidden = np.ones(problem.data.d, dtype=bool)
    hidden[np.argmax(problem.data.X, axis=1)] = False
    changed = float(np.max(np.abs(ends[1][0].ravel()[hidden]), initial=0.0)) / float(np.max(np.abs(problem.data.y)))
    return (*checks, Check("identity start: largest change of an unobserved entry over the largest label", changed, "<=", 1e-3))


def _width(problem: Problem) -> tuple[Check, ...]:
    """Gaussian starts at α/√k end where the identity start at α does, up to k^{−1/2}; so the transition scale falls."""
    identity = started(problem)
    transition = transition_scale(identity)
    at_one, error = flow_limit(identity, scaled(identity.params0, transition))
    away = np.empty((len(WIDTHS), DRAWS))
    for row, k in enumerate(WIDTHS):
        for key in range(DRAWS):
            start = started(problem, k, key)
            M = flow_limit(start, scaled(start.params0, transition / np.sqrt(k)))[0]
            away[row, key] = max(float(np.linalg.norm(M - at_one)), error)
    exponent, spread = _exponent(away, WIDTHS)
    turned = rotated(identity, NARROW)
    same, same_error = flow_limit(turned, scaled(turned.params0, transition / np.sqrt(turned.model.rank / 2)))
    apart = float(np.max(np.abs(same - at_one)))
    narrow, wide = (transition_scale(started(problem, k)) for k in (NARROW, WIDE))
    drawn = SIGMAS * np.sqrt(2 / WIDE)  # U₀U₀ᵀ/k has the standard deviation √(2/k) on its diagonal
    return (
        Check(
            "distance of the limits from U₀U₀ᵀ = V₀V₀ᵀ = k·1 at α/√k and from the identity at α", apart, "<=", error + same_error
        ),
        Check("exponent in k of ‖M(∞) from α/√k, Gaussian − M(∞) from α, identity‖", exponent, "==", -0.5, spread),
        Check(f"transition scale at k = {WIDE} over that at k = {NARROW}", float(wide / narrow), "<=", 1.0, 2 * HALFWAY),
        Check(
            f"√k·α at the transition, k = {WIDE}, over the identity start's",
            float(np.sqrt(WIDE) * wide / transition),
            "==",
            1.0,
            float(drawn + 2 * HALFWAY),
        ),
    )


def _exponent(samples: Array, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Slope of the mean logarithm between two sizes, and its statistical error."""
    logs, span = np.log(samples), np.log(sizes[1] / sizes[0])
    error = SIGMAS * np.sqrt(np.sum(np.var(logs, axis=1, ddof=1)) / logs.shape[1]) / span
    return float((np.mean(logs[1]) - np.mean(logs[0])) / span), float(error)


def _sec6(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    return (*_delta(problem), *_large(problem), *_width(problem))


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
    U, V = problem.params0
    size = float(np.max(np.abs(U) @ np.abs(V).T))
    return None if size > 0 and np.max(np.abs(U @ V.T)) <= ROUNDED * size else "UVᵀ is not zero at the start"


def _distinct(problem: Any) -> str | None:
    for start in (problem, started(problem)):
        try:
            kernel = tangent_kernel_limit(start.model, start.data, start.params0).value
        except BiasflowError as error:
            return f"too few columns for the tangent kernel to fit: {error}"
    rich = flow_limit(start, scaled(start.params0, matched(start, RICH)))[0]
    apart = float(np.max(np.abs(rich - kernel)))
    return None if apart > APART * float(np.max(np.abs(kernel))) else "small and large starts have the same limit"


FACTORISED = Hypothesis("factorised", "a matrix factorisation", on_problem(_factorised), structural=True)
INDICATORS = Hypothesis(
    "completion", "the inputs are indicators of distinct entries, and some entry is not observed", on_problem(_indicators)
)
UNBIASED = Hypothesis("unbiased", "UVᵀ = 0 at the start", on_problem(_unbiased))
DISTINCT = Hypothesis(
    "distinct", "the tangent kernel can fit the entries, and small starts have another limit", on_problem(_distinct)
)


def completion_problem(key: int, shape: tuple[int, int] = (5, 5), observed: int = 15) -> Problem:
    """A rank-one completion problem; every other key has the identity start, the others a Gaussian one."""
    data = completion(shape, 1, observed, key=key)
    model = MatrixFactorisation(shape, 2 * max(shape) + 4 * (key % 2))
    start = model.init(0.1, key=key, start=("identity", "gaussian")[key % 2])
    return Problem(model, data, SquareLoss("sum"), start)


sec6 = Claim(
    "W/sec6",
    "In matrix completion the tangent kernel at the start is a delta kernel (identity start; Gaussian factors as k → ∞, at the"
    " rate k^{−1/2}), so a large α leaves unobserved entries unchanged, up to α^{−4}; the transition scale falls with k, for"
    " large k like k^{−1/2}.",
    "W, Section 6",
    (FACTORISED, SQUARE, CONSISTENT, INDICATORS, NONTRIVIAL, UNBIASED, DISTINCT),
    completion_problem,
    _sec6,
)

CLAIMS = (sec6,)
