"""B, §3.2, the scale of initialisation: which λ* B's Theorem 1 needs, "roughly Θ(1)e^{−Θ(n)}/√m".

A neuron outside the clusters ends at q = (C_A/C)(λC/√u)^{1−κ} of a cluster that is one neuron and
ends at the mass u, C and C_A the sizes to which the early phase leads (B/limit): that it is η asks
for λ = (√u/C)(ηC/C_A)^{1/(1−κ)}. For N labels of one sign and of one size the fastest such neuron
lacks one of them, κ = √(1 − 1/N) and 1/(1−κ) is between 2N − 1 and 2N: λ* falls by η² with each
label, exponentially, as B says. Labels of other sizes have 1/(1−κ) ≤ 2Σ_±y²/min y² in place of 2N.

On labels of one size all this is exact, up to powers of λ: where each label is lacked by one neuron
all residuals are one r(t), the cluster's mass grows at 2‖D‖r and the others' at κ2‖D‖r, so that
they are powers of one another all along. With N others of mass v each label gets u/√N + v√(N−1) =
1: u = √N − Nκv, and ‖θ‖² exceeds its least by 2N(1−κ)v: to the norm an idle neuron adds 1 − κ of
its mass only. The factor 1/√m is exact for copies: k copies of each neuron at λ/√k follow the flow
of one at λ.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...data import orthonormal
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind
from ..witness import witness_flow
from .reference_networks import rescaled
from .relaxations import few_problem
from .relu_examples import pairs_family
from .relu_hypotheses import ASSUMED
from .relu_setting import Setting, row_norms, squared_norm
from .three_phases import GRADIENT

COUNTS = (2, 4, 6)
"""Labels of one sign and size."""
IDLE_SHARE = 1e-2
"""η: size of an idle neuron over its cluster's."""
TILT_SINE = 0.3
"""Sine of neurons with the one input of the other sign, on which they start off."""
DEEPER_POWER = 1.2
"""Power of λ at which shares are read a second time."""
COPIES = 2
"""Of each neuron."""
COPY_POWER = 0.5
"""Of their number by which λ is divided."""
SCALE = 1e-6
"""λ at which copies are compared."""
NORM_ERROR = 1e-9
"""Relative error of norms beyond what a flow states: the residual of 1e-10 that is left, and
rounding."""
GRADIENTS = "∇L followed in the weights"


def equal_labels(count: int, log_scale: float) -> Problem:
    """So many labels 1 and one −½. Neurons of length one, with products of one size: a cluster, one
    without each label, and one of the other sign."""
    n = count + 1
    X, y = orthonormal(n, n, key=count).X, np.append(np.ones(count), -0.5)
    signs = np.vstack([np.ones(count), 1 - 2 * np.eye(count), -np.ones(count)])
    products = np.column_stack(
        [signs * np.sqrt((1 - TILT_SINE**2) / count), np.append(np.full(n, -TILT_SINE), TILT_SINE)]
    )
    a = np.append(np.ones(n), -1.0)
    return Problem(
        TwoLayer(n + 1, n),
        Dataset(X, y),
        SquareLoss("half-mean"),
        TwoLayerParams(a, products @ X),
        log_scale,
    )


def needed(count: int, share: float) -> float:
    """log λ at which each neuron without one of so many labels ends at that share of the
    cluster."""
    kappa, C, C_A = _early(count)
    mass = np.sqrt(count) / (1 + count * kappa * share**2)
    return float(np.log(mass) / 2 - np.log(C) + np.log(share * C / C_A) / (1 - kappa))


def _early(count: int) -> tuple[float, float, float]:
    """κ, C and C_A."""
    kappa, cosine = float(np.sqrt(1 - 1 / count)), float(np.sqrt(1 - TILT_SINE**2))
    return kappa, (1 + cosine) / 2, (1 + kappa * cosine) / 2


def _scale(evidence: Evidence) -> tuple[Check, ...]:
    copies = "largest difference of a neuron's ‖w_j‖² from that of its copies at λ/√k"
    return (
        *part("flows from networks on labels of one size", lambda: _one_size(evidence)),
        *part(copies, lambda: _copies(evidence, copies)),
    )


