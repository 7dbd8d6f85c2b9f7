"""The film of a ReLU network on its way: the flow in growing stretches, neurons at its moments, who
slides, where it rests. Scenes of B share it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...errors import BiasflowError
from ...models import TwoLayer, TwoLayerParams
from ..patience import DrawingPatience, drawn_flow, got_there
from ..scene import LOG10, Part, even_in_loss, rounded

FLOW_RTOL = 1e-4
"""Errors below a pixel."""
FLOW_S = 1.0
"""Seconds for each stretch of the flow."""
LEARNT = 2e-5
"""Loss at which a film ends, as a share of that of the zero function: half a percent of the labels
are missing, less than a pixel."""
AT_REST = 1e-9
"""Share of the loss by which it must fall in a stretch: near a saddle it still does."""
STRETCH, STRETCHES = 4.0, 6
"""The flow is integrated to an end, shown, and then to one so many times as far, so often at
most."""
SAVED = 600
"""Moments of a stretch at which its loss is known: more than a picture has columns to draw."""
FLOATS = -690.0
"""Logarithm of a norm below which its weights are no floats of full precision."""
FRAMES = {False: 40, True: 110}
"""Moments of a stretch that is shown while the next is computed, and of the last."""


def drawn_start(model: TwoLayer, key: int) -> TwoLayerParams:
    """The start of size one; that of size λ may be below every float."""
    return model.init(1 / np.sqrt(model.width), key=key)


def film_parts(problem: Problem, exponent: float) -> Iterator[Part]:
    """The flow to a first end, then to later ones until the loss is gone."""
    t1, before = first_end(problem, exponent), np.inf
    for stretch in range(STRETCHES):
        try:
            flow = flow_until(problem, t1)
        except BiasflowError as error:
            yield "flow", {"times": [], "said": f"no flow: {error}"}
            return
        last = over(flow, t1, before) or stretch == STRETCHES - 1
        rests = before - float(flow.loss[-1]) <= AT_REST * float(flow.loss[-1])
        yield "flow", flow_part(flow, last, rests)
        if last:
            yield "plateaus", {"plateaus": plateaus(flow)}
            return
        t1, before = STRETCH * t1, float(flow.loss[-1])


def ended_flow(problem: Problem, exponent: float) -> Any:
    """The flow where its film would end, and nothing on the way."""
    t1, before = first_end(problem, exponent) * STRETCH, np.inf
    for _ in range(STRETCHES - 1):
        flow = flow_until(problem, t1)
        if over(flow, t1, before):
            break
        t1, before = STRETCH * t1, float(flow.loss[-1])
    return flow


def flow_until(problem: Problem, t1: float) -> Any:
    """The flow, saved where a film may look, and not at each of its thousands of steps."""
    times = np.linspace(0.0, t1, SAVED + 1)
    return drawn_flow(problem, DrawingPatience(FLOW_S), times=times, rtol=FLOW_RTOL)


def over(flow: Any, t1: float, before: float) -> bool:
    """Whether nothing more is to be seen: the points are fitted, the flow has ended, or the loss
    has not moved since a third of the time."""
    left = float(flow.loss[-1])
    ended = not got_there(flow) or flow.times[-1] < t1
    return bool(left <= learnt(flow.problem) or ended or before - left <= AT_REST * left)


def learnt(problem: Problem) -> float:
    """The loss below which the points are fitted, as far as one can see."""
    y = problem.data.y
    return LEARNT * float(problem.loss(np.zeros_like(y), y))


def first_end(problem: Problem, exponent: float) -> float:
    """Twice as long as the fastest neuron needs to grow to size one."""
    rate = max(fastest_rate(problem), 1e-3)
    return 2 * (1.0 + max(0.0, -exponent * LOG10)) / rate


def fastest_rate(problem: Problem) -> float:
    """At which a neuron grows; where rounding leaves that open, no neuron grows faster than by all
    labels of one sign."""
    from ...flows import early_alignment

    try:
        return float(np.max(early_alignment(problem.data, problem.start).rates))
    except BiasflowError:
        X, y = problem.data.X, problem.data.y
        lengths = [np.linalg.norm(X.T @ np.where(sign * y > 0, y, 0.0)) for sign in (1, -1)]
        return float(max(lengths)) / len(y)


def flow_part(flow: Any, last: bool, rests: bool) -> dict[str, Any]:
    """Neurons at moments of the flow, as unit vectors (a, w, bias) and logarithms of their norms;
    who slides when. rests: whether its loss has not moved since the stretch before."""
    from ...pictures.neuron_marks import sliding

    problem = flow.problem
    m, n = problem.start.a.size, problem.data.n
    until = learnt(problem) / float(flow.loss[0])
    times = even_in_loss(flow.times, flow.loss, FRAMES[last], until)
    times, units, logs = neurons_at(flow, times)
    slides = np.any(sliding(flow, times, m, n), axis=2)
    loss = np.interp(times, flow.times, flow.loss)
    return {
        "times": rounded(times, 6),
        "loss": rounded(loss, 4),
        "units": rounded(units.transpose(1, 2, 0), 5),
        "logs": rounded(logs.T, 6),
        "slides": intervals(slides),
        "norm": rounded(variation(flow.final)),
        "missed": rounded(np.sqrt(float(flow.loss[-1]) * LEARNT / learnt(problem)), 2),
        "last": last,
        "said": said(flow, rests) if last else "",
    }


def neurons_at(flow: Any, wanted: Array) -> tuple[Array, Array, Array]:
    """Times near those wanted, unit vectors (a, w, bias) of the neurons then, and logarithms of
    their norms: at saved moments, which cost nothing; computed where the nearest of them is taken
    already, or has neurons below every float."""
    nearest = np.rint(np.interp(wanted, flow.times, np.arange(len(flow.times)))).astype(int)
    taken, first = np.unique(nearest, return_index=True)
    lowest = np.min(
        flow.log_norms[taken], axis=1, initial=0.0, where=flow.log_norms[taken] > -np.inf
    )
    taken, first = taken[lowest > FLOATS], first[lowest > FLOATS]
    logs, states = flow.log_norms[taken], flow.states
    sizes = np.where(logs > -np.inf, np.exp(logs), 1.0)
    units = np.concatenate([states.a[taken][..., None], states.W[taken]], axis=2)
    units = units / sizes[..., None]
    rest = np.setdiff1d(np.delete(wanted, first), flow.times[taken])
    if not rest.size:
        return flow.times[taken], units, logs
    found = [flow.polar(t) for t in rest]
    more = np.stack([np.column_stack([unit.a, unit.W]) for unit, _ in found])
    times = np.concatenate([flow.times[taken], rest])
    order = np.argsort(times)
    units = np.concatenate([units, more])[order]
    logs = np.concatenate([logs, np.stack([log for _, log in found])])[order]
    return times[order], units, logs


def plateaus(flow: Any) -> list[list[Any]]:
    """[first time, last time, loss, name] of every rest near a saddle."""
    from ...diagnostics import phases

    return [
        [rounded(each.start, 4), rounded(each.end, 4), rounded(each.loss_end, 4), each.name]
        for each in phases(flow)
        if each.name in ("escape", "plateau")
    ]


def said(flow: Any, rests: bool) -> str:
    """What a reader should know of the end."""
    if flow.loss[-1] <= learnt(flow.problem):
        return ""
    if not got_there(flow):
        return f"The flow {flow.result.value}; it is shown as far as it came."
    where = "the flow rests at a saddle or a minimum" if rests else "the loss still falls, slowly"
    return f"At t = {flow.times[-1]:.4g} the points are still not fitted: {where}."


def variation(final: TwoLayerParams) -> float:
    """2Σ|a|‖w‖: the least ‖θ‖² of the same neurons."""
    return float(2 * np.sum(np.abs(final.a) * np.linalg.norm(final.W, axis=1)))


def intervals(slides: Array) -> list[list[int]]:
    """[neuron, first frame, last frame] of every stretch of sliding."""
    found = []
    for neuron, row in enumerate(slides.T):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
        found += [
            [neuron, int(a), int(b) - 1] for a, b in zip(edges[::2], edges[1::2], strict=True)
        ]
    return found
