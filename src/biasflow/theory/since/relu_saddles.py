"""ReLU networks from vanishing starts on any data (Maennel et al. 2018; Boursier and Flammarion
2024, arXiv:2401.10791): extremal vectors, the path of saddles, and spurious limits.

A spurious limit, in three lines: with labels y_k > 0 and inputs that make acute angles,
⟨D, x_l⟩ > 0 for every D = Σ_{k in A}y_kx_k/n, A not empty. So small positive neurons that see one
input see more and more, in the end all, and negative ones see less and less, in the end none. From
then on f = ⟨β, ·⟩ on the data, and the flow ends at least squares. A negative neuron stops on the
kink ⟨w, x_k⟩ = 0 of the input that it saw last, where σ'(0) = 0. If least squares exceed y_k,
seeing x_k again would lower the loss: the end is stationary and no local minimum. If no neuron
stops on such a kink it is one, for around it the loss is a function of β alone, and larger where a
neuron on another kink sees its input again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ..._numerics.deadlines import RECORDED_S
from ...errors import BiasflowError, ConvergenceError
from ...flows import relu_saddle_path
from ...flows.relu.saddle_sequence import ReluSaddlePath
from ...limits import extremal_vectors, min_norm_interpolator
from ...limits.neurons.extremal import ExtremalVectors
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..relu.relu_hypotheses import BALANCED, FITS, LABELLED, NETWORK
from ..unmeasured import Unmeasured, need, part
from ..verdicts import TELLING, Check, Claim, Hypothesis, Kind, unknown_check
from ..witness import ERROR_FACTOR, witness_flow

CIRCLE = 40_001
"""Directions on a circle at which G is looked at."""
UNSEEN = 1e-9
"""Rise of G between two of them, over its largest value, that rounding could make."""
ALIGNED_AFTER = 200.0
"""Time that neurons are given to turn, over the largest growth rate."""
GROWS = 0.1
"""Rate over the largest from which a neuron has turned by then to e^{−40}."""
LOGS = (40.0, 80.0, 120.0)
"""T = log(1/λ) of the flows that are compared with the path."""
APART = 0.1
"""Time between two jumps, over that of the last, from which the flows are long at each saddle."""
SETTLED = 1e-6
"""Share of the loss to which the path's own plateaus are known."""
SEEN = 1.3
"""How far they are followed, over the time of the last jump."""
SMALL = 1e-4
"""λ at which a spurious limit is followed."""


def listed(problem: Problem) -> ExtremalVectors:
    return extremal_vectors(problem.data, problem.loss, problem.model)


def path_of(problem: Problem, time_s: float) -> ReluSaddlePath:
    return relu_saddle_path(problem.data, problem.start, problem.loss, problem.model, time_s=time_s)


def _pull(problem: Problem) -> Array:
    zero = np.zeros(problem.data.n)
    return -np.asarray(problem.loss.gradient(zero, problem.data.y))


def _sized(problem: Problem, log_scale: float) -> Problem:
    return Problem(problem.model, problem.data, problem.loss, problem.start, log_scale)