def _one_size(evidence: Evidence) -> Iterator[Check]:
    inverses, errors = [], []
    for count in COUNTS:
        predicted = needed(count, IDLE_SHARE)
        logs = np.array([1.0, DEEPER_POWER]) * predicted
        flows = [
            need(witness_flow(equal_labels(count, float(each)), time_s=evidence.time_left / 4))
            for each in logs
        ]
        shares = np.log([_share(flow) for flow in flows])
        known = sum(2 * float(flow.stats["relative"][-1]) + NORM_ERROR for flow in flows)
        kappa, C, C_A = _early(count)
        # shares go with λ over the cluster's final size
        grown = logs - np.log([row_norms(flow.final.W)[0] for flow in flows])
        slope = float((shares[1] - shares[0]) / (grown[1] - grown[0]))
        steepness = known / abs(float(grown[1] - grown[0])) / (1 - kappa)
        yield Check(
            f"1 − κ of the neuron without one of {count} labels, over 1 − √(1 − 1/{count})",
            slope / (1 - kappa),
            "==",
            1.0,
            steepness,
            witness=GRADIENTS,
            null=1 / (1 - kappa),
        )
        yield Check(
            f"share of the cluster at which it ends from the λ for η = {IDLE_SHARE:g}, {count} "
            "labels, over η",
            float(np.exp(shares[0])) / IDLE_SHARE,
            "==",
            1.0,
            known,
            witness=GRADIENTS,
            null=0.0,
        )
        yield _gap(flows[0], count)
        inverses.append(float((grown[0] + np.log(C)) / (shares[0] + np.log(C / C_A))))
        errors.append(inverses[-1] * known / abs(float(shares[0])))
    labels = COUNTS[-1] - COUNTS[0]
    per_label, error = (inverses[-1] - inverses[0]) / labels, (errors[-1] + errors[0]) / labels
    # 2N − 1 ≤ 1/(1−κ) ≤ 2N at both ends
    low, high = (2 * labels - 1) / labels, (2 * labels + 1) / labels
    what = "fall of ln λ per label over ln η"
    yield Check(f"{what}: at least", per_label, ">=", low, error, witness=GRADIENTS, null=0.0)
    yield Check(
        f"{what}: at most, λ* ~ e^{{−Θ(n)}}", per_label, "<=", high, error, witness=GRADIENTS
    )


def _share(flow: Trajectory) -> float:
    """The second neuron's size, which lacks one label, over the first's, which is the cluster."""
    sizes = row_norms(flow.final.W)
    return float(sizes[1] / sizes[0])


def _gap(flow: Trajectory, count: int) -> Check:
    """‖θ∞‖² over its least against 2Σ‖w_j‖²(1 − κ) over idle neurons, whose norm is only in part in
    excess."""
    s, end = Setting(equal_labels(count, 0.0)), flow.final
    masses = row_norms(end.W)[1:-1] ** 2
    predicted = 2 * float(np.sum(masses)) * (1 - np.sqrt(1 - 1 / count)) / s.least_norm
    found, known = (
        squared_norm(end) / s.least_norm - 1,
        4 * float(flow.error[-1]) / float(np.max(np.abs(end.W))) + NORM_ERROR,
    )
    what = f"‖θ∞‖² over its least, minus one, over 2Σ‖w_j‖²(1 − κ) of idle neurons, {count} labels"
    null = 2 * float(np.sum(masses)) / s.least_norm / predicted
    return Check(
        what, found / predicted, "==", 1.0, known / predicted, witness=GRADIENTS, null=null
    )


def _copies(evidence: Evidence, quantity: str) -> Check:
    """The problem's own network, and two copies of each of its neurons at λ/√2: where mass ends."""
    s = Setting(evidence.network)
    shift = float(np.log(SCALE) + np.log(np.max(np.abs(s.y))) / 2)
    copied = TwoLayerParams(np.tile(s.unit.a, COPIES), np.tile(s.unit.W, (COPIES, 1)))
    wider = Problem(TwoLayer(len(copied.a), s.X.shape[1]), s.problem.data, s.problem.loss, copied)
    masses = []
    for p, log_scale in (
        (s.problem, shift),
        (wider, shift - COPY_POWER * np.log(COPIES)),
        (wider, shift),
    ):
        start = (
            rescaled(p, log_scale=log_scale)
            if p is s.problem
            else Problem(p.model, p.data, p.loss, copied, log_scale)
        )
        flow = need(witness_flow(start, time_s=evidence.time_left / 4))
        sizes = row_norms(flow.final.W) ** 2
        error = 4 * float(flow.error[-1]) * float(np.sqrt(np.max(sizes)))
        masses.append(
            (np.sum(sizes.reshape(-1, len(s.unit.a)), axis=0) / s.least_norm, error / s.least_norm)
        )
    apart, null = (float(np.max(np.abs(masses[0][0] - masses[i][0]))) for i in (1, 2))
    error = masses[0][1] + masses[1][1] + 1e-10
    return Check(
        f"{quantity}, over the least norm",
        apart,
        "==",
        0.0,
        error,
        size=1.0,
        null=null,
        witness=GRADIENTS,
    )


scale = Claim(
    "B/scale",
    "For labels of equal size the λ at which idle neurons are at most a share of a cluster is "
    "e^{−Θ(n)}/√m: (1−κ)ln λ ~ ln η, 1/(1−κ) between 2N−1 and 2N for N labels of a sign; of their "
    "mass idle neurons add 1−κ to the norm; k copies of each neuron at λ/√k follow the same flow.",
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
