"""B, §3.2: what happens when an assumption is relaxed: width, kinks and saddles, and the scale of
the start."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...data import orthonormal
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import witness_flow
from .flow_convergence import CONVERGED_LOSS
from .limit_networks import NORM_ERROR
from .reference_networks import rescaled
from .relu_examples import orthonormal_family, orthonormal_problem, pairs_family
from .relu_hypotheses import ASSUMED, ASSUMPTION_1, LABELLED, NETWORK, NONZERO, TWO_SIGNS
from .relu_setting import Setting, squared_norm, unit_rows
from .remarks import _directions, likelihood
from .three_phases import GRADIENT

DRAWS = 1500
"""Networks drawn for one width."""
WIDE_DRAWS = 750
"""The same for the wider ones: a share is then known to 0.09, with the confidence below."""
MOST_WEIGHTS = 10**7
"""Weights of a network that is drawn: a tenth of a second, between two looks at the clock."""
CONFIDENCE = 1 - 1e-6
"""Confidence of each share: a verdict has nine of them, and a search looks at hundreds of
problems."""
WIDTHS = (0.25, 1.0, 4.0, 32.0)
"""Widths over the one at which Assumption 3 is as likely as not."""
SIZES = (2, 6, 10)
"""Labels of each sign at which the width is tried where it is as likely as not."""
DEEP_SCALE = 1e-60
"""Scale at which saddles are counted: growths last a few 1/‖D‖, the times between them log(1/λ)
times differences of 1/‖D‖."""
SADDLE_SHARE = 1e-3
"""Share of the lower of two neighbouring peaks of −dL/dt below which a saddle lies between them."""
GROWTHS_APART = 12.0
"""Times 1/rate that two growths must be apart for their peaks to be told apart by that: they fall
like e^{−2·rate·t}."""
GROWTHS_TOGETHER = float(np.log(27 / (4 * SADDLE_SHARE)) / 2)
"""Times 1/‖D_±‖ after the first label is half fitted within which the others must be for no saddle
to be counted between them.

