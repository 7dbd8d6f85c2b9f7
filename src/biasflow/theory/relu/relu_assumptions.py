"""B, §2: what is assumed of data and start, what balancedness gives, and what orthogonality does to
activations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import witness_flow
from .course import LEAST_NORM_IN_FLOATS, relative_error
from .relu_examples import (
    general_family,
    general_problem,
    ordinary_family,
    ordinary_problem,
    orthonormal_family,
    orthonormal_problem,
)
from .relu_hypotheses import (
    ALIVE,
    BALANCED,
    LABELLED,
    NETWORK,
    ORTHOGONAL,
    ORTHONORMAL_TOLERANCE,
)
from .relu_setting import row_norms, unit_rows

BALANCE_ROUNDING = 1e-13
"""a_jȧ_j − w_j·ẇ_j over its terms that is rounding of a sum over inputs and dimensions."""
ROUNDING = 1e-11
"""Cosine of a neuron and an input that is none."""
MOST_NAMED = 8
STEPS = 10.0 ** -np.arange(2, 6.5, 0.5)
"""Steps of descent, in units of the fastest rate: over four decades."""
TIME_FOLLOWED = 20.0
"""Time, in units of ‖Xᵀ∂L/∂h‖ at zero, to which balance is followed: past the first growth from a
scale of 1e-4."""
SHRUNK = 1e-5
"""Size of a neuron over the largest it has had below which it is left out: the rounding of a_j² −
‖w_j‖² is 1e-6 of it by then, and soon all of it."""
DIFFERENCE = 1e-4
"""Time step of central differences in units of the fastest rate: 1e-8 of truncation, 1e-6 of the
witness's error."""
DIFFERENCE_ERROR = 1e-5
"""Error of such differences, relative to ‖w_j‖‖x_k‖ and that rate."""


def _assumption_1(evidence: Evidence) -> tuple[Check, ...]:
    """Products of inputs in rational arithmetic."""
    rows = [[Fraction(float(entry)) for entry in row] for row in evidence.network.data.X]
    off, k, i = max(
        (abs(sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0)) - (k == i)), k, i)
        for k, one in enumerate(rows)
        for i, other in enumerate(rows[: k + 1])
    )
    exact = "products in rational arithmetic"
    return (
        Check(
            f"largest |⟨x_k, x_l⟩ − 1[k = l]|, at k = {k}, l = {i}",
            float(off),
            "<=",
            ORTHONORMAL_TOLERANCE,
            witness=exact,
        ),
    )


def _assumption_2(evidence: Evidence) -> tuple[Check, ...]:
    """Sums of squares in rational arithmetic: equal means equal. Inputs of length one up to
    rounding have length one."""
    data = evidence.network.data
    y = [Fraction(float(label)) for label in data.y]
    squares = [sum((Fraction(float(entry)) ** 2 for entry in row), Fraction(0)) for row in data.X]
    squares = [
        Fraction(1) if abs(square - 1) <= ORTHONORMAL_TOLERANCE else square for square in squares
    ]
    up, down = (
        sum((v * v * x for v, x in zip(y, squares, strict=True) if sign * v > 0), Fraction(0))
        for sign in (1, -1)
    )
    exact = "sums in rational arithmetic"
    return (
        Check("labels that are zero", float(sum(v == 0 for v in y)), "==", 0.0, witness=exact),
        Check("whether Σ_{y>0}y²‖x‖² = Σ_{y<0}y²‖x‖²", float(up == down), "==", 0.0, witness=exact),
    )


def _assumption_3(evidence: Evidence) -> tuple[Check, ...]:
    """Signs of products in rational arithmetic. Neurons of a sign that no label has are all in the
    set of that sign."""
    p = evidence.network
    checks = []
    for sign, name in ((1.0, "+"), (-1.0, "−")):
        own = np.flatnonzero(sign * p.data.y > 0)
        named = [j for j in range(len(p.start.a)) if sign * p.start.a[j] > 0 and _active(p, j, own)]
        exact = "products in rational arithmetic"
        checks.append(
            Check(
                f"neurons in S_{{{name},1}} ({_names(named)})",
                float(len(named)),
                ">=",
                1.0,
                witness=exact,
            )
        )
    return tuple(checks)


def _active(p: Problem, j: int, samples: Index) -> bool:
    w = [Fraction(float(entry)) for entry in p.start.W[j]]
    return all(
        sum((a * Fraction(float(b)) for a, b in zip(w, p.data.X[k], strict=True)), Fraction(0)) >= 0
        for k in samples
    )


