"""Neurons in the plane (B): how they turn while the network is still negligible, gather, and grow;
the exact timeline of vanishing starts, where it is defined, beside the flow's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ...errors import BiasflowError, InputError
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ..scene import (
    LOG10,
    Exponent,
    Integer,
    Part,
    Preset,
    Scene,
    State,
    Table,
    bracketed,
    rounded,
    script,
)
from .relu_film import FLOW_RTOL, drawn_start, film_parts

REACH, SHORTEST = 2.5, 0.1
"""Inputs lie in a square around zero, and not at zero, where a neuron sees nothing."""
SECONDS = 12.0
NORM_S = 2.0
"""Seconds for the interpolator of least norm."""

FIELDS = {
    "log10_lambda": Exponent(
        "Size of the first weights, λ",
        "The smaller, the longer the neurons turn before any of them grows.",
        -300.0,
        1.0,
        -6.0,
        0.1,
        "λ",
    ),
    "points": Table(
        "Inputs in the plane, each with a label",
        "Drag them; the labels are beside the picture.",
        ((-REACH, REACH), (-REACH, REACH), (-3.0, 3.0)),
        1,
        8,
        ((-0.5, 1.0, -1.0), (2.0, 1.0, 1.0)),
    ),
    "width": Integer("Neurons", "How many there are.", 2, 60, 30),
    "key": Integer("Draw of the start", "Another number, another random start.", 0, 9999, 0),
}


def checked(state: State) -> None:
    """Inputs away from zero, and something to learn."""
    for k, (u, v, _) in enumerate(state["points"]):
        if np.hypot(u, v) < SHORTEST:
            raise InputError(
                f"points, row {k + 1}: ({u:g}, {v:g}) is nearer to zero than {SHORTEST:g}, where "
                "neurons see nothing; move it away"
            )
    if not any(label for _, _, label in state["points"]):
        raise InputError("points: every label is zero, where the network starts; nothing is learnt")


def problem_of(state: State) -> Problem:
    """B's: no bias but what the inputs bring, w = λ/√m·g, loss 1/(2n)·Σ(h − y)²."""
    points, model = np.array(state["points"]), TwoLayer(state["width"], 2)
    start = drawn_start(model, state["key"])
    data = Dataset(points[:, :2], points[:, 2])
    return Problem(model, data, SquareLoss("half-mean"), start, state["log10_lambda"] * LOG10)


def parts(state: State) -> Iterator[Part]:
    """Where neurons turn to, the exact timeline or why there is none, the flow in growing
    stretches, its clusters, and the least norm."""
    problem = problem_of(state)
    start = drawn_start(problem.model, state["key"])
    yield "limit", alignment_part(problem.data, start)
    yield "timeline", timeline_part(problem.data, start, state["log10_lambda"])
    last: dict[str, Any] = {}
    for name, data in film_parts(problem, state["log10_lambda"]):
        yield name, data
        if name == "flow":
            last = data
    if last.get("times"):
        yield "clusters", clusters_part(last)
    yield "least", least_part(problem)


def alignment_part(data: Dataset, start: TwoLayerParams) -> dict[str, Any]:
    """The direction that each neuron turns to while h = 0, exactly, which the start's size does not
    change; how fast it grows then; when its gates change for the last time."""
    from ...flows import early_alignment

    try:
        found = early_alignment(data, start)
    except BiasflowError as error:
        return {"places": [], "until": None, "said": f"Where neurons gather is left open: {error}"}
    growing = found.rates > 0
    times = found.times[growing]
    return {
        "directions": rounded(found.directions, 5),
        "signs": rounded(found.signs),
        "rates": rounded(found.rates, 5),
        "until": rounded(float(np.max(times)) if times.size else 0.0, 5),
        "places": places(found.directions[growing], found.signs[growing], found.rates[growing]),
        "said": "",
    }


