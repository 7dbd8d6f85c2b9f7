"""B, eq. (8) and App. C: interpolators of least norm, by certificates that need no solver to be
believed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Limit
from ...limits import kkt_point, min_norm_interpolator, variation_norm
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .course import Course
from .limit_networks import of_least_norm
from .reference_networks import (
    directions,
    kernel_interpolator,
    largest_response,
    least_mass,
)
from .relu_examples import ordinary_family, ordinary_problem, planar_family, planar_problem
from .relu_hypotheses import (
    ALIVE,
    ANY_LENGTHS,
    FITS,
    LABELLED,
    MODERATE,
    NETWORK,
    ORTHOGONAL,
    SMALL_START,
)
from .relu_setting import Setting, squared_norm
from .three_phases import GRADIENT

SOLVER_ERROR = 1e-8
"""Relative error of a solver that stops at a gap of 1e-9."""
PROGRAM_ERROR = 1e-7
"""Relative error of a linear program, HiGHS's tolerance."""
SUM_ERROR = 1e-12
"""Relative error of sums of a few terms."""
GENERATION_ERROR = 1e-6
"""Relative error of column generation with a sample given twice."""
MOST_INPUTS_LISTED = 16
"""Inputs up to which all activation patterns are listed."""
ASCENT_ERROR = 1e-6
"""By how much an ascent may miss the largest response, relatively."""


def _least(evidence: Evidence) -> Limit[TwoLayerParams]:
    """The interpolator of least norm: what the solver finds."""
    data = evidence.network.data
    return need(min_norm_interpolator(data.X, data.y, time_s=evidence.time_left / 4), SOLVER_ERROR)


def misfit(params: TwoLayerParams, data: Dataset) -> float:
    """max|h(x_k) − y_k|/max|y|, summed over neurons."""
    outputs = np.maximum(data.X @ params.W.T, 0.0) @ params.a
    return float(np.max(np.abs(outputs - data.y)) / np.max(np.abs(data.y)))


def _prop1(evidence: Evidence) -> tuple[Check, ...]:
    """Weak duality by hand: neurons along D_± reach the value, λ_k = y_k/(n‖D_±‖) bounds it; column
    generation; who is tight."""
    s = Setting(evidence.network)
    data, two, multipliers = s.problem.data, two_neurons(s), s.multipliers
    summed, ascent = "h and ‖θ‖² summed over neurons", "ascent from many directions"
    dual = 2 * float(s.y @ multipliers) / s.least_norm
    response = largest_response(s.X, multipliers)
    checks = [
        Check(
            "‖θ‖² of neurons along D_+ and −D_− over 2n(‖D_+‖ + ‖D_−‖)",
            squared_norm(two) / s.least_norm,
            "==",
            1.0,
            SUM_ERROR,
            witness=summed,
        ),
        Check(
            "their largest |h(x_k) − y_k| over max|y|",
            misfit(two, data),
            "==",
            0.0,
            SUM_ERROR * s.n,
            witness=summed,
        ),
        Check(
            "2⟨y, λ⟩ over the same, λ_k = y_k/(n‖D_±‖)",
            dual,
            "==",
            1.0,
            SUM_ERROR,
            witness="⟨y, λ⟩ summed",
        ),
        Check(
            "largest |Σλ_k(⟨u, x_k⟩)_+|: λ is feasible",
            response,
            "==",
            1.0,
            ASCENT_ERROR,
            witness=ascent,
        ),
        _only_these(s, multipliers),
    ]
    columns = "least ‖θ‖² by columns, a sample given twice, over the same"
    return (
        *checks,
        *part("least ‖θ‖² by the solver", lambda: _by_the_solver(evidence, s)),
        *part(columns, lambda: _by_columns(columns, evidence, s)),
    )


def _by_the_solver(evidence: Evidence, s: Setting) -> tuple[Check, ...]:
    found, summed = _least(evidence), "h and ‖θ‖² summed over neurons"
    return (
        Check(
            "least ‖θ‖² by the solver over the same",
            squared_norm(found.value) / s.least_norm,
            "==",
            1.0,
            SOLVER_ERROR,
            witness=summed,
        ),
        Check(
            "its largest |h(x_k) − y_k| over max|y|",
            misfit(found.value, s.problem.data),
            "==",
            0.0,
            SOLVER_ERROR,
            witness=summed,
        ),
    )


