"""B, A.1: large starts (Figure 5), and App. C: what the KKT conditions do not say.

B: from a large start the weights hardly move, the function is nearly the interpolator of the
tangent kernel at the start, and the loss falls fast, past no saddle, for unbalanced starts and
orthogonal inputs as well. From λθ₀ with h_{θ₀} = 0 on the inputs, here a network and its negative,
so it is, as λ^{−2}: to first order θ moves by JᵀK⁻¹y/λ, J = ∇h and K = JJᵀ at θ₀, and residuals
fall as e^{−λ²Kt/n}. While gates stay, features move by ρ = max‖θ_j − λθ_{0,j}‖/‖λθ_{0,j}‖ of
themselves, K by 4ρ of k(x, x), and what is solved with it by 4ρ·n·max k(x_k, x_k)/κ_min, κ_min the
least eigenvalue. From B's own start h_{θ₀} ≠ 0: λ²h_{θ₀} is what has to be unlearnt, the flow tends
to that of labels zero from θ₀, in the clock λ²t, and the share by which weights move does not fall
with λ. It falls with the width: to first order it is √(hᵀK⁻¹h)/‖θ₀‖, h = h_{θ₀}, of order m^{−1/2}
for random signs.

KKT: neurons along D_A for the parts A of a partition of each sign's labels, with masses n‖D_A‖,
interpolate, and satisfy (35) with λ_k = y_k/(n‖D_A‖): one part for each sign is of least norm,
others are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from ..witness import witness_flow
from .minimal import _residual, two_neurons
from .relu_examples import orthonormal_family, orthonormal_problem, pairs_family, pairs_problem
from .relu_hypotheses import ASSUMPTION_1, LABELLED, MODERATE, NETWORK, NONZERO, TWO_SIGNS
from .relu_setting import Setting, distance, row_norms, squared_norm
from .three_phases import GRADIENT

POWER = 2.0
"""Of 1/λ by which weights move, and of λ by which the loss falls faster."""
TIMES = (1.0, 1.5, 2.25)
"""Times λ at which large starts are compared."""
ALLOWED_NONLINEARITY = 0.02
"""What 4ρ·n·max k/κ_min, the distance from the linear model, may be at the first of them."""
KINK_ROOM = 0.5
"""Share of its distance from a kink by which a neuron may move there."""
PROBES = 3
"""Inputs besides the data at which functions are compared."""
LOSS_SHARE = 1e-2
"""Share of the loss at which times are compared."""
NEGLIGIBLE = 1e-4, 1e-6
"""max|y| over λ²max|h_{θ₀}| where labels are as good as zero; what changes between the two is the
error."""
WIDER = 0.5
"""Power of 1/m by which weights move less in wider networks."""
WIDTHS = (100, 3000)
DRAWN = 800
"""Widths of random networks, and draws of each."""
WIDTH_EXPONENT = (
    "exponent in m of the share by which weights move to unlearn h_{θ₀}, to first order"
)
SURE = 4.9
"""Deviations of a mean beyond which it is off, one time in a million."""
ENDED = 1e-14
"""Loss of the linear model, over its start, up to which flows from large starts are followed:
rounding of λ²h is near."""
DEFINITE = 1e-6
"""Least eigenvalue of the tangent kernel over its largest, from which on it can be solved with."""
EXACT = 1e-12
"""Relative error of sums over a few neurons."""
REAL_DIFFERENCE = 1e-6
"""Relative difference that rounding does not make."""
GRADIENTS = "∇L followed in the weights"


def features(params: TwoLayerParams, X: Array) -> Array:
    """∇_θh(x) for each input, (n, m(1 + d)), neuron by neuron: (⟨w_j, x⟩_+, a_j1[⟨w_j, x⟩ >
    0]x)."""
    products = X @ params.W.T
    on = products > 0
    inner = (on * params.a)[:, :, None] * X[:, None, :]
    return np.concatenate([np.where(on, products, 0.0)[:, :, None], inner], axis=2).reshape(
        len(X), -1
    )


@dataclass(frozen=True)
class LinearModel:
    """The linear model at a start θ₀ of size one: K, and what h there is."""

    start: TwoLayerParams
    X: Array
    J: Array
    K: Array
    h: Array

    @property
    def stiffness(self) -> float:
        """n·max k(x_k, x_k)/κ_min."""
        return len(self.K) * float(np.max(np.diag(self.K)) / np.linalg.eigvalsh(self.K)[0])

    def step(self, residual: Array) -> Array:
        """JᵀK⁻¹r by neurons, (m, 1 + d)."""
        return np.asarray(
            (self.J.T @ np.linalg.solve(self.K, residual)).reshape(len(self.start.a), -1)
        )


def tangent(start: TwoLayerParams, X: Array) -> LinearModel:
    J = features(start, X)
    return LinearModel(start, X, J, J @ J.T, np.maximum(X @ start.W.T, 0.0) @ start.a)


def with_negative(params: TwoLayerParams) -> TwoLayerParams:
    """A network and its negative: together they are zero."""
    return TwoLayerParams(np.concatenate([params.a, -params.a]), np.vstack([params.W, params.W]))


def _flow(
    evidence: Evidence, start: TwoLayerParams, scale: float, y: Array, t1: float | None = None
) -> Trajectory:
    p = evidence.network
    params = TwoLayerParams(scale * start.a, scale * start.W)
    problem = Problem(TwoLayer(len(start.a), p.data.d), Dataset(p.data.X, y), p.loss, params)
    return need(witness_flow(problem, t1, time_s=evidence.time_left / 4))


def _moved(flow: Trajectory, start: TwoLayerParams, scale: float) -> float:
    """‖θ∞ − λθ₀‖/‖λθ₀‖."""
    begin = TwoLayerParams(scale * start.a, scale * start.W)
    return distance(flow.final, begin) / float(np.sqrt(squared_norm(begin)))


def _turned(flow: Trajectory, start: TwoLayerParams, scale: float) -> float:
    """ρ along the flow."""
    sizes = scale * np.sqrt(start.a**2 + np.sum(start.W**2, axis=1))
    off = np.sqrt(
        (flow.states.a - scale * start.a) ** 2
        + np.sum((flow.states.W - scale * start.W) ** 2, axis=-1)
    )
    return float(np.max(off / sizes))


def _lazy(evidence: Evidence) -> tuple[Check, ...]:
    s = Setting(evidence.network)
    own = (
        "‖θ∞ − θ₀‖/‖θ₀‖ from the problem's own start at large λ, over that of labels zero: it "
        "does not fall with λ"
    )
    return (
        *part("flows from large λ, where h_{θ₀} = 0", lambda: _from_zero(evidence, s)),
        *part(own, lambda: _own_start(evidence, s, own)),
        *part(WIDTH_EXPONENT, lambda: _widths(evidence, s)),
    )


def first_scale(t: LinearModel, y: Array, probes: Array) -> float:
    """λ from which on gates stay, on inputs and probes, and the linear model is near."""
    step = t.step(y)
    own = np.sqrt(t.start.a**2 + np.sum(t.start.W**2, axis=1))
    rooms = np.min(
        np.abs(t.start.W @ np.vstack([t.X, probes]).T)
        / np.linalg.norm(np.vstack([t.X, probes]), axis=1),
        axis=1,
    )
    turn = float(np.max(np.linalg.norm(step, axis=1) / own))
    across = float(np.max(np.linalg.norm(step[:, 1:], axis=1) / (KINK_ROOM * rooms)))
    return float(np.sqrt(max(4 * turn * t.stiffness / ALLOWED_NONLINEARITY, across)))


def _from_zero(evidence: Evidence, s: Setting) -> Iterator[Check]:
    """A network and its negative from three large λ, against the linear model."""
    start = with_negative(s.unit)
    t, probes = (
        tangent(start, s.X),
        np.random.default_rng(0).standard_normal((PROBES, s.X.shape[1])),
    )
    first, slowest = first_scale(t, s.y, probes), float(np.linalg.eigvalsh(t.K)[0])
    size = float(np.sqrt(squared_norm(start)))
    kernel = features(start, probes) @ t.J.T @ np.linalg.solve(t.K, s.y)
    best = two_neurons(s)
    far = float(
        np.linalg.norm(np.maximum(probes @ best.W.T, 0.0) @ best.a - kernel)
        / np.linalg.norm(kernel)
    )
    moves = []
    for factor in TIMES:
        scale, name = factor * first, f"from {factor:g} times the first λ"
        flow = _flow(
            evidence,
            start,
            scale,
            s.y,
            -s.n * float(np.log(ENDED)) / (2 * slowest * scale**2) / s.speed,
        )
        near = 4 * _turned(flow, start, scale) * t.stiffness
        known = float(flow.error[-1]) / scale
        moves.append(_moved(flow, start, scale))
        predicted = float(np.sqrt(s.y @ np.linalg.solve(t.K, s.y))) / scale**2 / size
        what = f"‖θ∞ − θ₀‖/‖θ₀‖ over √(yᵀK⁻¹y)/‖θ₀‖, {name}"
        error = near + np.sqrt(ENDED) + np.sqrt(t.J.shape[1]) * known / (size * predicted)
        yield Check(what, moves[-1] / predicted, "==", 1.0, error, witness=GRADIENTS, null=0.0)
        h = np.maximum(probes @ flow.final.W.T, 0.0) @ flow.final.a
        apart = float(np.linalg.norm(h - kernel) / np.linalg.norm(kernel))
        error = (
            2
            * known
            * scale
            * float(np.max(np.linalg.norm(features(flow.final, probes), axis=1)))
            / np.linalg.norm(kernel)
        )
        what = (
            f"‖h − k(·, X)K⁻¹y‖ over ‖k(·, X)K⁻¹y‖ at {PROBES} other inputs, {name}: at most "
            "4ρ·n·max k/κ_min"
        )
        yield Check(what, apart, "<=", near, float(error), witness=GRADIENTS, null=far)
        predicted = _linear_time(t, s) / scale**POWER
        what = f"time to a hundredth of the loss, over that of e^{{−λ²Kt/n}}, {name}"
        yield Check(what, _time(flow, s) / predicted, "==", 1.0, near, witness=GRADIENTS, null=0.0)
    what = "exponent in λ of the share by which weights move, where h_{θ₀} = 0"
    yield exponent_check(
        what,
        first * np.array(TIMES),
        moves,
        -POWER,
        ALLOWED_NONLINEARITY / np.array(TIMES) ** 2,
        witness=GRADIENTS,
    )


def _time(flow: Trajectory, s: Setting) -> float:
    """When the loss is a hundredth of what it was, in B's clock."""
    problem: Any = flow.problem

    def left(t: float) -> float:
        state = flow.at(t)
        return float(problem.loss(problem.model(state, s.X), s.y) / flow.loss[0]) - LOSS_SHARE

    return float(brentq(left, 0.0, float(flow.times[-1]), xtol=1e-14, rtol=1e-12)) * s.speed


