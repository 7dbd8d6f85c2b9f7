"""B, Theorem 1 and what surrounds it: convergence, the limit of vanishing initialisation, minimum norm, KKT points, remarks."""

from __future__ import annotations

import numpy as np

from ...data import two_points
from ...errors import BiasflowError
from ...flows import gradient_flow, saddle_limit
from ...inputs import Array
from ...limits import kkt_point, min_norm_interpolator, variation_norm
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Problem, Trajectory
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import general_problem, in_cones, orthonormal_problem, pairs_problem
from .hypotheses import ALIVE, ASSUMED, ASSUMPTION_1, ASSUMPTION_2, FITS, LABELLED, NETWORK, SMALL_START
from .phases import idle, slopes
from .setting import Setting, distance, squared_norm

GAPS = (1e-2, 1e-4, 1e-6)
"""Relative norm gaps at which Theorem 1 is looked at: λ is chosen so that λ^{2(1−κ)} is each."""
LARGEST, SMALLEST = 1e-2, 1e-140
EXPONENT = 0.15
"""Relative error of an exponent fitted over a few decades of a power law with a prefactor."""
SOLVED, NORM_ERROR = 1e-9, 1e-8
"""Relative errors of solvers, and of the norm of a flow's end integrated to 1e-8."""
GROWN = 0.9
"""Share of n‖D_±‖ at which a cluster has grown."""
DRAWS = 1000


def scaled(problem: Problem, scale: float) -> Problem:
    """The same problem from λ·g with another λ."""
    s = Setting(problem)
    params = TwoLayerParams(problem.params0.a / s.scale * scale, problem.params0.W / s.scale * scale)
    return Problem(problem.model, problem.data, problem.loss, params)


def flow_of(problem: Problem) -> Trajectory:
    return gradient_flow(problem.model, problem.data, problem.loss, problem.params0)


