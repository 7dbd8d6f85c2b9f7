"""C, §3, third remark: what starts at one point stays at one point, and is no max-margin
classifier."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.trees import leaf_map
from ...flows import gradient_flow
from ...limits import f1_max_margin
from ...models import SignedTwoLayer
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .margin_examples import any_point_problem, point_problem
from .margin_hypotheses import EXPONENTIAL_TAIL, NETWORK, SEPARABLE, SIGNS, SMALL_START, TWO_CLASSES
from .margin_setting import LOOSE_GAP, inputs_of
from .margins import measured_margins
from .raw import raw_flow, scores

ONE_RAY = 1e-12
"""Distance of the directions of neurons that rounding leaves of one."""
TIMES_SEEN = 8
"""Times at which neurons are compared."""
TIME_FOLLOWED = 20.0
"""C's time over which they are followed, over 1/max‖x‖²: a neuron can grow or shrink by e^40."""
DIRECTION_ROUNDING = 1e-12
"""Rounding of a direction, over some thousand steps."""
ALONG = "∇L followed in the weights"
SIGN = "scores of the weights themselves"


def _outputs(problem: Problem, params: Any) -> Array:
    """The neurons (a_j, w_j), or (ε_j, w_j): what must agree for them to lie on one ray."""
    if isinstance(problem.model, SignedTwoLayer):
        return np.column_stack(
            [np.linalg.norm(params.W, axis=1) * np.asarray(problem.model.signs), params.W]
        )
    return np.column_stack([params.a, params.W])


def _apart(problem: Problem, params: Any) -> float:
    """The largest distance of two neurons on the sphere; zero neurons lie anywhere."""
    w = _outputs(problem, params)
    size = np.linalg.norm(w, axis=1)
    unit = w[size > 0] / size[size > 0, None]
    return float(np.max(np.linalg.norm(unit - unit[0], axis=1), initial=0.0)) if len(unit) else 0.0


def _at_one_point(problem: Any) -> str | None:
    off = _apart(problem, problem.start)
    return (
        None
        if off <= ONE_RAY
        else f"Π₂(μ₀) is no Dirac measure: two neurons are {off:.2g} apart on the sphere"
    )


DIRAC = Hypothesis(
    "Dirac", "Π₂(μ₀) is a Dirac measure: all neurons lie on one ray", on_problem(_at_one_point)
)


def _dirac(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data = inputs_of(problem)
    unit = 1 / float(np.max(np.sum(problem.data.X**2, axis=1)))
    raw = raw_flow(problem, TIME_FOLLOWED * unit * np.linspace(0.0, 1.0, TIMES_SEEN + 1)[1:])
    if not raw.states:
        return (unknown_check("the flow", "no gradient led anywhere in the time given"),)
    best = measured_margins(
        f1_max_margin(data.X, data.y, gap=LOOSE_GAP, time_s=evidence.time_left / 2).value, data
    )
    by_library = "largest distance of two neurons on the sphere, along the library's flow"

    def library() -> Check:
        own = need(
            gradient_flow(
                problem,
                times=np.append(0.0, raw.times),
                throw=False,
                time_s=evidence.time_left / 2,
            )
        )
        states = (leaf_map(itemgetter(k), own.states) for k in range(len(own.times)))
        apart = max(_apart(problem, state) for state in states)
        quantity = f"{by_library}, whose point turns by {turned:.2g}"
        return Check(quantity, apart, "==", 0.0, owed, witness=ALONG)

    turned = max(_between(problem, problem.start, w) for w in raw.states)
    owed = DIRECTION_ROUNDING + max(
        _between(problem, w, loose)
        for w, others in zip(raw.states, raw.looser, strict=True)
        for loose in others
    )
    return (
        Check(
            "largest distance of two neurons on the sphere, along raw gradients",
            max(_apart(problem, w) for w in raw.states),
            "==",
            0.0,
            owed,
            witness=ALONG,
            null=_apart(problem, _scattered(problem)),
        ),
        Check(
            "largest change of ‖w_j‖/‖w_1‖, relative: neurons of one ray grow alike",
            max(_stretched(problem, w) for w in raw.states),
            "==",
            0.0,
            owed,
            witness=ALONG,
            null=_stretched(problem, _scattered(problem)),
        ),
        *part(by_library, library),
        Check(
            "largest margin over the largest |f(x_i)|, at any time: a neuron has one sign",
            max(_share(scores(problem, w)) for w in (problem.start, *raw.states)),
            "<=",
            0.0,
            witness=SIGN,
            null=_share(best),
        ),
    )


def _share(values: Array) -> float:
    """The least y_if(x_i) over the largest |f(x_i)|."""
    size = float(np.max(np.abs(values)))
    return float(np.min(values)) / size if size else 0.0


def _between(problem: Problem, one: Any, other: Any) -> float:
    """How far the first neurons of two networks are apart on the sphere."""
    u, v = (
        w / (np.linalg.norm(w) or 1.0)
        for w in (_outputs(problem, params)[0] for params in (one, other))
    )
    return float(np.linalg.norm(u - v))


def _stretched(problem: Problem, params: Any) -> float:
    """How far the ratios of the neurons' lengths are from those at the start, relative."""
    before, after = (np.linalg.norm(_outputs(problem, w), axis=1) for w in (problem.start, params))
    j = int(np.argmax(before))
    return float(np.max(np.abs(after / after[j] - before / before[j]))) if after[j] > 0 else 0.0


def _scattered(problem: Problem) -> Any:
    """The null model: neurons of the same lengths all around."""
    rng = np.random.default_rng(0)
    return leaf_map(
        lambda leaf: np.linalg.norm(leaf) * rng.standard_normal(np.shape(leaf)) / leaf.size**0.5,
        problem.start,
    )


dirac = Claim(
    "C/dirac",
    "A flow that starts from a Dirac measure stays one, for all its neurons have one velocity; "
    "with two classes its margin is never positive, since φ(θ, ·) has one sign: it is no "
    "maximiser, however long it trains (with one class it may be).",
    "C, §3, remarks on Theorem 3",
    (NETWORK, EXPONENTIAL_TAIL, SIGNS, SEPARABLE, TWO_CLASSES, SMALL_START, DIRAC),
    point_problem,
    _dirac,
    Kind.FLOW,
    ALONG,
    "neurons all around; the F1 max-margin classifier",
    any_point_problem,
)

CLAIMS = (dirac,)
