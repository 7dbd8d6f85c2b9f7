"""At which initialisation scale does a network leave the kernel regime? Trained over scales and
seeds, probed, interpolated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression
from scipy.stats import norm as normal, t as student

from .._core.arguments import Array, one_of, positive_float, positive_int, real_number, vector
from .._core.facts import Fact, Facts, Shown
from .._core.former_names import renamed
from .._core.progress import doing, is_seen
from ..errors import InputError, ScaleError
from ..sweeps import sweep
from ..sweeps.driver import Tally, Watch
from ..sweeps.grids import Composed, Grid
from ..sweeps.progress_bars import PATIENCE_S, sweep_bar
from ..sweeps.versions import short_name
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
    NaN where it does not: `describe()` says on which side. low, high: a 95% interval, by drawing
    seeds with replacement, widened to the spacing of the scales (`resolution`, a factor) where it
    is narrower. Draws that do not cross count (`uncrossed` is their share), so that low may be zero
    and high infinite: the transition may lie beyond the scales tried. Of one seed the interval is
    the spacing alone. data: what the sweep returned, with the
    measures, their errors, the kernel movement and the final loss for each (scale, seed).
    """

    scale: float
    low: float
    high: float
    measure: str
    level: float
    resolution: float
    data: xarray.Dataset
    uncrossed: float = 0.0

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
                f"Transition at scale {self.scale:.3g} ({self._interval()}): there the {words} "
                f"falls through {self.level:g}; below it the "
                f"network learns features, {self._kernel_side()}{self._fits()}{lost}"
            )
        side = "kernel" if np.nanmean(self.values) < self.level else "rich"
        beyond = (
            f"below {self.scales[0]:.3g}" if side == "kernel" else f"above {self.scales[-1]:.3g}"
        )
        crossed = (
            f" Of draws of the seeds {100 * (1 - self.uncrossed):.2g}% cross it"
            f" ({self._interval()})."
            if self.uncrossed < 1
            else ""
        )
        return (
            f"No transition: at every scale the mean of the {words} is on the {side} side of "
            f"{self.level:g}; look {beyond}.{crossed}{self._fits()}{lost}"
        )

    def _interval(self) -> str:
        """The interval in words, open where it is."""
        if self.values.shape[1] < 2:
            return f"{self.low:.3g} to {self.high:.3g} by the spacing of the scales; one seed"
        bounded = self.low > 0, np.isfinite(self.high)
        text = {
            (True, True): f"95% interval {self.low:.3g} to {self.high:.3g}",
            (True, False): f"95% interval from {self.low:.3g} up, beyond the scales tried",
            (False, True): f"95% interval up to {self.high:.3g}, from below the scales tried",
            (False, False): "the 95% interval is open to both sides",
        }[bounded]
        share = f"; {100 * self.uncrossed:.2g}% of the draws do not cross" if self.uncrossed else ""
        return text + share

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
            reach = max(self.low, self.scales[0]), min(self.high, self.scales[-1])
            axis.axvspan(*reach, color=COLOURS[1], alpha=0.15, lw=0, label="95% interval")
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
@doing("transition scale")
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
        As for `sweep`: trainings in the store are not made again. The bar tells how long it will
        take once a training has ended, or before, where train calls `regime.tell_share(done)`.

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
    with _listening(progress, short_name(train)) as watch:
        data = sweep(
            Composed(measured_run, train),
            grid,
            store=store,
            engine=engine,
            workers=workers,
            progress=progress if callable(progress) else False,
            watch=watch,
        )
    values = np.asarray(data[measure].transpose("scale", "seed").values, dtype=float)
    found = crossing(np.log(alphas), values, level)
    return TransitionScale(
        float(np.exp(found.place)) if np.isfinite(found.place) else float("nan"),
        float(np.exp(found.low)),
        float(np.exp(found.high)),
        measure,
        level,
        float(np.exp(found.spacing)),
        data,
        found.uncrossed,
    )


_LISTENERS: list[Callable[[float], None]] = []


def tell_share(done: float) -> bool:
    """Tell a sweep how far the training that calls this is, so that the time left is known before
    the first one ends.

    Parameters
    ----------
    done : float
        The share of the training that is done, from 0 to 1.

    Returns
    -------
    bool
        Whether a sweep with a bar listens in this process; otherwise nothing happens.

    Examples
    --------
    >>> bf.regime.tell_share(0.5)
    False
    """
    share = real_number("done", done)
    if not 0 <= share <= 1:
        raise InputError(f"done: expected a share from 0 to 1, found {share:g}")
    for listener in _LISTENERS:
        listener(share)
    return bool(_LISTENERS)