A label that a logistic growth σ of rate ‖D_±‖ fits adds σ(1−σ)² to −dL/dt, 4/27 at its peak, and
e^{−2x} at x/‖D_±‖ before it is half fitted. If that is SADDLE_SHARE of the peak or more for each
label that is still to be fitted, then no later −dL/dt exceeds what there is by 1/SADDLE_SHARE."""
GRADIENTS = "∇L followed in the weights"
NEAR_ONE = 0.05
"""λ√m of a larger start over √max|y|: a few hundredths of what the labels need."""
DEEPER_FACTOR = 1e-2
"""Times that, where the start is a larger one still."""
NEARER_SHARE = 0.5
"""Of what an interpolator with a neuron for each label exceeds the least norm by: below, a network
is nearer to least norm."""


def _width(evidence: Evidence) -> tuple[Check, ...]:
    """Shares of networks drawn against the exact probability: along widths for this problem's
    labels, and along n at half."""
    s = Setting(evidence.network)
    up, down = int(np.sum(s.y > 0)), int(np.sum(s.y < 0))
    checks: list[Check] = []
    for factor in WIDTHS:
        m = max(1, round(factor * half_width(up, down)))
        checks += _share(evidence, s.X[s.y > 0], s.X[s.y < 0], m)
    for count in SIZES:
        X, m = orthonormal(2 * count, 2 * count, key=0).X, half_width(count, count)
        checks += _share(evidence, X[:count], X[count:], m, WIDE_DRAWS)
    large, small = (half_width(count, count) for count in (SIZES[-1], SIZES[-2]))
    rate = float(np.log2(large / small)) / (SIZES[-1] - SIZES[-2])
    checks.append(
        Check(
            "doublings of that width per label of a sign",
            rate,
            "==",
            1.0,
            0.02,
            witness="widths that were drawn",
        )
    )
    n = 2 * SIZES[-1]
    X = orthonormal(n, n, key=1).X
    return (*checks, *_share(evidence, X[: n // 2], X[n // 2 :], n * n, WIDE_DRAWS))


def half_width(up: int, down: int) -> int:
    """The least width at which Assumption 3 holds with probability one half."""
    low, high = 0, 2
    while likelihood(up, down, high) < 0.5:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if likelihood(up, down, middle) < 0.5 else (low, middle)
    return high


def _share(
    evidence: Evidence, up: Array, down: Array, m: int, draws: int = DRAWS
) -> tuple[Check, ...]:
    what = (
        f"P(Assumption 3), {len(up)} and {len(down)} labels, m = {m}, as a share of {draws} "
        "networks"
    )
    return part(what, lambda: _drawn_share(evidence, what, up, down, m, draws))


def _drawn_share(
    evidence: Evidence, what: str, up: Array, down: Array, m: int, draws: int
) -> Check:
    from scipy import stats

    if m * up.shape[1] > MOST_WEIGHTS:
        raise Unmeasured(f"networks of {m} neurons are too large to be drawn")
    rng, hits = np.random.default_rng((71, m)), 0
    for _ in evidence.in_time(range(draws)):
        W, signs = rng.standard_normal((m, up.shape[1])), rng.choice([-1.0, 1.0], m)
        hits += bool(
            np.any((signs > 0) & np.all(W @ up.T > 0, axis=1))
            and np.any((signs < 0) & np.all(W @ down.T > 0, axis=1))
        )
    share, interval = (
        hits / draws,
        stats.binomtest(hits, draws).proportion_ci(CONFIDENCE, method="exact"),
    )
    error = max(share - interval.low, interval.high - share)
    witness = "Clopper–Pearson over networks drawn"
    return Check(
        what,
        share,
        "==",
        likelihood(len(up), len(down), m),
        float(error),
        witness=witness,
        size=1.0,
    )


def _outputs(flow: Trajectory, rate: float) -> tuple[Array, Array]:
    """Times, four in each 1/rate, and what the network says at them, (times, n)."""
    times = np.linspace(0.0, float(flow.times[-1]), max(int(rate * float(flow.times[-1]) * 4), 200))
    problem: Any = flow.problem
    return times, np.array([problem.model(flow.at(float(t)), problem.data.X) for t in times])


def growths(problem: Problem, outputs: Array) -> int:
    """How many times L falls: peaks of −dL/dt with a quiet time between them. A saddle is left by
    each."""
    losses = np.array([float(problem.loss(h, problem.data.y)) for h in outputs])
    falls = np.maximum(-np.diff(losses), 0.0) / losses[0]
    count, peak, trough = 0, 0.0, 0.0
    for fall in falls:
        if fall > SADDLE_SHARE**2 and (
            count == 0 or (trough < SADDLE_SHARE * peak and fall > trough / SADDLE_SHARE)
        ):
            count, peak, trough = count + 1, fall, fall
        elif count:
            peak, trough = (max(peak, fall), fall) if fall > peak else (peak, min(trough, fall))
            trough = fall if fall == peak else trough
    return count


def _saddles(evidence: Evidence) -> tuple[Check, ...]:
    """Without S_{+,1} and S_{−,1}: kinks at the end against falls of the loss. With both: two. From
    larger starts: one."""
    s = Setting(rescaled(evidence.network, DEEP_SCALE))
    rate = max(cluster.rate for cluster in s.clusters) * s.speed
    two, kinks = "falls of the loss with Assumption 3", "falls of the loss over kinks at the end"
    return (
        *part(two, lambda: _two_falls(evidence, s, rate, two)),
        *part("falls of the loss from larger starts", lambda: _larger(evidence, s, rate)),
        *part(kinks, lambda: _kinks(evidence, s, rate, f"{kinks}, without Assumption 3")),
    )


def _two_falls(evidence: Evidence, s: Setting, rate: float, quantity: str) -> Check:
    whole = need(witness_flow(s.problem, time_s=evidence.time_left / 4))
    times, outputs = _outputs(whole, rate)
    apart = -s.log_scale * (1 / s.second.rate - 1 / s.first.rate) * s.second.rate
    apart = min(apart, _spread(s, times, outputs))
    if apart < GROWTHS_APART:
        raise Unmeasured(f"the clusters grow within {apart:.1f}/‖D_−‖ of one another")
    count = float(growths(s.problem, outputs))
    return Check(quantity, count, "==", 2.0, witness=GRADIENTS, null=0.0)


def _spread(s: Setting, times: Array, outputs: Array) -> float:
    """How long after the first label another is half fitted, in units of 1/‖D_±‖ of its sign: the
    longest."""
    fitted = outputs / s.y > 0.5
    if not np.all(np.any(fitted, axis=0)):
        return float("inf")
    halves = times[np.argmax(fitted, axis=0)]
    rates = {cluster.sign: cluster.rate * s.speed for cluster in s.clusters}
    own = np.array([rates[float(sign)] for sign in np.sign(s.y)])
    return float(np.max(own * (halves - np.min(halves))))


def per_label(s: Setting) -> float:
    """By how much, relatively, a neuron for each label exceeds the least ‖θ‖²: 2Σ|y_k|/‖x_k‖ over
    it."""
    return 2 * float(np.sum(np.abs(s.y) / s.lengths)) / s.least_norm - 1


def _larger(evidence: Evidence, s: Setting, rate: float) -> Iterator[Check]:
    """λ√m of a few hundredths, and a hundred times less: no saddle between growths that are close
    to one another, and a norm that is nearly the least.

    Idle masses v go as λ^{2(1−κ)}u^κ, u = S − cv what is left of the cluster: their exponent is
    2(1−κ)/(1 + κcv/u), 1 − κ at least while they take half of the labels or less. So the excess
    falls as λ^{1−κ} or faster.
    """
    scale = NEAR_ONE * float(np.sqrt(np.max(np.abs(s.y)) / len(s.start.a)))
    gaps, errors = [], []
    for factor in (1.0, DEEPER_FACTOR):
        name = f"λ√m = {NEAR_ONE * factor:.2g}√max|y|"
        start = rescaled(s.problem, factor * scale)
        flow = need(witness_flow(start, time_s=evidence.time_left / 4))
        falls = f"falls of the loss from {name}"
        times, outputs = _outputs(flow, rate)
        spread = _spread(s, times, outputs)
        if spread <= GROWTHS_TOGETHER:
            count = float(growths(s.problem, outputs))
            yield Check(falls, count, "==", 1.0, witness=GRADIENTS, null=2.0)
        else:
            late = f"{spread:.1f}/‖D_±‖ after the first" if np.isfinite(spread) else "never"
            yield unknown_check(falls, f"a label is half fitted {late}: a saddle may lie between")
        gaps.append(squared_norm(flow.final) / s.least_norm - 1)
        errors.append(4 * float(flow.error[-1]) / float(np.max(np.abs(flow.final.W))) + NORM_ERROR)
    other = per_label(s)
    quantity = (
        f"‖θ∞‖² over its least, minus one, from λ√m = {NEAR_ONE:g}√max|y|, over that of a "
        "neuron for each label"
    )
    if other < 1e-3:
        yield unknown_check(quantity, "there is one label of each sign")
    else:
        # neurons that are off keep what they start with, which is no choice of the flow
        kept = squared_norm(rescaled(s.problem, scale).first_state) / s.least_norm
        yield Check(
            quantity,
            gaps[0] / other,
            "<=",
            NEARER_SHARE,
            (errors[0] + kept) / other,
            witness=GRADIENTS,
            null=1.0,
        )
    quantity = "exponent in λ of that excess, from there to a hundredth of it, over 1 − κ"
    if gaps[1] <= 10 * errors[1]:
        yield unknown_check(quantity, f"the excess is {gaps[1]:.1g}, too small to be seen")
        return
    unit = -np.log(DEEPER_FACTOR) * s.slowest
    error = sum(error / gap for error, gap in zip(errors, gaps, strict=True)) / unit
    yield Check(
        quantity,
        float(np.log(gaps[0] / gaps[1])) / unit,
        ">=",
        1.0,
        error,
        witness=GRADIENTS,
        null=0.0,
    )


def _kinks(evidence: Evidence, s: Setting, rate: float, quantity: str) -> tuple[Check, ...]:
    outside = np.setdiff1d(
        np.arange(len(s.start.a)), np.concatenate([cluster.neurons for cluster in s.clusters])
    )
    kept = TwoLayerParams(s.start.a[outside], s.start.W[outside])
    own = (kept.W @ s.X.T > 0) & (np.sign(kept.a)[:, None] == np.sign(s.y))
    if not np.all(np.any(own, axis=0)):
        k = int(np.flatnonzero(~np.any(own, axis=0))[0])
        raise Unmeasured(
            f"no neuron outside the clusters is active on x_{k} with the sign of its label"
        )
    problem = Problem(
        TwoLayer(len(outside), s.problem.data.d), s.problem.data, s.problem.loss, kept
    )
    flow = need(witness_flow(problem, time_s=evidence.time_left / 3))
    kinks = _directions(flow.final)
    apart = _separation(flow, s)
    fall = Check(
        "final loss over its start, without Assumption 3",
        float(flow.loss[-1] / flow.loss[0]),
        "<=",
        CONVERGED_LOSS,
        witness=GRADIENTS,
        null=1.0,
    )
    more = Check(
        "kinks at the end, without Assumption 3",
        float(kinks),
        ">=",
        3.0,
        witness=GRADIENTS,
        null=2.0,
    )
    if apart < GROWTHS_APART:
        return (
            fall,
            more,
            unknown_check(quantity, f"two groups grow within {apart:.1f}/‖D‖ of one another"),
        )
    return (
        fall,
        more,
        Check(
            quantity,
            growths(problem, _outputs(flow, rate)[1]) / kinks,
            "==",
            1.0,
            witness=GRADIENTS,
            null=2.0 / kinks,
        ),
    )


def _separation(flow: Trajectory, s: Setting) -> float:
    """The least time between the growths of two directions, when each reaches half of its final
    mass, in units of 1/rate of the
    slower of them: of a direction u on labels of its sign that is Σ|y_k|⟨u, x_k⟩_+/n."""
    sizes = np.sum(flow.final.W**2, axis=1)
    large = np.flatnonzero(sizes > 1e-6 * np.max(sizes))
    units, signs = unit_rows(flow.final.W), np.sign(flow.final.a)
    moments: list[tuple[float, float]] = []
    while large.size:
        group = large[units[large] @ units[large[0]] > 1 - 1e-4]
        mass = np.sum(flow.states.W[:, group] ** 2, axis=(1, 2))
        rate = (
            float(np.maximum(s.X @ units[large[0]], 0.0) @ np.maximum(signs[large[0]] * s.y, 0.0))
            / s.n
            * s.speed
        )
        moments.append((float(flow.times[int(np.argmax(mass >= mass[-1] / 2))]), rate))
        large = np.setdiff1d(large, group)
    moments.sort()
    pairs = pairwise(moments)
    return min(
        ((later - earlier) * min(one, other) for (earlier, one), (later, other) in pairs),
        default=float("inf"),
    )


def few_problem(key: int) -> Problem:
    """Two labels of each sign and a few neurons, among them, for each label, one that is active on
    its input alone."""
    p = orthonormal_problem(4 * key + 3, scale=1e-30, m=16)
    a, W = p.start.a.copy(), p.start.W.copy()
    for j, (x, y) in enumerate(zip(p.data.X, p.data.y, strict=True), start=2):
        products = p.data.X @ W[j]
        W[j] += (np.where(p.data.X @ x > 0.5, 1.0, -1.0) * np.abs(products) - products) @ p.data.X
        a[j] = np.sign(y) * np.linalg.norm(W[j] / 1e-30) * 1e-30
    return Problem(p.model, p.data, p.loss, TwoLayerParams(a, W))


width = Claim(
    "B/width",
    "Assumption 3 holds with probability 1 − (1−p)^m − (1−q)^m + (1−p−q)^m, p, q = 2^{−1−n_±}: for "
    "one half the width doubles with each label of a sign, and as m → ∞ it is one.",
    "B, §2.2 and §3.2, the overparameterisation regime",
    (NETWORK, LABELLED, ASSUMPTION_1, NONZERO, TWO_SIGNS),
    orthonormal_problem,
    _width,
    Kind.PROBABILITY,
    "networks drawn and counted",
    "",
    orthonormal_family,
    below_floats=True,
)
saddles = Claim(
    "B/saddles",
    "With Assumption 3 the loss falls twice: the flow leaves two saddles. Without it the flow ends "
    "with more than two kinks, and the loss falls once for each. From larger starts, with λ√m 0.05 "
    "or 0.0005 times √max|y|, the loss falls once, past no saddle on the way, if every label is "
    f"half fitted within {GROWTHS_TOGETHER:.1f}/‖D_±‖ of the first. From the larger of these "
    "starts ‖θ∞‖² is, up to what the start brings, nearer to its least than to that of a network "
    "with a neuron for each label, and its excess falls as λ^{1−κ} or faster.",
    "B, §3.2, overparameterisation and scale of initialisation",
    ASSUMED,
    few_problem,
    _saddles,
    Kind.FLOW,
    GRADIENT,
    "two saddles, or none",
    pairs_family,
    below_floats=True,
)
CLAIMS = (width, saddles)
