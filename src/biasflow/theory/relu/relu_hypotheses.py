"""B's assumptions, and what its lemmas share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.problems import Problem
from ...errors import BiasflowError
from ...limits.neurons.rays import read_samples
from ...losses import SquareLoss
from ...models import TwoLayer
from ..verdicts import Hypothesis, on_problem
from .relu_setting import Setting

LARGEST_LABEL = 1e75
"""Labels beyond it have fourth powers that are no floats."""
ORTHONORMAL_TOLERANCE = 1e-10
"""Largest |⟨x_k, x_l⟩ − 1[k = l]| that counts as rounding."""
NEGLIGIBLE_SIZE = 1e-2
"""Size of all idle neurons together, over that of the smaller cluster, below which clusters have
the labels for themselves."""
PHASES_APART = 1e-2
"""λ^ε up to which B's phases, whose lengths are multiples of ε ln(1/λ), are long against the
growths that end them."""
SMALL_SCALE = 1e-6
"""Scale λ up to which a start counts as small; B's λ* is not explicit."""


BELOW_THRESHOLD_SHARE = 0.25
"""Share of n‖D_−‖ that λ^{ε/29} may be where λ counts as below B's λ*."""


def _network(problem: Any) -> str | None:
    if not isinstance(problem, Problem) or not isinstance(problem.model, TwoLayer):
        found = (
            type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
        )
        return f"found {found}, needs a TwoLayer network"
    if problem.model.activation != "relu":
        return f"the activation is {problem.model.activation}, needs relu"
    return (
        None
        if isinstance(problem.loss, SquareLoss)
        else f"found {type(problem.loss).__name__}, needs a square loss"
    )


def _alive(problem: Any) -> str | None:
    return (
        None
        if np.any(problem.model.gates(problem.start, problem.data.X))
        else "no neuron is active on any input"
    )


def _balanced(problem: Any) -> str | None:
    if not np.any(problem.start.W):
        return "all neurons are zero"
    top = float(np.max(np.abs(problem.start.W))) or 1.0  # squares of 1e-200 underflow
    a, W = problem.start.a / top, problem.start.W / top
    off = np.abs(np.abs(a) - np.linalg.norm(W, axis=1)) > 1e-9 * np.abs(a)
    if np.any(off) or np.any(a == 0):
        return f"neuron {int(np.flatnonzero(off | (a == 0))[0])} starts with |a| ≠ ‖w‖, or at zero"
    return None


def worst_product(X: Any) -> tuple[float, int, int]:
    """The largest |⟨x_k, x_l⟩ − 1[k = l]| and where it is."""
    off = np.abs(X @ X.T - np.eye(len(X)))
    k, i = np.unravel_index(int(np.argmax(off)), off.shape)
    return float(off[k, i]), int(k), int(i)


def _orthonormal(problem: Any) -> str | None:
    off, k, i = worst_product(problem.data.X)
    return (
        None
        if off <= ORTHONORMAL_TOLERANCE
        else f"inputs are not orthonormal: ⟨x_{k}, x_{i}⟩ is off by {off:.3g}"
    )


def _orthogonal(problem: Any) -> str | None:
    X = problem.data.X
    norms = np.linalg.norm(X, axis=1)
    if np.any(norms == 0):
        return f"input {int(np.flatnonzero(norms == 0)[0])} is zero"
    off, k, i = worst_product(X / norms[:, None])
    return (
        None
        if off <= ORTHONORMAL_TOLERANCE
        else f"inputs are not orthogonal: the cosine of x_{k} and x_{i} is {off:.3g}"
    )


def weights(X: Any) -> Any:
    """‖x_k‖², one where that is one up to rounding: labels of equal size are then equal."""
    squares = np.sum(X**2, axis=1)
    return np.where(np.abs(squares - 1) <= ORTHONORMAL_TOLERANCE, 1.0, squares)


def _moderate(problem: Any) -> str | None:
    top = np.max(np.abs(problem.data.y))
    if top <= LARGEST_LABEL:
        return None
    return f"labels of {top:.1g} have squares that are no floats; take other units"


def _nonzero(problem: Any) -> str | None:
    zero = np.flatnonzero(problem.data.y == 0)
    return f"y_{int(zero[0])} = 0" if zero.size else None


def _labels(problem: Any) -> str | None:
    failure = _nonzero(problem) or _moderate(problem)
    if failure is not None:
        return failure
    y, squares = problem.data.y, problem.data.y**2 * weights(problem.data.X)
    up, down = float(np.sum(squares[y > 0])), float(np.sum(squares[y < 0]))
    return None if up != down else "both signs have the same Σy_k²‖x_k‖²: ‖D_+‖ = ‖D_−‖"


def _two_signs(problem: Any) -> str | None:
    y = problem.data.y
    one = np.all(y > 0) or np.all(y < 0)
    return "all labels have one sign: there is one cluster only" if one else None


def _cones(problem: Any) -> str | None:
    for cluster in Setting(problem).clusters:
        if cluster.neurons.size == 0:
            sign = "+" if cluster.sign > 0 else "−"
            return (
                f"S_{{{sign},1}} is empty: no neuron of sign {sign} is active on all inputs with "
                "labels of that sign; the limit is then not minimal"
            )
    return None


