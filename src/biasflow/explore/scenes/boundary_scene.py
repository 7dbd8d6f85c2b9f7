"""Which boundary? (C): two classes in the plane, the max margins that theory knows, and a network
on its way to one of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ...errors import BiasflowError, InputError
from ...losses import SmoothMargin
from ...models import TwoLayer, TwoLayerParams, augmented
from ..patience import DrawingPatience, drawn_flow, got_there
from ..scene import (
    LOG10,
    Exponent,
    Frozen,
    Integer,
    Part,
    Preset,
    Scene,
    State,
    Table,
    bracketed,
    frozen,
    rounded,
    script,
    thawed,
)

REACH = 1.0
"""Points lie in the square from −1 to 1."""
TICKS = np.linspace(-REACH, REACH, 49)
SQUARE = np.stack(np.meshgrid(TICKS, TICKS), axis=-1).reshape(-1, 2)
"""Row by row, the lowest first."""
NEAREST = 0.04
"""Distance below which points of different classes ask for a boundary that cannot be seen."""
GAP, F1_S = 1e-4, 3.0
"""Relative gap of γ₁ below which nothing more is seen, and seconds for it."""
F2_S = 1.0
FLOW_RTOL, FLOW_S, SECONDS = 1e-2, 3.0, 14.0
"""Errors below a pixel; seconds for the flow, and for a whole request."""
FRAMES = {0.25: 24, 1.0: 64}
"""Moments of the flow to a share of its end, which is shown while the rest is computed, and of all
of it."""
NO_TANGENT = "No boundary of the tangent kernel: so few neurons at rest cannot separate the points."
FIRST_FRAME = 0.1
"""The first frame, in units of the time in which a network of the start's size learns."""

RING = (
    (0.0, 0.05, 1.0),
    (0.25, -0.15, 1.0),
    (-0.2, -0.2, 1.0),
    (0.7, 0.1, -1.0),
    (0.45, 0.65, -1.0),
    (-0.1, 0.75, -1.0),
    (-0.65, 0.4, -1.0),
    (-0.7, -0.3, -1.0),
    (-0.15, -0.75, -1.0),
    (0.5, -0.6, -1.0),
)
FIELDS = {
    "log10_sigma": Exponent(
        "Size of the first weights, σ",
        "To the left: a small start. To the right: a large one, which learns as a kernel first. It "
        "ends at 1e-2: from smaller ones the network can rest, before it separates anything, for "
        "longer than a page waits.",
        -2.0,
        3.0,
        0.0,
        0.1,
        "σ",
    ),
    "points": Table(
        "Points of two classes",
        "Drag them; click on empty ground to paint one; double-click to remove one.",
        ((-REACH, REACH), (-REACH, REACH), (-1.0, 1.0)),
        2,
        24,
        RING,
        signs=(2,),
    ),
    "pairs": Integer(
        "Pairs of neurons",
        "Every neuron starts beside its mirror image, so that the network starts at zero.",
        4,
        60,
        40,
    ),
    "key": Integer("Draw of the start", "Another number, another random start.", 0, 9999, 0),
}


def checked(state: State) -> None:
    """Two classes, which do not touch."""
    points = np.array(state["points"])
    plus, minus = points[points[:, 2] > 0, :2], points[points[:, 2] < 0, :2]
    if not len(plus) or not len(minus):
        raise InputError("points: a boundary needs two classes; paint a point of the other one")
    apart = np.linalg.norm(plus[:, None] - minus[None], axis=2)
    if np.min(apart) < NEAREST:
        i, j = np.unravel_index(np.argmin(apart), apart.shape)
        raise InputError(
            f"points: {tuple(plus[i].tolist())} and {tuple(minus[j].tolist())} are of different "
            f"classes and nearer than {NEAREST:g}; move them apart"
        )


def data_of(state: State) -> Dataset:
    points = np.array(state["points"])
    return Dataset(points[:, :2], points[:, 2])


def drawn_start(state: State) -> TwoLayerParams:
    """C's N(0, σ²) in h = (1/m)Σφ, every neuron with its mirror image."""
    m, sigma = 2 * state["pairs"], 10.0 ** state["log10_sigma"]
    a, W = TwoLayer(state["pairs"], 3).init(sigma / np.sqrt(m), key=state["key"], balanced=False)
    return TwoLayerParams(np.concatenate([a, -a]), np.concatenate([W, W]))


def parts(state: State) -> Iterator[Part]:
    """The classifiers of two kernels, that of F1, then the network's way."""
    data, start = data_of(state), drawn_start(state)
    kernels = kernels_part(state, data, start)
    yield "kernels", kernels
    f1 = f1_margin(frozen(data))
    yield "limit", limit_part(f1)
    yield from flow_parts(state, data, start, float(f1["proof"].lower))


@lru_cache(32)
def f1_margin(key: Frozen) -> dict[str, Any]:
    """γ₁ with its bracket, and its classifier on the square."""
    from ...limits import f1_max_margin

    found = f1_max_margin(*thawed(key), gap=GAP, time_s=F1_S)
    return {
        "proof": found.certificate,
        "neurons": len(found.value.signs),
        "values": found.value(SQUARE),
    }


