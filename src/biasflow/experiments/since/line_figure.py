"""S/line: four norms, one data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ..._numerics.deadlines import RECORDED_S
from ...limits import line_interpolants
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

X = np.array([-2.0, -1.2, -0.4, 0.5, 1.3, 2.1])
Y = np.array([-3.8, -2.4, -0.55, 2.1, 5.2, 7.4])
"""Convex, then concave, and steep: all four norms differ."""
NAMES = (
    "biases free, affine part free",
    "biases free, no affine part",
    "biases penalised, affine part free",
    "biases penalised, no affine part",
)
SLOPE = float((Y[-1] - Y[0]) / (X[-1] - X[0]))
"""Of the line through the outer samples, from which functions are drawn."""
MOST_KINKS = 2 * X.size
SEEN = np.linspace(-3.2, 3.2, 257)


def point(variant: int, shift: float) -> xarray.Dataset:
    """One norm, inputs moved by a shift: its minimiser with the fewest kinks, the range of all."""
    import xarray

    penalised, skip = variant >= 2, variant % 2 == 0
    found = line_interpolants(X + shift, Y, penalise_bias=penalised, skip=skip, time_s=RECORDED_S)
    low, high = found.envelope(SEEN + shift)
    kinks, heights = np.full((2, MOST_KINKS), np.nan)
    kinks[: found.value.kinks.size] = found.value.kinks - shift
    heights[: found.value.kinks.size] = found.value(found.value.kinks)
    return xarray.Dataset(
        {
            "norm": found.objective,
            "gap": found.certificate.relative_gap,
            "unique": float(found.unique is True),
            "f": ("input", found.value(SEEN + shift)),
            "low": ("input", low),
            "high": ("input", high),
            "kink": ("number", kinks),
            "height": ("number", heights),
        },
        {"input": SEEN},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Norms of the four without a shift, kinks, and how well they are known."""
    here = data.sel(shift=0.0)
    told = {
        f"least norm, {name}": float(here["norm"].sel(variant=k)) for k, name in enumerate(NAMES)
    }
    told |= {
        f"kinks, {name}": int(np.sum(np.isfinite(here["kink"].sel(variant=k))))
        for k, name in enumerate(NAMES)
    }
    told |= {
        "largest relative gap": float(data["gap"].max()),
        "spread of the norm with free biases over all shifts": float(
            np.ptp(data["norm"].sel(variant=[0]).values)
            + np.ptp(data["norm"].sel(variant=[1]).values)
        ),
    }
    return data.assign_attrs({**data.attrs, **told})


def above_line(x: Any, values: Any) -> Any:
    """Less the line through the outer samples."""
    return np.asarray(values) - Y[0] - SLOPE * (np.asarray(x) - X[0])


def draw(summary: xarray.Dataset) -> Any:
    figure, (free, penalised, norms) = panels(3)
    here = summary.sel(shift=0.0)
    for axis, pair in ((free, (0, 1)), (penalised, (2, 3))):
        for k in pair:
            one, colour = here.sel(variant=k), COLOURS[k % 2]
            if not bool(one["unique"]):
                low, high = (above_line(SEEN, one[name]) for name in ("low", "high"))
                axis.fill_between(SEEN, low, high, color=colour, alpha=0.2, linewidth=0)
            name = NAMES[k].split(", ")[1]
            axis.plot(SEEN, above_line(SEEN, one["f"]), color=colour, linewidth=1.3, label=name)
            heights = above_line(one["kink"], one["height"])
            axis.plot(one["kink"], heights, "s", color=colour, markersize=5)
        axis.plot(X, above_line(X, Y), "o", color="black", markersize=4, zorder=5, label="samples")
        axis.plot([], [], "s", color=MUTED, markersize=5, label="kinks")
        axis.set(xlabel="x", ylabel="f(x) less a straight line", xlim=(SEEN[0], SEEN[-1]))
        axis.legend(fontsize=7.5)
    free.fill_between([], [], [], color=MUTED, alpha=0.3, label="all minimisers")
    free.legend(fontsize=7.5)
    titled(free, "biases free: a set, and its sparsest member")
    titled(penalised, "biases penalised: one function")
    for k, name in enumerate(NAMES):
        style = "-" if k >= 2 else "--"
        run = summary.sel(variant=k).sortby("shift")
        norms.plot(run["shift"], run["norm"], style, color=COLOURS[k % 2], label=name)
    norms.set(xlabel="all inputs moved by", ylabel="least norm", ylim=(0, None))
    norms.legend(fontsize=7)
    titled(norms, "where the data lie matters to penalised biases")
    return figure


line = Experiment(
    "S/line",
    "Interpolants of least norm on a line (after Savarese et al. 2019 and Boursier & Flammarion "
    "2023): the same six samples, convex and then concave, under four norms. (a) Biases free: "
    "every function in the shaded range that bends the way the labels do has the least norm; "
    "drawn, one with the fewest kinks. Without a free affine part the outer slopes count, and the "
    "function levels off on the left, or on the right. (b) Biases penalised: one function. (c) "
    "The least norm as all inputs are moved: with free biases it stays the same; penalised ones "
    "pay for kinks far from zero, and without an affine part for the slope of the labels.",
    {
        "quick": Grid(
            {
                "variant": (0, 1, 2, 3),
                "shift": tuple(float(shift) for shift in np.linspace(-4, 4, 17)),
            },
            {},
        ),
        "paper": Grid(
            {
                "variant": (0, 1, 2, 3),
                "shift": tuple(float(shift) for shift in np.linspace(-8, 8, 129)),
            },
            {},
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: six samples and two shaded ranges between them in which all minimisers with free "
        "biases lie, with sparse members, all less a straight line; without an affine part the "
        "range opens beyond the first and the last sample. Middle: with penalised biases one "
        "function each, with kinks between samples. Right: least norms against a shift of the "
        "inputs: constant for free biases, growing away from zero for penalised ones, more so "
        "without an affine part."
    ),
)
