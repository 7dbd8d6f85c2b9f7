"""B/fig6, B/fig7: many nearly orthogonal inputs labelled by a small network, learnt from a tiny
start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MARK, MUTED, panels, titled
from ...data import gaussian_teacher
from ...diagnostics import clusters
from ...models import TwoLayer
from ...pictures.movies import movie, sheet
from ...pictures.neuron_marks import early_directions, sliding
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told
from .running import OF_TWICE_THE_LOSS, flow_at, misalignment, turning_points

if TYPE_CHECKING:
    import xarray

SHOWN = 4
"""The teacher of whom neurons of one sign grow first and those of the other after them, as B has
it; of others one sign grows in two groups."""
CURVE_POINTS = 250
"""Points of the curves against time."""
COMPONENTS = 10
"""Principal components whose share is kept."""
INNER_RADIUS = 0.25
"""Radius of the circle that stands for norm zero."""
SIGNS = ((1, "neurons with a > 0", COLOURS[0]), (-1, "neurons with a < 0", COLOURS[1]))


def point(
    seed: int, n: int, d: int, m: int, scale: float, frames: list[int], end: int
) -> xarray.Dataset:
    """One teacher and one start w = scale/√(md)·g, until iteration `end`: the loss, and the neurons
    in two components."""
    import xarray

    data, model = gaussian_teacher(n, d, key=seed), TwoLayer(m, d)
    start = model.init(scale / np.sqrt(m * d), key=seed)
    shown = np.linspace(0, end, CURVE_POINTS + 1)
    iterations = np.union1d(shown, frames)
    flow = flow_at(data, model, start, iterations)
    at_curve, at_frames = np.searchsorted(iterations, shown), np.searchsorted(iterations, frames)
    shares, plane = principal(flow.states.W[-1])
    slides = sliding(flow, flow.times[at_curve], m, n)
    variables = {
        "loss": ("iteration", flow.loss[at_curve]),
        "angle": ("iteration", np.rad2deg(misalignment(flow, early_directions(flow))[at_curve])),
        "sliding": ("iteration", np.mean(slides, axis=(1, 2))),
        "projected": (("frame", "neuron", "component"), flow.states.W[at_frames] @ plane.T),
        "sign": ("neuron", np.sign(start.a)),
        "frame_loss": ("frame", flow.loss[at_frames]),
        "share": ("rank", shares[:COMPONENTS]),
        "two": float(np.sum(shares[:2])),
        "clusters": float(len(clusters(flow.final, least=0.02))),
        "error": float(flow.error[-1]),
        **turning_points(flow),
    }
    return xarray.Dataset(
        variables, {"iteration": shown, "frame": list(frames), "rank": np.arange(1, COMPONENTS + 1)}
    )


def principal(W: Array) -> tuple[Array, Array]:
    """Shares of the variance by component, and the plane of the first two."""
    _, values, directions = np.linalg.svd(W - np.mean(W, axis=0), full_matrices=False)
    return values**2 / np.sum(values**2), directions[:2]


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Medians over seeds under the reported names."""
    names = {
        "left_first": "iteration that leaves the first saddle",
        "reached_second": "iteration that reaches the second saddle",
        "two": "variance explained by two components",
        "clusters": "clusters with 2% of the mass",
    }
    attributes = {
        key: value
        for name, text in names.items()
        for key, value in told(text, data[name].values).items()
    }
    angle = data["angle"].sel(iteration=ALIGNED_AT, method="nearest")
    left = data["loss"].isel(iteration=-1) / data["loss"].isel(iteration=0)
    attributes |= told("angle to the aligned direction at iteration 40000 (degrees)", angle.values)
    attributes |= told("share of the loss left at iteration 200000", left.values)
    attributes["largest share of pairs that slide"] = float(
        data["sliding"].max("iteration").median()
    )
    return data.assign_attrs({**data.attrs, **attributes})


ALIGNED_AT = 40000
MOMENTS = {0: "start", 40000: "aligned", 80000: "first cluster grown", 200000: "end"}