def _linear_time(t: LinearModel, s: Setting) -> float:
    """The same for residuals e^{−Kt/n}y."""
    values, vectors = np.linalg.eigh(t.K)
    parts = (vectors.T @ s.y) ** 2 / float(s.y @ s.y)
    end = -s.n * np.log(LOSS_SHARE) / 2 / values[0]
    return float(
        brentq(
            lambda time: float(parts @ np.exp(-2 * values * time / s.n)) - LOSS_SHARE,
            0.0,
            1.01 * end,
            rtol=1e-12,
        )
    )


def _own_start(evidence: Evidence, s: Setting, what: str) -> Check:
    """The problem's own start: where λ²h_{θ₀} is far above the labels, the flow of labels zero."""
    t = tangent(s.unit, s.X)
    if float(np.max(np.abs(t.h))) <= 1e-9 * squared_norm(s.unit):
        raise Unmeasured("the network is zero at the start")
    scales = [
        float(np.sqrt(np.max(np.abs(s.y)) / (part * np.max(np.abs(t.h))))) for part in NEGLIGIBLE
    ]
    moves = []
    for scale, y in ((1.0, np.zeros(s.n)), (scales[0], s.y), (scales[1], s.y)):
        flow = _flow(evidence, s.unit, scale, y)
        moves.append(_moved(flow, s.unit, scale))
    lazy = (
        float(np.sqrt(s.y @ np.linalg.solve(t.K, s.y)))
        / scales[1] ** 2
        / float(np.sqrt(squared_norm(s.unit)))
    )
    error = abs(moves[2] - moves[1]) / moves[0] + 1e-8
    return Check(
        what, moves[2] / moves[0], "==", 1.0, error, witness=GRADIENTS, null=lazy / moves[0]
    )


