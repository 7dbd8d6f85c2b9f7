"""W/scales: at which scale of the start does a small convolutional network leave the kernel regime,
and how does that move with its width and depth?

The quick preset draws results that were computed on a GPU and travel with the package; 'reduced'
and 'paper' train (`biasflow data fetch mnist`), `--ship` makes the file.

What to expect: with L layers of c channels, weights of He's start times α have gradients of length
√c·α^{L−1} and second derivatives of order α^{L−2}, so that a change of f by one bends f by
α^{L−2}/(√c·α^{L−1})² = 1/(c·α^L): the transition should move like α* ∝ c^{−1/L}.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, panels, titled
from ...images.scale_trainings import scale_trainings
from ...regime.transition import crossing
from ...sweeps.encoding import write_netcdf
from ...sweeps.grids import Grid
from ...sweeps.store import Store
from ..experiment import Experiment
from .image_results import SCALE_RESULTS, is_shipped, read_results, shipped
from .image_shipping import UNFINISHED, write_shipped

if TYPE_CHECKING:
    import xarray

FITTED = 0.2
"""Share of the first loss above which a training has not fitted, and is left out. All are to end at
a tenth; from α = 3 at depth five f(w₀) is so large that the products of a GPU, ten bits each, lose
f(w) − f(w₀)."""
LEVEL = 0.5
"""Of the linear gap, as in `regime.transition_scale`."""
AT_ONCE = 3
"""Shapes at a time: while one is trained, others are compiled."""
MOST_LAYERS = 5
"""Layers for which there is room in a file of several depths."""


def scales_point(shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every depth and width, from the shipped results; or one of them, trained."""
    if is_shipped(shipped_in, SCALE_RESULTS, setting):
        return shipped(SCALE_RESULTS)
    found = scale_trainings(**setting)
    return found.pad(layer=(0, MOST_LAYERS - found.sizes["layer"]), constant_values=np.nan)


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """The transition of every depth and width at the last time, with its interval over seeds, and
    by which power of the width it moves."""
    import xarray

    left = data["train_loss"].isel(time=-1)
    data = data.where((left <= FITTED) | left.isnull())
    ends = data["linear_gap"].isel(time=-1).transpose("depth", "width", "scale", "seed")
    logs = np.log(ends["scale"].values)
    found = [
        [crossing(logs, np.asarray(part.values, dtype=float), LEVEL) for part in row]
        for row in ends
    ]
    tables = {
        name: (("depth", "width"), np.exp([[getattr(c, end) for c in row] for row in found]))
        for name, end in (("transition", "place"), ("low", "low"), ("high", "high"))
    }
    attributes: dict[str, Any] = {}
    for depth, row in zip(ends["depth"].values, found, strict=True):
        power, error = _power(np.log(ends["width"].values), row)
        attributes[f"power of the width, depth {depth}"] = power
        attributes[f"its standard error, depth {depth}"] = error
    attributes["trainings"] = float(left.notnull().sum())
    attributes["trainings that did not fit"] = float((left > FITTED).sum())
    attributes["largest share of the first loss left of the others"] = float(
        left.where(left <= FITTED).max()
    )
    summary: xarray.Dataset = xarray.merge([data, xarray.Dataset(tables)], combine_attrs="override")
    return summary.assign_attrs({**data.attrs, **attributes})


def _power(log_widths: Array, row: Any) -> tuple[float, float]:
    """The slope of log α* over log width in least squares, weighted by the intervals."""
    places = np.array([c.place for c in row])
    widths = np.array([(c.high - c.low) / 4 for c in row])
    known = np.isfinite(places) & np.isfinite(widths)
    if np.sum(known) < 3:
        return float("nan"), float("nan")
    x, y, w = log_widths[known], places[known], 1 / widths[known] ** 2
    middle = np.sum(w * x) / np.sum(w)
    spread = np.sum(w * (x - middle) ** 2)
    return float(np.sum(w * (x - middle) * y) / spread), float(1 / np.sqrt(spread))