def plane_panel(axis: Any, run: xarray.Dataset) -> Callable[[int], None]:
    """Each neuron in the plane of two components: norm zero is the inner circle, where the angle
    alone counts."""
    turn = np.linspace(0, 2 * np.pi, 181)
    axis.fill(
        INNER_RADIUS * np.cos(turn),
        INNER_RADIUS * np.sin(turn),
        color=MUTED,
        alpha=0.12,
        linewidth=0,
    )
    axis.plot(INNER_RADIUS * np.cos(turn), INNER_RADIUS * np.sin(turn), color=MUTED, linewidth=0.8)
    axis.set(aspect="equal", xticks=[], yticks=[])
    axis.grid(False)
    axis.spines[:].set_visible(False)
    places = _on_sheet(run["projected"].values)
    (left, bottom), (right, top) = _window(places)
    axis.set(xlim=(left, right), ylim=(bottom, top))
    drawn = {
        sign: axis.plot(
            [],
            [],
            "*",
            color=colour,
            markersize=8,
            markeredgecolor="white",
            markeredgewidth=0.3,
            label=label,
        )[0]
        for sign, label, colour in SIGNS
    }

    def show(k: int) -> None:
        for sign, artist in drawn.items():
            artist.set_data(*places[k][run["sign"].values == sign].T)

    return show


def _window(places: Array) -> tuple[Array, Array]:
    """Room for every neuron in every frame."""
    low, high = np.min(places, axis=(0, 1)), np.max(places, axis=(0, 1))
    pad = 0.06 * np.max(high - low)
    return low - pad, high + pad


def _on_sheet(projected: Array) -> Array:
    """Polar coordinates whose radius begins at the inner circle."""
    norms = np.linalg.norm(projected, axis=2, keepdims=True)
    places: Array = projected / norms * (INNER_RADIUS + (1 - INNER_RADIUS) * norms / np.max(norms))
    return places


def shown_first(summary: xarray.Dataset) -> xarray.Dataset:
    """The teachers, the shown one in front."""
    return summary.isel(seed=np.argsort(summary["seed"].values != SHOWN, kind="stable"))


def draw_fig6(summary: xarray.Dataset) -> Any:
    summary = shown_first(summary)
    run = summary.isel(seed=0)
    low, high = _window(_on_sheet(run["projected"].values))
    figure, planes, (angle, sliding) = _rows(
        len(MOMENTS), 14.0, float((high - low)[1] / (high - low)[0])
    )
    places = {int(frame): k for k, frame in enumerate(run["frame"].values)}
    for plane, (moment, text) in zip(planes, MOMENTS.items(), strict=True):
        plane_panel(plane, run)(places[moment])
        titled(plane, f"{text}\niteration {moment:,}")
        plane.plot([], [], color=MUTED, linewidth=0.8, label="norm 0: only the angle counts")
        plane.spines[:].set(visible=True, color=MUTED, linewidth=0.4)
    planes[0].legend(fontsize=8.5, loc="lower right", frameon=False)
    curves(angle, summary, "angle", "mean angle to the aligned direction", COLOURS[3])
    angle.set(ylabel="degrees", yscale="log")
    curves(sliding, summary, "sliding", "share of neuron–sample pairs that slide", COLOURS[4])
    sliding.set(ylabel="share of all pairs", ylim=(0, None))
    for axis in (angle, sliding):
        for moment in MOMENTS:
            axis.axvline(moment, color=MUTED, linewidth=0.8, linestyle=":")
    return figure


def _rows(columns: int, width: float, shape: float) -> tuple[Any, Any, Any]:
    """A row of panels of this shape (height over width), and two wide panels below."""
    from matplotlib import rc_context

    from ..._core.shown_figures import ShownFigure

    upper, lower = width / columns * shape + 0.5, 3.0
    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
        }
    ):
        figure: Any = ShownFigure(figsize=(width, upper + lower), layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=[upper, lower])
        return figure, above.subplots(1, columns), below.subplots(1, 2)


