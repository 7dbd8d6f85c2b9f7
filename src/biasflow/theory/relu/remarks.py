"""B, §3.2 and App. D: what the assumptions are needed for, how likely they are, and which σ'(0) has
a flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...data import two_points
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..fits import CONFIDENCE
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind
from ..witness import witness_flow
from .course import Course
from .limit_networks import of_vanishing_scale
from .reference_networks import directions, least_mass
from .relu_examples import orthonormal_family, orthonormal_problem, pairs_family, pairs_problem
from .relu_hypotheses import (
    ALIVE,
    ASSUMED,
    ASSUMPTION_1,
    LABELLED,
    MODERATE,
    NETWORK,
    SMALL_START,
)
from .relu_setting import Setting, squared_norm
from .three_phases import GRADIENT

DRAWS = 4000
"""Networks drawn to estimate how likely Assumption 3 is."""
STEPS = (200, 2000, 20000)
"""Numbers of Euler steps to a fixed time."""
NORM_ERROR = 1e-8
"""Relative error of norms of a witness's end."""
PROGRAM_ERROR = 1e-6
"""Relative error of a linear program on 4000 directions."""
SAME_KINK = 1e-4
"""1 − cosine up to which two neurons have one kink."""
LEAST_SIZE = 1e-3
"""Size of a neuron over the largest from which on its kink is counted."""
LINEAR = "least variation norm on Figure 2's data over the linear interpolator's"
OBLIQUE = "a neuron on inputs that are not orthogonal"


def _prop2(evidence: Evidence) -> tuple[Check, ...]:
    """One neuron whose product with x_k, the only input that it is active on, falls to zero: Euler
    steps with σ'(0) = σ₀, on the way there and from zero on.

    A solution comes to zero at some τ and can neither fall nor rise from there: below zero it
    stands still, above it falls. So it rests, with velocity zero, while the field at zero is σ₀
    times that of the positive side.
    """
    s = Setting(evidence.network)
    return (
        *part("one neuron whose gate on x_k closes", lambda: _closing(evidence, s)),
        *part("the flow with σ'(0) = 0", lambda: _converse(evidence, s)),
        *part(OBLIQUE, lambda: _oblique(evidence)),
    )


def _closing(evidence: Evidence, s: Setting) -> tuple[Check, ...]:
    k = int(np.argmax(np.abs(s.y)))
    # a coordinate more, in which all inputs are zero, keeps ‖w‖ from falling with ⟨w, x_k⟩
    data = Dataset(np.column_stack([s.X, np.zeros(s.n)]), s.y)
    w = np.append(2 * s.X[k] - np.sum(s.X, axis=0), 1.0)
    w *= 0.1 * np.sqrt(s.first.rate) / np.linalg.norm(w)
    start = TwoLayerParams(-np.sign(s.y[k : k + 1]) * np.linalg.norm(w), w[None])
    problem = Problem(TwoLayer(1, data.d), data, SquareLoss("half-mean"), start)
    span = 4 * s.n / abs(float(s.y[k]))
    x = data.X[k]
    flow = need(witness_flow(problem, t1=span, time_s=evidence.time_left / 2))
    closing = [event for event in flow.events if event.sample == k]
    if len(closing) != 1 or closing[0].kind != "off":
        raise Unmeasured(f"it has {len(closing)} events there, needs one that closes")
    tau, size = closing[0].time, float(np.linalg.norm(w))
    before = flow.at(tau * (1 - 1e-6)).W[0] @ x
    falling = -float(before) / (1e-6 * tau)  # per unit of time, from the flow itself
    sunk = [_euler(problem, k, span, steps) / (span / steps * abs(falling)) for steps in STEPS]
    zero = flow.at(tau)
    resting = TwoLayerParams(zero.a, zero.W - (zero.W @ x)[:, None] * x)
    after = max(abs(float(flow.at(t).W[0] @ x)) for t in np.linspace(tau, span, 9)[1:]) / size
    euler, gradient = "Euler steps", "∇L followed in the weights"
    checks = [
        Check(
            "velocity of ⟨w, x_k⟩ on the way to zero, over ‖w(0)‖‖D_+‖",
            falling / (size * s.first.rate),
            "<=",
            -1e-3,
            1e-5,
            witness=gradient,
        ),
        Check(
            "deepest ⟨w, x_k⟩ of Euler steps η below zero, over η times that speed",
            max(sunk),
            "<=",
            2.0,
            1e-2,
            witness=euler,
        ),
        Check(
            "|⟨w, x_k⟩| afterwards with σ'(0) = 0, over ‖w(0)‖",
            after,
            "==",
            0.0,
            1e-9,
            witness=gradient,
        ),
    ]
    for gate in (1.0, 0.5, 0.0):
        moved = _step(problem, resting, 1e-6 * tau, gate, k)
        velocity = float(moved.W[0] @ x) / (1e-6 * tau) / abs(falling)
        what = f"velocity of an Euler step from zero with σ'(0) = {gate:g}, over that speed" + (
            "" if gate else ": it rests"
        )
        checks.append(
            Check(
                what,
                velocity,
                "==",
                -gate,
                1e-4,
                size=1.0,
                null=0.0 if gate else None,
                witness=euler,
            )
        )
    return tuple(checks)