def places(directions: Array, signs: Array, rates: Array) -> list[dict[str, Any]]:
    """Directions at which neurons gather, the fastest first, with how many come."""
    found: list[dict[str, Any]] = []
    for k in np.argsort(-rates, kind="stable"):
        for each in found:
            near = np.dot(each["direction"], directions[k]) > 1 - 1e-9
            if near and each["sign"] == signs[k]:
                each["neurons"] += 1
                break
        else:
            one = {"direction": directions[k], "sign": signs[k], "rate": rates[k], "neurons": 1}
            found.append(one)
    return [
        {
            "direction": rounded(each["direction"], 6),
            "sign": float(each["sign"]),
            "rate": rounded(each["rate"], 6),
            "neurons": each["neurons"],
        }
        for each in found
    ]


def timeline_part(data: Dataset, start: TwoLayerParams, exponent: float) -> dict[str, Any]:
    """When each group of neurons grows as λ → 0, and to what size: defined for perpendicular inputs
    (B, Theorem 1)."""
    from ...flows import saddle_limit

    try:
        found = saddle_limit(data, start)
    except BiasflowError as error:
        return {"groups": [], "norm": None, "said": f"none: {error}"}
    groups = [
        {
            "sign": sign,
            "neurons": len(found.stats["neurons"][k]),
            "rate": rounded(found.stats["rate"][k], 6),
            "capacity": rounded(found.stats["capacity"][k], 6),
            "time": rounded(
                -exponent * LOG10 / found.stats["rate"][k] + found.stats["offset"][k], 6
            ),
        }
        for k, sign in enumerate((1.0, -1.0))
        if len(found.stats["neurons"][k])
    ]
    return {"groups": groups, "norm": rounded(found.objective, 6), "said": ""}


def clusters_part(flow: dict[str, Any]) -> dict[str, Any]:
    """Groups of neurons at the end of the film; when those of either sign had grown to half their
    final Σ‖w‖²."""
    from ...diagnostics import clusters

    times, units = np.array(flow["times"]), np.array(flow["units"], dtype=float)
    sizes = np.exp(2 * np.array(flow["logs"], dtype=float))
    squares = sizes * np.sum(units[:, 1:] ** 2, axis=1)
    scale = np.sqrt(sizes[:, -1])
    final = TwoLayerParams(scale * units[:, 0, -1], scale[:, None] * units[:, 1:, -1])
    grown = []
    for sign in (1.0, -1.0):
        total = np.sum(squares[np.sign(units[:, 0, -1]) == sign], axis=0)
        half = total[-1] / 2
        if half <= 0:
            continue
        k = int(np.argmax(total >= half))
        before, after = total[k - 1] if k else total[0], total[k]
        share = np.log(half / before) / np.log(after / before) if k and after > before > 0 else 0.0
        time = times[k - 1] + share * (times[k] - times[k - 1]) if k else times[0]
        grown.append({"sign": sign, "time": rounded(time, 4), "mass": rounded(2 * half, 4)})
    return {
        "groups": [
            {
                "direction": rounded(each.direction, 4),
                "sign": each.sign,
                "share": rounded(each.share, 3),
                "neurons": len(each.neurons),
            }
            for each in clusters(final)
        ],
        "grown": grown,
    }


def least_part(problem: Problem) -> dict[str, Any]:
    """The least ‖θ‖² of all networks that fit the labels."""
    from ...limits import min_norm_interpolator

    try:
        found = min_norm_interpolator(problem.data.X, problem.data.y, time_s=NORM_S)
    except BiasflowError as error:
        return {"norm": None, "proof": None, "said": f"{error}"}
    return {
        "norm": rounded(found.objective),
        "proof": bracketed(found.certificate),
        "said": "",
    }