def _names(neurons: list[int]) -> str:
    shown = ", ".join(map(str, neurons[:MOST_NAMED]))
    return shown + (", …" if len(neurons) > MOST_NAMED else "") if neurons else "none"


def _lem1(evidence: Evidence) -> tuple[Check, ...]:
    """On raw gradients: at random and adversarial states, in steps of descent, and along a flow
    that projects onto nothing."""
    p = evidence.network
    states = [*_states(p), p.start]
    worst = max(_imbalance(p, state) for state in states)
    checks = [
        Check(
            "largest |a_jȧ_j − w_j·ẇ_j| over its terms",
            worst,
            "==",
            0.0,
            BALANCE_ROUNDING,
            witness=f"∇L at {len(states)} states",
        ),
        _drift(p),
    ]
    along = "drift of a_j² − ‖w_j‖² along the flow"
    return (*checks, *part(along, lambda: _along_the_flow(evidence, need(_flow(evidence)))))


def _along_the_flow(evidence: Evidence, flow: Trajectory) -> list[Check]:
    p = evidence.network
    each = "relative" in flow.stats or flow.stats.get("method") == "events"
    a, W = _scaled_states(flow) if each else flow.states
    a0, W0 = p.start if p.in_floats else (a[0], W[0])
    top = np.maximum(np.max(np.hypot(a, np.linalg.norm(W, axis=-1)), axis=0), np.finfo(float).tiny)
    if not each:  # errors are known over the largest neuron only
        top = np.full_like(top, np.max(top))
    # squares of 1e-200 underflow
    a, W, a0, W0 = a / top, W / top[:, None], a0 / top, W0 / top[:, None]
    drift = float(np.max(np.abs((a**2 - np.sum(W**2, axis=-1)) - (a0**2 - np.sum(W0**2, axis=-1)))))
    error = relative_error(flow, float(np.min(top)))
    notes: dict[str, Any] = {"witness": _source(evidence)}
    checks = [
        Check(
            "largest drift of a_j² − ‖w_j‖² over the largest a_j² + ‖w_j‖²",
            drift,
            "==",
            0.0,
            4 * error + 1e-9,
            **notes,
        )
    ]
    if BALANCED.test(evidence) is None:
        apart = float(np.max(np.abs(np.sign(a0) * a - np.linalg.norm(W, axis=-1))))
        allowed = float(np.sqrt(4 * error + 1e-9))  # |x − y|² ≤ |x² − y²| for x, y ≥ 0
        checks.append(
            Check(
                "largest |s_ja_j − ‖w_j‖| over its size (the start is balanced)",
                apart,
                "==",
                0.0,
                allowed,
                **notes,
            )
        )
    return checks


def _scaled_states(flow: Trajectory) -> TwoLayerParams:
    """The states; where the start is below float range every neuron over the largest that it
    gets."""
    problem = flow.problem
    assert isinstance(problem, Problem)
    if problem.in_floats or flow.polar is None:
        return TwoLayerParams(*flow.states)
    polar = [flow.polar(float(t)) for t in flow.times]
    logs = np.array([log_norms for _, log_norms in polar])
    sizes = np.exp(logs - np.max(logs, axis=0))
    return TwoLayerParams(
        sizes * np.array([units.a for units, _ in polar]),
        sizes[..., None] * np.array([units.W for units, _ in polar]),
    )


def _rows(flow: Trajectory) -> Array:
    """w_j/‖w_j‖ along a flow, from its unit neurons where it has them: subnormal weights have no
    direction."""
    if flow.polar is None:
        return unit_rows(flow.states.W)
    return unit_rows(np.array([flow.polar(float(t))[0].W for t in flow.times]))


def _flow(evidence: Evidence) -> Trajectory | str:
    """What was handed in, else a witness over some times of growth."""
    given, p = evidence.given_flow, evidence.network
    if given is not None:
        return given
    slopes = p.loss.gradient(np.zeros(p.data.n), p.data.y)
    rate = float(np.linalg.norm(p.data.X.T @ slopes))
    stiff = (
        float(np.sum(p.first_state.a**2) + np.sum(p.first_state.W**2))
        * float(np.linalg.norm(p.data.X, 2)) ** 2
        * p.loss.factor(p.data.n)
    )
    rate = max(rate, stiff)  # large starts move at the rate of their kernel
    return (
        witness_flow(p, t1=TIME_FOLLOWED / rate, time_s=evidence.time_left / 2)
        if rate > 0
        else "Σ∂L/∂h·x = 0 at zero"
    )


def _source(evidence: Evidence) -> str:
    return (
        "∇L followed in the weights"
        if evidence.given_flow is None
        else "the flow given, which follows ∇L"
    )