def _converse(evidence: Evidence, s: Setting) -> tuple[Check, ...]:
    """With σ'(0) = 0 the flow goes on for ever: no neuron slides, which σ'(0) = 0 would not allow,
    and norms stay finite."""
    flow = evidence.trajectory
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    slides = float(sum(event.kind == "slide in" for event in flow.events))
    logs = np.array([_log_norm(flow, float(t)) for t in flow.times[1:]]) - _log_norm(flow, 0.0)
    # d‖θ‖/dt ≤ ‖θ‖·(1/n)Σ|y_k − h(x_k)| ≤ ‖θ‖√(2L), and L falls
    rate = float(np.sqrt(2 * flow.loss[0] * s.speed))
    return (
        Check(
            "neurons that slide along a kink, with σ'(0) = 0 on orthogonal inputs",
            slides,
            "==",
            0.0,
            **notes,
        ),
        Check(
            "largest ln(‖θ(t)‖/‖θ(0)‖)/(t√(2L(0))): no blow-up",
            float(np.max(logs / flow.times[1:])) / rate,
            "<=",
            1.0,
            1e-6,
            null=float("inf"),
            **notes,
        ),
    )


def _log_norm(flow: Trajectory, t: float) -> float:
    """ln‖θ‖, below float range too."""
    if flow.polar is None:
        return 0.5 * float(np.log(squared_norm(flow.at(t))))
    units, logs = flow.polar(t)
    sizes = logs + 0.5 * np.log(units.a**2 + np.sum(units.W**2, axis=1))
    return float(np.max(sizes) + 0.5 * np.log(np.sum(np.exp(2 * (sizes - np.max(sizes))))))


def _oblique(evidence: Evidence) -> tuple[Check, ...]:
    """Two inputs at 53° with labels −1 and 1: a neuron comes to the kink of the first, and is
    pushed back from both sides.

    There (39) has no solution for any σ'(0): it would have to rest on the kink, with the share ⟨x₁,
    x₂⟩(y₂ − h₂)/(h₁ − y₁), which changes in time, in place of σ'(0).
    """
    X, y = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([-1.0, 1.0])
    start = TwoLayerParams(np.array([0.3]), np.array([[0.05, np.sqrt(0.09 - 0.0025)]]))
    problem = Problem(TwoLayer(1, 2), Dataset(X, y), SquareLoss("half-mean"), start)
    flow = need(witness_flow(problem, t1=1.0, time_s=evidence.time_left / 4))
    sliding = [event.time for event in flow.events if event.kind == "slide in"]
    if not sliding:
        raise Unmeasured("it does not slide")
    state = flow.at(sliding[0])
    on_kink = TwoLayerParams(state.a, state.W * (0.0, 1.0))
    speeds = [
        float(_step(problem, on_kink, 1e-6, gate, 0).W[0, 0]) / 1e-6 / float(state.a[0])
        for gate in (0.0, 1.0)
    ]
    law, later = "(39) at one state", [flow.at(t).W[0] for t in np.linspace(sliding[0], 1.0, 9)[1:]]
    return (
        Check(
            f"{OBLIQUE}: velocity across the kink where σ' = 0, over a",
            speeds[0],
            ">=",
            1e-2,
            1e-6,
            null=0.0,
            witness=law,
        ),
        Check(
            f"{OBLIQUE}: the same where σ' = 1",
            speeds[1],
            "<=",
            -1e-2,
            1e-6,
            null=0.0,
            witness=law,
        ),
        Check(
            f"{OBLIQUE}: how far it gets from the kink after it came there, over ‖w‖",
            max(abs(float(w[0])) / float(np.linalg.norm(w)) for w in later),
            "==",
            0.0,
            1e-9,
            size=1.0,
            witness="∇L followed in the weights",
        ),
    )


