"""At which initialisation scale does a network leave the kernel regime? Trained over scales and
seeds, probed, interpolated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from .._core.arguments import Array, one_of, positive_float, positive_int, vector
from .._core.former_names import renamed
from ..errors import InputError, ScaleError
from ..sweeps import sweep
from ..sweeps.grids import Composed, Grid
from .probing import probe

if TYPE_CHECKING:
    import xarray

    from ..sweeps import Engine, Progress, Store

MEASURES = ("linear_gap", "gradient_distance", "kernel_turn")
"""Measures that are bounded, and fall from the rich to the kernel regime."""
RESAMPLES = 1000
"""Draws of seeds, with replacement, that the interval is made of."""
COVERAGE = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class TransitionScale:
    """The scale α at which a measure of movement crosses a level, over trainings at many scales and
    seeds.

    scale: where the seeds' mean, made monotone in α and interpolated in log α, crosses the level;
    low, high: a 95% interval, by drawing seeds with replacement, widened to the spacing of the
    scales (`resolution`, a factor) where it is narrower. All NaN
    where nothing crosses: `describe()` says on which side. data: what the sweep returned, with the
    measures, their errors and the kernel movement for each (scale, seed).
    """

    scale: float
    low: float
    high: float
    measure: str
    level: float
    resolution: float
    data: xarray.Dataset

    @property
    def scales(self) -> Array:
        return np.asarray(self.data.scale.values, dtype=float)

    @property
    def values(self) -> Array:
        """The measure, (scales, seeds); NaN where a training failed."""
        return np.asarray(self.data[self.measure].transpose("scale", "seed").values)

    def describe(self) -> str:
        """The transition in one sentence or two."""
        words = self.measure.replace("_", " ")
        failed = int(np.sum(~np.isfinite(self.values)))
        lost = (
            f" {failed} of {self.values.size} trainings failed and are left out." if failed else ""
        )
        if np.isfinite(self.scale):
            return (
                f"Transition at scale {self.scale:.3g} (95% interval {self.low:.3g} to "
                f"{self.high:.3g}): there the {words} falls through {self.level:g}; below it the "
                f"network learns features, above it trains like a kernel machine.{lost}"
            )
        side = "kernel" if np.nanmean(self.values) < self.level else "rich"
        beyond = (
            f"below {self.scales[0]:.3g}" if side == "kernel" else f"above {self.scales[-1]:.3g}"
        )
        return (
            f"No transition: at every scale the {words} is on the {side} side of "
            f"{self.level:g}; look {beyond}.{lost}"
        )

    def __str__(self) -> str:
        return self.describe()

    def plot(self) -> Any:
        """A matplotlib figure: the measure at every training, its mean, and the transition."""
        from .._core.look import COLOURS, MUTED, panels

        figure, (axis,) = panels(1, height=3.8, width=5.6)
        axis.plot(self.scales, self.values, "o", color=COLOURS[0], alpha=0.35, ms=4)
        means = _means(self.values)
        known = np.isfinite(means)
        axis.plot(
            self.scales[known],
            _falling(means[known]),
            color=COLOURS[0],
            lw=2,
            label="mean over seeds",
        )
        axis.axhline(self.level, color=MUTED, ls=":", lw=1)
        if np.isfinite(self.scale):
            axis.axvspan(
                self.low, self.high, color=COLOURS[1], alpha=0.15, lw=0, label="95% interval"
            )
            axis.axvline(self.scale, color=COLOURS[1], label=f"transition at {self.scale:.3g}")
        axis.set(
            xscale="log",
            xlabel="initialisation scale α",
            ylabel=self.measure.replace("_", " "),
            ylim=(0, None),
        )
        axis.legend(frameon=False, fontsize=8)
        axis.set_title("rich to the left, kernel to the right", fontsize=9.5)
        return figure


@renamed(seeds="keys")
def transition_scale(
    train: Callable[..., Any],
    scales: ArrayLike,
    keys: int = 5,
    *,
    measure: str = "linear_gap",
    level: float = 0.5,
    settings: Mapping[str, Any] | None = None,
    store: Store | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TransitionScale:
    """Where a network leaves the kernel regime: trained over initialisation scales and seeds with
    `sweep`, every training probed.

    train: train(scale, seed, **settings) -> (network, checkpoints, X, y), what `probe` takes, the
    first checkpoint the start; defined at the top of a module where processes or a store are used.
    scales: increasing, at least two. keys: how many, from zero, each given as `seed`. measure:
    'linear_gap' (the default; at 0.5 half of what was learned is beyond the linearised network),
    'gradient_distance' or 'kernel_turn'. level: what it crosses. A training that diverges is
    masked, with a warning, and named in `describe()`.
    """
    alphas = vector("scales", scales)
    if alphas.size < 2 or np.any(np.diff(alphas) <= 0) or alphas[0] <= 0:
        raise ScaleError("scales: expected at least two positive numbers in increasing order")
    one_of("measure", measure, MEASURES)
    count, level = positive_int("keys", keys), positive_float("level", level)
    grid = Grid(
        {"scale": tuple(alphas.tolist()), "seed": tuple(range(count))}, {**(settings or {})}
    )
    data = sweep(
        Composed(measured_run, train),
        grid,
        store=store,
        engine=engine,
        workers=workers,
        progress=progress,
    )
    values = np.asarray(data[measure].transpose("scale", "seed").values, dtype=float)
    found, low, high, resolution = _crossing(np.log(alphas), values, level)
    return TransitionScale(found, low, high, measure, level, resolution, data)


def measured_run(run: Any) -> xarray.Dataset:
    """What a sweep keeps of one training: the bounded measures, their errors, and the kernel
    movement."""
    import xarray

    try:
        fn, checkpoints, X, y = run
    except (TypeError, ValueError):
        raise InputError(
            f"train: expected it to return (network, checkpoints, X, y), found {type(run).__name__}"
        ) from None
    final = probe(fn, [checkpoints[0], checkpoints[-1]], X, y, keys=1).final
    kept = {name: final[name] for name in (*MEASURES, "kernel_movement")}
    errors = {f"{name}_error": estimate.error for name, estimate in kept.items()}
    return xarray.Dataset({**{name: estimate.value for name, estimate in kept.items()}, **errors})


def _crossing(log_scales: Array, values: Array, level: float) -> tuple[float, float, float, float]:
    """The crossing of the mean over seeds, a bootstrap interval over seeds, and the factor between
    the scales around it."""
    place = _cross(log_scales, _means(values), level)
    if not np.isfinite(place):
        return float("nan"), float("nan"), float("nan"), float("nan")
    rng = np.random.default_rng(0)
    draws = rng.integers(values.shape[1], size=(RESAMPLES, values.shape[1]))
    places = np.array([_cross(log_scales, _means(values[:, draw]), level) for draw in draws])
    places = places[np.isfinite(places)]
    low, high = np.quantile(places, COVERAGE) if places.size else (place, place)
    k = int(np.clip(np.searchsorted(log_scales, place), 1, log_scales.size - 1))
    spacing = float(log_scales[k] - log_scales[k - 1])
    if high - low < spacing:
        low, high = min(low, place - spacing / 2), max(high, place + spacing / 2)
    return float(np.exp(place)), float(np.exp(low)), float(np.exp(high)), float(np.exp(spacing))


def _means(values: Array) -> Array:
    """Means over seeds; where every seed drawn failed, nothing."""
    counts = np.sum(np.isfinite(values), axis=1)
    return np.where(counts > 0, np.nansum(values, axis=1) / np.maximum(counts, 1), np.nan)


def _cross(log_scales: Array, means: Array, level: float) -> float:
    """Where the means, made non-increasing, fall through the level, linearly in log α; NaN where
    they do not."""
    known = np.isfinite(means)
    places, heights = log_scales[known], _falling(means[known])
    above = np.flatnonzero(heights >= level)
    if above.size in (0, heights.size):
        return float("nan")
    k = int(above[-1])
    share = (heights[k] - level) / (heights[k] - heights[k + 1])
    return float(places[k] + share * (places[k + 1] - places[k]))


def _falling(values: Sequence[float] | Array) -> Array:
    """The non-increasing sequence nearest in least squares."""
    return np.asarray(isotonic_regression(np.asarray(values, dtype=float), increasing=False).x)