@contextmanager
def _listening(progress: Any, label: str) -> Iterator[Watch | None]:
    """A bar where one is wanted, which also hears of shares of the training that runs."""
    if not (progress is True or (progress is None and is_seen())):
        yield None
        return
    with sweep_bar(label, 0.0 if progress is True else PATIENCE_S) as show:
        known: list[tuple[Tally, float]] = []

        def watch(tally: Tally) -> None:
            known[:] = [(tally, time.monotonic())]
            show(tally)

        def heard(share: float) -> None:
            if known:
                tally, at = known[0]
                since = tally.seconds + time.monotonic() - at
                show(replace(tally, within=share, seconds=since))

        _LISTENERS.append(heard)
        try:
            yield watch
        finally:
            _LISTENERS.remove(heard)


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


@dataclass(frozen=True)
class Crossing:
    """Where a curve over log scales falls through a level: −∞ where it is below at all of them, ∞
    where it is above. low, high: the interval; uncrossed: the share of draws of seeds whose curve
    does not cross; spacing: of the scales around it, in logarithms."""

    place: float
    low: float
    high: float
    uncrossed: float
    spacing: float


def crossing(log_scales: Array, values: Array, level: float) -> Crossing:
    """The crossing of the mean over seeds, and a 95% interval by drawing seeds with replacement.

    A draw that does not cross counts as one that crosses beyond the scales tried, on the side where
    it would have to: the interval is then open to that side. The quantiles are taken from the
    crossing of the mean outwards by t_{m−1}/1.96·√(m/(m − 1)), which the means of few seeds m ask
    for: draws with replacement have (m − 1)/m of the variance, and it is known from m values.
    """
    place = _cross(log_scales, _means(values), level)
    count = values.shape[1]
    nearest = int(np.clip(np.searchsorted(log_scales, place), 1, log_scales.size - 1))
    spacing = float(log_scales[nearest] - log_scales[nearest - 1])
    if count < 2:
        if not np.isfinite(place):
            return Crossing(place, -np.inf, np.inf, 1.0, spacing)
        return Crossing(place, place - spacing, place + spacing, 0.0, spacing)
    rng = np.random.default_rng(0)
    draws = rng.integers(count, size=(RESAMPLES, count))
    places = np.array([_cross(log_scales, _means(values[:, draw]), level) for draw in draws])
    first, last = float(log_scales[0]), float(log_scales[-1])
    low = min(float(np.quantile(places, COVERAGE[0], method="lower")), last)
    high = max(float(np.quantile(places, COVERAGE[1], method="higher")), first)
    wider = float(student.ppf(COVERAGE[1], count - 1) / normal.ppf(COVERAGE[1]))
    wider *= float(np.sqrt(count / (count - 1)))
    middle = float(np.clip(place, first, last))
    low, high = (middle + wider * (end - middle) for end in (low, high))
    low, high = min(low, middle - spacing / 2), max(high, middle + spacing / 2)
    low, high = low if low >= first else -np.inf, high if high <= last else np.inf
    return Crossing(place, low, high, float(np.mean(~np.isfinite(places))), spacing)


def _means(values: Array) -> Array:
    """Means over seeds; where every seed drawn failed, nothing."""
    counts = np.sum(np.isfinite(values), axis=1)
    return np.where(counts > 0, np.nansum(values, axis=1) / np.maximum(counts, 1), np.nan)


def _cross(log_scales: Array, means: Array, level: float) -> float:
    """Where the means, made non-increasing, fall through the level, linearly in log α; −∞ where
    they are below it at all scales, ∞ where they are above."""
    known = np.isfinite(means)
    places, heights = log_scales[known], _falling(means[known])
    above = np.flatnonzero(heights >= level)
    if above.size in (0, heights.size):
        return float("inf") if above.size else float("-inf")
    k = int(above[-1])
    share = (heights[k] - level) / (heights[k] - heights[k + 1])
    return float(places[k] + share * (places[k + 1] - places[k]))


def _falling(values: Sequence[float] | Array) -> Array:
    """The non-increasing sequence nearest in least squares."""
    return np.asarray(isotonic_regression(np.asarray(values, dtype=float), increasing=False).x)