def _widths(evidence: Evidence, s: Setting) -> Check:
    """√(hᵀK⁻¹h)/‖θ₀‖ of random balanced networks against their width, the root of its mean square
    over draws."""
    rng, means, errors = np.random.default_rng(5), [], []
    for m in WIDTHS:
        squares = []
        for _ in evidence.in_time(range(DRAWN)):
            W = rng.standard_normal((m, s.X.shape[1]))
            t = tangent(TwoLayerParams(rng.choice([-1.0, 1.0], m) * row_norms(W), W), s.X)
            squares.append(float(t.h @ np.linalg.solve(t.K, t.h)) / squared_norm(t.start))
        means.append(float(np.mean(squares)))
        # K is its mean up to n/m
        errors.append(SURE * float(np.std(squares)) / means[-1] / np.sqrt(DRAWN) + s.n / m)
    decades = float(np.log(WIDTHS[1] / WIDTHS[0]))
    error = float(np.hypot(*errors)) / (2 * decades)
    slope = float(np.log(means[1] / means[0])) / (2 * decades)
    witness = f"{DRAWN} networks drawn of each width"
    return Check(WIDTH_EXPONENT, slope, "==", -WIDER, error, witness=witness)


def _definite(problem: Any) -> str | None:
    K = tangent(Setting(problem).unit, problem.data.X).K
    values = np.linalg.eigvalsh(K)
    if values[0] > DEFINITE * values[-1]:
        return None
    return (
        "the tangent kernel at the start is singular, up to "
        f"{values[0] / max(values[-1], 1e-300):.1g}"
    )


