"""W/fig1: sparse regression with a depth-2 diagonal network, from the kernel to the rich regime."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from ..._core.look import COLOURS, MUTED, band, panels, titled
from ..._core.problems import Dataset
from ...data import sparse_regression
from ...limits import bregman_projection, min_l1, min_l2
from ...limits.projection import projected_point
from ...models import DiagonalNetwork
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told

if TYPE_CHECKING:
    import xarray

THRESHOLD = 0.025
"""Population error that counts as recovery (W, Figure 1c)."""
LOWEST_LOG_SCALE = -100.0
"""log10 of the smallest β scale α^D searched: below it the limit is min ℓ1's for every purpose
here."""
HIGHEST_LOG_SCALE = 3.0
ACCURACY = 0.01
"""Of log10 α^D at the threshold."""
SHOWN_N = 100
LEAST_SCALE_SHOWN = 1e-12
"""Smallest scale that the pictures show."""


def population_error(data: Dataset, beta: np.ndarray) -> float:
    """‖β − β*‖² = E⟨β − β*, x⟩², the error beyond the noise."""
    return float(np.sum((beta - data.truth) ** 2))


@lru_cache(maxsize=1000)
def l1_limit(n: int, seed: int, d: int, sparsity: int, noise_var: float) -> tuple[float, float]:
    """Population error and norm of min ℓ1, a linear program; figures ask for the same data sets at
    several depths."""
    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    found = min_l1(data.X, data.y)
    return population_error(data, found.value), found.objective


def largest_unit(model: DiagonalNetwork, data: Dataset, error_l1: float = np.inf) -> float:
    """log10 of the largest α^D whose limit has population error at most the threshold; NaN where
    none has.

    The error grows with the scale, from that of min ℓ1 at vanishing scales. Where error_l1, which
    tells of it, is small enough, the lowest scale, which costs most, is looked at only if no other
    recovers. A search needs points, not their certificates.
    """

    @cache
    def excess(log10_unit: float) -> float:
        """log of the error over the threshold."""
        potential = model.potential(log_scale=log10_unit * np.log(10) / model.depth)
        beta = projected_point(potential, data.X, data.y)
        return float(np.log(population_error(data, beta) / THRESHOLD))

    low, high = LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE
    hopeful = error_l1 <= THRESHOLD
    if not hopeful and excess(low) > 0:
        return float("nan")
    probe = -1.0  # most thresholds lie within ten decades of one: gallop down from there
    while probe > low:
        if excess(probe) <= 0:
            low = probe
            break
        high, probe = probe, 2 * probe
    else:
        if hopeful and excess(low) > 0:
            return float("nan")
    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=ACCURACY))


def point(
    n: int, seed: int, d: int, sparsity: int, noise_var: float, alphas: list[float]
) -> xarray.Dataset:
    """One data set, nested in n: limits over a grid of α, both baselines, and the largest α that
    recovers."""
    import xarray

    data, model = sparse_regression(n, d, sparsity, noise_var, key=seed), DiagonalNetwork(2)
    curve = np.full((3, len(alphas)), np.nan)
    (error_l1, norm_l1), l2 = l1_limit(n, seed, d, sparsity, noise_var), min_l2(data.X, data.y)
    # panels a and b show one sample size
    for k, alpha in enumerate(alphas if n == SHOWN_N else ()):
        beta = bregman_projection(model.potential(scale=alpha), data.X, data.y).value
        excess = (
            float(np.sum(np.abs(beta))) - norm_l1,
            float(np.linalg.norm(beta)) - l2.objective,
        )
        curve[:, k] = population_error(data, beta), *excess
    return xarray.Dataset(
        {
            "error": ("alpha", curve[0]),
            "excess_l1": ("alpha", curve[1]),
            "excess_l2": ("alpha", curve[2]),
            "error_l1": error_l1,
            "error_l2": population_error(data, l2.value),
            "log10_alpha": largest_unit(model, data, error_l1) / 2,
        },
        coords={"alpha": list(alphas)},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    shown = data.sel(n=SHOWN_N)
    recovered = data["error_l1"].median("seed") <= THRESHOLD
    enough = float(data["n"].where(recovered).min())
    attributes = {
        **told("population error of min l2 (n=100)", shown["error_l2"].values),
        **told("population error of min l1 (n=100)", shown["error_l1"].values),
        "samples that min l1 needs": enough,
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (error, norms, threshold) = panels(3)
    shown, alpha = summary.sel(n=SHOWN_N), summary["alpha"].values
    band(
        error,
        alpha,
        shown["error"].transpose("alpha", "seed").values,
        COLOURS[0],
        "gradient flow from scale α",
    )
    for name, colour, label in (
        ("error_l2", COLOURS[1], "min ℓ2 (kernel limit)"),
        ("error_l1", COLOURS[2], "min ℓ1 (rich limit)"),
    ):
        error.axhline(float(shown[name].median()), color=colour, linestyle="--", label=label)
    error.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="population error ‖β − β*‖²",
    )
    titled(error, f"small α generalises (n = {SHOWN_N})")
    band(
        norms,
        alpha,
        shown["excess_l1"].transpose("alpha", "seed").values,
        COLOURS[2],
        "excess ℓ1 norm over min ℓ1",
    )
    band(
        norms,
        alpha,
        shown["excess_l2"].transpose("alpha", "seed").values,
        COLOURS[1],
        "excess ℓ2 norm over min ℓ2",
    )
    norms.set(xscale="log", xlabel="initialisation scale α", ylabel="excess norm of the limit")
    titled(norms, "from min ℓ1 to min ℓ2")
    draw_thresholds(
        threshold, summary, {"depth 2": 10 ** summary["log10_alpha"].transpose("n", "seed").values}
    )
    threshold.set(ylabel=f"largest α with error ≤ {THRESHOLD}")
    titled(threshold, "how small α must be")
    error.set(ylim=(float(shown["error_l1"].median()) / 10, 3.0))
    for axis, where in ((error, "lower right"), (norms, "upper left"), (threshold, "lower right")):
        axis.legend(fontsize=7.5, loc=where)
    return figure


def draw_thresholds(axis: Any, summary: xarray.Dataset, curves: dict[str, np.ndarray]) -> None:
    """Largest scale that recovers against sample size, one curve a model, from where the median
    data set has one.

    A data set that no scale recovers counts as zero. The dotted line is the least n of the grid at
    which min ℓ1 recovers in the median; a first one would only be an upper bound, and says so.
    """
    n, enough = summary["n"].values, summary.attrs["samples that min l1 needs"]
    lowest, below = np.inf, []
    for colour, (label, samples) in zip(COLOURS, curves.items(), strict=False):
        samples = np.nan_to_num(samples, nan=0.0)
        known = np.median(samples, axis=-1) > 0
        least = np.min(samples[samples > 0], initial=np.inf)
        band(
            axis,
            n[known],
            np.maximum(samples[known], least),
            colour,
            label,
            marker="o",
            markersize=3,
        )
        middle = np.median(samples, axis=-1)
        lowest = min(lowest, float(np.min(middle[known], initial=np.inf)))
        below += [(at, colour) for at in n[(n >= enough) & (middle < LEAST_SCALE_SHOWN)]]
    bottom = max(lowest / 30, LEAST_SCALE_SHOWN)
    axis.set(
        yscale="log",
        xlabel="number of samples n",
        ylim=(bottom, None),
        xlim=(0.95 * n[0], 1.03 * n[-1]),
    )
    for at, colour in below:
        axis.plot(at, bottom, "v", color=colour, markersize=7, clip_on=False, zorder=5)
    first = "at most " if enough <= n[0] else ""
    axis.axvline(
        enough, color=MUTED, linestyle=":", label=f"samples that min ℓ1 needs: {first}{enough:g}"
    )
    if below:
        axis.plot(
            [], [], "v", color=MUTED, linestyle="none", label=f"median below {LEAST_SCALE_SHOWN:g}"
        )


ALPHAS = {"quick": np.geomspace(1e-5, 30, 15), "paper": np.geomspace(1e-8, 100, 41)}
TO_ONE_DIGIT = "read off a plot, to one digit"
SIZES = (
    "W states neither d nor r* nor N: 1000, 5 and 100 are what fits. The first of these numbers is "
    "1 − N/d, so it tests that choice alone."
)
SETTING = {"d": 1000, "sparsity": 5, "noise_var": 0.01}

fig1 = Experiment(
    "W/fig1",
    "Sparse regression (d = 1000, 5 non-zero coefficients, noise variance 0.01). (a) Population "
    "error of the limit of gradient flow on a depth-2 diagonal network against the initialisation "
    "scale α, between the minimum-ℓ2 (kernel) and minimum-ℓ1 (rich) interpolators. (b) Its excess "
    "ℓ1 and ℓ2 norms. (c) The largest α that still recovers the planted predictor: exceedingly "
    "small near the number of samples that min ℓ1 needs; a triangle points to a median below the "
    "axis. Medians over data sets, bands 10–90%.",
    {
        "quick": Grid(
            {"n": (40, 45, 50, 55, 60, 70, 80, 100, 150), "seed": tuple(range(5))},
            {**SETTING, "alphas": [float(a) for a in ALPHAS["quick"]]},
        ),
        "paper": Grid(
            {"n": (30, 40, 45, 50, 55, 60, 70, 80, 100, 120, 150, 200), "seed": tuple(range(20))},
            {**SETTING, "alphas": [float(a) for a in ALPHAS["paper"]]},
        ),
    },
    point,
    summarise,
    draw,
    (
        Reported(
            "population error of min l2 (n=100)",
            Reading(0.9, 0.05, TO_ONE_DIGIT),
            "Figure 1a",
            chosen=SIZES,
        ),
        Reported(
            "population error of min l1 (n=100)",
            Reading(0.01, 0.005, TO_ONE_DIGIT),
            "Figure 1a",
            chosen=SIZES,
        ),
    ),
    alt=(
        "Left: the population error rises from 0.01 to 0.9 as α grows from 1e-3 to 0.1, from the "
        "level of minimum ℓ1 to that of minimum ℓ2. Middle: the excess ℓ1 norm rises and the "
        "excess ℓ2 norm falls over the same scales. Right: the largest α that recovers falls by "
        "many decades as the samples approach the 55 that minimum ℓ1 needs."
    ),
)