def as_python(state: State) -> str:
    """The scene as a script that prints its numbers and draws its flow."""
    return script(
        [
            f"points = np.array({state['points']})",
            "data = bf.Dataset(points[:, :2], points[:, 2])",
            f"model = bf.TwoLayer({state['width']}, 2)",
            f"start = model.init(1 / np.sqrt({state['width']}), key={state['key']})",
            f"log_scale = {state['log10_lambda']} * np.log(10.0)",
            'problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start, log_scale)',
            "aligned = bf.flows.early_alignment(data, start)",
            "for rate in np.unique(np.round(aligned.rates[aligned.rates > 0], 10))[::-1]:",
            '    print("neurons gather and grow at the rate", rate)',
            "try:",
            "    limit = bf.flows.saddle_limit(data, start)",
            '    for rate, offset in zip(limit.stats["rate"], limit.stats["offset"]):',
            "        if rate > 0:",
            '            print("half grown at", -log_scale / rate + offset, "as lambda vanishes")',
            "except bf.errors.BiasflowError as error:",
            '    print("no exact timeline:", error)',
            "t1 = 18 * (1 + max(0.0, -log_scale)) / max(aligned.rates.max(), 1e-3)",
            f"flow = bf.gradient_flow(problem, t1=t1, rtol={FLOW_RTOL}, time_s=60, throw=False)",
            "print(flow)",
            "for cluster in bf.diagnostics.clusters(flow.final):",
            "    print(cluster)",
            "unit, log_size = flow.polar(flow.times[-1])",
            "angles = np.arctan2(unit.W[:, 1], unit.W[:, 0])",
            'figure, axes = plt.subplots(subplot_kw={"projection": "polar"})',
            'colours = np.where(unit.a > 0, "C0", "C3")',
            "axes.scatter(angles, log_size / np.log(10.0), c=colours)",
            'axes.set_title("neurons at the end: direction, log10 of their size")',
            'figure.savefig("neurons_in_the_plane.png")',
            'flow.plot().savefig("their_training.png")',
        ]
    )


def warm() -> None:
    """Two starts on B's points, and inputs without a timeline: this compiles the ReLU kernels."""
    for change in (
        {"width": 6},
        {"width": 6, "log10_lambda": 0.0},
        {"width": 6, "points": [[1.0, 0.2, 1.0], [0.5, 1.0, -1.0], [-1.0, 0.5, 0.5]]},
    ):
        for _ in parts(PLANE.read(change)):
            pass


def on_a_circle(labels: list[float], turn: float = 0.2) -> list[list[float]]:
    angles = turn + 2 * np.pi * np.arange(len(labels)) / len(labels)
    rows = zip(np.cos(angles), np.sin(angles), labels, strict=True)
    return [[round(1.5 * float(u), 3), round(1.5 * float(v), 3), y] for u, v, y in rows]


PLANE = Scene(
    "plane",
    "Neurons in the plane",
    "Before a network learns anything, its neurons turn. Where to, and who grows first?",
    "Every dot is a neuron: its direction says which inputs it answers to, its distance from the "
    "middle how large it is (on a logarithmic scale). From a small start nothing is learnt for a "
    "long time, yet the dots turn until they stand together in a few directions, which the labels "
    "alone decide; those that answer to no input stay. Then one group grows, and after it the "
    "next. Where the inputs are perpendicular, theory says exactly when (dashed lines).",
    FIELDS,
    parts,
    as_python,
    SECONDS,
    (
        Preset("Two perpendicular inputs", "B, Figures 2 and 3", {}),
        Preset(
            "Five points of a line, with a bias",
            "B, Figure 4",
            {
                "points": [
                    [-1.5, 1.0, 0.7],
                    [-1.0, 1.0, -0.3],
                    [0.0, 1.0, -0.3],
                    [0.25, 1.0, 0.4],
                    [2.0, 1.0, 0.2],
                ],
                "log10_lambda": -4.0,
            },
        ),
        Preset(
            "Five inputs on a circle",
            "Maennel et al. 2018",
            {"points": on_a_circle([1.0, -0.5, 0.8, -1.0, 0.6]), "log10_lambda": -4.0},
        ),
        Preset(
            "Perpendicular, of two lengths",
            "B, §4",
            {"points": [[1.0, 0.5, 1.0], [-1.0, 2.0, 1.5]], "log10_lambda": -100.0},
        ),
        Preset("Below every float", "ours", {"log10_lambda": -300.0}),
    ),
    checked,
    warm,
    "Three columns: two inputs and the label; they are scaled into the picture. Of more than 8 "
    "rows, 8 are taken.",
)
