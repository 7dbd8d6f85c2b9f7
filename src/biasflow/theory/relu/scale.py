"""B, §3.2, the scale of initialisation: which λ* B's Theorem 1 needs, "roughly Θ(1)e^{−Θ(n)}/√m".

A neuron outside the clusters ends at q = (C_A/C)(λC/√S)^{1−κ} of a cluster of mass S = n‖D_+‖ that is one neuron, C and C_A the
sizes to which the early phase leads (B/limit): that it is at most η asks for λ = (√S/C)(ηC/C_A)^{1/(1−κ)}. For N labels of one
sign and of one size the fastest such neuron lacks one of them, κ = √(1 − 1/N) and 1/(1−κ) is between 2N − 1 and 2N: λ* falls by
η² with each label, exponentially, as B says. Labels of other sizes have 1/(1−κ) ≤ 2Σ_±y²/min y² in place of 2N. To the norm an
idle neuron adds 1 − κ of its mass only: the part of a label that it takes over is spared by the cluster. The factor 1/√m is exact
for copies: k copies of each neuron at λ/√k follow the flow of one at λ.
"""

from __future__ import annotations

import numpy as np

from ...data import orthonormal
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Problem, Trajectory
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import witness_flow
from .examples import pairs_family
from .hypotheses import ASSUMED
from .networks import rescaled
from .phases import GRADIENT
from .relaxations import few_problem
from .setting import Setting, row_norms, squared_norm

COUNTS = (2, 4, 6)
"""Labels of one sign and size."""
SHARE = 1e-2
"""η: size of an idle neuron over its cluster's."""
TILT = 0.3
"""Sine of neurons with the one input of the other sign, on which they start off."""
DEEPER = 1.2
"""Power of λ at which shares are read a second time."""
ORDER = 10.0
"""Times Nη² by which idle neurons change a cluster: there are about N of that size."""
COPIES = 2
"""Of each neuron."""
COPY_POWER = 0.5
"""Of their number by which λ is divided."""
SCALE = 1e-6
"""λ at which copies are compared."""
GRADIENTS = "∇L followed in the weights"


def equal_labels(count: int, log_scale: float) -> Problem:
    """So many labels 1 and one −½. Neurons of length one, with products of one size: a cluster, one without each label, and one
    of the other sign."""
    n = count + 1
    X, y = orthonormal(n, n, count).X, np.append(np.ones(count), -0.5)
    signs = np.vstack([np.ones(count), 1 - 2 * np.eye(count), -np.ones(count)])
    products = np.column_stack([signs * np.sqrt((1 - TILT**2) / count), np.append(np.full(n, -TILT), TILT)])
    a = np.append(np.ones(n), -1.0)
    return Problem(TwoLayer(n + 1, n), Dataset(X, y), SquareLoss("half-mean"), TwoLayerParams(a, products @ X), log_scale)


def needed(count: int, share: float) -> float:
    """log λ at which a neuron without one of so many labels ends at that share of the cluster."""
    kappa, cosine = np.sqrt(1 - 1 / count), np.sqrt(1 - TILT**2)
    C, C_A = (1 + cosine) / 2, (1 + kappa * cosine) / 2
    return float(np.log(count**0.25 / C) + np.log(share * C / C_A) / (1 - kappa))


def _scale(evidence: Evidence) -> tuple[Check, ...]:
    logs, checks = [], []
    for count in COUNTS:
        predicted = needed(count, SHARE)
        first, second = (
            witness_flow(equal_labels(count, power * predicted), time_s=evidence.time_left / 4) for power in (1.0, DEEPER)
        )
        if isinstance(first, str) or isinstance(second, str):
            return (unknown_check("flows from networks on labels of one size", str(first if isinstance(first, str) else second)),)
        shares = np.log([_share(first), _share(second)])
        slope = float((shares[1] - shares[0]) / ((DEEPER - 1) * predicted))
        logs.append(predicted + (np.log(SHARE) - float(shares[0])) / slope)
        error = ORDER * count * SHARE**2
        checks.append(
            Check(
                f"1 − κ of the neuron without one of {count} labels, over 1 − √(1 − 1/{count})",
                slope / (1 - np.sqrt(1 - 1 / count)),
                "==",
                1.0,
                error,
                witness=GRADIENTS,
            )
        )
        checks.append(
            Check(
                f"ln λ at which it ends at η = {SHARE:g} of the cluster, {count} labels, over the prediction",
                logs[-1] / predicted,
                "==",
                1.0,
                error,
                witness=GRADIENTS,
                null=0.0,
            )
        )
        checks.append(_gap(first, count, error))
    per_label = (logs[-1] - logs[0]) / (COUNTS[-1] - COUNTS[0]) / np.log(SHARE)
    checks.append(Check("fall of ln λ per label over ln η: at least", per_label, ">=", 1.0, 1e-3, witness=GRADIENTS, null=0.0))
    checks.append(Check("the same: at most, λ* ~ e^{−Θ(n)}", per_label, "<=", 3.0, 1e-3, witness=GRADIENTS))
    return (*checks, *_copies(evidence))