@lru_cache(32)
def f2_margin(key: Frozen) -> dict[str, Any]:
    """γ₂ with its bracket, and its classifier on the square."""
    from ...limits import f2_max_margin

    found = f2_max_margin(*thawed(key), time_s=F2_S)
    return {"proof": found.certificate, "values": found.value(SQUARE)}


@lru_cache(32)
def tangent_values(key: Frozen, pairs: int, draw: int) -> Array | None:
    """The max margin of the tangent kernel at the start of size one, on the square; σ changes its
    units, not its boundary. None where few neurons at rest separate nothing."""
    from ...limits import tangent_max_margin

    X, y = thawed(key)
    start = drawn_start({"pairs": pairs, "key": draw, "log10_sigma": 0.0})
    try:
        found = tangent_max_margin(TwoLayer(2 * pairs, 3), start, augmented(X), y)
    except BiasflowError:
        return None
    return found.value(augmented(SQUARE)) if found.certificate.lower > 0 else None


def kernels_part(state: State, data: Dataset, start: TwoLayerParams) -> dict[str, Any]:
    """Where training the output layer alone ends, and a network that is linear in its weights."""
    f2 = f2_margin(frozen(data))
    values = tangent_values(frozen(data), state["pairs"], state["key"])
    return {
        "ticks": rounded(TICKS),
        "f2": on_grid(f2["values"]),
        "gamma2": bracketed(f2["proof"]),
        "tangent": None if values is None else on_grid(values),
        "said": "" if values is not None else NO_TANGENT,
    }


def limit_part(f1: dict[str, Any]) -> dict[str, Any]:
    return {
        "ticks": rounded(TICKS),
        "f1": on_grid(f1["values"]),
        "gamma1": bracketed(f1["proof"]),
        "neurons": f1["neurons"],
    }


def on_grid(values: Array) -> Any:
    """Values on the square, relative to the largest: a boundary has no units."""
    size = float(np.max(np.abs(values))) or 1.0
    return rounded(np.reshape(values / size, (TICKS.size, TICKS.size)), 4)


def flow_end(gamma: float, exponent: float) -> float:
    """C's clock: the norm grows as e^{4γt}, and the margin is within log(n) over it of its end."""
    return (4.0 + max(0.0, -exponent) * LOG10 / 2) / gamma


def flow_parts(state: State, data: Dataset, start: TwoLayerParams, gamma: float) -> Iterator[Part]:
    """The flow to a first end, then to the last."""
    model = TwoLayer(2 * state["pairs"], 3)
    problem = Problem(model, Dataset(augmented(data.X), data.y), SmoothMargin(), start)
    end = flow_end(gamma, state["log10_sigma"])
    for share, frames in FRAMES.items():
        try:
            flow = drawn_flow(problem, DrawingPatience(FLOW_S), t1=share * end, rtol=FLOW_RTOL)
        except BiasflowError as error:
            yield "flow", {"times": [], "said": f"no flow: {error}"}
            return
        over = share == 1.0 or not got_there(flow)
        yield "flow", {**flow_part(state, data, flow, gamma, frames), "last": over}
        if over:
            return


def flow_part(state: State, data: Dataset, flow: Any, gamma: float, frames: int) -> dict[str, Any]:
    """Neurons at moments of the flow, at squared norm one, their margin, and how far the classifier
    is from each of the three, as an angle between functions on the square."""
    model, last = flow.problem.model, float(flow.times[-1])
    first = min(FIRST_FRAME * 10.0 ** (-2 * state["log10_sigma"]), FIRST_FRAME, last / 10)
    times: Array = np.append(0.0, np.minimum(np.geomspace(first, last, frames - 1), last))
    units = [normed(flow.at(t)) for t in times]
    values = np.stack([model(unit, augmented(SQUARE)) for unit in units])
    margins = np.array([np.min(data.y * model(unit, augmented(data.X))) for unit in units])
    key = frozen(data)
    ends = {
        "f1": f1_margin(key)["values"],
        "f2": f2_margin(key)["values"],
        "tangent": tangent_values(key, state["pairs"], state["key"]),
    }
    return {
        "times": rounded(times, 6),
        "neurons": rounded(
            np.stack([np.column_stack([unit.a, unit.W]) for unit in units]).transpose(1, 2, 0), 4
        ),
        "margin": rounded(margins / gamma, 5),
        "angles": {name: [angle(each, end) for each in values] for name, end in ends.items()},
        "said": "" if got_there(flow) else "The flow is shown as far as it came in its time.",
    }


def normed(params: TwoLayerParams) -> TwoLayerParams:
    """At Σ(a² + ‖w‖²) = 1, which changes no boundary."""
    size = np.sqrt(np.sum(params.a**2) + np.sum(params.W**2))
    return TwoLayerParams(params.a / size, params.W / size)