def _states(p: Problem) -> list[TwoLayerParams]:
    """Random states of the problem's size, of others, unbalanced by six decades, and with neurons
    on kinks."""
    rng, (m, d) = np.random.default_rng(0), p.start.W.shape
    size = max(float(np.max(np.abs(p.start.W))), np.finfo(float).tiny)
    found = [
        TwoLayerParams(size * f * rng.standard_normal(m), size * g * rng.standard_normal((m, d)))
        for f, g in _FACTORS
    ]
    norms = np.sum(p.data.X**2, axis=1)
    W = rng.standard_normal((m, d))
    for j in range(m):
        k = j % p.data.n
        if norms[k] > 0:
            W[j] -= (W[j] @ p.data.X[k]) / norms[k] * p.data.X[k]
    return [*found, TwoLayerParams(rng.standard_normal(m), W)]


_FACTORS = ((1.0, 1.0), (1e3, 1.0), (1.0, 1e3), (1e3, 1e-3), (1e-3, 1e3), (10.0, 10.0))


def _velocity(p: Problem, state: TwoLayerParams) -> TwoLayerParams:
    output = p.loss.gradient(p.model(state, p.data.X), p.data.y)
    da, dW = p.model.gradient(state, p.data.X, output)
    return TwoLayerParams(-da, -dW)


def _imbalance(p: Problem, state: TwoLayerParams) -> float:
    """|a_jȧ_j − w_j·ẇ_j| over |a_j|Σ_k|∂L/∂h_k||⟨w_j, x_k⟩|, the sum that both are."""
    velocity = _velocity(p, state)
    output = np.abs(p.loss.gradient(p.model(state, p.data.X), p.data.y))
    terms = np.abs(state.a) * (np.abs(state.W) @ np.abs(p.data.X).T @ output)
    off = np.abs(state.a * velocity.a - np.sum(state.W * velocity.W, axis=1))
    return float(np.max(np.divide(off, terms, out=np.zeros_like(off), where=terms > 0)))


def _drift(p: Problem) -> Check:
    """After one step η of descent a² − ‖w‖² has moved by η²(ȧ² − ‖ẇ‖²): its exponent in η is two,
    one if balance fails."""
    quantity = "exponent of the drift of a_j² − ‖w_j‖² after one step of descent"
    state = _states(p)[0]
    velocity = _velocity(p, state)
    scale, speed = (max(float(np.max(np.abs(leaf))) for leaf in p) for p in (state, velocity))
    if speed == 0:
        return unknown_check(quantity, "nothing moves at a random state")
    # in units of their own: squares of velocities may leave float range
    a, W, da, dW = state.a / scale, state.W / scale, velocity.a / speed, velocity.W / speed
    first = 2 * (a * da - np.sum(W * dW, axis=1))
    second = da**2 - np.sum(dW**2, axis=1)
    drifts = [float(np.max(np.abs(first * step + second * step**2))) for step in STEPS]
    if min(drifts) <= 0:
        return unknown_check(quantity, "a drift is zero")
    return exponent_check(quantity, STEPS, drifts, 2.0, 1e-3, witness="steps of descent")


def _lem6(evidence: Evidence) -> tuple[Check, ...]:
    p, flow = evidence.network, evidence.trajectory
    cosines = _rows(flow) @ unit_rows(p.data.X).T
    off = np.logical_or.accumulate(cosines < -ROUNDING, axis=0)
    risen = float(np.max(np.where(off, cosines, 0.0), initial=0.0))
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    return (
        Check(
            "largest cosine of a neuron with an input after it was negative",
            risen,
            "==",
            0.0,
            ROUNDING,
            size=1.0,
            **notes,
        ),
        _equation_11(evidence, p, flow),
    )