def _lem5(evidence: Evidence) -> tuple[Check, ...]:
    """The local PL inequality once both clusters have grown, and the final rate.

    Errors along D_−, which logistic growth leaves, decay at 4‖D_−‖ in L; across it, where the cluster has two labels or more,
    at 2‖D_−‖.
    """
    s, flow = Setting(evidence.network), evidence.trajectory
    grown = np.min([cluster.size(flow.states) / (s.n * cluster.rate) for cluster in s.clusters], axis=0) >= GROWN
    late = np.flatnonzero(grown & (flow.loss >= 1e-16 * flow.loss[0]))
    if late.size < 4:
        return (Check("times after both clusters have grown", float("nan"), ">=", 4.0),)
    ratios, worst = [], np.inf
    for k in late:
        state = TwoLayerParams(flow.states.a[k], flow.states.W[k])
        gradient = float(np.sum(slopes(s.problem, state) ** 2))
        least = min(float(cluster.size(state)) for cluster in s.clusters) / s.n
        ratios.append(gradient / (2 * flow.loss[k] * least * s.speed))
        worst = min(worst, gradient / flow.loss[k] / s.speed)
    first, last = late[len(late) // 2], late[-1]
    rate = float(np.log(flow.loss[first] / flow.loss[last]) / (flow.times[last] - flow.times[first])) / s.speed
    return (
        Check("least ‖∇L‖²/(2L·min u_±/n), once both clusters have grown", float(np.min(ratios)), ">=", 1.0, SOLVED),
        Check("least ‖∇L‖²/(L‖D_−‖) there", worst / s.second.rate, ">=", 1.0, SOLVED),
        Check("final rate of L over 2‖D_−‖, that of errors across D_−", rate / (2 * s.second.rate), ">=", 1.0, 2e-2),
        Check("final rate of L over 4‖D_−‖, that of errors along D_−", rate / (4 * s.second.rate), "<=", 1.0 + 2e-2),
    )


def _thm1(evidence: Evidence) -> tuple[Check, ...]:
    """L → 0, and the norm gap to 2n(‖D_+‖ + ‖D_−‖) against λ: a table, and the exponent it gives."""
    s, flow = Setting(evidence.network), evidence.trajectory
    checks = [Check("final loss over its start", float(flow.loss[-1] / flow.loss[0]), "<=", 1e-18)]
    used = sorted({float(np.clip(gap ** (1 / (2 * s.exponent)), SMALLEST, LARGEST)) for gap in GAPS}, reverse=True)
    gaps = [squared_norm(flow_of(scaled(s.problem, scale)).final) / s.least_norm - 1 for scale in used]
    for scale, gap in zip(used, gaps, strict=True):
        checks.append(Check(f"‖θ∞‖² over its least, minus one, λ = {scale:.1e}", gap, ">=", -NORM_ERROR))
    at_scale = squared_norm(flow.final) / s.least_norm - 1
    checks.append(Check("the same at the problem's own λ, against mcλ^{1−κ}", at_scale, "<=", idle(s)))
    seen = [k for k, gap in enumerate(gaps) if gap > 1e3 * NORM_ERROR]
    if len(seen) >= 2 and used[seen[-2]] > 10 * used[seen[-1]]:
        last, before = seen[-1], seen[-2]
        slope = float(np.log(gaps[last] / gaps[before]) / np.log(used[last] / used[before]))
        checks.append(Check("exponent of that gap in λ over 2(1−κ)", slope / (2 * s.exponent), "==", 1.0, EXPONENT))
    return tuple(checks)


def _limit(evidence: Evidence) -> tuple[Check, ...]:
    """θ* neuron by neuron from the early phase alone, against the flow."""
    s, flow = Setting(evidence.network), evidence.trajectory
    unit = scaled(s.problem, 1.0)
    found = saddle_limit(s.problem.data, unit.params0)
    error = idle(s) + float(flow.error[-1])
    return (
        Check("‖θ∞ − θ*‖, flow against the exact limit λ → 0", distance(flow.final, found.value), "==", 0.0, error),
        Check("‖θ*‖² over 2n(‖D_+‖ + ‖D_−‖)", squared_norm(found.value) / s.least_norm, "==", 1.0, SOLVED),
        Check("largest |h(x_k) − y_k| of θ*", found.certificate.residual, "<=", SOLVED),
    )


def _prop1(evidence: Evidence) -> tuple[Check, ...]:
    """The closed form against the certificate, and against the convex program over all patterns on the same data."""
    s = Setting(evidence.network)
    found = min_norm_interpolator(s.X, s.y)
    rotated = min_norm_interpolator(
        np.vstack([s.X, s.X[:1]]), np.append(s.y, s.y[0])
    )  # a sample twice: not the closed form's case
    two = two_neurons(s)
    return (
        Check("least ‖θ‖² over 2n(‖D_+‖ + ‖D_−‖)", found.objective / s.least_norm, "==", 1.0, SOLVED),
        Check("dual bound over the same", found.certificate.dual / found.certificate.primal, "==", 1.0, SOLVED),
        Check("least ‖θ‖² by columns and patterns over the same", rotated.objective / s.least_norm, "==", 1.0, 1e-6),
        Check("‖θ‖² of neurons along D_+ and −D_− over the same", squared_norm(two) / s.least_norm, "==", 1.0, SOLVED),
        Check("their largest |h(x_k) − y_k|", _misfit(two, s.problem.data), "==", 0.0, SOLVED),
    )


def two_neurons(s: Setting) -> TwoLayerParams:
    """One neuron along D_+ and one along −D_−, of squared norms n‖D_±‖."""
    sizes = [np.sqrt(s.n * cluster.rate) for cluster in s.clusters]
    return TwoLayerParams(
        np.array([cluster.sign * size for cluster, size in zip(s.clusters, sizes, strict=True)]),
        np.array([cluster.direction * size for cluster, size in zip(s.clusters, sizes, strict=True)]),
    )


def _misfit(params: TwoLayerParams, data: Dataset) -> float:
    model = TwoLayer(len(params.a), data.d)
    return float(np.max(np.abs(model(params, data.X) - data.y)))


def _eq8(evidence: Evidence) -> tuple[Check, ...]:
    p, flow = evidence.network, evidence.trajectory
    found = min_norm_interpolator(p.data.X, p.data.y)
    reached = flow.final
    interpolates = float(flow.loss[-1]) <= 1e-16 * float(flow.loss[0])
    checks = [
        Check("variation norm of the minimiser over ½‖θ‖²", 2 * variation_norm(found.value) / found.objective, "==", 1.0, 1e-6),
        Check(
            "variation norm of the flow's end over its ½‖θ‖²",
            2 * variation_norm(reached) / squared_norm(reached),
            "<=",
            1 + SOLVED,
        ),
    ]
    if interpolates:
        least = variation_norm(reached) / (found.certificate.dual / 2)
        checks.append(Check("variation norm of the flow's end over the least one (dual bound)", least, ">=", 1 - NORM_ERROR))
    return tuple(checks)


def _kkt(evidence: Evidence) -> tuple[Check, ...]:
    """The KKT residual at the minimiser, at the flow's end from a small start, and of an interpolator from a large one."""
    s = Setting(evidence.network)
    data = s.problem.data
    least = kkt_point(min_norm_interpolator(s.X, s.y).value, data)
    small = kkt_point(evidence.trajectory.final, data)
    large = kkt_point(flow_of(scaled(s.problem, 1.0)).final, data)
    return (
        Check("KKT residual of the minimiser", least.residual, "<=", 1e-8),
        Check("KKT residual of the flow's end", small.residual, "<=", idle(s)),
        Check("KKT residual of the flow's end from λ = 1", large.residual, ">=", 1e-3),
        Check("largest |h − y| there", large.feasibility, "<=", 1e-8),
    )


def _prop2(evidence: Evidence) -> tuple[Check, ...]:
    """One neuron whose product with x_k falls to zero at a time T: what Euler steps with σ'(0) = σ₀ do from zero on.

    For ⟨w, x_k⟩ > 0 it falls, for ⟨w, x_k⟩ < 0 it stands still. A solution must rest at zero, so its velocity there must
    vanish, and that velocity is σ₀ times the one on the positive side: only σ₀ = 0 leaves a solution for all times.
    """
    s = Setting(evidence.network)
    k = int(np.flatnonzero(s.first.sign * s.y < 0)[0])
    w = 1e-6 * (s.X[np.flatnonzero(s.first.sign * s.y > 0)[0]] + s.X[k])
    start, model = TwoLayerParams(np.array([s.first.sign * np.linalg.norm(w)]), w[None]), TwoLayer(1, s.X.shape[1])
    flow = gradient_flow(model, s.problem.data, SquareLoss("half-mean"), start)
    off = [event for event in flow.events if event.sample == k]
    if len(off) != 1:
        return (Check("gates on x_k that close", float(len(off)), "==", 1.0),)
    stop = flow.at(off[0].time)
    falling, resting = (velocity_at_zero(s, stop, k, gate) for gate in (1.0, 0.0))
    after = max(float(abs(flow.at(t).W[0] @ s.X[k])) for t in np.linspace(off[0].time, flow.times[-1], 9)[1:])
    size = float(np.max(np.abs(flow.final.W)))
    return (
        Check("velocity of ⟨w, x_k⟩ at zero with σ'(0) = 1, over |a|: it does not rest", falling, "<=", -1e-12),
        Check("the same with σ'(0) = ½", velocity_at_zero(s, stop, k, 0.5), "<=", -1e-12),
        Check("the same with σ'(0) = 0, and for ⟨w, x_k⟩ < 0: it does not fall either", resting, "==", 0.0, 1e-12),
        Check("|⟨w, x_k⟩| afterwards with σ'(0) = 0, over ‖w‖", after / size, "==", 0.0, 1e-12),
    )


def velocity_at_zero(s: Setting, params: TwoLayerParams, k: int, gate: float) -> float:
    """d⟨w, x_k⟩/dt over |a| of one neuron with ⟨w, x_k⟩ = 0, if σ'(0) is `gate`: all its other gates are what they are."""
    residual = TwoLayer(1, s.X.shape[1])(params, s.X) - s.y
    gates = np.where(np.arange(s.n) == k, gate, params.W[0] @ s.X.T > 1e-9 * np.linalg.norm(params.W[0]))
    pull = -(gates * residual) @ s.X / s.n
    return float(np.sign(params.a[0]) * (pull @ s.X[k]))


def _remarks(evidence: Evidence) -> tuple[Check, ...]:
    """§3.2: Assumption 3 is needed; how likely it is; nearly orthogonal data; and the linear interpolator of Figure 2."""
    s = Setting(evidence.network)
    near = _nearly(s)
    ds = two_points()
    line = np.linalg.solve(ds.X, ds.y)
    linear = variation_norm(TwoLayerParams(np.array([1.0, -1.0]), np.array([line, -line])))
    bent = min_norm_interpolator(ds.X, ds.y).objective / 2
    return (
        *_without(s),
        *_likelihood(s),
        Check("‖θ∞‖² over the least of orthonormal data, minus one, products of inputs ~ λ", near, "==", 0.0, 1e-3 + idle(s)),
        Check("variation norm of Figure 2's minimiser over the linear interpolator's", bent / linear, "<=", 1 - 1e-3),
    )


def _without(s: Setting) -> tuple[Check, ...]:
    """The same flow without S_{+,1}, where the neurons that are left can fit the labels one by one."""
    outside = np.setdiff1d(np.arange(len(s.params0.a)), s.first.neurons)
    kept = TwoLayerParams(s.params0.a[outside], s.params0.W[outside])
    own = (s.params0.W[outside] @ s.X.T > 0) & (np.sign(kept.a)[:, None] == np.sign(s.y))
    if not np.all(np.any(own, axis=0)):
        return ()  # nobody is left for some sample: its label cannot be fitted
    flow = flow_of(Problem(TwoLayer(len(outside), s.problem.data.d), s.problem.data, s.problem.loss, kept))
    excess = squared_norm(flow.final) / s.least_norm - 1
    return (
        Check("final loss over its start without S_{+,1}", float(flow.loss[-1] / flow.loss[0]), "<=", 1e-16),
        Check("‖θ∞‖² over its least, minus one, without S_{+,1}", excess, ">=", NORM_ERROR),
        Check("neurons that grow without S_{+,1}: directions of kinks", float(_directions(flow.final)), ">=", 3.0),
    )


def _directions(params: TwoLayerParams) -> int:
    """Distinct directions among neurons that matter."""
    sizes = np.linalg.norm(params.W, axis=1)
    units = params.W[sizes > 1e-3 * np.max(sizes)] / sizes[sizes > 1e-3 * np.max(sizes), None]
    found: list[Array] = []
    for unit in units:
        if all(float(unit @ other) < 1 - 1e-4 for other in found):
            found.append(unit)
    return len(found)


def _likelihood(s: Setting) -> tuple[Check, ...]:
    """P(Assumption 3) for m Gaussian neurons with random signs: exact by inclusion and exclusion, against networks drawn."""
    m, rng = len(s.params0.a), np.random.default_rng(0)
    up, down = int(np.sum(s.y > 0)), int(np.sum(s.y < 0))
    p, q = 0.5 ** (up + 1), 0.5 ** (down + 1)
    exact = 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m
    networks = (TwoLayerParams(rng.choice([-1.0, 1.0], m), rng.standard_normal((m, s.X.shape[1]))) for _ in range(DRAWS))
    drawn = (Setting(Problem(TwoLayer(m, s.X.shape[1]), s.problem.data, s.problem.loss, params)) for params in networks)
    share = float(np.mean([all(cluster.neurons.size for cluster in one.clusters) for one in drawn]))
    error = 4 * float(np.sqrt(max(exact * (1 - exact), 1 / DRAWS) / DRAWS))
    return (Check(f"P(Assumption 3), m = {m}, share of {DRAWS} networks minus the exact one", share - exact, "==", 0.0, error),)


def _nearly(s: Setting) -> float:
    """The norm gap on inputs whose products are of the size of λ."""
    rng = np.random.default_rng(1)
    X = s.X + s.scale * rng.standard_normal(s.X.shape)
    data = Dataset(X, s.y)
    try:
        flow = flow_of(
            Problem(s.problem.model, data, s.problem.loss, in_cones(scaled(s.problem, 1.0).params0, s.problem.data, s.scale))
        )
    except BiasflowError:
        return float("nan")
    return squared_norm(flow.final) / s.least_norm - 1


WAITS = (*ASSUMED, SMALL_START)

lem5 = Claim(
    "B/lem5",
    "‖∇L‖² ≥ 2L·min{u_+, u_−}/n on balanced parameters, so near θ* ‖∇L‖² ≥ ‖D_−‖L and L decays at least at the rate ‖D_−‖"
    " (in fact between 2‖D_−‖ and 4‖D_−‖).",
    "B, Lemmas 5, 14 and 15",
    WAITS,
    orthonormal_problem,
    _lem5,
)
thm1 = Claim(
    "B/thm1",
    "L → 0, and as λ → 0 the limit is an interpolator of least norm; the norm gap vanishes like λ^{2(1−κ)},"
    " κ = max_±√(1 − y²_min/Σ_±y²).",
    "B, Theorem 1; exponent from the early phase",
    WAITS,
    pairs_problem,
    _thm1,
)
limit = Claim(
    "B/limit",
    "The limit λ → 0 neuron by neuron: ‖w_j*‖² = n‖D_±‖·C_j²/ΣC², with C_j = lim e^{−‖D_±‖t}‖w_j‖/λ from the early phase.",
    "saddle-to-saddle limit on orthonormal data; makes B, Theorem 1 explicit",
    WAITS,
    orthonormal_problem,
    _limit,
)
prop1 = Claim(
    "B/prop1",
    "On orthonormal inputs the least ‖θ‖² of an interpolator is 2n(‖D_+‖ + ‖D_−‖), reached by neurons along D_+ and −D_−.",
    "B, Proposition 1 (normalised inputs)",
    (NETWORK, LABELLED, ASSUMPTION_1, ASSUMPTION_2),
    orthonormal_problem,
    _prop1,
)
eq8 = Claim(
    "B/eq8",
    "The least ½‖θ‖² of an interpolator is the least variation norm; for every network the norm is at most ½‖θ‖².",
    "B, equation (8)",
    (NETWORK, ALIVE, LABELLED, FITS),
    general_problem,
    _eq8,
)
kkt = Claim(
    "B/kkt",
    "θ = Σλ_k∇h(x_k) at interpolators of least norm (KKT), nearly at the end of a flow from a small start, not from a large one.",
    "B, equations (35)–(37)",
    WAITS,
    orthonormal_problem,
    _kkt,
)
prop2 = Claim(
    "B/prop2",
    "With σ'(0) = σ₀ ≠ 0 a pre-activation that falls to zero can neither rest nor go on: there is no global solution.",
    "B, Proposition 2 (with a sign corrected in its proof)",
    (NETWORK, LABELLED, ASSUMPTION_1, ASSUMPTION_2),
    orthonormal_problem,
    _prop2,
)
remarks = Claim(
    "B/remarks",
    "Without Assumption 3 the loss still vanishes but with more kinks and not at least norm; the assumption holds with"
    " probability 1 − (1−p)^m − (1−q)^m + (1−p−q)^m; nearly orthogonal data behave alike;"
    " Figure 2's function is not the linear interpolator.",
    "B, §3.2",
    WAITS,
    pairs_problem,
    _remarks,
)

CLAIMS = (thm1, limit, lem5, prop1, eq8, kkt, prop2, remarks)