def angle(one: Array, other: Array | None) -> float | None:
    """Between two functions on the square, in degrees; None for the zero function, or none."""
    if other is None:
        return None
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    if lengths <= 1e-15:
        return None
    share = np.clip(one @ other / lengths, -1.0, 1.0)
    return float(rounded(np.degrees(np.arccos(share)), 4))


def as_python(state: State) -> str:
    """The scene as a script that prints its margins and draws its flow."""
    exponent = state["log10_sigma"]
    return script(
        [
            f"points = np.array({state['points']})",
            "X, y = points[:, :2], points[:, 2]",
            f'f1 = bf.max_margin(X, y, norm="f1", gap={GAP})',
            'f2 = bf.max_margin(X, y, norm="f2")',
            'print("gamma 1", f1.certificate.primal, f1.certificate.dual)',
            'print("gamma 2", f2.certificate.primal, f2.certificate.dual)',
            f"pairs, sigma = {state['pairs']}, 10.0 ** {exponent}",
            "half = bf.TwoLayer(pairs, 3).init(",
            f"    sigma / np.sqrt(2 * pairs), key={state['key']}, balanced=False",
            ")",
            "start = bf.models.TwoLayerParams(",
            "    np.concatenate([half.a, -half.a]), np.concatenate([half.W, half.W])",
            ")",
            "model, data = bf.TwoLayer(2 * pairs, 3), bf.data.with_bias(bf.Dataset(X, y))",
            "tangent = bf.limits.tangent_max_margin(model, start, data.X, data.y)",
            'print("tangent kernel", tangent.objective / sigma)  # in units of a start of size one',
            f"end = {flow_end(1.0, exponent)} / f1.certificate.primal",
            f"flow = bf.gradient_flow(model, data, bf.SmoothMargin(), start, t1=end, "
            f"rtol={FLOW_RTOL})",
            "print(flow)",
            'print("margin over gamma 1", flow.margin[-1] / f1.certificate.primal)',
            "ticks = np.linspace(-1, 1, 201)",
            "square = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)",
            "inputs = np.column_stack([square, np.ones(len(square))])",
            "drawn = [(f1.value(square), 'C2'), (f2.value(square), 'C4')]",
            "drawn += [(model(flow.final, inputs), 'k')]",
            "if tangent.certificate.lower > 0:  # else so few neurons at rest separate nothing",
            "    drawn += [(tangent.value(inputs), 'C1')]",
            'figure, axes = plt.subplots(subplot_kw={"aspect": "equal"})',
            "for values, colour in drawn:",
            "    axes.contour(ticks, ticks, values.reshape(201, 201), [0], colors=colour)",
            'axes.scatter(X[:, 0], X[:, 1], c=np.where(y > 0, "C0", "C3"))',
            'axes.set_title("green F1, purple F2, orange tangent kernel, black the network")',
            'figure.savefig("which_boundary.png")',
            'flow.plot().savefig("its_training.png")',
        ]
    )


def warm() -> None:
    """The first state with few neurons: this compiles the search for neurons and the margin
    flow."""
    for _ in parts(BOUNDARY.read({"pairs": 6})):
        pass


def clustered(n: int, k: int, key: int) -> list[list[float]]:
    """C's random clusters, twice as large."""
    from ...data import clusters

    points = clusters(n, k=k, key=key)
    return np.round(np.column_stack([1.9 * points.X, points.y]), 3).tolist()


def crossed() -> list[list[float]]:
    corners = [(0.5, 0.5, 1), (-0.5, -0.5, 1), (0.5, -0.5, -1), (-0.5, 0.5, -1)]
    return [[float(value) for value in each] for each in corners]


BOUNDARY = Scene(
    "boundary",
    "Which boundary?",
    "Many boundaries separate blue from red. Which one does a trained network draw?",
    "Training goes on after every point is on its right side: the network then raises its margin, "
    "the score of its weakest point for the size of its weights. What that leads to depends on "
    "which weights are trained. With all of them trained it heads for the boundary in green, of "
    "few straight pieces; a network that only learns its last layer, or hardly moves since its "
    "first weights were large, heads for another one (purple, amber). The proofs say how large "
    "each margin can be; press play and see how near the network comes.",
    FIELDS,
    parts,
    as_python,
    SECONDS,
    (
        Preset("One class around the other", "ours", {}),
        Preset("Random clusters", "C, Figure 1", {"points": clustered(18, 3, 1)}),
        Preset(
            "From a large start: the kernel first",
            "C, Figure 3",
            {"points": clustered(18, 3, 1), "log10_sigma": 2.6},
        ),
        Preset("Exclusive or", "ours", {"points": crossed()}),
        Preset("From a tiny start", "C, Theorem 3", {"log10_sigma": -2.0}),
    ),
    checked,
    warm,
    "Three columns: x, y and the class, 1 or −1 (or 1 and 0); x and y are moved and scaled into "
    "the picture. Of more than 24 rows, 24 are taken.",
)