def curves(axis: Any, summary: xarray.Dataset, name: str, title: str, colour: str) -> None:
    """The shown seed dark, the others thin."""
    samples = summary[name].transpose("iteration", "seed").values
    iterations = summary["iteration"].values
    axis.plot(iterations, samples[:, 1:], color=colour, linewidth=0.9, alpha=0.3)
    axis.plot(iterations, samples[:, 0], color=colour, linewidth=2)
    axis.set(xlabel="iteration (time / 0.002)", xlim=(0, iterations[-1]))
    titled(axis, title)


def draw_fig7(summary: xarray.Dataset) -> Any:
    figure, (loss, ratios) = panels(2, height=4, width=6.4)
    summary = shown_first(summary)
    relative = summary.assign(relative=summary["loss"] / summary["loss"].isel(iteration=0))
    curves(loss, relative, "relative", "loss: the shown teacher (dark) and others", COLOURS[0])
    loss.set(ylabel="loss / loss at the start")
    for at, text in {40000: "B: aligned", 75000: "B: saddle", 200000: "B: end"}.items():
        loss.axvline(at, color=COLOURS[4], linewidth=1, linestyle="--")
        where = {
            "transform": loss.get_xaxis_transform(),
            "rotation": 90,
            "va": "bottom",
            "ha": "right",
        }
        loss.text(at, 0.05 if at < 50000 else 0.6, f"{text} ", fontsize=7.5, color=MARK, **where)
    shares = summary["share"].transpose("rank", "seed").values
    rank = summary["rank"].values
    ratios.bar(
        rank,
        shares[:, 0],
        color=COLOURS[0],
        alpha=0.6,
        label="share of each component, shown teacher",
    )
    jitter = (
        rank[:, None]
        + np.linspace(-0.25, 0.25, max(shares.shape[1] - 1, 1))[None, : shares.shape[1] - 1]
    )
    ratios.plot(jitter, shares[:, 1:], ".", color=COLOURS[1], markersize=5)
    ratios.plot([], [], ".", color=COLOURS[1], label="other teachers")
    ratios.plot(
        rank, np.cumsum(shares[:, 0]), "o-", color="black", markersize=4, label="sum, shown teacher"
    )
    ratios.axhline(
        0.8, color=COLOURS[4], linestyle="--", linewidth=1, label="B: two explain about 80%"
    )
    ratios.set(
        xlabel="principal component of the final neurons",
        ylabel="share of the variance",
        xticks=rank,
        ylim=(0, 1.02),
    )
    ratios.legend(fontsize=8, loc="center right")
    titled(ratios, "close to a two-neuron network, but not one")
    return figure


def animate(summary: xarray.Dataset) -> Any:
    """The neurons of the shown teacher in the plane of two components, with the loss."""
    figure, axes = sheet([["plane", "loss"]], 8.4, 4.2)
    run = shown_first(summary).isel(seed=0)
    show_plane = plane_panel(axes["plane"], run)
    axes["plane"].legend(fontsize=7.5, loc="upper left", frameon=False)
    axes["loss"].plot(run["iteration"], run["loss"], color=MUTED, linewidth=1.2)
    (dot,) = axes["loss"].plot([], [], "o", color="black", markersize=7)
    axes["loss"].set(xlabel="iteration", ylabel="loss", xlim=(0, float(run["iteration"][-1])))
    axes["loss"].locator_params(axis="x", nbins=4)
    title = axes["loss"].set_title(" ", fontsize=9.5, loc="left")

    def show(k: int) -> None:
        iteration, value = int(run["frame"][k]), float(run["frame_loss"][k])
        dot.set_data([iteration], [value])
        title.set_text(f"iteration {iteration:,}, loss {value:.2g}")
        show_plane(k)

    return movie(figure, show, run.sizes["frame"])


