"""B, §3.2: nearly orthogonal inputs. Up to which δ = max|⟨x_k, x_l⟩| the dynamics is alike, and
what changes beyond.

B: alike for δ of order λ, "drastically different" for δ ≫ λ. Gates on orthogonal inputs do not open
again (Lemma 6). On others ⟨w_j, x_l⟩ of a neuron that lacks x_l moves by δ times what its other
products with inputs of that sign grow by, so that it opens where these, from its own flow at δ = 0,
exceed −⟨w_j(0), x_l⟩/δ, |ln λ|nδ being small: at

    δ* = −⟨w_j(0), x_l⟩/max_tΣ_k(⟨w_j(t), x_k⟩ − ⟨w_j(0), x_k⟩)  over the inputs x_k of its sign
    that it is active on.

Neurons outside the clusters end at λ^{1−κ}: with Assumption 3 δ* goes as λ^κ, above λ, and up to it
the flow is as for δ = 0. For δ ≫ λ^κ they open at e^{κ‖D‖t} ~ 1/δ and grow with the cluster from
there, aligned: they end at δ^{(1−κ)/κ} of it, whatever λ.
Without Assumption 3 neurons that lack a label grow to size one, and δ* goes as λ, as B says:
beyond, they realign while they grow. One that opens at 1/F of its final size has F^{−2} of its 1 −
cos with D left when it is grown (B, (14)). All this is about products between inputs with labels of
one sign; those across signs make neurons slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from ..witness import witness_flow
from .relaxations import few_problem
from .relu_examples import pairs_family
from .relu_hypotheses import ASSUMED
from .relu_setting import LabelCluster, Setting, row_norms, squared_norm
from .three_phases import GRADIENT

DELTAS = 10.0 ** np.array([-9.0, -7.1, -5.25])
"""Products of inputs: rounding, 1e-16, is far below, and shares of the labels that change by as
much do not show."""
NATS_BELOW = 8.0
"""Nats by which λ^κ is below the least of them."""
MODERATE_SCALE = 1e-10
"""λ where δ is below and above δ*: gates are known to 1e-12 of a neuron, and δ* is then far
above."""
LONE_CLUSTER_SCALE = 1e-7
"""The same where there is no first cluster, and δ* is of order λ."""
DEEPER_FACTOR = 1e-4
"""Times λ at which δ* is read there again."""
EDGE_FACTOR = 1.1
"""Times δ*, or a part of it, where a gate opens, or does not: δ* is of first order in |ln λ|nδ,
which is below 1e-6."""
WELL_BEYOND = 10.0
"""F: times the largest δ* of neurons that matter."""
EXCESS_LEFT = 0.1
"""What may be left there of the norm's excess: F^{−2} of a neuron's misalignment, and ten times
that for all of them."""
LEAST_SIZE = 1e-3
"""Size of a neuron at the end, over the largest, from which on it does."""
EXCESS = "‖θ∞‖² over the least of orthonormal inputs, minus one, without S_{+,1}"
GRADIENTS = "∇L followed in the weights"


@dataclass(frozen=True)
class Lacking:
    """A neuron outside the clusters that lacks one label of its sign: which, and ‖D_A‖/‖D_±‖."""

    neuron: int
    sample: int
    cluster: LabelCluster
    growth: float


def lacking(s: Setting) -> list[Lacking]:
    """Of each sign with two labels or more the neuron that lacks one of them and grows fastest."""
    found: dict[int, Lacking] = {}
    for j, i, growth in s.growths:
        own = np.flatnonzero(s.clusters[i].sign * s.y > 0)
        off = own[s.X[own] @ s.unit.W[j] < 0]
        if own.size >= 2 and off.size == 1 and (i not in found or growth > found[i].growth):
            found[i] = Lacking(j, int(off[0]), s.clusters[i], growth)
    return list(found.values())


def correlated_inputs(y: Array, delta: float) -> Array:
    """Unit inputs with products δ between those with labels of one sign, and zero between others,
    (n, n).

    The root of their Gram matrix, by blocks: products of the order of λ are known relative to
    themselves.
    """
    X = np.zeros((len(y), len(y)))
    for sign in (1.0, -1.0):
        own = np.flatnonzero(sign * y > 0)
        alike, apart = np.sqrt(1 + (own.size - 1) * delta), np.sqrt(1 - delta)
        X[np.ix_(own, own)] = apart * np.eye(own.size) + delta / (alike + apart)
    return X


def _problem(s: Setting, neurons: Any, delta: float, log_scale: float) -> Problem:
    """Some neurons on such inputs, all in the coordinates ⟨·, x_k⟩ of the problem's own inputs, and
    what is across them."""
    products = s.unit.W[neurons] @ s.X.T
    across = np.linalg.norm(s.unit.W[neurons] - products @ s.X, axis=1)
    kept = TwoLayerParams(s.unit.a[neurons], np.column_stack([products, across]))
    X = np.column_stack([correlated_inputs(s.y, delta), np.zeros(s.n)])
    return Problem(
        TwoLayer(len(neurons), s.n + 1), Dataset(X, s.y), s.problem.loss, kept, log_scale
    )


def _nearly(evidence: Evidence) -> tuple[Check, ...]:
    """On some neurons of the problem: the largest of each cluster, and of each sign one that lacks
    a label."""
    s = Setting(evidence.network)
    lack = lacking(s)
    sizes = row_norms(s.unit.W)
    leads = [int(cluster.neurons[np.argmax(sizes[cluster.neurons])]) for cluster in s.clusters]
    runs = _Runs(evidence, s, np.array([*leads, *(each.neuron for each in lack)]))
    return (
        *part("flows at δ ≫ λ^κ", lambda: _joining(s, runs, lack)),
        *part("flows around δ*", lambda: _threshold(s, runs, lack)),
        *part(EXCESS, lambda: _without(s, evidence, leads[1])),
    )


class _Runs:
    """Flows of some neurons at several δ and λ."""

    def __init__(self, evidence: Evidence, s: Setting, neurons: Any) -> None:
        self.evidence, self.s, self.neurons = evidence, s, neurons
        self.kept: dict[tuple[float, float], Trajectory] = {}

    def __call__(self, delta: float, log_scale: float) -> Trajectory:
        if (delta, log_scale) not in self.kept:
            problem = _problem(self.s, self.neurons, delta, log_scale)
            self.kept[delta, log_scale] = need(
                witness_flow(problem, time_s=self.evidence.time_left / 4)
            )
        return self.kept[delta, log_scale]

    def share(self, flow: Trajectory, i: int, cluster: LabelCluster) -> float:
        """‖w_j‖ of the i-th neuron that lacks a label, over its cluster's."""
        sizes = row_norms(flow.final.W)
        return float(sizes[2 + i] / sizes[0 if cluster.sign == self.s.first.sign else 1])

    def openings(self, log_scale: float) -> dict[int, float]:
        """The least δ* of each neuron that lacks a label of its sign, by its place."""
        return openings(
            self.s, _problem(self.s, self.neurons, 0.0, log_scale), self(0.0, log_scale)
        )