def draw(summary: xarray.Dataset) -> Any:
    """The linear gap over the scale, the transition over the width, and when the kernel moved."""
    depths, widths = summary["depth"].values, summary["width"].values
    figure, axes = panels(len(depths) + 2, height=3.8, width=3.9)
    for axis, depth in zip(axes, depths, strict=False):
        _draw_gaps(axis, summary.sel(depth=depth), widths)
        titled(axis, f"depth {depth}: rich to the left")
    _draw_transitions(axes[-2], summary)
    _draw_story(axes[-1], summary.sel(depth=depths[0], width=widths[len(widths) // 2]))
    return figure


def _draw_gaps(axis: Any, part: xarray.Dataset, widths: Array) -> None:
    from matplotlib import colormaps

    ends = part["linear_gap"].isel(time=-1)
    for k, width in enumerate(widths):
        colour = colormaps["viridis"](0.9 * k / max(len(widths) - 1, 1))
        one = ends.sel(width=width).transpose("scale", "seed")
        axis.plot(one["scale"], one.values, "o", ms=2.5, color=colour, alpha=0.5)
        axis.plot(one["scale"], one.mean("seed"), color=colour, label=f"width {width}")
    axis.axhline(LEVEL, color=MUTED, ls=":", lw=1)
    axis.set(xscale="log", xlabel="scale α of the start", ylabel="linear gap at the end")
    axis.set_ylim(0, 1.1)
    axis.legend(fontsize=7.5, frameon=False, loc="lower left")


def _draw_transitions(axis: Any, summary: xarray.Dataset) -> None:
    for colour, depth in zip(COLOURS, summary["depth"].values, strict=False):
        one = summary.sel(depth=depth)
        middle = one["transition"].where(np.isfinite(one["transition"]) & (one["transition"] > 0))
        below, above = middle - one["low"], one["high"] - middle
        reach = np.nan_to_num(np.array([below.values, above.values]), posinf=0.0)
        power = summary.attrs[f"power of the width, depth {depth}"]
        error = summary.attrs[f"its standard error, depth {depth}"]
        label = f"depth {depth}: power {power:.2f} ± {error:.2f}"
        widths, reach = one["width"].values, np.maximum(reach, 0)
        axis.errorbar(widths, middle, reach, fmt="o-", capsize=3, color=colour, label=label)
        through = np.exp(np.mean(np.log(middle.values)) + np.mean(np.log(widths)) / depth)
        axis.plot(widths, through * widths ** (-1 / depth), ls=":", color=colour)
    axis.plot([], [], ls=":", color=MUTED, label="expected: −1/depth")
    axis.set(xscale="log", yscale="log", xlabel="width (channels)", ylabel="transition scale α*")
    axis.set_xticks(widths, [str(width) for width in widths])
    axis.set_yticks(ticks := [0.3, 0.5, 0.7, 1.0], [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.legend(fontsize=7.5, frameon=False)
    titled(axis, "where the gap is a half")


def _draw_story(axis: Any, part: xarray.Dataset) -> None:
    """Kernel movement through the training, at the ends of the scales and between."""
    scales = part["scale"].values
    for colour, k in zip(COLOURS, (0, len(scales) // 2, len(scales) - 1), strict=False):
        one = part.isel(scale=k).mean("seed")
        axis.plot(
            one["time"][1:],
            one["kernel_movement"][1:],
            "o-",
            ms=3,
            color=colour,
            label=f"α = {scales[k]:.2g}",
        )
        axis.plot(one["time"][1:], one["train_loss"][1:], ls="--", color=colour)
    axis.plot([], [], color=MUTED, label="kernel movement")
    axis.plot([], [], ls="--", color=MUTED, label="share of the loss left")
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="kernel movement, loss")
    axis.legend(fontsize=7.5, frameon=False, loc="upper left")
    axis.set_ylim(None, 3e5)
    titled(axis, f"depth {int(part['depth'])}, width {int(part['width'])}: the way there")


def ship_scales(
    grid: Grid, store: Store, folder: Path, time_s: float | None, tell: Callable[[str], None]
) -> list[Path]:
    """Train what the folder does not have, the cheapest shapes first, a file each; then the file
    that travels, of all that is there. The store has no part in it."""
    begun, parts = time.monotonic(), folder / UNFINISHED
    shapes = [grid.point(i) for i in range(grid.size)]
    shapes.sort(key=_work)
    parts.mkdir(parents=True, exist_ok=True)
    seconds: list[float] = []

    def made(setting: Mapping[str, Any]) -> xarray.Dataset | None:
        path = parts / f"scales-{setting['depth']}-{setting['width']}.nc"
        held, first = _held(path, setting), time.monotonic()
        if held is not None:
            return held
        if time_s is not None and first - begun + max(seconds, default=0.0) > time_s:
            tell(f"{path.stem}: left for another call, {first - begun:.0f} s are spent")
            return None
        held = scales_point(**setting, tell=tell).assign_attrs(setting=json.dumps(setting))
        write_netcdf(held, path)
        seconds.append(time.monotonic() - first)
        tell(f"{path.stem}: {seconds[-1]:.0f} s, {time.monotonic() - begun:.0f} s so far")
        return held

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = zip(shapes, pool.map(made, shapes), strict=True)
        rows = {(s["depth"], s["width"]): held for s, held in found if held is not None}
    if not rows:
        return []
    path, title = folder / SCALE_RESULTS, "A small convolutional network over scales and shapes"
    spent = time.monotonic() - begun
    write_shipped(_together(rows, shapes), path, "W/scales", title, grid, spent)
    return [path]


def _work(setting: Mapping[str, Any]) -> float:
    """Of the widest layers, which is what takes the time."""
    return float(setting["width"] ** 2 * (setting["depth"] - 1))


def _held(path: Path, setting: Mapping[str, Any]) -> xarray.Dataset | None:
    """What a file that is there has, if it was made with these settings."""
    if not path.exists():
        return None
    held = read_results(path.read_bytes())
    return held if held.attrs.get("setting") == json.dumps(setting) else None


def _together(rows: Mapping[tuple[int, int], xarray.Dataset], shapes: Any) -> xarray.Dataset:
    """One dataset with depth and width in front; NaN where a shape is missing."""
    import xarray

    depths, widths = (sorted({one[name] for one in shapes}) for name in ("depth", "width"))
    some = next(iter(rows.values()))
    blank = xarray.full_like(some, np.nan)
    whole = xarray.concat(
        [
            xarray.concat([rows.get((d, w), blank) for w in widths], "width", combine_attrs="drop")
            for d in depths
        ],
        "depth",
        combine_attrs="drop",
    )
    missing = [[d, w] for d in depths for w in widths if (d, w) not in rows]
    return whole.assign_coords(depth=depths, width=widths).assign_attrs(
        run_missing=json.dumps(missing),
        dtype="float32, products in training as the device has them, of the probe in full",
    )


COMMON = {"data": "mnist", "target": 0.1}
GRIDS = {
    "quick": Grid({}, {"shipped_in": SCALE_RESULTS}),
    "reduced": Grid(
        {"depth": (3,), "width": (8, 16)},
        {
            **COMMON,
            "scales": [0.1, 0.3, 1.0, 3.0],
            "seeds": [0, 1],
            "train": 48,
            "test": 100,
            "probe": 16,
            "times": [0, 30, 300],
        },
        chunk=1,
    ),
    "paper": Grid(
        {"depth": (3, 5), "width": (16, 32, 64, 128, 256)},
        {
            **COMMON,
            "scales": [float(f"{scale:.3g}") for scale in np.geomspace(0.1, 3.0, 10)],
            "seeds": [0, 1, 2],
            "train": 512,
            "test": 1000,
            "probe": 64,
            "times": [0, 3, 10, 30, 100, 300, 1000, 3000],
        },
        chunk=1,
    ),
}

scales = Experiment(
    "W/scales",
    "Where a small convolutional network leaves the kernel regime, which the papers did not ask. "
    "Two or four convolutions of 3 × 3 without biases, ReLU and a dense layer (depth 3 and 5) on "
    "512 images of MNIST (14 × 14 pixels), He's start times α, f(w) − f(w₀) trained by descent on "
    "the square loss to a tenth of its first value; three seeds. (a, b) The linear gap of the "
    "probe at the end, on 64 test images. (c) The scale at which its mean falls through one half, "
    "with 95% intervals over seeds, never narrower than the spacing of the scales: from width 16 "
    "to 256 it falls from 0.88 to 0.32 at depth 3 and from 0.94 to 0.51 at depth 5, like the "
    "powers −0.39 ± 0.04 and −0.22 ± 0.04 of the width; counting orders of magnitude one expects "
    "−1/3 and −1/5 (dotted). (d) The way there, depth 3 and width 64: the kernel of a small start "
    "moves by orders of magnitude before the loss falls, that of a large one hardly ever. The rich "
    "side is better on test images at every width: at depth 3 it has 8 to 9% errors at α = 0.1, "
    "against 9 to 16% at α = 3. What this is not: more than one data set of 512 images, one loss, "
    "one kind of start, descent with momentum, stopped at a tenth of the loss. Nine of 300 "
    "trainings, at depth 5, α = 3 and widths up to 64, did not fit and are left out. Computed on a "
    "GPU; the results travel with the package.",
    GRIDS,
    scales_point,
    summarise,
    draw,
    alt=(
        "Linear gaps fall from one at scale 0.1 to nearly zero at scale 3, at smaller scales for "
        "wider networks. The scale of the half falls with the width on nearly straight lines in "
        "logarithms, less steeply at depth five. Kernel movements over steps: from a small start "
        "up to 700 times the kernel's norm, from a large one two thousandths of it."
    ),
    ship=ship_scales,
)