FRAMES = sorted(
    {
        *range(0, 20001, 2000),
        *range(20000, 60001, 5000),
        *range(62000, 80001, 2000),
        *range(80000, 110001, 10000),
        *range(115000, 150001, 5000),
        *range(150000, 200001, 10000),
    }
)
SETTING = {"n": 75, "d": 150, "scale": 1e-20, "frames": FRAMES, "end": 200_000}
GRIDS = {
    "quick": Grid({"seed": tuple(range(5))}, {**SETTING, "m": 40}),
    "paper": Grid({"seed": tuple(range(12))}, {**SETTING, "m": 200}),
}
CLOCK = (
    "The teacher sets the clock: B shows one, and among our five, drawn as in the authors' code, "
    "the times vary by a factor of two."
)
LATE = (
    "Of five teachers two have less than 1% of the loss left by then, the others up to 3%; with "
    "200 neurons, as in B, three of them have 0.2 to 3%. B shows one teacher; we do not know why "
    "ours are slower at the end."
)
REPORTED6 = (
    Reported(
        "angle to the aligned direction at iteration 40000 (degrees)",
        Reading.plot(0.0, 180.0),
        'Figure 6b: "End of alignment phase"' + OF_TWICE_THE_LOSS,
        None,
        why=f"{CLOCK} One of our teachers is fast: by then neurons have grown and turned away.",
    ),
    Reported(
        "share of the loss left at iteration 200000",
        Reading.plot(0.0, 1.0),
        'Appendix A, on Figure 7a: "the training loss converges to 0"' + OF_TWICE_THE_LOSS,
        None,
        why=LATE,
    ),
)
REPORTED7 = (
    Reported(
        "iteration that reaches the second saddle",
        Reading.rounded(75000.0, 5000.0),
        'Appendix A, on Figure 7a: "around iteration 75000"' + OF_TWICE_THE_LOSS,
        incomparable=CLOCK,
    ),
    Reported(
        "variance explained by two components",
        Reading.printed("0.8"),
        'Appendix A, on Figure 7b: "80%", the rest "around 20%"',
    ),
)
# B has 200 neurons, the quick preset 40: three runs with 200 left the first saddle at the same time
# to 2%, and had
# 71, 70 and 77% of the variance where 40 neurons had 77, 71 and 78%. An exact run with the authors'
# seed has 76%.

fig6 = Experiment(
    "B/fig6",
    "75 Gaussian inputs in dimension 150, labelled by a network of 6 neurons, learnt by m neurons "
    "(B: m = 200; quick preset: 40) from λ = 1e-20/√(md). Above: neurons in the plane of the two "
    "principal components of the final ones; on the inner circle they are tiny and only their "
    "angle counts. They align, one cluster grows, then the other; at the end they have left the "
    "two directions. With the teacher shown either sign is one cluster; with others one sign grows "
    "in two groups, and B shows one teacher. Below: alignment, and the share of "
    "neuron–sample pairs whose gate slides along zero, over teachers (the shown one dark).",
    GRIDS,
    point,
    summarise,
    draw_fig6,
    REPORTED6,
    animate,
    alt=(
        "Neurons on a circle, which stands for norm zero, first gather at two arcs, then one group "
        "leaves the circle, then the other; at the end they spread around two directions. Below, "
        "angles to the aligned directions fall by ten decades and return once neurons grow; up to "
        "a fifth of all pairs slide meanwhile."
    ),
)
fig7 = Experiment(
    "B/fig7",
    "The run of B/fig6 and others with other teachers: (a) the loss, with the iterations B names "
    "for its one teacher: the times depend on the teacher; (b) the "
    "shares of the principal components of the final neurons.",
    GRIDS,
    point,
    summarise,
    draw_fig7,
    REPORTED7,
    alt=(
        "Losses of five teachers fall in one or two steps, first between iterations 37,000 and "
        "75,000; B names 75,000 for its own. Bars: the first two principal components of the final "
        "neurons hold 72% of the variance, below the dashed 80% that B reports, and the rest "
        "falls off slowly."
    ),
)