def openings(s: Setting, problem: Problem, flow: Trajectory) -> dict[int, float]:
    """δ* for the neurons of a problem on orthogonal inputs, from its flow."""
    found = {}
    start = problem.start.W[:, : s.n] * np.exp(problem.log_scale)
    for j, sign in enumerate(np.sign(problem.start.a)):
        own = sign * s.y > 0
        on = own & (start[j] > 0)
        gains = np.sum(flow.states.W[:, j, : s.n][:, on] - start[j, on], axis=1)
        if np.any(own & (start[j] < 0)) and np.max(gains) > 0:
            found[j] = float(np.min(-start[j, own & (start[j] < 0)]) / np.max(gains))
    return found


def _followed(*flows: Trajectory) -> float:
    """Relative error of a quotient of sizes that these flows end at, or of their quotients."""
    return 2 * sum(float(flow.stats["relative"][-1]) for flow in flows) + 1e-9


def _depth(lack: list[Lacking]) -> float:
    """log λ at which λ^κ is far below all DELTAS."""
    return float((np.log(DELTAS[0]) - NATS_BELOW) / min(each.growth for each in lack))


def _joining(s: Setting, runs: _Runs, lack: list[Lacking]) -> list[Check]:
    """δ ≫ λ^κ: shares against δ, at another λ, and with products of the other sign."""
    deep, middle = _depth(lack), float(DELTAS[1])
    flows = [runs(float(delta), deep) for delta in DELTAS]
    deeper, apart, none = runs(middle, 1.5 * deep), runs(-middle, deep), runs(0.0, deep)
    checks = []
    for i, each in enumerate(lack):
        name = f"‖w_j‖ over its cluster's, w_j without x_{each.sample}"
        kappa = each.growth
        shares = [runs.share(flow, i, each.cluster) for flow in flows]
        # κ moves by nδ at most, and factors by as much
        moved = s.n * DELTAS * (1 + np.abs(np.log(DELTAS)) / kappa**2)
        expected = (1 - kappa) / kappa
        errors = moved + [_followed(flow) for flow in flows]
        checks.append(
            exponent_check(
                f"exponent in δ of {name}", DELTAS, shares, expected, errors, witness=GRADIENTS
            )
        )
        # its size, over the cluster's final one, when it opens
        opened = float(np.exp(deep - np.log(middle) / kappa))
        same = runs.share(deeper, i, each.cluster) / shares[1]
        null = float(np.exp(0.5 * deep * (1 - kappa)))
        error = opened + _followed(deeper, flows[1])
        checks.append(
            Check(f"{name}, at λ^1.5 over λ", same, "==", 1.0, error, witness=GRADIENTS, null=null)
        )
        stays = runs.share(apart, i, each.cluster) / runs.share(none, i, each.cluster)
        null = shares[1] / runs.share(none, i, each.cluster)
        error = _moved(s, middle, deep) + _followed(apart, none)
        checks.append(
            Check(
                f"{name}, for −δ over δ = 0", stays, "==", 1.0, error, witness=GRADIENTS, null=null
            )
        )
    return checks