def _by_columns(quantity: str, evidence: Evidence, s: Setting) -> Check:
    """A sample given twice keeps the solver from the closed form."""
    twice = need(
        min_norm_interpolator(
            np.vstack([s.X, s.X[:1]]), np.append(s.y, s.y[0]), time_s=evidence.time_left / 4
        ),
        GENERATION_ERROR,
    )
    return Check(
        quantity,
        twice.objective / s.least_norm,
        "==",
        1.0,
        GENERATION_ERROR,
        witness="column generation",
        null=_excess(kernel_interpolator(s.problem), s.least_norm),
    )


def _excess(network: TwoLayerParams | None, least: float) -> float | None:
    """‖θ‖² of a network over the least, if there is one."""
    return None if network is None else squared_norm(network) / least


def _only_these(s: Setting, multipliers: Array) -> Check:
    """Uniqueness: a minimiser lives on directions where the dual is tight, and only D_+ and −D_−
    are.

    On the cone of a pattern A the response is at most ‖Σ_A λ_kx_k‖, reached at one direction only.
    It is one for all labels of a sign and no other pattern of that sign; inputs of the other sign
    only lower the response.
    """
    quantity = "largest response of any other pattern of active inputs"
    if s.n > MOST_INPUTS_LISTED:
        return unknown_check(quantity, f"n = {s.n} inputs have too many patterns to list")
    best = 0.0
    for pattern in product((False, True), repeat=s.n):
        active = np.array(pattern)
        for sign in (1.0, -1.0):
            own = sign * s.y > 0
            if not np.array_equal(active & own, own):
                best = max(best, float(np.linalg.norm((multipliers * (active & own)) @ s.X)))
    return Check(quantity, best, "<=", 1.0, SUM_ERROR, witness="all patterns listed")


def two_neurons(s: Setting) -> TwoLayerParams:
    """One neuron along D_+ and one along −D_−, of squared norms n‖D_±‖; for inputs of other lengths
    along V_±, of ‖V_±‖."""
    sizes = [np.sqrt(cluster.capacity) for cluster in s.clusters]
    return TwoLayerParams(
        np.array([cluster.sign * size for cluster, size in zip(s.clusters, sizes, strict=True)]),
        np.array([cluster.target * size for cluster, size in zip(s.clusters, sizes, strict=True)]),
    )


def _eq8(evidence: Evidence) -> tuple[Check, ...]:
    """Least ½‖θ‖² against least mass, and norms of other networks."""
    return (
        *part("least ½‖θ‖² of an interpolator", lambda: _least_mass(evidence)),
        *_norms(evidence.network),
    )


def _least_mass(evidence: Evidence) -> tuple[Check, ...]:
    """By a linear program over directions, and by weak duality."""
    p, found = evidence.network, _least(evidence)
    X, y, half = p.data.X, p.data.y, squared_norm(found.value) / 2
    summed = "h and ‖θ‖² summed over neurons"
    checks = [
        Check(
            "largest |h(x_k) − y_k| of the minimiser over max|y|",
            misfit(found.value, p.data),
            "==",
            0.0,
            SOLVER_ERROR,
            witness=summed,
        )
    ]
    if half == 0:
        return (
            *checks,
            unknown_check(
                "least mass over the least ½‖θ‖²", "the network that was handed in is zero"
            ),
        )
    checks.append(_dual(p.data, found, half))
    units, excess = directions(X)
    lengths = np.linalg.norm(found.value.W, axis=1)
    own = found.value.W[lengths > 0] / lengths[lengths > 0, None]
    program = least_mass(X, y, units if np.isfinite(excess) else np.vstack([units, own]))
    quantity = "least Σ|c_j| over a grid of directions, over the least ½‖θ‖²"
    lazy = kernel_interpolator(p)
    mass = None if lazy is None else variation_norm(lazy) / half
    if program is None:
        checks.append(unknown_check(quantity, "the linear program finds no measure that fits"))
    elif np.isfinite(excess):
        size = program[0] / half
        checks.append(
            Check(
                quantity,
                size,
                "==",
                1.0,
                excess + PROGRAM_ERROR + SOLVER_ERROR,
                witness="a linear program over the circle",
                null=mass,
            )
        )
    else:
        error = PROGRAM_ERROR + SOLVER_ERROR
        witness = f"a linear program over {len(units)} random directions and the minimiser's own"
        checks.append(
            Check(quantity, program[0] / half, ">=", 1.0 - 2 * error, error, witness=witness)
        )
    checks.append(_own_norm(found.value, half))
    checks += _stronger(p.data, found.value, half)
    quantity = "variation norm of an interpolator from kernels over the least ½‖θ‖²"
    if mass is None:
        return (*checks, unknown_check(quantity, "random features find none"))
    least = 1 - 2 * SOLVER_ERROR  # on a line all interpolators have one norm
    witness = "an interpolator found without the norm"
    return (*checks, Check(quantity, mass, ">=", least, SOLVER_ERROR, witness=witness))