def _small(problem: Any) -> str | None:
    s = Setting(problem)
    if s.scale > SMALL_SCALE:
        return f"λ = {s.scale:.2g}, needs at most {SMALL_SCALE:g}"
    idle, size = idle_size(s), float(np.sqrt(min(cluster.capacity for cluster in s.clusters)))
    if idle <= NEGLIGIBLE_SIZE * size:
        return None
    return (
        f"idle neurons of size Σ‖w_j‖λ^(−κ) = {idle:.2g} are not negligible: needs a smaller "
        f"λ{_below(s, size)}"
    )


def _below(s: Setting, size: float) -> str:
    """How small for sure."""
    needed = float(np.log(NEGLIGIBLE_SIZE * size / (len(s.start.a) * s.c)) / s.slowest)
    return f", 1e{needed / np.log(10):.0f} for sure; a λ below float range is given by log_scale"


def idle_size(s: Setting) -> float:
    """Σ‖w_j(0)‖λ^{−κ_j} over neurons outside the clusters: what they may grow to, all together."""
    sizes = np.linalg.norm(s.unit.W, axis=1)
    return float(sum(sizes[j] * np.exp((1 - growth) * s.log_scale) for j, _, growth in s.growths))


def _apart(problem: Any) -> str | None:
    """A cluster has grown when λ has become its size, not one: windows of −ε ln λ have to be long
    against the difference too."""
    s = Setting(problem)
    size = max(abs(float(np.log(cluster.capacity))) / 2 for cluster in s.clusters)
    allowed = PHASES_APART * float(np.exp(-size))
    if s.epsilon * s.log_scale <= np.log(allowed):
        return None
    needed = np.log(allowed) / s.epsilon / np.log(10)
    return (
        f"λ^ε = {s.power(1):.2g}, needs at most {allowed:.2g}: B's phases are not apart yet, below "
        f"λ = 1e{needed:.0f} they are"
    )


def _tiny(problem: Any) -> str | None:
    s = Setting(problem)
    found, needed = s.power(1 / 29), BELOW_THRESHOLD_SHARE * s.n * s.second.rate
    return (
        None
        if found <= needed
        else (
            f"λ^(ε/29) = {found:.2g}, needs at most {needed:.2g} for the printed powers to say "
            "something"
        )
    )


def _fits(problem: Any) -> str | None:
    try:
        read_samples(problem.data.X, problem.data.y)
    except BiasflowError as error:
        return str(error)
    return None


def _labelled(problem: Any) -> str | None:
    return None if np.any(problem.data.y) else "all labels are zero: there is nothing to learn"


NETWORK = Hypothesis(
    "two-layer",
    "a two-layer ReLU network under a square loss",
    on_problem(_network),
    structural=True,
)
ALIVE = Hypothesis("alive", "some neuron is active", on_problem(_alive))
LABELLED = Hypothesis("nontrivial", "y ≠ 0", on_problem(_labelled))
FITS = Hypothesis("fits", "some network interpolates the data", on_problem(_fits))
BALANCED = Hypothesis("balanced", "|a_j| = ‖w_j‖ > 0 at the start", on_problem(_balanced))
ORTHOGONAL = Hypothesis("orthogonal", "inputs are orthogonal", on_problem(_orthogonal))
ASSUMPTION_1 = Hypothesis("B/assumption-1", "inputs are orthonormal", on_problem(_orthonormal))
ASSUMPTION_2 = Hypothesis(
    "B/assumption-2",
    "y_k ≠ 0, and ‖D_+‖ ≠ ‖D_−‖: Σ_{y>0}y²‖x‖² ≠ Σ_{y<0}y²‖x‖²",
    on_problem(_labels),
)
MODERATE = Hypothesis("moderate", "labels have squares that are floats", on_problem(_moderate))
NONZERO = Hypothesis("nonzero", "y_k ≠ 0", on_problem(_nonzero))
TWO_SIGNS = Hypothesis("two signs", "labels of both signs occur", on_problem(_two_signs))
ASSUMPTION_3 = Hypothesis("B/assumption-3", "S_{+,1} and S_{−,1} are not empty", on_problem(_cones))
SMALL_START = Hypothesis(
    "small",
    "λ ≤ 1e-6, and idle neurons, of size λ^{1−κ}, are negligible (B's λ* is not explicit)",
    on_problem(_small),
)
CROSSED = Hypothesis(
    "apart",
    "λ^ε ≤ 1e-2·min(√u_±, 1/√u_±), u_± at the end: B's phases are apart (B's λ* is not explicit)",
    on_problem(_apart),
)
TINY_START = Hypothesis("tiny", "λ^{ε/29} ≤ n‖D_−‖/4 (B's λ* is not explicit)", on_problem(_tiny))
ASSUMED = (NETWORK, LABELLED, ASSUMPTION_1, ASSUMPTION_2, TWO_SIGNS, BALANCED, ASSUMPTION_3)
"""What statements about both clusters assume: B's Assumption 2 alone admits labels of one sign."""
ANY_LENGTHS = (NETWORK, LABELLED, ORTHOGONAL, ASSUMPTION_2, BALANCED, ASSUMPTION_3)
"""The same for statements on the end of the flow, with one cluster or two and inputs of any
lengths."""