def _moved(s: Setting, delta: float, log_scale: float) -> float:
    """How far shares move where no gate opens: the rates of a neuron and its cluster by nδ of ‖D‖,
    over a time of |ln λ|/‖D‖; and as much again for what is left to grow at its end."""
    return 4 * s.n * delta * abs(log_scale)


def _threshold(s: Setting, runs: _Runs, lack: list[Lacking]) -> list[Check]:
    """δ* against λ; and at λ = 1e-10, a tenth below it and above."""
    shift, deep = float(np.log(MODERATE_SCALE) + np.log(np.max(np.abs(s.y))) / 2), _depth(lack)
    found = [runs.openings(log_scale) for log_scale in (shift, deep)]
    none, delta = runs(0.0, shift), min(found[0].values())
    alike, beyond = runs(delta / EDGE_FACTOR, shift), runs(delta * EDGE_FACTOR, shift)
    below, above = (
        f"δ = {at:.3g}λ, {factor:.3g} times δ*" for at, factor in _multiples(delta, shift)
    )
    checks = [
        _opened(f"gates that open again at {below}", alike, False),
        _opened(f"gates that open again at {above}", beyond, True),
    ]
    for i, each in enumerate(lack):
        slope = float(np.log(found[1][2 + i] / found[0][2 + i])) / (deep - shift)
        share, same = runs.share(none, i, each.cluster), runs.share(alike, i, each.cluster)
        # what idle neurons take from the cluster, their share squared, slows both; and what they
        # start with is no gain
        begun = np.sqrt(s.n) * float(
            row_norms(s.unit.W)[each.neuron] * np.exp(shift) / row_norms(none.final.W)[2 + i]
        )
        error = (_followed(none, runs(0.0, deep)) + share**2 + begun) / abs(deep - shift)
        what = f"exponent in λ of the δ* at which a neuron opens on x_{each.sample}, which it lacks"
        checks.append(Check(what, slope, "==", each.growth, error, witness=GRADIENTS, null=1.0))
        error = _moved(s, delta / EDGE_FACTOR, shift) + _followed(alike, none)
        what = f"‖w_j‖ over its cluster's, w_j without x_{each.sample}, at {below}, over δ = 0"
        checks.append(Check(what, same / share, "==", 1.0, error, witness=GRADIENTS))
    return checks


def _multiples(delta: float, log_scale: float) -> list[tuple[float, float]]:
    """(δ/λ, δ/δ*) below and above δ*."""
    return [
        (delta * factor / float(np.exp(log_scale)), factor)
        for factor in (1 / EDGE_FACTOR, EDGE_FACTOR)
    ]


