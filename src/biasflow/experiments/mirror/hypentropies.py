"""R/fig1: hypentropies in one dimension, and level sets in two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import panels, titled
from ...potentials import Hypentropy
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

REACH = 2.0
"""Largest |x| shown."""
MIXED = (1.0, 0.01)
"""α of panel c: round along one axis, pointed along the other."""
LEVELS = (0.125, 0.25, 0.5, 1.0, 1.5, 2.0)


def hypentropy(alpha: float, x: Array) -> Array:
    """φ_α(x); at α = 0 both half-lines, each with its own potential."""
    potential = (
        Hypentropy(alpha, sign=np.where(x < 0, -1.0, 1.0)) if alpha == 0 else Hypentropy(alpha)
    )
    return potential.at(x).value()


def point(alpha: float, size: int) -> xarray.Dataset:
    """One hypentropy on [−2, 2]. exponent: xφ'(x)/φ(x) at 1, which is two for x² and one for
    |x|."""
    import xarray

    x = np.linspace(-REACH, REACH, size)
    value = np.full(size, np.nan)
    inside = (x != 0) | (alpha > 0)
    value[inside] = hypentropy(alpha, x[inside])
    # φ₀ and its slope both vanish at 1
    slope = float(np.arcsinh(1 / alpha)) if alpha > 0 else np.nan
    return xarray.Dataset(
        {"value": ("x", value), "exponent": slope / float(hypentropy(alpha or 1.0, np.ones(1))[0])},
        {"x": x},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    positive = data["exponent"].dropna("alpha")
    attributes = {
        "exponent at 1 for the largest alpha (l2: 2)": float(
            positive.sel(alpha=positive["alpha"].max())
        ),
        "exponent at 1 for the smallest alpha (l1: 1)": float(
            positive.sel(alpha=positive["alpha"].min())
        ),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (line, equal, mixed, zero) = panels(4, height=3.6, width=3.9)
    x, alphas = summary["x"].values, np.sort(summary["alpha"].values)[::-1]
    colours = _shades(alphas)
    for alpha in alphas[alphas > 0]:
        value = summary["value"].sel(alpha=alpha).values
        line.plot(x, value, color=colours[alpha], label=f"α = {alpha:g}")
        level = float(np.interp(1.0, x, value))
        equal.contour(x, x, _sum(value, value), [level], colors=[colours[alpha]], linewidths=1.6)
    limit = summary["value"].sel(alpha=0.0).values
    for side in (x < 0, x > 0):
        line.plot(
            x[side], limit[side], color="black", linestyle="--", label="α = 0" if side[-1] else None
        )
    line.set(xlabel="x", ylabel="hypentropy φ_α(x)", ylim=(0, 4.2))
    titled(line, "φ_α, and φ₀ on half-lines")
    handles, labels = line.get_legend_handles_labels()
    equal.legend(handles, labels, loc="center", fontsize=7, frameon=False, labelspacing=0.25)
    titled(equal, "α₁ = α₂: circle to diamond")
    first, second = (summary["value"].sel(alpha=alpha).values for alpha in MIXED)
    _contours(mixed, x, _sum(first, second))
    titled(mixed, f"α = ({MIXED[0]:g}, {MIXED[1]:g})")
    _contours(zero, x, _sum(limit, limit))
    zero.axhline(0, color="white", linewidth=3)
    zero.axvline(0, color="white", linewidth=3)
    titled(zero, "α = (0, 0): quadrants")
    for axis in (equal, mixed, zero):
        axis.set(xlabel="x₁", ylabel="x₂", aspect="equal")
        axis.grid(False)
    equal.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    mixed.set(ylim=(-0.6, 0.6), aspect="auto")
    return figure


def _sum(first: Array, second: Array) -> Array:
    """Φ(x₁, x₂) = φ(x₁) + φ(x₂), rows for x₂."""
    return np.asarray(first[None, :] + second[:, None])


def _contours(axis: Any, x: Array, values: Array) -> None:
    shown = axis.contour(x, x, values, LEVELS, cmap="viridis", linewidths=1.2)
    axis.clabel(shown, fontsize=6.5, fmt="%g")


def _shades(alphas: Array) -> dict[float, Any]:
    """Dark for large α, light for small."""
    from matplotlib import colormaps

    return dict(zip(alphas, colormaps["plasma"](np.linspace(0, 0.92, len(alphas))), strict=True))


fig1 = Experiment(
    "R/fig1",
    "Hypentropies. (a) φ_α in one dimension; φ₀ lives on an open half-line and is not the limit of "
    "φ_α, which grows like |x|·log(1/α) as α → 0. (b) Level sets of Φ_α through (±1, 0) for α₁ = "
    "α₂, from the circle of ℓ2 to the diamond of ℓ1. (c) A mixed α: ℓ2-like in x₁, ℓ1-like in x₂; "
    "the bias may differ from one coordinate to the next. (d) α = 0: four potentials, one for each "
    "sign pattern of the start, with the minima at (±1, ±1).",
    {
        "quick": Grid({"alpha": (10.0, 1.0, 0.3, 0.1, 0.01, 1e-3, 0.0)}, {"size": 401}),
        "paper": Grid(
            {"alpha": (100.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-8, 0.0)},
            {"size": 1001},
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Four panels. Curves of one-dimensional hypentropies go from a parabola to a V as α falls. "
        "Level sets go from a circle at large α to a diamond at small α; with mixed α they are "
        "stretched, flat in one coordinate and pointed in the other; at α = 0 each quadrant has "
        "its own minimum."
    ),
)