def _equation_11(evidence: Evidence, p: Problem, flow: Trajectory) -> Check:
    """d⟨w_j, x_k⟩/dt = −a_j(∂L/∂h_k)‖x_k‖²·1[⟨w_j, x_k⟩ > 0], by central differences; away from
    gates that change."""
    quantity = (
        "largest |d⟨w_j, x_k⟩/dt + s_j‖w_j‖(h(x_k) − y_k)1[⟨w_j, x_k⟩ > 0]/n| over "
        "‖w_j‖‖x_k‖ and the fastest rate"
    )
    X, y = p.data.X, p.data.y
    norms = np.linalg.norm(X, axis=1)
    rate = _fastest(p, flow)
    step, worst, seen, null = DIFFERENCE / rate, 0.0, 0, 0.0
    tops = np.zeros(len(p.start.a))
    inside = flow.times[(flow.times > 2 * step) & (flow.times < flow.times[-1] - 2 * step)]
    for t in inside[:: max(len(inside) // 60, 1)]:
        low, middle, high = (flow.at(float(t) + shift) for shift in (-step, 0.0, step))
        # |a_j| moves products, and may be far above ‖w_j‖ where a balanced neuron has shrunk
        sizes = np.maximum(row_norms(middle.W), np.abs(middle.a))
        tops = np.maximum(tops, sizes)
        sizes = np.where(sizes >= np.maximum(LEAST_NORM_IN_FLOATS, SHRUNK * tops), sizes, 0.0)
        sizes = sizes[:, None] * norms
        products = [
            state.W @ X.T / np.where(sizes > 0, sizes, 1.0) for state in (low, middle, high)
        ]
        on = products[1] > ROUNDING
        steady = (sizes > 0) & np.all(
            [np.where(on, each > ROUNDING, each <= ROUNDING) for each in products], axis=0
        )
        slopes = p.loss.gradient(p.model(middle, X), y)
        law = -middle.a[:, None] * slopes * norms**2 * on / np.where(sizes > 0, sizes, 1.0) / rate
        found = (products[2] - products[0]) / (2 * step) / rate
        worst = max(worst, float(np.max(np.abs(found - law), where=steady, initial=0.0)))
        null = max(null, float(np.max(np.abs(found), where=steady, initial=0.0)))
        seen += int(np.sum(steady))
    if seen == 0:
        return unknown_check(quantity, "the flow has no times between its gates' changes")
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    return Check(quantity, worst, "==", 0.0, DIFFERENCE_ERROR, size=1.0, null=null, **notes)


def _fastest(p: Problem, flow: Trajectory) -> float:
    """The fastest rate of a neuron or a residual: by the labels from a small start, by the tangent
    kernel from a large one."""
    norms = np.linalg.norm(p.data.X, axis=1)
    labels = float(np.max(np.abs(p.loss.gradient(np.zeros(p.data.n), p.data.y)) * norms))
    size = float(
        np.max(np.sum(flow.states.a**2, axis=-1) + np.sum(flow.states.W**2, axis=(-2, -1)))
    )
    return max(labels, 2 * p.loss.factor(p.data.n) * size * float(np.max(norms)) ** 2)


assumption_1 = Claim(
    "B/assumption-1",
    "The inputs are orthonormal.",
    "B, Assumption 1",
    (NETWORK, LABELLED),
    orthonormal_problem,
    _assumption_1,
    Kind.ASSUMPTION,
    "rational arithmetic",
    family=orthonormal_family,
    below_floats=True,
)
assumption_2 = Claim(
    "B/assumption-2",
    "No label is zero, and ‖D_+‖ ≠ ‖D_−‖: on normalised inputs, positive and negative labels "
    "differ in their sum of squares, as they do where all have one sign.",
    "B, Assumption 2; inputs of any lengths",
    (NETWORK, LABELLED),
    ordinary_problem,
    _assumption_2,
    Kind.ASSUMPTION,
    "rational arithmetic",
    family=ordinary_family,
    below_floats=True,
)
assumption_3 = Claim(
    "B/assumption-3",
    "S_{+,1} and S_{−,1} are not empty: some neuron of each sign is active on all inputs with "
    "labels of that sign.",
    "B, Assumption 3",
    (NETWORK, LABELLED),
    ordinary_problem,
    _assumption_3,
    Kind.ASSUMPTION,
    "rational arithmetic",
    family=ordinary_family,
    below_floats=True,
)
lem1 = Claim(
    "B/lem1",
    "a_j² − ‖w_j‖² is conserved for any data; from a balanced start a_j = s_j‖w_j‖ with the sign "
    "of the start.",
    "B, Lemma 1",
    (NETWORK, ALIVE, LABELLED),
    general_problem,
    _lem1,
    Kind.FLOW,
    "raw gradients at random states, descent, and a flow that projects onto nothing",
    family=general_family,
    below_floats=True,
)
lem6 = Claim(
    "B/lem6",
    "On orthogonal inputs d⟨w_j, x_k⟩/dt = −s_j‖w_j‖(h(x_k) − y_k)1[⟨w_j, x_k⟩ > 0]/n, so a "
    "negative pre-activation stays so.",
    "B, equation (11) (with a sign corrected) and Lemma 6",
    (NETWORK, ALIVE, LABELLED, ORTHOGONAL),
    ordinary_problem,
    _lem6,
    Kind.FLOW,
    "∇L followed in the weights, from kink to kink",
    "products that do not move",
    ordinary_family,
    below_floats=True,
)

CLAIMS = (lem1, assumption_1, assumption_2, assumption_3, lem6)
