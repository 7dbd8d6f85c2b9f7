"""A line through points (B): a ReLU network on data in one dimension, from a tiny start to a large
one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ...errors import BiasflowError, InputError
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..scene import Exponent, Integer, Part, Preset, Scene, State, Table, even_in_loss, rounded

LOW, HIGH = -3.0, 3.0
"""Where points may be, across and up."""
GRID = np.linspace(LOW, HIGH, 121)
NEAREST = 0.01
"""Distance across below which two points would ask for a cliff."""
FLOW_RTOL = 1e-4
"""Errors below a pixel."""
FLOW_S, SECONDS = 3.0, 10.0
"""Seconds for each stretch of the flow, and for a whole request."""
LEARNT = 2e-5
"""Loss at which a film ends, as a share of that of the zero function: half a percent of the labels
are missing, less than a pixel."""
AT_REST = 1e-9
"""Share of the loss by which it must fall in a stretch: near a saddle it still does."""
STRETCH, STRETCHES = 3.0, 7
"""The flow is integrated to an end, shown, and then to one so many times as far, so often at
most."""
FRAMES = {False: 40, True: 110}
"""Moments of a stretch that is shown while the next is computed, and of the last."""
ENDINGS = (1.0, 0.0, -1.0, -2.0, -4.0)
"""Exponents of λ at which the ending is shown beside the reader's own."""
LOG10 = float(np.log(10.0))

FIELDS = {
    "log10_lambda": Exponent(
        "Size of the first weights, λ",
        "To the left: a small start. To the right: a large one.",
        -300.0,
        1.0,
        -4.0,
        0.1,
        "λ",
    ),
    "points": Table(
        "Points",
        "Drag them; double-click to add or remove one.",
        ((LOW, HIGH), (LOW, HIGH)),
        1,
        10,
        ((-1.5, 0.7), (-1.0, -0.3), (0.0, -0.3), (0.25, 0.4), (2.0, 0.2)),
    ),
    "width": Integer("Neurons", "How many kinks the network has to spend.", 2, 60, 40),
    "key": Integer("Draw of the start", "Another number, another random start.", 0, 9999, 0),
}


def checked(state: State) -> None:
    """No two points above each other; a label that is not zero."""
    places = sorted(x for x, _ in state["points"])
    for a, b in pairwise(places):
        if b - a < NEAREST:
            raise InputError(
                f"points: two are at x = {a:g} and {b:g}; a function has one value at each x, so "
                f"they must be {NEAREST:g} apart"
            )
    if not any(y for _, y in state["points"]):
        raise InputError("points: every label is zero, where the network starts; nothing is learnt")


def problem_of(state: State, exponent: float) -> Problem:
    """B's: a bias as a second input, w = λ/√m·g, loss 1/(2n)·Σ(h − y)²."""
    points, model = np.array(state["points"]), TwoLayer(state["width"], 2)
    data = Dataset(with_bias(points[:, 0]), points[:, 1])
    start = drawn_start(model, state["key"])
    return Problem(model, data, SquareLoss("half-mean"), start, exponent * LOG10)


def drawn_start(model: TwoLayer, key: int) -> TwoLayerParams:
    """The start of size one; that of size λ may be below every float."""
    return model.init(1 / np.sqrt(model.width), key=key)


def with_bias(x: Array) -> Array:
    return np.column_stack([x, np.ones_like(x)])


def parts(state: State) -> Iterator[Part]:
    """The interpolators of least norm and of the tangent kernel, the flow in growing stretches,
    then where it ends from other starts."""
    problem = problem_of(state, state["log10_lambda"])
    yield "limit", limit_part(problem, state)
    yield from flow_parts(problem, state["log10_lambda"])
    yield from ending_parts(state)


def limit_part(problem: Problem, state: State) -> dict[str, Any]:
    """Two ends that theory knows, on a grid."""
    least, norm, gap = least_norm(problem.data.X.tobytes(), problem.data.y.tobytes())
    return {
        "x": rounded(GRID),
        "least": rounded(least, 4),
        "least_norm": rounded(norm),
        "gap": rounded(gap, 2),
        "kernel": rounded(kernel_function(problem, state), 4),
    }


@lru_cache(32)
def least_norm(X: bytes, y: bytes) -> tuple[Array, float, float]:
    """The minimum-norm interpolator on the grid, its norm and the gap of its certificate."""
    from ...limits import min_norm_interpolator

    inputs, labels = np.frombuffer(X).reshape(-1, 2).copy(), np.frombuffer(y).copy()
    found = min_norm_interpolator(inputs, labels, time_s=FLOW_S)
    return found(with_bias(GRID)), found.objective, found.certificate.gap


