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
from ...models import TwoLayer
from ..patience import Patience
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
from .relu_film import LEARNT, drawn_start, ended_flow, film_parts, learnt

LOW, HIGH = -3.0, 3.0
"""Where points may be, across and up."""
GRID = np.linspace(LOW, HIGH, 121)
NEAREST = 0.01
"""Distance across below which two points would ask for a cliff."""
LEAST_S, ENDINGS_S, SECONDS = 2.0, 5.0, 15.0
"""Seconds for the interpolator of least norm, after which no further ending is begun, and for a
whole request."""
ENDINGS = (1.0, 0.5, 0.0, -1.0, -4.0)
"""Exponents of λ at which the ending is shown beside the reader's own."""

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


def with_bias(x: Array) -> Array:
    return np.column_stack([x, np.ones_like(x)])


def parts(state: State) -> Iterator[Part]:
    """The interpolators of least norm and of the tangent kernel, the flow in growing stretches,
    whether the least norm has one curve only, then where the flow ends from other starts."""
    problem = problem_of(state, state["log10_lambda"])
    yield "limit", limit_part(problem, state)
    yield from film_parts(problem, state["log10_lambda"])
    yield "unique", {"unique": only_one(frozen(problem.data))}
    yield from ending_parts(state)


def limit_part(problem: Problem, state: State) -> dict[str, Any]:
    """Two ends that theory knows, on a grid."""
    least, norm, proof = least_norm(frozen(problem.data))
    try:
        kernel, said = rounded(kernel_function(problem, state), 4), ""
    except BiasflowError:
        kernel = None
        said = "no curve of the tangent kernel: these neurons at rest cannot fit the points"
    return {
        "x": rounded(GRID),
        "least": rounded(least, 4),
        "least_norm": rounded(norm),
        "proof": proof,
        "kernel": kernel,
        "said": said,
    }


@lru_cache(32)
def least_norm(key: Frozen) -> tuple[Array, float, dict[str, Any]]:
    """The minimum-norm interpolator on the grid, and its norm with its proof."""
    from ...limits.neurons.least_norm import least_norm_alone

    found = least_norm_alone(*thawed(key), time_s=LEAST_S)
    return found(with_bias(GRID)), found.objective, bracketed(found.certificate)


@lru_cache(32)
def only_one(key: Frozen) -> bool | None:
    """Whether that interpolator is the only one: a third of the time, and nobody waits for it."""
    from ...limits import min_norm_interpolator

    unique: bool | None = min_norm_interpolator(*thawed(key), time_s=LEAST_S).stats["unique"]
    return unique


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


def ending_parts(state: State) -> Iterator[Part]:
    """What the same network draws from smaller and larger starts, one after the other."""
    key = tuple(map(tuple, state["points"])), state["width"], state["key"]
    patience = Patience(ENDINGS_S)
    for exponent in ENDINGS:
        if patience.over():
            return
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
    problem = problem_of({"points": points, "width": width, "key": key}, exponent)
    flow = ended_flow(problem, exponent)
    left = float(flow.loss[-1]) * LEARNT / learnt(problem)
    return problem.model(flow.final, with_bias(GRID)), left


def as_python(state: State) -> str:
    """The scene as a script that prints its numbers and draws its flow."""
    return script(
        [
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
            "x = np.linspace(-3, 3, 301)",
            "inputs = np.column_stack([x, np.ones(301)])",
            "figure, axes = plt.subplots()",
            'axes.plot(x, flow(inputs), label="network")',
            'axes.plot(x, least(inputs), "--", label="least norm")',
            "try:  # what it would be if it were linear in its weights",
            "    both, n = np.concatenate([data.X, inputs]), data.n",
            "    kernel = bf.tangent_kernel(model, start, both)",
            "    first = np.exp(2 * log_scale) * model(start, both)",
            "    known = bf.limits.kernel_interpolator(kernel[:n, :n], data.y - first[:n])",
            "    linear = first[n:] + kernel[n:, :n] @ known.value",
            '    axes.plot(x, linear, ":", label="tangent kernel")',
            "except bf.errors.BiasflowError as error:",
            '    print("no curve of the tangent kernel:", error)',
            'axes.plot(points[:, 0], points[:, 1], "ko")',
            "inside = (x >= points[:, 0].min()) & (x <= points[:, 0].max())",
            "seen = np.append(least(inputs)[inside], points[:, 1])",
            "reach = 1.2 * np.max(np.abs(seen))",
            'axes.set(xlabel="x", ylabel="y", ylim=(-reach, reach))',
            "axes.legend()",
            'figure.savefig("line_through_points.png")',
            'flow.plot().savefig("its_training.png")',
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
    "The points do not decide that; the size of the network’s first weights, λ, does. Click the "
    "five small pictures from right to left, or slide λ. From a large start the neurons hardly "
    "move, and the network keeps the wiggles it began with. From a small start nothing seems to "
    "happen for a while, but the neurons are turning; then a few kinks grow, one group after the "
    "other, and what comes out is the simplest curve that fits (dashed), or close to it. Play and "
    "scrub through the training below; drag a point to ask about your own.",
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
    "Two columns, x and y; they are moved and scaled into the picture. Of more than 10 rows, 10 "
    "are taken.",
)
