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
from .._core.facts import Fact, Facts, Shown
from .._core.former_names import renamed
from ..errors import InputError, ScaleError
from ..sweeps import sweep
from ..sweeps.grids import Composed, Grid
from .measures import read_labels
from .probing import KERNEL_BELOW, probe

if TYPE_CHECKING:
    import xarray

    from ..sweeps import Engine, Progress, Store

MEASURES = ("linear_gap", "gradient_distance", "kernel_turn")
"""Measures that fall from the rich to the kernel regime. The linear gap alone may exceed one, where
the linearised network goes further than the network itself."""
RESAMPLES = 1000
"""Draws of seeds, with replacement, that the interval is made of."""
COVERAGE = (0.025, 0.975)


@dataclass(frozen=True, eq=False, repr=False)
class TransitionScale(Shown):
    """The scale α at which a measure of movement crosses a level, over trainings at many scales and
    seeds.

    scale: where the seeds' mean, made monotone in α and interpolated in log α, crosses the level;
    low, high: a 95% interval, by drawing seeds with replacement, widened to the spacing of the
    scales (`resolution`, a factor) where it is narrower. All NaN
    where nothing crosses: `describe()` says on which side. data: what the sweep returned, with the
    measures, their errors, the kernel movement and the final loss for each (scale, seed).
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

    @property
    def final_losses(self) -> Array:
        """What every training has left of the mean square of its labels, Σ(f − y)²/Σy², (scales,
        seeds); NaN where a training failed or came without labels."""
        return np.asarray(self.data["final_loss"].transpose("scale", "seed").values)

    def facts(self) -> Facts:
        lines = [Fact("transition", self.describe())]
        for scale, row, left in zip(self.scales, self.values, self.final_losses, strict=True):
            known = row[np.isfinite(row)]
            middle = f"{np.mean(known):.3g} over {known.size} seeds" if known.size else "failed"
            lost = left[np.isfinite(left)]
            loss = f", final loss {np.max(lost):.1e} at most" if lost.size else ""
            lines.append(Fact(f"α = {scale:.3g}", f"{self._words} {middle}{loss}"))
        return Facts(f"Transition of the {self._words} through {self.level:g}", tuple(lines))

    @property
    def _words(self) -> str:
        return self.measure.replace("_", " ")

    def _kernel_side(self) -> str:
        """What is known of scales above the transition."""
        if np.nanmin(_means(self.values)) <= KERNEL_BELOW:
            return "above it trains like a kernel machine."
        return (
            f"above it does so less, but at none of these scales did the {self._words} fall to "
            f"{KERNEL_BELOW:g}, where a network counts as a kernel machine."
        )

    def _fits(self) -> str:
        """How well the trainings fitted, in a sentence."""
        left = self.final_losses
        if not np.any(np.isfinite(left)):
            return ""
        worst = np.nanmax(np.where(np.isfinite(left), left, -np.inf), axis=1)
        return (
            f" The trainings end with up to {np.max(worst):.1e} of the labels' mean square left "
            f"(at scale {self.scales[int(np.argmax(worst))]:.3g})."
        )

    def describe(self) -> str:
        """The transition in a few sentences."""
        words = self._words
        failed = int(np.sum(~np.isfinite(self.values)))
        lost = (
            f" {failed} of {self.values.size} trainings failed and are left out." if failed else ""
        )
        if np.isfinite(self.scale):
            return (
                f"Transition at scale {self.scale:.3g} (95% interval {self.low:.3g} to "
                f"{self.high:.3g}): there the {words} falls through {self.level:g}; below it the "
                f"network learns features, {self._kernel_side()}{self._fits()}{lost}"
            )
        side = "kernel" if np.nanmean(self.values) < self.level else "rich"
        beyond = (
            f"below {self.scales[0]:.3g}" if side == "kernel" else f"above {self.scales[-1]:.3g}"
        )
        return (
            f"No transition: at every scale the {words} is on the {side} side of "
            f"{self.level:g}; look {beyond}.{self._fits()}{lost}"
        )

    def __str__(self) -> str:
        return self.describe()

    def plot(self) -> Any:
        """A matplotlib figure: the measure at every training, its mean over seeds, the
        non-increasing fit of the means that the transition is read off, and the transition."""
        from .._core.look import COLOURS, MUTED, panels

        figure, (axis,) = panels(1, height=3.8, width=5.6)
        axis.plot(self.scales, self.values, "o", color=COLOURS[0], alpha=0.35, ms=4)
        means = _means(self.values)
        known = np.isfinite(means)
        axis.plot(
            self.scales[known],
            means[known],
            color=COLOURS[0],
            lw=2,
            label="mean over seeds",
        )
        axis.plot(
            self.scales[known],
            _falling(means[known]),
            color="black",
            lw=1.2,
            ls="--",
            label="non-increasing fit of the means",
        )
        axis.plot([], [], "o", color=COLOURS[0], alpha=0.35, ms=4, label="one training each")
        axis.axhline(self.level, color=MUTED, ls=":", lw=1)
        if np.isfinite(self.scale):
            axis.axvspan(
                self.low, self.high, color=COLOURS[1], alpha=0.15, lw=0, label="95% interval"
            )
            axis.axvline(self.scale, color=COLOURS[1], label=f"transition at {self.scale:.3g}")
        axis.set(
            xscale="log",
            xlabel="initialisation scale α",
            ylabel=self._words,
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
    progress: Progress | bool | None = None,
) -> TransitionScale:
    """Where a network leaves the kernel regime: trained over initialisation scales and seeds with
    `sweep`, every training probed.

    Parameters
    ----------
    train : callable
        train(scale, seed, **settings) -> (network, checkpoints, X, y), what `probe` takes, the
        first checkpoint the start; defined at the top of a module where processes or a store are
        used.
    scales : array
        Increasing, at least two.
    keys : int
        How many, from zero, each given as `seed`.
    measure : {'linear_gap', 'gradient_distance', 'kernel_turn'}
        By default 'linear_gap': at 0.5 half of what was learned is beyond the linearised network.
    level : float
        What it crosses.
    settings : mapping, optional
        Further arguments of train.
    store, engine, workers, progress
        As for `sweep`.

    Returns
    -------
    regime.TransitionScale
        A training that diverges is masked, with a warning, and named in `describe()`.

    Examples
    --------
    >>> def train(scale, seed):
    ...     data = bf.data.sparse_regression(n=8, d=24, sparsity=2, key=seed)
    ...     problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=scale)
    ...     return problem.model, [problem.start, bf.gradient_flow(problem).final], data.X, data.y
    >>> found = bf.regime.transition_scale(train, [0.01, 0.1, 1.0, 10.0], keys=2)
    >>> bool(0.01 < found.scale < 10.0)
    True
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
    """What a sweep keeps of one training: the measures, their errors, the kernel movement, and the
    final loss, Σ(f − y)²/Σy²."""
    import xarray

    try:
        fn, checkpoints, X, y = run
    except (TypeError, ValueError):
        raise InputError(
            f"train: expected it to return (network, checkpoints, X, y), found {type(run).__name__}"
        ) from None
    probed = probe(fn, [checkpoints[0], checkpoints[-1]], X, y, keys=1)
    final = probed.final
    kept = {name: final[name] for name in (*MEASURES, "kernel_movement")}
    errors = {f"{name}_error": estimate.error for name, estimate in kept.items()}
    values = {name: estimate.value for name, estimate in kept.items()}
    return xarray.Dataset({**values, **errors, "final_loss": _left(probed.trained, y)})


def _left(predictions: Array, y: ArrayLike | None) -> float:
    labels = read_labels(y, len(predictions))
    if labels is None or labels.shape != predictions.shape or not np.any(labels):
        return float("nan")
    return float(np.sum((predictions - labels) ** 2) / np.sum(labels**2))


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
