"""A flow as a film: the function with its kinks and the neurons, or the coordinates, beside the
loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array, positive_int
from .._core.look import COLOURS, MUTED, titled
from .._core.problems import Problem
from .._core.results import Trajectory
from ..models import SignedTwoLayer, TwoLayer
from .flow_pictures import loss_panel
from .line_panels import (
    SIGNS,
    STAR,
    LineFrames,
    Show,
    function_panel,
    legend_below,
    plane_panel,
)
from .moments import effective_state, loss_then, moments, state_at
from .movies import gif, movie, sheet
from .neuron_marks import early_directions, sliding

FEWEST_FRAMES = 2
GRID_POINTS = 301
"""Where functions on a line are drawn."""
SQUARE_POINTS = 81
"""Points of a side of the square on which classifiers of the plane are drawn."""
ROOM = 0.28
"""Room beside the data, as a share of their range."""
MOST_STEMS = 200


def flow_film(flow: Trajectory, path: Any, frames: int) -> Any:
    """The animation, or the path of the GIF that was written."""
    times = moments(flow, positive_int("frames", frames, least=FEWEST_FRAMES))
    states = [state_at(flow, t) for t in times]
    film = _film(flow, times, states)
    if path is None:
        return film
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gif(film))
    return target


def _film(flow: Trajectory, times: Array, states: list[Any]) -> Any:
    problem = flow.problem
    if isinstance(problem, Problem) and isinstance(problem.model, TwoLayer | SignedTwoLayer):
        X = problem.data.X
        bias = bool(np.all(X[:, -1] == 1))
        if X.shape[1] == 2:
            return _of_plane_weights(flow, times, states, bias)
        if X.shape[1] == 3 and bias:
            return _of_plane_inputs(flow, times, states)
    return _of_coordinates(flow, times, states)


def line_frames(flow: Trajectory, times: Array, states: list[Any], bias: bool) -> LineFrames:
    """What the panels of networks with weights in the plane need. Classifiers are shown at norm
    one: their own norm grows for ever."""
    problem = flow.problem
    assert isinstance(problem, Problem)
    model, X = problem.model, problem.data.X
    pairs = [_neurons(model, state) for state in states]
    a, W = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    if not problem.loss.attained:
        size = np.sqrt(np.sum(a**2, axis=1) + np.sum(W**2, axis=(1, 2)))
        a, W = a / size[:, None], W / size[:, None, None]
    low, high = float(np.min(X[:, 0])), float(np.max(X[:, 0]))
    room = 1.2 * ROOM * (high - low or 1.0)
    x = np.linspace(low - room, high + room, GRID_POINTS)
    functions = np.zeros((len(states), x.size))
    if bias:
        rows = np.column_stack([x, np.ones_like(x)])
        functions = np.array([np.asarray(model(state, rows)) for state in states])
        if not problem.loss.attained:
            functions = functions / size[:, None] ** 2
    relu = isinstance(model, TwoLayer)
    pinned = np.zeros(a.shape, dtype=bool)
    directions = np.zeros(W.shape[1:])
    if relu and flow.stats.get("method") == "events":
        pinned = np.any(sliding(flow, times, a.shape[1], len(X)), axis=2)
        if problem.in_floats:
            directions = early_directions(flow)
    inputs = X[:, 0] if bias else X
    return LineFrames(inputs, problem.data.y, x, functions, a, W, pinned, directions)


def _neurons(model: Any, state: Any) -> tuple[Array, Array]:
    """Output weights and neurons; of squared ReLUs the signs times the norms."""
    if isinstance(model, SignedTwoLayer):
        return np.asarray(model.signs) * np.linalg.norm(state.W, axis=1), state.W
    return state.a, state.W


def _of_plane_weights(flow: Trajectory, times: Array, states: list[Any], bias: bool) -> Any:
    """Inputs (x, 1): the function and the plane (w, bias). Inputs in the plane: the neurons among
    them, and the loss."""
    run = line_frames(flow, times, states, bias)
    rays = bool(np.any(run.directions))
    names = ("function" if bias else "plane", "plane" if bias else "loss")
    figure, axes = sheet([list(names)], 8.4, 4.4)
    shows = [plane_panel(axes["plane"], run, targets=rays)]
    if bias:
        shows.insert(0, function_panel(axes["function"], run))
    else:
        _inputs_around(axes["plane"], run)
        shows.append(_loss_so_far(axes["loss"], flow, times))
    drawn = [axes[name] for name in names if name != "loss"]
    legend_below(figure, *drawn, ncols=3, fontsize=7)
    return _titled_movie(figure, axes[names[0]], flow, times, shows)


def _inputs_around(axis: Any, run: LineFrames) -> None:
    """Each input as a dot on the rim, in its direction; and what the stars are."""
    for _, label, colour in SIGNS:
        axis.plot([], [], color=colour, label=label, **STAR)
    units = run.inputs / np.maximum(np.linalg.norm(run.inputs, axis=1, keepdims=True), 1e-300)
    for sign, colour, label in (
        (1, COLOURS[0], "inputs, label > 0"),
        (-1, COLOURS[1], "inputs, label < 0"),
    ):
        own = np.sign(run.labels) == sign
        if np.any(own):
            axis.plot(*(1.07 * units[own]).T, "o", color=colour, markersize=5, label=label)


def _of_plane_inputs(flow: Trajectory, times: Array, states: list[Any]) -> Any:
    """Inputs (x₁, x₂, 1): values of the network over the plane, where it changes sign, and the
    lines on which its largest neurons have their kinks."""
    problem = flow.problem
    assert isinstance(problem, Problem)
    X, y, model = problem.data.X, problem.data.y, problem.model
    figure, axes = sheet([["plane", "loss"]], 9.0, 4.4)
    axis = axes["plane"]
    low, high = np.min(X[:, :2], axis=0), np.max(X[:, :2], axis=0)
    room = ROOM / 2 * np.where(high > low, high - low, 1.0)
    ticks = [np.linspace(low[k] - room[k], high[k] + room[k], SQUARE_POINTS) for k in (0, 1)]
    square = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
    rows = np.column_stack([square, np.ones(len(square))])
    values = [np.reshape(model(state, rows), (SQUARE_POINTS, SQUARE_POINTS)) for state in states]
    for sign, colour, marker in ((1, COLOURS[0], "o"), (-1, COLOURS[1], "s")):
        own = np.sign(y) == sign
        axis.plot(
            *X[own, :2].T,
            marker,
            color=colour,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.5,
            zorder=5,
        )
    axis.set(
        xlim=(ticks[0][0], ticks[0][-1]),
        ylim=(ticks[1][0], ticks[1][-1]),
        xlabel="x₁",
        ylabel="x₂",
    )
    axis.grid(False)
    held: list[Any] = []

    def show(k: int) -> None:
        while held:
            held.pop().remove()
        reach = float(np.max(np.abs(values[k]))) or 1.0
        held.append(
            axis.pcolormesh(
                *ticks, values[k] / reach, cmap="RdBu", vmin=-1.4, vmax=1.4, alpha=0.55, zorder=0
            )
        )
        if np.min(values[k]) < 0 < np.max(values[k]):
            held.append(
                axis.contour(*ticks, values[k], [0.0], colors=["black"], linewidths=1.6, zorder=4)
            )
        held.extend(_kink_lines(axis, model, states[k], ticks[0][[0, -1]], ticks[1][[0, -1]]))

    shows = [show, _loss_so_far(axes["loss"], flow, times)]
    return _titled_movie(figure, axis, flow, times, shows)


def _kink_lines(axis: Any, model: Any, state: Any, across: Array, up: Array) -> list[Any]:
    """Where ⟨w_j, (x, 1)⟩ = 0, the darker the larger the neuron."""
    from matplotlib.collections import LineCollection

    a, W = _neurons(model, state)
    sizes = np.abs(a) * np.linalg.norm(W, axis=1)
    top = float(np.max(sizes)) or 1.0
    reach = float(np.hypot(np.ptp(across), np.ptp(up)))
    middle = np.array([np.mean(across), np.mean(up)])
    normals = np.linalg.norm(W[:, :2], axis=1)
    kept = (normals > 0) & (sizes > 0.02 * top)
    unit = W[kept, :2] / normals[kept, None]
    foot = middle - (unit @ middle + W[kept, 2] / normals[kept])[:, None] * unit
    along = np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    ends = np.stack([foot - reach * along, foot + reach * along], axis=1)
    lines = LineCollection(
        list(ends),
        colors=[MUTED] * len(ends),
        linewidths=0.8,
        alpha=0.15 + 0.7 * sizes[kept] / top,
        zorder=2,
    )
    return [axis.add_collection(lines, autolim=False)]


def _of_coordinates(flow: Trajectory, times: Array, states: list[Any]) -> Any:
    """The predictor by coordinate, the largest ones where there are many, and the loss."""
    paths = np.array([effective_state(flow, state) for state in states])
    chosen = np.sort(np.argsort(-np.max(np.abs(paths), axis=0), kind="stable")[:MOST_STEMS])
    figure, axes = sheet([["coordinates", "loss"]], 8.8, 4.0)
    axis = axes["coordinates"]
    places = np.arange(len(chosen))
    (heads,) = axis.plot([], [], "o", color=COLOURS[0], markersize=3.5)
    stems = axis.vlines(places, 0, 0, color=COLOURS[0], linewidth=1.2)
    axis.axhline(0.0, color=MUTED, linewidth=0.8)
    reach = 1.08 * float(np.max(np.abs(paths[:, chosen]))) or 1.0
    axis.set(xlim=(-1, len(chosen)), ylim=(-reach, reach), ylabel="predictor")
    whole = len(chosen) == paths.shape[1]
    axis.set_xlabel("coordinate" if whole else f"the largest {len(chosen)} coordinates")

    def show(k: int) -> None:
        values = paths[k, chosen]
        heads.set_data(places, values)
        stems.set_segments(
            [[(place, 0.0), (place, value)] for place, value in zip(places, values, strict=True)]
        )

    return _titled_movie(figure, axis, flow, times, [show, _loss_so_far(axes["loss"], flow, times)])


def _loss_so_far(axis: Any, flow: Trajectory, times: Array) -> Show:
    """The loss with its phases, and a dot that moves along it."""
    loss_panel(axis, flow)
    titled(axis, "loss")
    (dot,) = axis.plot([], [], "o", color=COLOURS[1], markersize=7, zorder=6)
    heights = [loss_then(flow, t) for t in times]

    def show(k: int) -> None:
        dot.set_data([times[k]], [heights[k]])

    return show


def _titled_movie(figure: Any, axis: Any, flow: Trajectory, times: Array, shows: list[Show]) -> Any:
    title = axis.set_title(" ", fontsize=9.5, loc="left")
    heights = [loss_then(flow, t) for t in times]

    def show(k: int) -> None:
        title.set_text(f"t = {times[k]:.4g}, loss {heights[k]:.2g}")
        for panel in shows:
            panel(k)

    return movie(figure, show, len(times))