def _step(
    problem: Problem, params: TwoLayerParams, step: float, gate: float, k: int
) -> TwoLayerParams:
    """One Euler step of (39) with σ'(0) = gate at products that are rounding."""
    X, y = problem.data.X, problem.data.y
    products = params.W @ X.T
    zero = np.abs(products) <= 1e-12 * np.linalg.norm(params.W, axis=1)[:, None]
    gates = np.where(zero, np.where(np.arange(len(y)) == k, gate, 0.0), products > 0)
    hidden = np.where(zero, 0.0, np.maximum(products, 0.0))
    left = (y - params.a @ hidden) / len(y)
    return TwoLayerParams(
        params.a + step * hidden @ left, params.W + step * params.a[:, None] * ((gates * left) @ X)
    )


def _euler(problem: Problem, k: int, span: float, steps: int) -> float:
    """How far below zero ⟨w, x_k⟩ gets in so many steps; σ'(0) = ½, which no step meets."""
    params, lowest = problem.start, 0.0
    for _ in range(steps):
        params = _step(problem, params, span / steps, 0.5, k)
        lowest = min(lowest, float(params.W[0] @ problem.data.X[k]))
    return -lowest


def _remarks(evidence: Evidence) -> tuple[Check, ...]:
    """§3.2: Assumption 3 is needed; how likely it is; and the linear interpolator of Figure 2."""
    s = Setting(evidence.network)
    return (
        *part("the end of the flow without S_{+,1}", lambda: _without(evidence, s)),
        *part("P(Assumption 3)", lambda: _likelihood(evidence, s)),
        *part(LINEAR, _linear),
    )


def _without(evidence: Evidence, s: Setting) -> tuple[Check, ...]:
    """The same flow without S_{+,1}, where the neurons that are left can fit the labels one by
    one."""
    outside = np.setdiff1d(np.arange(len(s.unit.a)), s.first.neurons)
    kept = TwoLayerParams(s.unit.a[outside], s.unit.W[outside])
    own = (kept.W @ s.X.T > 0) & (np.sign(kept.a)[:, None] == np.sign(s.y))
    if not np.all(np.any(own, axis=0)):
        k = int(np.flatnonzero(~np.any(own, axis=0))[0])
        raise Unmeasured(f"no neuron outside S_{{+,1}} is active on x_{k} with its label's sign")
    problem = Problem(
        TwoLayer(len(outside), s.problem.data.d), s.problem.data, s.problem.loss, kept, s.log_scale
    )
    flow = need(witness_flow(problem, time_s=evidence.time_left / 3))
    gradient = "∇L followed in the weights"
    excess = squared_norm(flow.final) / s.least_norm - 1
    with_it = float(_directions(evidence.trajectory.final))
    return (
        Check(
            "final loss over its start without S_{+,1}",
            float(flow.loss[-1] / flow.loss[0]),
            "<=",
            1e-16,
            witness=gradient,
            null=1.0,
        ),
        Check(
            "‖θ∞‖² over its least, minus one, without S_{+,1}",
            excess,
            ">=",
            1e-3,
            NORM_ERROR,
            witness=gradient,
            null=squared_norm(evidence.trajectory.final) / s.least_norm - 1,
        ),
        Check(
            "directions of neurons that matter without S_{+,1}",
            float(_directions(flow.final)),
            ">=",
            3.0,
            witness=gradient,
            null=with_it,
        ),
        Check(
            "the same with it",
            with_it,
            "==",
            2.0,
            0.0,
            witness=evidence.source,
            reason=evidence.missing,
        ),
        Check(
            "‖θ∞‖² over its least, minus one, with it",
            squared_norm(evidence.trajectory.final) / s.least_norm - 1,
            "==",
            0.0,
            NORM_ERROR + 4 * Course(evidence).idle,
            witness=evidence.source,
            reason=evidence.missing,
            null=excess,
        ),
    )


