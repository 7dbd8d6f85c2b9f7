"""W/fig4ab and W/fig4cd: deep ReLU networks on the circle, from the kernel to the rich regime by
scale and by step size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, band, panels, titled
from ..._core.problems import Dataset
from ..._core.results import Result
from ...data import circle_teacher
from ...limits import tangent_kernel
from ...losses import SquareLoss
from ...models import DeepNetwork
from ...regime import gradient_distance
from ...sweeps.grids import Batched, Grid
from ...training import train_batch
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

LOSS = SquareLoss("sum")
"""W's normalisation: the step size 0.01 belongs to it."""
TEST_POINTS = 200
"""Evenly spaced points on the circle: test error and gradient distance are means over them."""
STABLE_SHARE = 0.5
"""Step size as a share of the largest stable one, where the step asked for is larger."""
SCALE, STEP = "scale of the start, α^D", "step size / largest stable one at the start"
LITERAL_STEPS = 1000
"""Steps within which a step size that is too large shows."""


def critical_step(model: DeepNetwork, params: Any, data: Dataset) -> float:
    """2/λ with λ the largest eigenvalue of the loss's curvature 2K in the kernel regime: descent is
    stable below it."""
    return 2 / (
        2
        * LOSS.factor(data.n)
        * float(np.linalg.eigvalsh(tangent_kernel(model, params, data.X))[-1])
    )


class _Runs:
    """Runs of one architecture: starts by scale and seed, and the data of each seed."""

    def __init__(
        self, depth: int, width: int, n: int, units: Sequence[float], seeds: Sequence[int]
    ) -> None:
        self.model = DeepNetwork((2, *[width] * (depth - 1)))
        self.data = [circle_teacher(n, key=seed) for seed in seeds]
        self.tests = [circle_teacher(TEST_POINTS, key=seed, spaced=True) for seed in seeds]
        self.starts = [
            self.model.init(unit ** (1 / depth), key=seed)
            for unit, seed in zip(units, seeds, strict=True)
        ]
        self.critical = np.array(
            [
                critical_step(self.model, w, data)
                for w, data in zip(self.starts, self.data, strict=True)
            ]
        )

    def trained(self, step: Array, steps: int, threshold: float) -> list[dict[str, float]]:
        """What is measured of each run; of one that diverged, or died (no neuron is active any
        more), only that it did."""
        batch = train_batch(self.model, self.data, LOSS, self.starts, step, steps, threshold)
        measured = []
        for k, (start, test) in enumerate(zip(self.starts, self.tests, strict=True)):
            run = batch[k]
            lost = run.result in (Result.DIVERGED, Result.STATIONARY)
            error = (
                np.nan if lost else float(np.mean((self.model(run.params, test.X) - test.y) ** 2))
            )
            distance = np.nan if lost else gradient_distance(self.model, start, run.params, test.X)
            measured.append(
                {
                    "test_error": error,
                    "gradient_distance": distance,
                    "converged": float(run.result is Result.CONVERGED),
                    "diverged": float(run.result is Result.DIVERGED),
                    "died": float(run.result is Result.STATIONARY),
                    "loss": run.loss,
                    "steps": float(run.steps),
                    "stepsize": run.step,
                    "critical_step": self.critical[k],
                }
            )
        return measured