def kernel_function(problem: Problem, state: State) -> Array:
    """What the network would become if it were linear in its weights: the start plus the
    interpolator of its tangent kernel, which the size of the start does not change."""
    from ...limits import kernel_interpolator, tangent_kernel

    data, model = problem.data, problem.model
    start = drawn_start(model, state["key"])
    size = np.exp(2 * state["log10_lambda"] * LOG10)
    both = np.concatenate([data.X, with_bias(GRID)])
    kernel, first = tangent_kernel(model, start, both), size * model(start, both)
    n = data.n
    weights = kernel_interpolator(kernel[:n, :n], data.y - first[:n]).value
    return np.asarray(first[n:] + kernel[n:, :n] @ weights)


def flow_parts(problem: Problem, exponent: float) -> Iterator[Part]:
    """The flow to a first end, then to later ones until the loss is gone."""
    from ...flows import gradient_flow

    t1, before = first_end(problem, exponent), np.inf
    for stretch in range(STRETCHES):
        try:
            flow = gradient_flow(problem, t1=t1, rtol=FLOW_RTOL, time_s=FLOW_S, throw=False)
        except BiasflowError as error:
            yield "flow", {"times": [], "said": f"no flow: {error}"}
            return
        last = over(flow, t1, before) or stretch == STRETCHES - 1
        yield "flow", flow_part(flow, last)
        if last:
            yield "plateaus", {"plateaus": plateaus(flow)}
            return
        t1, before = STRETCH * t1, float(flow.loss[-1])


def over(flow: Any, t1: float, before: float) -> bool:
    """Whether nothing more is to be seen: the points are fitted, the flow has ended, or the loss
    has not moved since a third of the time."""
    left = float(flow.loss[-1])
    ended = not flow.result.success or flow.times[-1] < t1
    return bool(left <= learnt(flow.problem) or ended or before - left <= AT_REST * left)


def learnt(problem: Problem) -> float:
    """The loss below which the points are fitted, as far as one can see."""
    y = problem.data.y
    return LEARNT * float(problem.loss(np.zeros_like(y), y))


def first_end(problem: Problem, exponent: float) -> float:
    """Twice as long as the fastest neuron needs to grow to size one."""
    from ...flows import early_alignment

    start = problem.start
    rates = early_alignment(problem.data, start).rates
    rate = max(float(np.max(rates)), 1e-3)
    return 2 * (1.0 + max(0.0, -exponent * LOG10)) / rate


def flow_part(flow: Any, last: bool) -> dict[str, Any]:
    """Neurons at moments of the flow, as unit vectors (a, w, bias) and logarithms of their norms;
    who slides when."""
    from ...pictures.neuron_marks import sliding

    problem = flow.problem
    m, n = problem.start.a.size, problem.data.n
    until = learnt(problem) / float(flow.loss[0])
    times = even_in_loss(flow.times, flow.loss, FRAMES[last], until)
    at = [flow.polar(t) for t in times]
    units = np.stack([np.column_stack([unit.a, unit.W]) for unit, _ in at])
    logs = np.stack([log for _, log in at])
    slides = np.any(sliding(flow, times, m, n), axis=2)
    loss = np.interp(times, flow.times, flow.loss)
    return {
        "times": rounded(times, 6),
        "loss": rounded(loss, 4),
        "units": rounded(units.transpose(1, 2, 0), 5),
        "logs": rounded(logs.T, 6),
        "slides": intervals(slides),
        "norm": rounded(variation(flow.final)),
        "last": last,
        "said": said(flow) if last else "",
    }


def plateaus(flow: Any) -> list[list[Any]]:
    """[first time, last time, loss, name] of every rest near a saddle."""
    from ...diagnostics import phases

    return [
        [rounded(each.start, 4), rounded(each.end, 4), rounded(each.loss_end, 4), each.name]
        for each in phases(flow)
        if each.name in ("escape", "plateau")
    ]


def said(flow: Any) -> str:
    """What a reader should know of the end."""
    if not flow.result.success:
        return f"The flow {flow.result.value}."
    if flow.loss[-1] > learnt(flow.problem):
        return (
            f"At t = {flow.times[-1]:.3g} the points are still not fitted: the flow rests at a "
            "saddle, or at a minimum that is not the least."
        )
    return ""


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


