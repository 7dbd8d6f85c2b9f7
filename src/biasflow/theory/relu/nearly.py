"""B, §3.2: nearly orthogonal inputs. Up to which δ = max|⟨x_k, x_l⟩| the dynamics is alike, and what changes beyond.

B: alike for δ of order λ, "drastically different" for δ ≫ λ. Gates on orthogonal inputs do not open again (Lemma 6); on others
⟨w_j, x_l⟩ moves by δ times the growth of w_j. A neuron that lacks the label of x_l and grows along D_A, A its pattern, opens on
it once δ‖w_j‖ exceeds |⟨w_j(0), x_l⟩| ~ λ, where ⟨D_A, x_l⟩ has the sign of that label. Idle neurons are of size λ^{1−κ} at
most: with Assumption 3 nothing opens for δ ≪ λ^κ. For δ ≫ λ^κ they open at e^{κ‖D‖t} ~ 1/δ and grow
with the cluster from there: they end at δ^{(1−κ)/κ} of it, whatever λ is. Without Assumption 3 neurons that lack a label grow to
size one, and the change is near δ ~ λ, as B says: beyond, they realign while they grow. All this is about products between inputs
with labels of one sign; those across signs make neurons slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...inputs import Array
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Problem, Trajectory
from ..evidence import Evidence
from ..fits import exponent_check
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .examples import pairs_family
from .hypotheses import ASSUMED
from .phases import GRADIENT
from .relaxations import few_problem
from .setting import Cluster, Setting, distance, row_norms, squared_norm

DELTAS = 10.0 ** np.array([-9.0, -7.75, -6.5, -5.25])
"""Products of inputs: rounding, 1e-16, is far below, and shares of the labels that change by as much do not show."""
BELOW = 8.0
"""Nats by which λ^κ is below the least of them."""
MODERATE = 1e-8
"""λ where δ is below and above λ^κ: both are then far above rounding."""
ALONE = 1e-9
"""λ where there is no first cluster, and δ is a thousandth of it, and a thousand times."""
FAR = 1e3
"""Times λ that δ is there, or a part of it."""
AWAY = 10.0
"""Times the δ at which a gate opens, or a part of it."""
ORDER = 10.0
"""Times nδ that a flow may move where no gate opens: directions, shares and labels each change by that at most."""
GRADIENTS = "∇L followed in the weights"


@dataclass(frozen=True)
class Lacking:
    """A neuron outside the clusters that lacks one label of its sign: which, and ‖D_A‖/‖D_±‖."""

    neuron: int
    sample: int
    cluster: Cluster
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


def correlated_inputs(s: Setting, delta: float) -> Array:
    """Unit inputs with products δ between those with labels of one sign, and zero between others."""
    gram = np.eye(s.n) + delta * (np.equal.outer(s.y > 0, s.y > 0) - np.eye(s.n))
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T @ s.X)


def _problem(s: Setting, neurons: Any, delta: float, log_scale: float) -> Problem:
    kept = TwoLayerParams(s.unit.a[neurons], s.unit.W[neurons])
    X = s.X if delta == 0 else correlated_inputs(s, delta)
    return Problem(TwoLayer(len(neurons), s.X.shape[1]), Dataset(X, s.y), s.problem.loss, kept, log_scale)


def _nearly(evidence: Evidence) -> tuple[Check, ...]:
    """On some neurons of the problem: the largest of each cluster, and of each sign one that lacks a label."""
    s = Setting(evidence.network)
    lack = lacking(s)
    sizes = row_norms(s.unit.W)
    leads = [int(cluster.neurons[np.argmax(sizes[cluster.neurons])]) for cluster in s.clusters]
    neurons = np.array([*leads, *(each.neuron for each in lack)])
    runs = _Runs(evidence, s, neurons)
    try:
        return (*_joining(s, runs, lack), *_threshold(s, runs, lack), *_without(s, evidence))
    except _Missing as missing:
        return (unknown_check("flows on nearly orthogonal inputs", str(missing)),)


class _Missing(Exception):
    """A flow that could not be followed."""


class _Runs:
    """Flows of some neurons at several δ and λ."""

    def __init__(self, evidence: Evidence, s: Setting, neurons: Any) -> None:
        self.evidence, self.s, self.neurons = evidence, s, neurons

    def __call__(self, delta: float, log_scale: float) -> Trajectory:
        flow = witness_flow(_problem(self.s, self.neurons, delta, log_scale), time_s=self.evidence.time_left / 4)
        if isinstance(flow, str):
            raise _Missing(flow)
        return flow

    def share(self, flow: Trajectory, i: int, cluster: Cluster) -> float:
        """‖w_j‖ of the i-th neuron that lacks a label, over its cluster's."""
        sizes = row_norms(flow.final.W)
        return float(sizes[2 + i] / sizes[0 if cluster.sign == self.s.first.sign else 1])