def _opened(quantity: str, flow: Trajectory, some: bool) -> Check:
    count = float(sum(event.kind == "on" for event in flow.events))
    if some:
        return Check(quantity, count, ">=", 1.0, witness=GRADIENTS, null=0.0)
    return Check(quantity, count, "==", 0.0, witness=GRADIENTS, null=1.0)


def _without(s: Setting, evidence: Evidence, second: int) -> list[Check]:
    """Without S_{+,1}: of each of its labels the neuron outside that grows fastest on it, and one
    of the other cluster."""
    chosen = {second}
    for k in np.flatnonzero(s.first.sign * s.y > 0):
        active = [(growth, j) for j, i, growth in s.growths if i == 0 and s.unit.W[j] @ s.X[k] > 0]
        if not active:
            raise Unmeasured(
                f"no neuron outside S_{{+,1}} is active on x_{k} with the sign of its label"
            )
        chosen.add(max(active)[1])
    runs = _Runs(evidence, s, np.array(sorted(chosen)))
    shift = float(np.log(LONE_CLUSTER_SCALE) + np.log(np.max(np.abs(s.y))) / 2)
    deeper = shift + float(np.log(DEEPER_FACTOR))
    found, fainter = (runs.openings(log_scale) for log_scale in (shift, deeper))
    delta, sizes = min(found.values()), row_norms(runs(0.0, shift).final.W)
    known = _followed(runs(0.0, shift), runs(0.0, deeper)) / abs(float(np.log(DEEPER_FACTOR)))
    slope = float(np.log(min(fainter.values()) / delta) / np.log(DEEPER_FACTOR))
    largest = max(least for j, least in found.items() if sizes[j] > LEAST_SIZE * np.max(sizes))
    flows = [
        runs(at, shift)
        for at in (0.0, delta / EDGE_FACTOR, delta * EDGE_FACTOR, WELL_BEYOND * largest)
    ]
    none, alike, _, well = (squared_norm(flow.final) / s.least_norm - 1 for flow in flows)
    below, above = (
        f"δ = {at:.3g}λ, {factor:.3g} times δ*" for at, factor in _multiples(delta, shift)
    )
    error = _followed(*flows[:2]) / none + _moved(s, delta, shift)
    kappa = max(each.growth for each in lacking(s))
    what = (
        "|exponent in λ of the δ* at which a gate opens without S_{+,1} − 1| over 1 − κ: "
        "nearer to one than to κ"
    )
    return [
        Check(
            what,
            abs(slope - 1) / (1 - kappa),
            "<=",
            0.5,
            known / (1 - kappa),
            witness=GRADIENTS,
            null=1.0,
        ),
        _opened(f"gates that open again without S_{{+,1}} at {below}", flows[1], False),
        _opened(f"gates that open again without S_{{+,1}} at {above}", flows[2], True),
        Check(
            f"{EXCESS}, at {below}, over δ = 0",
            alike / none,
            "==",
            1.0,
            error,
            witness=GRADIENTS,
            null=well / none,
        ),
        Check(
            f"{EXCESS}, at ten times the largest δ*, over δ = 0",
            well / none,
            "<=",
            EXCESS_LEFT,
            error,
            witness=GRADIENTS,
            null=1.0,
        ),
    ]


def _lacks(problem: Any) -> str | None:
    return (
        None
        if lacking(Setting(problem))
        else "no neuron outside the clusters lacks one of two or more labels of its sign"
    )


LACKS = Hypothesis(
    "lacking", "some neuron outside the clusters lacks one of its sign's labels", on_problem(_lacks)
)

nearly = Claim(
    "B/nearly",
    "Products δ between inputs of one sign: a gate opens again from some δ* on, up to which the "
    "flow is as for δ = 0. δ* goes as λ^κ, above λ; beyond, neurons that lack a label open on it "
    "where products have the sign for it, align with the cluster and end at δ^{(1−κ)/κ} of it, "
    "whatever λ. Without Assumption 3 δ* goes as λ, and at ten times the largest neurons have "
    "realigned.",
    "B, §3.2, limitations (δ of order λ, and δ ≫ λ; made precise)",
    (*ASSUMED, LACKS),
    few_problem,
    _nearly,
    Kind.FLOW,
    GRADIENT,
    "neurons that stay idle, and inputs with δ = 0",
    pairs_family,
    below_floats=True,
)
CLAIMS = (nearly,)