def ending_parts(state: State) -> Iterator[Part]:
    """What the same network draws from smaller and larger starts, one after the other."""
    key = tuple(map(tuple, state["points"])), state["width"], state["key"]
    for exponent in ENDINGS:
        function, left = ending(*key, exponent)
        yield (
            "ending",
            {"log10_lambda": exponent, "y": rounded(function, 4), "left": rounded(left, 2)},
        )


@lru_cache(64)
def ending(
    points: tuple[tuple[float, ...], ...], width: int, key: int, exponent: float
) -> tuple[Array, float]:
    """The function at the end of the flow on the grid, and its loss as a share of that of the zero
    function."""
    from ...flows import gradient_flow

    problem = problem_of({"points": points, "width": width, "key": key}, exponent)
    t1, before = first_end(problem, exponent) * STRETCH, np.inf
    for _ in range(STRETCHES - 1):
        flow = gradient_flow(problem, t1=t1, rtol=FLOW_RTOL, time_s=FLOW_S, throw=False)
        if over(flow, t1, before):
            break
        t1, before = STRETCH * t1, float(flow.loss[-1])
    left = float(flow.loss[-1]) * LEARNT / learnt(problem)
    return problem.model(flow.final, with_bias(GRID)), left


def as_python(state: State) -> str:
    """The scene as a script that prints its numbers and draws its flow."""
    return "\n".join(
        [
            "import numpy as np",
            "",
            "import biasflow as bf",
            "",
            f"points = np.array({state['points']})",
            "X = np.column_stack([points[:, 0], np.ones(len(points))])",
            "data = bf.Dataset(X, points[:, 1])",
            f"model = bf.TwoLayer({state['width']}, 2)",
            f"start = model.init(1 / np.sqrt({state['width']}), key={state['key']})",
            f"log_scale = {state['log10_lambda']} * np.log(10.0)",
            'problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start, log_scale)',
            'least = bf.min_norm(data, norm="relu")',
            'print("least norm", least.objective, least.certificate)',
            "flow = bf.gradient_flow(problem, rtol=1e-6, time_s=60, throw=False)",
            "print(flow)",
            "for phase in bf.diagnostics.phases(flow):",
            "    print(phase)",
            "final = flow.final",
            "lengths = np.linalg.norm(final.W, axis=1)",
            'print("norm at the end", 2 * np.sum(np.abs(final.a) * lengths))',
            "x = np.linspace(-3, 3, 13)",
            "inputs = np.column_stack([x, np.ones(13)])",
            'print("x      ", x)',
            'print("network", flow(inputs))',
            'print("least  ", least(inputs))',
            'flow.plot().savefig("line_through_points.png")',
            "",
        ]
    )


def warm() -> None:
    """B's points from a small start, with one of the endings: this compiles the ReLU kernels."""
    for name, _ in parts(LINE.read({"log10_lambda": -2.0, "width": 6})):
        if name == "ending":
            return


def slope(count: int) -> list[list[float]]:
    x = np.linspace(-2.0, 2.0, count)
    return [[float(a), float(b)] for a, b in zip(x, np.round(np.sin(1.7 * x), 2), strict=True)]


LINE = Scene(
    "line",
    "A line through points",
    "A neural network is trained until it goes through these points. What does it draw between "
    "them?",
    "The points do not decide that: the size of the network’s first weights does. Slide λ to the "
    "right, a large start: the neurons hardly move, and the network keeps the wiggles it began "
    "with. Slide it to the left, a small start: for a while nothing seems to happen, but the "
    "neurons are turning; then a few kinks grow, one group after the other, and what comes out is "
    "the simplest curve that fits (dashed), or close to it. Press play and watch.",
    FIELDS,
    parts,
    as_python,
    SECONDS,
    (
        Preset("Five points, a small start", "B, Figure 4", {"log10_lambda": -4.0, "width": 60}),
        Preset("Five points, a large start", "B, Figure 5", {"log10_lambda": 1.0, "width": 60}),
        Preset(
            "Two points, saddle to saddle",
            "B, Figures 2 and 3",
            {"points": [[-0.5, -1.0], [2.0, 1.0]], "log10_lambda": -6.0, "width": 60},
        ),
        Preset("Seven points of a wave", "ours", {"points": slope(7), "log10_lambda": -3.0}),
        Preset("Below every float", "ours", {"log10_lambda": -300.0}),
    ),
    checked,
    warm,
    "Two columns, x and y; they are moved and scaled into the picture. At most 10 rows.",
)