def _extremal(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    found, q = listed(problem), _pull(problem)
    X = problem.data.X
    size = float(np.abs(q) @ np.linalg.norm(X, axis=1))
    top = float(np.max(np.abs(found.growth), initial=0.0))
    return (
        _turning_points(found, X, q),
        *_followed(problem, found, top, size, evidence.time_left),
    )


def _turning_points(found: ExtremalVectors, X: Array, q: Array) -> Check:
    """How often G turns around the circle; in more dimensions, how high it gets."""
    if X.shape[1] == 2:
        words = "critical points of G around the circle over those listed"
        angle = np.linspace(0, 2 * np.pi, CIRCLE)
        G = np.maximum(np.stack([np.cos(angle), np.sin(angle)], 1) @ X.T, 0.0) @ q
        rise = np.diff(G)
        moving = np.abs(rise) > UNSEEN * np.max(np.abs(G)) / CIRCLE
        signs, places = np.sign(rise[moving]), np.flatnonzero(moving)
        turned = np.flatnonzero(signs != np.roll(signs, 1))
        # no neuron grows if G rests at zero in between, or touches it within a cell of the grid
        near = [(places[k], places[k - 1] + 1, rise[[places[k], places[k - 1]]]) for k in turned]
        at_zero = [min(abs(G[i]), abs(G[j])) <= np.max(np.abs(cells)) for i, j, cells in near]
        count = len(turned) - int(np.sum(at_zero))
        return Check(words, count / max(len(found), 1), "==", 1.0, 1e-12, "G on a fine grid")
    rng = np.random.default_rng(5)
    u = rng.standard_normal((4000, X.shape[1]))
    best = np.max(np.abs(np.maximum(u @ X.T, 0.0) @ q) / np.linalg.norm(u, axis=1))
    top = float(np.max(np.abs(found.growth), initial=0.0))
    words = "largest listed |G| over the largest at 4000 random directions"
    return Check(words, top / best, ">=", 1.0, 1e-12, "G at random directions")


def _followed(
    problem: Problem, found: ExtremalVectors, top: float, size: float, time_s: float
) -> tuple[Check, ...]:
    """Where raw gradients turn small neurons, and how fast these grow."""
    turn = "distance of neurons that grow from the vector listed for them"
    speed = "their growth over the rate listed, less one"
    end = ALIGNED_AFTER / top
    flow = witness_flow(_sized(problem, -2 * ALIGNED_AFTER), times=[end / 2, end], time_s=time_s)
    if isinstance(flow, str):
        return unknown_check(turn, flow), unknown_check(speed, flow)
    assert flow.polar is not None
    (_, half), (unit, log_norms) = (flow.polar(float(t)) for t in flow.times[-2:])
    rates = (log_norms - half) / (end / 2)
    distances, speeds, others = [0.0], [0.0], []
    for j in np.flatnonzero(rates > GROWS * top):
        u = unit.W[j] / np.linalg.norm(unit.W[j])
        own = found.attracts == np.sign(unit.a[j])
        off = np.linalg.norm(found.directions[own] - u, axis=1)
        near = int(np.argmin(off)) if off.size else -1
        distances.append(float(off[near]) if off.size else 2.0)
        rate = found.rates[own][near] if off.size else 0.0
        speeds.append(abs(rates[j] / rate - 1) if rate else 1.0)
        mean = np.maximum(0, np.sign(unit.a[j]) * problem.data.y) @ problem.data.X
        others.append(float(np.linalg.norm(u - mean / np.linalg.norm(mean))))
    error = ERROR_FACTOR * flow.error[-1] / size + np.exp(-GROWS * ALIGNED_AFTER)
    told: dict[str, Any] = {"witness": "∇L followed in the weights from kink to kink"}
    return (
        Check(turn, max(distances), "==", 0.0, error, null=max(others, default=None), **told),
        Check(speed, max(speeds), "==", 0.0, error, null=1.0, **told),
    )


def _saddles(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    path = path_of(problem, evidence.time_left / 2)
    words = (
        "delay of a jump per T by raw gradients over τ, the worst",
        "loss amid a plateau less that of the path, over the first",
    )
    end, found, amid, errors = SEEN * float(path.times[-1]), [], [], []
    for T in LOGS:
        # at a plateau a sample is fitted to the last bit, and shares of a slide are 0/0
        with np.errstate(divide="ignore", invalid="ignore"):
            flow = witness_flow(_sized(problem, -T), t1=end * T, time_s=evidence.time_left)
        if isinstance(flow, str):
            return tuple(unknown_check(word, flow) for word in words)
        found.append(jump_times(flow, path.losses, problem))
        ends = np.append(path.times[1:], end)
        middles = (path.times + ends) / 2 * T
        amid.append(np.array([_loss_at(flow, problem, float(t)) for t in middles]))
        errors.append(ERROR_FACTOR * float(np.max(flow.error)))
    told: dict[str, Any] = {"witness": "∇L followed in the weights from kink to kink"}
    # t(T) = τT + const + what falls like a power of λ
    steps = np.diff(np.array(found), axis=0) / (LOGS[1] - LOGS[0])
    ratio = steps[-1] / path.times[1:]
    worst = int(np.argmax(np.abs(ratio - 1)))
    unsure = float(np.max(np.abs(steps[1] - steps[0]) / path.times[1:])) + errors[-1]
    off = np.abs(amid[-1] - path.losses)
    rest = float(np.max(np.abs(amid[-1] - amid[-2]))) / path.losses[0] + errors[-1]
    return (
        Check(words[0], ratio[worst], "==", 1.0, unsure, null=0.0, **told),
        Check(
            words[1],
            float(np.max(off)) / path.losses[0],
            "==",
            0.0,
            rest + SETTLED,
            null=float(np.max(np.abs(path.losses - path.losses[0]))) / path.losses[0],
            **told,
        ),
    )


def _loss_at(flow: Trajectory, problem: Problem, t: float) -> float:
    return float(problem.loss(problem.model(flow.at(t), problem.data.X), problem.data.y))


def jump_times(flow: Trajectory, losses: Array, problem: Problem) -> Array:
    """When the loss, which only falls, is halfway between two plateaus."""
    found = []
    for level in (losses[1:] + losses[:-1]) / 2:
        after = int(np.argmax(flow.loss < level))
        if after == 0:
            found.append(np.inf)
            continue
        found.append(
            brentq(
                lambda t, level=level: _loss_at(flow, problem, t) - level,
                float(flow.times[after - 1]),
                float(flow.times[after]),
                xtol=1e-10,
            )
        )
    return np.array(found)


def least_squares(data: Dataset) -> Array:
    return np.asarray(np.linalg.lstsq(data.X, data.y, rcond=None)[0])


def seen_by(params: TwoLayerParams, X: Array) -> tuple[float, float]:
    """The least cos(w_j, x_k) of positive neurons that see any input, and the largest of the
    others."""
    lengths = np.linalg.norm(params.W, axis=1)
    there = lengths > 0
    cosines = params.W[there] @ X.T / np.outer(lengths[there], np.linalg.norm(X, axis=1))
    own = (params.a[there] > 0) & (np.max(cosines, axis=1) > UNSEEN)
    return float(np.min(cosines[own], initial=1.0)), float(np.max(cosines[~own], initial=-1.0))


def _spurious(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, model = problem.data, problem.model
    fit = data.X @ least_squares(data)
    size = float(np.max(np.abs(data.y)))
    words = ("distance of the end from least squares", "loss there over that of least squares")
    told: dict[str, Any] = {"witness": "∇L followed in the weights from kink to kink"}
    flow = witness_flow(problem, time_s=evidence.time_left)
    if isinstance(flow, str):
        return tuple(unknown_check(word, flow) for word in words)
    end = model(flow.final, data.X)
    error = ERROR_FACTOR * max(float(flow.error[-1]), 1e-9)
    least = float(problem.loss(fit, data.y))
    everything, nothing = seen_by(flow.final, data.X)
    fits = "loss of a network that fits the labels, over that of least squares"
    spurious = (
        "loss at the end of the path of saddles over that of least squares, where it is spurious"
    )

    def fitting() -> Check:
        another = need(
            min_norm_interpolator(data.X, data.y, time_s=evidence.time_left / 2), TELLING
        )
        loss = float(problem.loss(another(data.X), data.y))
        return Check(fits, loss / least, "<=", 0.5, 1e-6, "an interpolator of least norm")

    def ending() -> Check:
        path = path_of(problem, evidence.time_left)
        ratio = path.losses[-1] / least if path.saddles[-1].kind == "spurious" else 0.0
        return Check(spurious, ratio, "==", 1.0, 1e-6, "least squares", null=0.0)

    return (
        Check(
            words[0],
            float(np.max(np.abs(end - fit))) / size,
            "==",
            0.0,
            error,
            null=float(np.max(np.abs(data.y - fit))) / size,
            **told,
        ),
        Check(
            words[1],
            float(problem.loss(end, data.y)) / least,
            "==",
            1.0,
            error * size**2 / least + 1e-9,
            null=0.0,
            **told,
        ),
        Check(
            "least cos(w_j, x_k) of positive neurons there", everything, ">=", 0.0, error, **told
        ),
        Check("largest cos(w_j, x_k) of the others", max(nothing, 0.0), "==", 0.0, error, **told),
        *part(fits, fitting),
        *part(spurious, ending),
    )


def _acute(evidence: Evidence) -> str | None:
    data = evidence.network.data
    if np.min(data.y) <= 0:
        return f"label {int(np.argmin(data.y))} is not positive"
    if np.min(data.X @ data.X.T) <= 0:
        return "two inputs make no acute angle"
    beta = least_squares(data)
    if np.min(data.X @ beta) <= 0:
        return "least squares are not positive on the inputs"
    off = float(np.max(np.abs(data.X @ beta - data.y)))
    return None if off > 1e-3 * np.max(data.y) else "the labels are linear in the inputs"


def _small(evidence: Evidence) -> str | None:
    problem = evidence.network
    X, y = problem.data.X, problem.data.y
    size = float(np.max(np.abs(problem.start.W))) * np.exp(np.max(problem.log_scale))
    fitting = float(np.sqrt(np.max(np.abs(y)) / np.max(np.linalg.norm(X, axis=1))))
    alive = np.any(problem.start.W @ problem.data.X.T > 0, axis=1) & (problem.start.a > 0)
    if not np.any(alive):
        return "no positive neuron sees any input"
    if size <= 1e-3 * fitting:
        return None
    return f"weights of up to {size:.2g} are not small: a neuron that fits has {fitting:.2g}"


def _unit(evidence: Evidence) -> str | None:
    size = float(np.max(np.abs(evidence.network.start.W)))
    if size > 0 and abs(np.log(size)) <= LOGS[0] / 4:
        return None
    return (
        f"the start has weights of {size:.2g}, and λ goes down to e^-{LOGS[-1]:g} only; "
        "give a start of size one"
    )


def _listable(evidence: Evidence) -> str | None:
    problem = evidence.network
    try:
        found = listed(problem)
    except ConvergenceError:
        raise
    except BiasflowError as reason:
        return str(reason)
    if len(found.attracting) == 0:
        return "no vector attracts: all neurons rest"
    shrinks = np.min(found.attracting.rates) < 0
    return "some vector attracts neurons that shrink, which floats lose" if shrinks else None


def _one_path(evidence: Evidence) -> str | None:
    try:
        path = path_of(evidence.network, evidence.time_left / 2)
    except (Unmeasured, ConvergenceError):
        raise
    except BiasflowError as reason:
        return str(reason)
    if len(path.saddles) < 2:
        return "no neuron grows"
    gaps = np.diff(path.times)
    return None if np.min(gaps) > APART * path.times[-1] else "two jumps nearly coincide"


LISTABLE = Hypothesis(
    "listable",
    "few enough faces to list the extremal vectors, some attract, and where one does neurons grow",
    _listable,
)
ONE_PATH = Hypothesis(
    "one path",
    "the limit is one path: no ties, no kinks with several ways on, and jumps apart",
    _one_path,
)
UNIT_START = Hypothesis(
    "unit start", "the start is of the order of one: λ alone makes it small", _unit
)
ACUTE = Hypothesis(
    "acute",
    "labels are positive, inputs make acute angles, least squares are positive on them and leave "
    "a residual",
    _acute,
)
TINY = Hypothesis(
    "tiny start", "the start is small, and some positive neuron sees an input", _small
)


def alignment_problem(key: int) -> Problem:
    """Five samples, in the plane or in three dimensions."""
    d = 2 + key % 2
    model = TwoLayer(8, d)
    for draw in range(100):
        rng = np.random.default_rng((83, key, draw))
        data = Dataset(rng.standard_normal((5, d)), rng.standard_normal(5))
        problem = Problem(model, data, SquareLoss("half-mean"), model.init(1.0, key=key))
        if (
            _listable(Evidence(problem, time_s=RECORDED_S)) is None
            and np.sum(listed(problem).attracts > 0) > 1
        ):
            break
    return problem


def saddle_problem(key: int) -> Problem:
    """Three samples, at which the limit is one path of at least two jumps."""
    for draw in range(100):
        rng = np.random.default_rng((89, key, draw))
        n, d = 3, 3 + key % 2
        data = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
        model = TwoLayer(8, d)
        start = model.init(1.0, key=100 * key + draw)
        problem = Problem(model, data, SquareLoss("half-mean"), start)
        if (
            _one_path(Evidence(problem, time_s=RECORDED_S)) is None
            and len(path_of(problem, RECORDED_S).saddles) > 2
        ):
            break
    return problem


def three_points(key: int) -> Problem:
    """Boursier and Flammarion's three samples (Assumption 3), drawn with η = 1/6; the first is that
    of their experiment."""
    rng = np.random.default_rng((97, key))
    eta = 1 / 6
    x = np.array([-1 + eta * rng.uniform(0, 1), eta * rng.uniform(-1, 1), 1 - eta * rng.uniform()])
    lift = np.array(
        [1 + eta * rng.uniform(), 1 + eta * rng.uniform(-1, 1), 1 + eta * rng.uniform()]
    )
    y = np.array([1 + eta * rng.uniform(), eta * rng.uniform(0.1, 1), 1 + eta * rng.uniform()])
    if key == 0:
        x, lift, y = np.array([-0.75, -0.5, 0.125]), np.ones(3), np.array([1.1, 0.1, 0.8])
    model = TwoLayer(10, 2)
    data = Dataset(np.column_stack([x, lift]), y)
    return Problem(model, data, SquareLoss("half-mean"), model.init(SMALL, key=key))


extremal = Claim(
    "S/extremal",
    "While a ReLU network is small, each neuron of sign s turns to a unit u with c·u in D(u), "
    "D(u) = −Σ_k ∂ℓ_k σ'(⟨u, x_k⟩)x_k, or comes to rest; it grows like e^{s·c·t}. Such u are "
    "finitely many on data in general position: one of ±P_V g on each face of the hyperplanes "
    "⟨u, x_k⟩ = 0, g the sum of the pulls and V the span of the face.",
    "Maennel et al. 2018, arXiv:1803.08367; Boursier and Flammarion 2024, arXiv:2401.10791, "
    "Definition 1 and Theorem 1; the enumeration is ours",
    (NETWORK, LABELLED, LISTABLE),
    alignment_problem,
    _extremal,
    kind=Kind.FLOW,
    witness="∇L followed in the weights from kink to kink; G on a grid",
    null="the mean of the inputs of a sign, weighted by their labels",
)
saddles = Claim(
    "S/relu-saddles",
    "As λ → 0 from λ·start, T = log(1/λ), the loss of a ReLU network at τT converges to a path of "
    "jumps, each later than τT by a constant: at a saddle the small neurons turn to extremal "
    "vectors u of its residual, l_j falls at the rate s_jG(u_j), and the first with l_j = 0 joins.",
    "Maennel et al. 2018, arXiv:1803.08367, and Boursier and Flammarion 2024, arXiv:2401.10791, "
    "for the first saddle; B, Theorem 1, for orthogonal inputs; the path on any data "
    "is ours",
    (NETWORK, LABELLED, BALANCED, UNIT_START, ONE_PATH),
    saddle_problem,
    _saddles,
    kind=Kind.FLOW,
    witness="∇L followed in the weights from kink to kink",
    null="a network that stays at zero",
)
spurious = Claim(
    "S/spurious",
    "Where y_k > 0, ⟨x_k, x_l⟩ > 0 for all k, l, and least squares β have ⟨β, x_k⟩ > 0, a wide "
    "ReLU network from a small balanced start ends at f(x_k) = ⟨β, x_k⟩: positive neurons that see "
    "an input see all, the others none, and networks that fit the labels are out of reach.",
    "Boursier and Flammarion 2024, arXiv:2401.10791, Theorem 2, for three samples; any such "
    "data, and which ends are local minima, are ours",
    (NETWORK, LABELLED, FITS, BALANCED, ACUTE, TINY),
    three_points,
    _spurious,
    kind=Kind.FLOW,
    witness="∇L followed in the weights from kink to kink; least squares",
    null="a network that fits the labels",
)

CLAIMS = (extremal, saddles, spurious)