def _dual(data: Dataset, found: Limit[TwoLayerParams], half: float) -> Check:
    """⟨y, λ⟩ over the largest response of λ bounds every mass from below."""
    quantity = "⟨y, λ⟩/max|Σλ_k(⟨u, x_k⟩)_+| over the least ½‖θ‖²"
    multipliers = found.stats.get("multipliers")
    if multipliers is None:
        return unknown_check(quantity, "the limit that was handed in has no multipliers")
    response = largest_response(data.X, np.asarray(multipliers), found.value.W)
    value = float(data.y @ np.asarray(multipliers)) / response / half if response > 0 else 0.0
    return Check(quantity, value, "==", 1.0, ASCENT_ERROR, witness="ascent from many directions")


def _own_norm(params: TwoLayerParams, half: float) -> Check:
    return Check(
        "variation norm of the minimiser over ½‖θ‖²",
        variation_norm(params) / half,
        "==",
        1.0,
        1e-6,
        witness="masses on lines",
    )


def _stronger(data: Dataset, params: TwoLayerParams, half: float) -> list[Check]:
    """Least ‖θ‖² says more than least variation norm: the same function with a doubled and w halved
    has 17/8 of the former."""
    other = TwoLayerParams(2 * params.a, params.W / 2)
    notes: dict[str, Any] = {"witness": "h and ‖θ‖² summed over neurons"}
    masses = [
        float(np.sum(np.abs(each.a) * np.linalg.norm(each.W, axis=1))) for each in (other, params)
    ]
    return [
        Check(
            "its misfit with a doubled and w halved",
            misfit(other, data),
            "==",
            0.0,
            SOLVER_ERROR,
            **notes,
        ),
        Check(
            "its Σ|a_j|‖w_j‖ then over that before",
            masses[0] / masses[1],
            "==",
            1.0,
            SUM_ERROR,
            **notes,
        ),
        Check(
            "its ½‖θ‖² then over the least",
            squared_norm(other) / 2 / half,
            ">=",
            2.0,
            SOLVER_ERROR,
            null=1.0,
            **notes,
        ),
    ]


def _norms(problem: Problem) -> list[Check]:
    """‖h‖_{F1} ≤ ½‖θ‖², at the start, over its size, and for an unbalanced copy of it."""
    a, W = Setting(problem).unit
    checks = []
    for name, factor in (("the start", 1.0), ("the start with a doubled and w halved", 2.0)):
        params = TwoLayerParams(factor * a, W / factor)
        mass = float(np.sum(np.abs(params.a) * np.linalg.norm(params.W, axis=1)))
        size = squared_norm(params) / 2
        notes: dict[str, Any] = {"witness": "neurons of different directions"}
        checks.append(
            Check(
                f"variation norm of {name} over Σ|a_j|‖w_j‖",
                variation_norm(params) / mass,
                "<=",
                1 + 2 * SUM_ERROR,
                SUM_ERROR,
                **notes,
            )
        )
        checks.append(
            Check(
                "Σ|a_j|‖w_j‖ over ½‖θ‖²", mass / size, "<=", 1 + 2 * SUM_ERROR, SUM_ERROR, **notes
            )
        )
    return checks


def _kkt(evidence: Evidence) -> tuple[Check, ...]:
    """The KKT residual at the flow's end and at the minimiser, by the solver's multipliers and by
    λ_k = y_k/(n‖D_±‖)."""
    course = Course(evidence)
    lazy, data = kernel_interpolator(evidence.network), evidence.network.data
    null = None if lazy is None else kkt_point(lazy, data).residual
    return (
        *part("KKT residual of the flow's end", lambda: _at_the_end(course, null)),
        *part("KKT residual of the minimiser", lambda: _at_the_minimiser(evidence, null)),
    )