DEFINITE_KERNEL = Hypothesis(
    "definite", "the tangent kernel at the start is positive definite", on_problem(_definite)
)


def split(s: Setting) -> TwoLayerParams:
    """A neuron for each label: the partition into single ones."""
    sizes = np.sqrt(np.abs(s.y))
    return TwoLayerParams(np.sign(s.y) * sizes, sizes[:, None] * s.X)


def _kkt_only(evidence: Evidence) -> tuple[Check, ...]:
    """A neuron for each label, and two minimisers that differ in the order of their neurons."""
    s = Setting(evidence.network)
    data, point, best = s.problem.data, split(s), two_neurons(s)
    excess, predicted = (
        squared_norm(point) / s.least_norm - 1,
        2 * float(np.sum(np.abs(s.y))) / s.least_norm - 1,
    )
    middle = TwoLayerParams(
        *((one + other) / 2 for one, other in zip(best, _swapped(best), strict=True))
    )
    h = np.maximum(data.X @ middle.W.T, 0.0) @ middle.a
    off = float(np.max(np.abs(h - s.y)) / np.max(np.abs(s.y)))
    left, summed = _residual(point, data, np.sign(s.y)), "‖θ‖² summed"
    return (
        Check(
            "KKT residual of a neuron for each label, λ_k = ±1",
            left,
            "==",
            0.0,
            EXACT,
            witness="(35) to (37) by neurons",
        ),
        Check(
            "‖θ‖² of that network over its least, minus one",
            excess,
            ">=",
            REAL_DIFFERENCE,
            EXACT,
            witness=summed,
            null=0.0,
        ),
        Check(
            "the same over Σ|y_k|/(n‖D_+‖ + n‖D_−‖) − 1",
            excess / predicted,
            "==",
            1.0,
            EXACT / predicted,
            witness=summed,
        ),
        Check(
            "largest |h(x_k) − y_k| over max|y| halfway between two minimisers: the constraint is "
            "not convex",
            off,
            ">=",
            REAL_DIFFERENCE,
            EXACT,
            witness="h summed over neurons",
            null=0.0,
        ),
    )


def _swapped(params: TwoLayerParams) -> TwoLayerParams:
    """The same function with its two neurons in the other order."""
    return TwoLayerParams(params.a[::-1], params.W[::-1])


def _two_alike(problem: Any) -> str | None:
    y = problem.data.y
    return (
        None
        if max(np.sum(y > 0), np.sum(y < 0)) >= 2
        else "no sign has two labels: each is a part of its own"
    )


TWO_ALIKE = Hypothesis("two labels", "some sign has two labels or more", on_problem(_two_alike))

lazy = Claim(
    "B/lazy",
    "From λθ₀ with h_{θ₀} = 0 on the inputs weights move by √(yᵀK⁻¹y)/(λ²‖θ₀‖) of themselves, h − "
    "λ²h_{θ₀} tends to the interpolator of the tangent kernel K at θ₀, and the loss falls as "
    "e^{−λ²Kt/n} says. From B's start, where h_{θ₀} ≠ 0, the share by which weights move does not "
    "fall with λ, but with the width, to first order as m^{−1/2}.",
    "B, A.1, Figure 5 (large starts; where h_{θ₀} = 0, or the width is large)",
    (NETWORK, LABELLED, ASSUMPTION_1, NONZERO, MODERATE, DEFINITE_KERNEL),
    orthonormal_problem,
    _lazy,
    Kind.FLOW,
    GRADIENT,
    "weights that do not move; the interpolator of least norm",
    orthonormal_family,
    below_floats=True,
)
kkt_only = Claim(
    "B/kkt-only",
    "The KKT conditions are necessary only: a neuron for each label satisfies them, and is not of "
    "least norm where a sign has two labels; halfway between two minimisers a network does not "
    "interpolate, so that the constraint is not convex.",
    "B, App. C, after (34)",
    (NETWORK, LABELLED, ASSUMPTION_1, NONZERO, MODERATE, TWO_SIGNS, TWO_ALIKE),
    pairs_problem,
    _kkt_only,
    Kind.EXISTENCE,
    "a network written down",
    "the minimiser",
    pairs_family,
    below_floats=True,
)
CLAIMS = (lazy, kkt_only)
