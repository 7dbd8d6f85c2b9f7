"""B, §3.2: limitations and possible relaxations. Unbalanced starts, and leaky ReLU."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy import hypot
from scipy.optimize import linprog

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from ..witness import witness_flow
from .flow_convergence import CONVERGED_LOSS, GAP_EXPONENT, gap_exponent
from .reference_networks import directions, kernel_interpolator, rescaled
from .relaxations import few_problem
from .relu_examples import in_cones, orthonormal_family, orthonormal_problem, pairs_family
from .relu_hypotheses import (
    ASSUMED,
    ASSUMPTION_1,
    ASSUMPTION_2,
    ASSUMPTION_3,
    LABELLED,
    NEGLIGIBLE_SIZE,
    NETWORK,
    SMALL_START,
    TWO_SIGNS,
)
from .relu_setting import LabelCluster, Setting, row_norms, squared_norm
from .three_phases import GRADIENT

LEAKY_SLOPE = 0.3
"""Of the leaky ReLU."""
LEAKY_SCALE = 1e-30
"""Scale of its start."""


def _unbalanced(evidence: Evidence) -> tuple[Check, ...]:
    s, flow = Setting(evidence.network), evidence.trajectory
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    a, W = flow.final
    size = float(np.sqrt(s.least_norm))
    off = float(np.max(np.abs(np.abs(a) - row_norms(W)))) / size
    # a_j² − ‖w_j‖² is conserved, and |x − y|² ≤ |x² − y²|
    left = s.scale / size * float(np.max(np.abs(s.unit.a**2 - row_norms(s.unit.W) ** 2)) ** 0.5)
    gap = squared_norm(flow.final) / s.least_norm - 1
    error = 4 * float(flow.error[-1]) / float(np.max(np.abs(W))) + 1e-9
    lazy = kernel_interpolator(s.problem)
    aligned = max(cluster.misalignment(flow.final) / cluster.rate for cluster in _grown(s, flow))
    return (
        Check(
            "final loss over its start",
            float(flow.loss[-1] / flow.loss[0]),
            "<=",
            CONVERGED_LOSS,
            null=1.0,
            **notes,
        ),
        Check(
            "largest ||a_j| − ‖w_j‖|/‖θ*‖ at the end: nearly balanced",
            off,
            "==",
            0.0,
            left + 2 * error,
            size=1.0,
            **notes,
        ),
        Check(
            "‖θ∞‖² over its least, minus one: at most what idle neurons add",
            abs(gap),
            "<=",
            NEGLIGIBLE_SIZE,
            error,
            null=None if lazy is None else squared_norm(lazy) / s.least_norm - 1,
            **notes,
        ),
        Check(
            "largest misalignment of a neuron that matters",
            aligned,
            "<=",
            NEGLIGIBLE_SIZE,
            error,
            null=1.0,
            **notes,
        ),
        *part(GAP_EXPONENT, lambda: gap_exponent(evidence, s, _signed(s, flow))),
    )


def _signed(s: Setting, flow: Trajectory) -> Setting:
    """The setting with the signs that neurons have in the end: where |a_j| < ‖w_j‖ a sign may
    change, and with it κ."""
    p, signs = s.problem, np.sign(flow.final.a)
    a = np.where(signs != 0, signs * np.abs(p.start.a), p.start.a)
    return Setting(dataclasses.replace(p, start=TwoLayerParams(a, p.start.W)))


def _grown(s: Setting, flow: Trajectory) -> list[LabelCluster]:
    """The clusters, with the neurons of their sign that matter at the end."""
    sizes = row_norms(flow.final.W)
    large = sizes > 1e-2 * np.max(sizes)
    return [
        dataclasses.replace(c, neurons=np.flatnonzero((np.sign(flow.final.a) == c.sign) & large))
        for c in s.clusters
    ]


def _leaky(evidence: Evidence) -> tuple[Check, ...]:
    """Two inputs with labels of opposite signs: the cluster of the larger label fits both, at ‖θ‖²
    = 2√(y₁² + y₂²/slope²)."""
    s = Setting(rescaled(evidence.network, LEAKY_SCALE))
    pair = np.array([int(np.argmax(s.first.sign * s.y)), int(np.argmax(s.second.sign * s.y))])
    if abs(s.y[pair[1]]) > abs(s.y[pair[0]]):
        pair = pair[::-1]
    y, X = s.y[pair], s.X[pair]
    data = Dataset(X, y)
    start = in_cones(rescaled(evidence.network, 1.0).start, data, LEAKY_SCALE)
    ends = {}
    for slope in (LEAKY_SLOPE, 0.0):
        model = TwoLayer(len(start.a), s.X.shape[1], *(("leaky_relu", slope) if slope else ()))
        problem = Problem(model, data, s.problem.loss, start)
        ends[slope] = need(witness_flow(problem, time_s=evidence.time_left / 4))
    least, excess = leaky_least(y, LEAKY_SLOPE)
    first, second = np.abs(y)
    predicted = 2 * float(hypot(first, second / LEAKY_SLOPE))
    found, plain = (squared_norm(ends[slope].final) for slope in (LEAKY_SLOPE, 0.0))
    # of the other cluster over this one's
    growth = float(np.hypot(LEAKY_SLOPE * first, second) / np.hypot(first, LEAKY_SLOPE * second))
    rest = 40 * len(start.a) * float(np.exp((1 - growth) * np.log(LEAKY_SCALE) * 2)) ** 0.5
    gradient, program = "∇L followed in the weights", "a linear program over the circle"
    return (
        Check(
            "final loss over its start, leaky",
            float(ends[LEAKY_SLOPE].loss[-1] / ends[LEAKY_SLOPE].loss[0]),
            "<=",
            CONVERGED_LOSS,
            witness=gradient,
            null=1.0,
        ),
        Check(
            "‖θ∞‖² over 2√(y₁² + y₂²/slope²), leaky",
            found / predicted,
            "==",
            1.0,
            rest + 1e-6,
            witness=gradient,
            null=least / predicted,
        ),
        Check(
            "‖θ∞‖² over the least of leaky interpolators",
            found / least,
            ">=",
            1.0 + excess,
            rest + 1e-6,
            witness=program,
            null=1.0,
        ),
        Check(
            "the same for a ReLU",
            plain / (2 * float(first + second)),
            "==",
            1.0,
            1e-6,
            witness=gradient,
            null=predicted / least,
        ),
    )


def leaky_least(y: Array, slope: float) -> tuple[float, float]:
    """The least ‖θ‖² = 2Σ|c_j| of leaky networks through two orthonormal inputs, and by how much,
    relatively, a grid may miss."""
    units, excess = directions(np.eye(2))
    rows = np.where(units > 0, units, slope * units).T
    found = linprog(
        np.ones(2 * len(units)),
        A_eq=np.hstack([rows, -rows]),
        b_eq=y,
        bounds=(0, None),
        method="highs",
    )
    return 2 * float(found.fun), excess


def unbalanced_problem(key: int) -> Problem:
    """Pairs of labels, outputs Gaussian of size λ; the neurons put into the cones start with |a_j|
    > ‖w_j‖."""
    return _with_outputs(few_problem(key), key)


def unbalanced_family(key: int) -> Problem:
    return _with_outputs(pairs_family(key), key)


def _with_outputs(p: Problem, key: int) -> Problem:
    rng, s = np.random.default_rng((73, key)), Setting(p)
    a = s.scale * rng.standard_normal(len(p.start.a))
    a[:2] = p.start.a[:2] * rng.uniform(1.0, 1.5, 2)
    return Problem(p.model, p.data, p.loss, TwoLayerParams(a, p.start.W))


def _led(problem: Any) -> str | None:
    s = Setting(problem)
    for cluster in s.clusters:
        J = cluster.neurons
        if not np.any(np.abs(s.unit.a[J]) >= row_norms(s.unit.W[J])):
            return (
                f"no neuron of S_{{{'+' if cluster.sign > 0 else '−'},1}} has |a_j| ≥ ‖w_j‖: "
                "its sign may change"
            )
    return None


def _opposite(problem: Any) -> str | None:
    y = np.sort(np.abs([np.max(problem.data.y), np.min(problem.data.y)]))
    return (
        None
        if y[0] <= 0.8 * y[1]
        else "the largest labels of both signs differ by less than a fifth: λ must be smaller still"
    )


LED = Hypothesis(
    "led", "some neuron of each cluster has |a_j| ≥ ‖w_j‖, so that its sign stays", on_problem(_led)
)
OPPOSITE = Hypothesis(
    "opposite", "the largest labels of both signs differ by a fifth", on_problem(_opposite)
)

unbalanced = Claim(
    "B/unbalanced",
    "From unbalanced starts of size λ the flow ends nearly balanced, at zero loss and nearly "
    "least norm; the gap vanishes like"
    " λ^{2(1−κ)}, as from balanced ones (κ for the signs that neurons take).",
    "B, §3.2, limitations and possible relaxations",
    (
        NETWORK,
        LABELLED,
        ASSUMPTION_1,
        ASSUMPTION_2,
        TWO_SIGNS,
        ASSUMPTION_3,
        LED,
        SMALL_START,
    ),
    unbalanced_problem,
    _unbalanced,
    Kind.FLOW,
    GRADIENT,
    "the start",
    unbalanced_family,
    below_floats=True,
)
leaky = Claim(
    "B/leaky",
    "With a leaky ReLU the limit of small starts is not of least norm: on two inputs with labels "
    "of opposite signs one cluster fits both, at ‖θ‖² = 2√(y₁² + y₂²/slope²).",
    "B, §3.2, limitations (which cites Lyu et al. 2021 for classification)",
    (*ASSUMED, OPPOSITE),
    orthonormal_problem,
    _leaky,
    Kind.EXISTENCE,
    "∇L followed in the weights, and a linear program over the circle",
    "the least norm",
    orthonormal_family,
    below_floats=True,
)
CLAIMS = (unbalanced, leaky)