def _share(flow: Trajectory) -> float:
    """The second neuron's size, which lacks one label, over the first's, which is the cluster."""
    sizes = row_norms(flow.final.W)
    return float(sizes[1] / sizes[0])


def _gap(flow: Trajectory, count: int, error: float) -> Check:
    """‖θ∞‖² over its least against 2Σ‖w_j‖²(1 − κ) over idle neurons, whose norm is only in part in excess."""
    s, end = Setting(equal_labels(count, 0.0)), flow.final
    masses = row_norms(end.W)[1:-1] ** 2
    predicted = 2 * float(np.sum(masses)) * (1 - np.sqrt(1 - 1 / count)) / s.least_norm
    found, known = squared_norm(end) / s.least_norm - 1, 4 * float(flow.error[-1]) / float(np.max(np.abs(end.W))) + 1e-9
    what = f"‖θ∞‖² over its least, minus one, over 2Σ‖w_j‖²(1 − κ) of idle neurons, {count} labels"
    null = 2 * float(np.sum(masses)) / s.least_norm / predicted
    return Check(what, found / predicted, "==", 1.0, error + known / predicted, witness=GRADIENTS, null=null)


def _copies(evidence: Evidence) -> tuple[Check, ...]:
    """The problem's own network, and two copies of each of its neurons at λ/√2: where mass ends."""
    s, quantity = Setting(evidence.network), "largest difference of a neuron's ‖w_j‖² from that of its copies at λ/√k"
    shift = float(np.log(SCALE) + np.log(np.max(np.abs(s.y))) / 2)
    copied = TwoLayerParams(np.tile(s.unit.a, COPIES), np.tile(s.unit.W, (COPIES, 1)))
    wider = Problem(TwoLayer(len(copied.a), s.X.shape[1]), s.problem.data, s.problem.loss, copied)
    masses = []
    for p, log_scale in (
        (s.problem, shift),
        (wider, shift - COPY_POWER * np.log(COPIES)),
        (wider, shift),
    ):
        start = rescaled(p, log_scale=log_scale) if p is s.problem else Problem(p.model, p.data, p.loss, copied, log_scale)
        flow = witness_flow(start, time_s=evidence.time_left / 4)
        if isinstance(flow, str):
            return (unknown_check(quantity, flow),)
        sizes = row_norms(flow.final.W) ** 2
        error = 4 * float(flow.error[-1]) * float(np.sqrt(np.max(sizes)))
        masses.append((np.sum(sizes.reshape(-1, len(s.unit.a)), axis=0) / s.least_norm, error / s.least_norm))
    apart, null = (float(np.max(np.abs(masses[0][0] - masses[i][0]))) for i in (1, 2))
    error = masses[0][1] + masses[1][1] + 1e-10
    return (Check(f"{quantity}, over the least norm", apart, "==", 0.0, error, size=1.0, null=null, witness=GRADIENTS),)


scale = Claim(
    "B/scale",
    "For labels of equal size the λ at which idle neurons are at most a share of a cluster is e^{−Θ(n)}/√m: (1−κ)ln λ ~ ln η,"
    " 1/(1−κ) between 2N−1 and 2N for N labels of a sign; of their mass idle neurons add 1−κ to the norm; k copies of each neuron"
    " at λ/√k follow the same flow.",
    "B, §3.2, scale of initialisation",
    ASSUMED,
    few_problem,
    _scale,
    Kind.FLOW,
    GRADIENT,
    "a λ that does not depend on n; copies at the same λ",
    pairs_family,
    below_floats=True,
)
CLAIMS = (scale,)