def _joining(s: Setting, runs: _Runs, lack: list[Lacking]) -> list[Check]:
    """δ ≫ λ^κ: shares against δ, at another λ, and with products of the other sign."""
    slowest = min(each.growth for each in lack)
    deep = float((np.log(DELTAS[0]) - BELOW) / slowest)
    flows = [runs(float(delta), deep) for delta in DELTAS]
    middle = float(DELTAS[2])
    deeper, apart, none = runs(middle, 1.5 * deep), runs(-middle, deep), runs(0.0, deep)
    checks = []
    for i, each in enumerate(lack):
        name = f"‖w_j‖ over its cluster's, w_j without x_{each.sample}"
        kappa = each.growth
        shares = [runs.share(flow, i, each.cluster) for flow in flows]
        relative = [2 * float(flow.stats["relative"][-1]) for flow in flows]
        moved = ORDER * s.n * DELTAS  # growths and labels change by nδ
        expected = (1 - kappa) / kappa
        checks.append(exponent_check(f"exponent in δ of {name}", DELTAS, shares, expected, relative + moved, witness=GRADIENTS))
        left = float(np.exp(deep - np.log(middle) / kappa))  # of the time between opening and the cluster's growth
        error = ORDER * left + 1e-6
        same = runs.share(deeper, i, each.cluster) / shares[2]
        null = float(np.exp(0.5 * deep * (1 - kappa)))
        checks.append(Check(f"{name}, at λ^1.5 over λ", same, "==", 1.0, error, witness=GRADIENTS, null=null))
        stays = runs.share(apart, i, each.cluster) / runs.share(none, i, each.cluster)
        error = 4 * s.n * middle * abs(deep) + 1e-6  # rates change by nδ, over a time of ln(1/λ)
        null = shares[2] / runs.share(none, i, each.cluster)
        checks.append(Check(f"{name}, for −δ over δ = 0", stays, "==", 1.0, error, witness=GRADIENTS, null=null))
    return checks


def opening(s: Setting, runs: _Runs, flow: Trajectory, lack: list[Lacking], log_scale: float) -> float:
    """The least δ at which one of these neurons opens: where δ⟨D_A, Σx⟩/‖D_A‖ times its final size is −⟨w_j(0), x_l⟩."""
    found = []
    for i, each in enumerate(lack):
        A = (each.cluster.sign * s.y > 0) & (np.arange(s.n) != each.sample)
        pull = float(np.sum(np.abs(s.y[A])) / np.linalg.norm(s.y[A]))
        size = float(row_norms(flow.final.W)[2 + i])
        found.append(-float(s.unit.W[each.neuron] @ s.X[each.sample]) * np.exp(log_scale) / (pull * size))
    return float(min(found))


def _threshold(s: Setting, runs: _Runs, lack: list[Lacking]) -> list[Check]:
    """At λ = 1e-8: a tenth of the δ at which a gate opens, which is of order λ^κ up to a factor, and ten times."""
    shift = float(np.log(MODERATE) + np.log(np.max(np.abs(s.y))) / 2)
    none = runs(0.0, shift)
    delta = opening(s, runs, none, lack, shift)
    alike, beyond = runs(delta / AWAY, shift), runs(delta * AWAY, shift)
    size = float(np.sqrt(squared_norm(none.final)))
    moved = distance(alike.final, none.final) / size
    error = float(alike.error[-1] + none.error[-1]) / size + 1e-9
    opened = [float(sum(event.kind == "on" for event in flow.events)) for flow in (alike, beyond)]
    return [
        Check("gates that open again where δ is a tenth of that", opened[0], "==", 0.0, witness=GRADIENTS, null=opened[1]),
        Check("gates that open again where it is ten times", opened[1], ">=", 1.0, witness=GRADIENTS, null=0.0),
        Check(
            "‖θ∞ − θ∞(δ = 0)‖ over ‖θ∞‖ and nδ where it is a tenth",
            moved / (s.n * delta / AWAY),
            "<=",
            ORDER,
            error / (s.n * delta / AWAY),
            witness=GRADIENTS,
            null=1 / (s.n * delta / AWAY),
        ),
    ]


def _without(s: Setting, evidence: Evidence) -> list[Check]:
    """Without S_{+,1}: below δ ~ λ the flow ends as on orthogonal inputs, beyond the others realign, to nearly least norm."""
    quantity = "‖θ∞‖² over the least of orthonormal inputs, minus one, without S_{+,1}"
    outside = np.setdiff1d(np.arange(len(s.unit.a)), s.first.neurons)
    own = (s.unit.W[outside] @ s.X.T > 0) & (np.sign(s.unit.a[outside])[:, None] == np.sign(s.y))
    if not np.all(np.any(own, axis=0)):
        k = int(np.flatnonzero(~np.any(own, axis=0))[0])
        return [unknown_check(quantity, f"nobody outside S_{{+,1}} is active on x_{k} with the sign of its label")]
    runs = _Runs(evidence, s, outside)
    shift = float(np.log(ALONE) + np.log(np.max(np.abs(s.y))) / 2)
    none, below, beyond = (squared_norm(runs(delta, shift).final) / s.least_norm - 1 for delta in (0.0, ALONE / FAR, ALONE * FAR))
    return [
        Check(f"{quantity}, at δ = λ/1000 over δ = 0", below / none, "==", 1.0, 1e-6, witness=GRADIENTS, null=beyond / none),
        Check(f"{quantity}, at δ = 1000λ over δ = 0", beyond / none, "<=", 0.5, 1e-6, witness=GRADIENTS, null=1.0),
    ]


def _lacks(problem: Any) -> str | None:
    return None if lacking(Setting(problem)) else "no neuron outside the clusters lacks one of two or more labels of its sign"


LACKS = Hypothesis("lacking", "some neuron outside the clusters lacks one of its sign's labels", on_problem(_lacks))

nearly = Claim(
    "B/nearly",
    "Products δ between inputs of one sign: while no gate opens, for δ ≪ λ^κ, the flow is as for δ = 0; beyond, neurons that"
    " lack a label open on it where products have the sign for it, and end at δ^{(1−κ)/κ} of the cluster, whatever λ. Without"
    " Assumption 3 it changes between λ/1000 and 1000λ, beyond which neurons realign while they grow.",
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