def _grouped(settings: Sequence[Mapping[str, Any]], axes: tuple[str, ...]) -> list[list[int]]:
    """Places of the settings that differ along these axes only."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for k, setting in enumerate(settings):
        groups.setdefault(
            tuple((name, value) for name, value in setting.items() if name not in axes), []
        ).append(k)
    return list(groups.values())


def scales(settings: Sequence[Mapping[str, Any]]) -> list[xarray.Dataset]:
    """Runs that differ in scale and seed, trained together; the step is lowered where the start is
    too steep for it."""
    import xarray

    results: list[Any] = [None] * len(settings)
    for places in _grouped(settings, ("unit", "seed")):
        s = settings[places[0]]
        units, seeds = ([settings[k][name] for k in places] for name in ("unit", "seed"))
        runs = _Runs(s["depth"], s["width"], s["n"], units, seeds)
        literal = runs.trained(
            np.full(len(places), s["stepsize"]), min(LITERAL_STEPS, s["steps"]), s["threshold"]
        )
        lowered = np.minimum(s["stepsize"], STABLE_SHARE * runs.critical)
        for k, run, at_once in zip(
            places, runs.trained(lowered, s["steps"], s["threshold"]), literal, strict=True
        ):
            results[k] = xarray.Dataset(
                {**run, "lost_at_the_step_asked_for": at_once["diverged"] + at_once["died"]}
            )
    return results


def scale(**setting: Any) -> xarray.Dataset:
    return scales([setting])[0]


def steps(settings: Sequence[Mapping[str, Any]]) -> list[xarray.Dataset]:
    """Runs that differ in step size and seed, trained together."""
    import xarray

    results: list[Any] = [None] * len(settings)
    for places in _grouped(settings, ("share", "seed")):
        s = settings[places[0]]
        shares, seeds = ([settings[k][name] for k in places] for name in ("share", "seed"))
        runs = _Runs(s["depth"], s["width"], s["n"], [s["unit"]] * len(places), seeds)
        for k, run in zip(
            places,
            runs.trained(np.array(shares) * runs.critical, s["steps"], s["threshold"]),
            strict=True,
        ):
            results[k] = xarray.Dataset(run)
    return results


def step(**setting: Any) -> xarray.Dataset:
    return steps([setting])[0]


def _curve(axis: Any, runs: xarray.Dataset, name: str, along: str, colour: str, label: str) -> None:
    """Median and band; markers are filled where at least half of the runs reached the threshold."""
    x, values = runs[along].values, runs[name].transpose(along, "seed").values
    band(axis, x, values, colour, label)
    most = runs["converged"].mean("seed").values >= 0.5
    known = np.any(np.isfinite(values), axis=1)
    middle = np.array(
        [np.nanmedian(row) if some else np.nan for row, some in zip(values, known, strict=True)]
    )
    for chosen, face in ((most & known, colour), (~most & known, "white")):
        axis.plot(
            x[chosen], middle[chosen], "o", color=colour, markerfacecolor=face, markersize=4.5
        )


def summarise_scales(data: xarray.Dataset) -> xarray.Dataset:
    rich, kernel = data.isel(unit=0).median("seed"), data.isel(unit=-1).median("seed")
    attributes = {
        "share of runs converged": float(data["converged"].mean()),
        "share of runs that diverge or die at the step asked for": float(
            data["lost_at_the_step_asked_for"].mean()
        ),
        "least ratio of test errors, largest scale to smallest": float(
            (kernel["test_error"] / rich["test_error"]).min()
        ),
        "gradient distance at the smallest scale, least over depths": float(
            rich["gradient_distance"].min()
        ),
        "gradient distance at the largest scale, largest over depths": float(
            kernel["gradient_distance"].max()
        ),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw_scales(summary: xarray.Dataset) -> Any:
    figure, (error, distance, share) = panels(3, height=3.9, width=5.0)
    for colour, depth in zip(COLOURS, summary["depth"].values, strict=False):
        runs = summary.sel(depth=depth)
        _curve(error, runs, "test_error", "unit", colour, f"depth {depth}")
        _curve(distance, runs, "gradient_distance", "unit", colour, f"depth {depth}")
    reached = summary.attrs["share of runs converged"]
    _finished((error, distance), SCALE, reached)
    _table(
        share,
        summary,
        "unit",
        SCALE,
        summary["lost_at_the_step_asked_for"],
        "diverge or die at step 0.01",
    )
    error.set(yscale="log", ylabel="test error / mean square of the labels")
    titled(error, "small scales generalise")
    titled(distance, "large scales stay in the kernel regime")
    titled(share, f"runs that reached the threshold ({reached:.0%} of all)")
    return figure


def summarise_steps(data: xarray.Dataset) -> xarray.Dataset:
    small = data["gradient_distance"].isel(share=0).median("seed")
    large = data["gradient_distance"].where(data["converged"] > 0).median("seed").max("share")
    attributes = {
        "share of runs converged": float(data["converged"].mean()),
        "least ratio of gradient distances, best large step to the smallest": float(
            (large / small).min()
        ),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw_steps(summary: xarray.Dataset) -> Any:
    figure, (error, distance, share) = panels(3, height=3.9, width=5.0)
    for colour, depth in zip(COLOURS, summary["depth"].values, strict=False):
        runs = summary.sel(depth=depth)
        _curve(error, runs, "test_error", "share", colour, f"depth {depth}")
        typical = float(runs["critical_step"].median())
        _curve(
            distance,
            runs,
            "gradient_distance",
            "share",
            colour,
            f"depth {depth} (1 is a step of {typical:.2g})",
        )
    reached = summary.attrs["share of runs converged"]
    _finished((error, distance), STEP, reached)
    _table(share, summary, "share", STEP, summary["diverged"] + summary["died"], "diverged or died")
    error.legend(fontsize=7.5, loc="lower left")
    for axis in (error, distance):
        axis.axvline(1.0, color=MUTED, linestyle=":", linewidth=1)
    least = float(summary["test_error"].min())
    error.set(yscale="log", ylabel="test error / mean square of the labels", ylim=(least / 8, None))
    titled(error, "what the step does to the test error")
    titled(distance, "steps beyond stability leave the kernel regime")
    titled(share, f"runs that reached the threshold ({reached:.0%} of all)")
    return figure


def _finished(axes: Sequence[Any], xlabel: str, reached: float) -> None:
    error, distance = axes
    for axis in axes:
        axis.set(xscale="log", xlabel=xlabel)
        axis.legend(fontsize=8)
    distance.set(ylabel="gradient distance (cosine)", ylim=(0, None))
    if reached < 1:
        error.plot(
            [],
            [],
            "o",
            color=MUTED,
            markerfacecolor="white",
            markersize=4.5,
            label="most runs above the threshold",
        )
        error.legend(fontsize=8)


def _table(
    axis: Any, summary: xarray.Dataset, along: str, label: str, lost: xarray.DataArray, words: str
) -> None:
    """How many runs reached the threshold, a row a depth, and below it how many were lost."""
    depths, values, seeds = summary["depth"].values, summary[along].values, summary.sizes["seed"]
    for row, depth in enumerate(depths):
        for column, value in enumerate(values):
            place = {"depth": depth, along: value}
            reached, gone = (
                round(float(counted.sel(place).sum())) for counted in (summary["converged"], lost)
            )
            axis.add_patch(_cell(column, row, reached / seeds))
            axis.text(column, row - 0.12, f"{reached}", ha="center", va="center", fontsize=10)
            if gone:
                axis.text(
                    column,
                    row + 0.28,
                    f"×{gone}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=COLOURS[1],
                )
    axis.set(xlim=(-0.5, len(values) - 0.5), ylim=(len(depths) - 0.5, -0.5))
    axis.set_xticks(range(len(values)), [f"{value:g}" for value in values], fontsize=8)
    axis.set_yticks(range(len(depths)), [f"depth {depth}" for depth in depths])
    axis.grid(False)
    axis.set(xlabel=f"{label}\n(of {seeds} runs each; red ×: {words})")


def _cell(column: int, row: int, share: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.5, row - 0.5),
        1,
        1,
        facecolor=COLOURS[0],
        alpha=0.05 + 0.4 * share,
        edgecolor="white",
    )


SETTING = {"width": 30, "n": 10}
DEPTHS = (2, 3, 5)

fig4ab = Experiment(
    "W/fig4ab",
    "ReLU networks with 30 units a layer on 10 points of the unit circle, labelled by a teacher "
    "with 3 units; uniform He start times α, gradient descent on ‖f − y‖² with step 0.01, lowered "
    "to half the largest stable one where the start is too steep for it. (a) Test error over the "
    "circle; at large α it grows without bound, for f(w(0)) is not zero. (b) Gradient distance: "
    "mean cosine distance between ∇f(w(0), x) and ∇f(w(T), x). (c) How many runs reached the "
    "threshold of the loss (quick preset: 1e-6 within 25 000 steps; paper preset: 1e-9 within 2 "
    "000 000), and how many diverge, or die, at 0.01 itself. Medians over data sets, teachers and "
    "starts, bands 10–90%; open markers: fewer than half of the runs did.",
    {
        "quick": Grid(
            {
                "depth": DEPTHS,
                "unit": (0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
                "seed": (0, 1, 2),
            },
            {**SETTING, "stepsize": 0.01, "steps": 25_000, "threshold": 1e-6},
            chunk=24,
        ),
        "paper": Grid(
            {
                "depth": DEPTHS,
                "unit": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
                "seed": tuple(range(10)),
            },
            {**SETTING, "stepsize": 0.01, "steps": 2_000_000, "threshold": 1e-9},
            chunk=24,
        ),
    },
    Batched(scale, scales),
    summarise_scales,
    draw_scales,
    alt=(
        "Left: test error grows with the scale of the start, for depths 2, 3 and 5. Middle: the "
        "gradient distance falls from above a half to near zero over the same scales. Right: a "
        "table of how many of the runs reached the threshold, fewest for depth 2 at large scales."
    ),
)

fig4cd = Experiment(
    "W/fig4cd",
    "The same networks from α^D = 3, near the transition into the kernel regime, against the step "
    "size, in units of the largest stable one at the start, 2/λ_max(2K). (a) Test error, which for "
    "depth 2 is worse just beyond 1; (b) gradient distance: beyond 1 the loss first rises, until "
    "the weights have moved to where the step is stable. (c) How many runs reached the threshold "
    "of the loss (quick preset: 1e-5 within 25 000 steps; paper preset: 1e-9 within 2 000 000), "
    "and how many diverged or died (no active neuron left), which (a) and (b) leave out. Medians "
    "over data sets, teachers and starts, bands 10–90%; open markers: fewer than half of the runs "
    "reached the threshold.",
    {
        "quick": Grid(
            {
                "depth": DEPTHS,
                "share": (0.1, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.2, 3.0, 4.5),
                "seed": (0, 1, 2),
            },
            {**SETTING, "unit": 3.0, "steps": 25_000, "threshold": 1e-5},
            chunk=30,
        ),
        "paper": Grid(
            {
                "depth": DEPTHS,
                "share": (
                    0.05,
                    0.1,
                    0.2,
                    0.4,
                    0.6,
                    0.8,
                    1.0,
                    1.2,
                    1.4,
                    1.6,
                    1.8,
                    2.0,
                    2.3,
                    3.0,
                    4.0,
                    5.0,
                ),
                "seed": tuple(range(10)),
            },
            {**SETTING, "unit": 3.0, "steps": 2_000_000, "threshold": 1e-9},
            chunk=30,
        ),
    },
    Batched(step, steps),
    summarise_steps,
    draw_steps,
    alt=(
        "Left: test error hardly depends on the step size below the largest stable one. Middle: "
        "beyond it the gradient distance rises steeply from near zero to nearly one. Right: a "
        "table of how many runs reached the threshold, and that depth 2 is lost at three times the "
        "stable step."
    ),
)