def _directions(params: TwoLayerParams) -> int:
    """Distinct directions among neurons that matter."""
    sizes = np.linalg.norm(params.W, axis=1)
    large = sizes > LEAST_SIZE * np.max(sizes)
    found: list[Array] = []
    for unit in params.W[large] / sizes[large, None]:
        if all(float(unit @ other) < 1 - SAME_KINK for other in found):
            found.append(unit)
    return len(found)


def likelihood(up: int, down: int, m: int) -> float:
    """P(Assumption 3) for m Gaussian neurons with random signs and so many labels of each sign, by
    inclusion and exclusion."""
    p, q = 0.5 ** (up + 1), 0.5 ** (down + 1)
    none, neither, both = (np.exp(m * np.log1p(-share)) for share in (p, q, p + q))
    return float(1 - none - neither + both)


def _likelihood(evidence: Evidence, s: Setting) -> Check:
    """The exact probability against networks drawn, and counted without the rest of this
    package."""
    from scipy import stats

    m, rng = len(s.start.a), np.random.default_rng(0)
    up, down = s.X[s.y > 0], s.X[s.y < 0]
    hits = 0
    for _ in evidence.in_time(range(DRAWS)):
        W, signs = rng.standard_normal((m, s.X.shape[1])), rng.choice([-1.0, 1.0], m)
        hits += bool(
            np.any((signs > 0) & np.all(W @ up.T > 0, axis=1))
            and np.any((signs < 0) & np.all(W @ down.T > 0, axis=1))
        )
    exact = likelihood(len(up), len(down), m)
    interval = stats.binomtest(hits, DRAWS).proportion_ci(CONFIDENCE, method="exact")
    share = hits / DRAWS
    error = max(share - interval.low, interval.high - share)
    what = f"P(Assumption 3), m = {m}, as a share of {DRAWS} networks"
    return Check(
        what,
        share,
        "==",
        exact,
        float(error),
        witness="Clopper–Pearson over networks drawn",
        size=1.0,
    )


def _linear() -> Check:
    """Figure 2's data: the least norm, by a linear program on the circle, against 2‖v‖ of the
    linear interpolator ⟨v, x⟩."""
    data = two_points()
    linear = 2 * float(np.linalg.norm(np.linalg.solve(data.X, data.y)))
    found = least_mass(data.X, data.y, directions(data.X)[0])
    if found is None:
        raise Unmeasured("the linear program finds no measure that fits")
    return Check(
        LINEAR,
        found[0] / linear,
        "<=",
        1.0,
        PROGRAM_ERROR,
        witness="a linear program over the circle",
        null=1.0,
    )


prop2 = Claim(
    "B/prop2",
    "On orthogonal inputs, where some gate closes, (39) has a global solution if and only if σ'(0) "
    "= 0: with σ'(0) ≠ 0 a pre-activation that falls to zero can neither rest nor go on; with "
    "σ'(0) = 0 it rests, and norms do not blow up. On other inputs there may be none at all.",
    "B, Proposition 2 (with a sign corrected in its proof, whose converse needs orthogonal inputs)",
    (NETWORK, ALIVE, LABELLED, ASSUMPTION_1, MODERATE),
    orthonormal_problem,
    _prop2,
    Kind.EXISTENCE,
    "Euler steps, and ∇L followed in the weights",
    "σ'(0) = 0, and neurons that rest",
    orthonormal_family,
    below_floats=True,
)
remarks = Claim(
    "B/remarks",
    "Without Assumption 3 the loss still vanishes, where each label has an active neuron of its "
    "sign, but with more kinks and not at least norm; the assumption holds with probability 1 − "
    "(1−p)^m − (1−q)^m + (1−p−q)^m; Figure 2's function is not the linear interpolator.",
    "B, §3.2",
    (*ASSUMED, SMALL_START),
    pairs_problem,
    _remarks,
    Kind.FLOW,
    GRADIENT,
    "the flow with S_{+,1}, and the linear interpolator",
    pairs_family,
    below_floats=True,
    limit=of_vanishing_scale,
)

CLAIMS = (prop2, remarks)