def _at_the_end(course: Course, null: float | None) -> tuple[Check, ...]:
    s, multipliers = course.setting, course.setting.multipliers
    data = s.problem.data
    size = float(np.sqrt(s.least_norm))
    allowed = 2 * (
        np.sqrt(2) * float(np.linalg.norm(s.idle_sizes(course.offsets))) / size + course.idle
    )
    error = 4 * course.error(course.end) + 1e-8
    end = course.flow.final
    notes: dict[str, Any] = {
        "log_base": s.log_scale,
        "exponent": s.slowest,
        "null": null,
        **course.notes,
    }
    return (
        Check(
            "KKT residual of the flow's end: what idle neurons leave",
            kkt_point(end, data).residual,
            "<=",
            allowed + 2 * error,
            error,
            **notes,
        ),
        Check(
            "the same with λ_k = y_k/(n‖D_±‖)",
            _residual(end, data, multipliers),
            "<=",
            allowed + 2 * error,
            error,
            **notes,
        ),
    )


def _at_the_minimiser(evidence: Evidence, null: float | None) -> tuple[Check, ...]:
    s = Setting(evidence.network)
    best, data, multipliers = _least(evidence).value, s.problem.data, s.multipliers
    formula = "λ_k = y_k/(n‖D_±‖) put into (36), (37)"
    return (
        Check(
            "KKT residual of the minimiser",
            kkt_point(best, data).residual,
            "==",
            0.0,
            SOLVER_ERROR,
            witness="least squares in λ",
            null=null,
        ),
        Check(
            "the same with λ_k = y_k/(n‖D_±‖)",
            _residual(best, data, multipliers),
            "==",
            0.0,
            SOLVER_ERROR,
            witness=formula,
        ),
        Check(
            "‖θ‖² of the minimiser over 2n(‖D_+‖ + ‖D_−‖)",
            squared_norm(best) / s.least_norm,
            "==",
            1.0,
            SOLVER_ERROR,
            witness="‖θ‖² summed",
        ),
    )


def _residual(params: TwoLayerParams, data: Dataset, multipliers: Array) -> float:
    """‖θ − Σλ_k∇h(x_k)‖/‖θ‖ and the misfit, the larger; kinks of rounding size are closed."""
    model = TwoLayer(len(params.a), data.d)
    products = params.W @ data.X.T
    on = products > 1e-9 * np.linalg.norm(params.W, axis=1)[:, None] * np.linalg.norm(
        data.X, axis=1
    )
    a = np.where(on, products, 0.0) @ multipliers
    W = params.a[:, None] * ((on * multipliers) @ data.X)
    size = np.sqrt(squared_norm(params)) or 1.0
    left = float(np.sqrt(np.sum((params.a - a) ** 2) + np.sum((params.W - W) ** 2)) / size)
    return max(left, float(np.max(np.abs(model(params, data.X) - data.y)) / np.max(np.abs(data.y))))


prop1 = Claim(
    "B/prop1",
    "On orthonormal inputs the least ‖θ‖² of an interpolator is 2n(‖D_+‖ + ‖D_−‖), reached by "
    "neurons along D_+ and −D_− and"
    " by no others; on orthogonal ones V_± = Σ_±y_kx_k/‖x_k‖² stands for nD_±.",
    "B, Proposition 1 (as printed for normalised inputs)",
    (NETWORK, LABELLED, ORTHOGONAL, MODERATE),
    ordinary_problem,
    _prop1,
    Kind.UNIQUENESS,
    "weak duality by hand, column generation, and all patterns listed",
    "an interpolator from a kernel",
    ordinary_family,
    below_floats=True,
    limit=of_least_norm,
)
eq8 = Claim(
    "B/eq8",
    "The least ½‖θ‖² of an interpolator is the least variation norm; for every network the norm is "
    "at most ½‖θ‖², and less for some of least variation norm.",
    "B, equation (8) and the sentence after it",
    (NETWORK, ALIVE, LABELLED, FITS),
    planar_problem,
    _eq8,
    Kind.STATIC,
    "a linear program over directions, and weak duality",
    "an interpolator from a kernel",
    planar_family,
    below_floats=True,
    limit=of_least_norm,
)
kkt = Claim(
    "B/kkt",
    "θ = Σλ_k∇h(x_k) at interpolators of least norm (KKT), and up to the idle neurons at the end "
    "of a flow from a small start.",
    "B, equations (35)–(37)",
    (*ANY_LENGTHS, SMALL_START),
    ordinary_problem,
    _kkt,
    Kind.FLOW,
    GRADIENT,
    "an interpolator from a kernel",
    ordinary_family,
    below_floats=True,
    limit=of_least_norm,
)

CLAIMS = (prop1, eq8, kkt)
