"""W/fig2: how depth sharpens the transition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ...data import sparse_regression
from ...models import DiagonalNetwork
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told
from .sparse import THRESHOLD, draw_thresholds, l1_limit, largest_unit

if TYPE_CHECKING:
    import xarray

CURVE_DEPTHS = (2, 3, 5, 10)
Z = np.geomspace(1e-2, 1e6, 161)
RATIO_UNITS = np.geomspace(1e-12, 1e4, 161)
RATIO_DIMENSION = 1000
EXTREME_UNITS = {"small": (1e-30, 1e-60), "large": (1e3, 1e6)}
"""Scales at which the limits are read, and checked: depths from 3 on, since depth 2 gets to ℓ1 only
logarithmically."""
RICH, KERNEL = "ratio in the rich regime times sqrt(d), D > 2", "ratio in the kernel regime, D > 2"


def point(depth: int, n: int, seed: int, d: int, sparsity: int, noise_var: float) -> xarray.Dataset:
    """One data set and depth: the largest α^D that recovers, and the error of min ℓ1."""
    import xarray

    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    error, _ = l1_limit(n, seed, d, sparsity, noise_var)
    unit = largest_unit(DiagonalNetwork(depth), data, error)
    return xarray.Dataset({"log10_unit": unit, "error_l1": error})


def coordinate_regulariser(depth: int, z: np.ndarray) -> np.ndarray:
    """q_D(z) of W, Theorems 1 and 3."""
    terms: np.ndarray = DiagonalNetwork(depth).potential(scale=1.0).at(z).value()
    return terms


def curvature_at_zero(depth: int) -> float:
    """q_D''(0) = 1/h_D'(0): ½ for D = 2, (D − 2)/(2D) beyond."""
    return 0.5 if depth == 2 else (depth - 2) / (2 * depth)


def sparse_to_dense_ratio(depth: int, units: np.ndarray, d: int) -> np.ndarray:
    """Q(e₁)/Q(1/√d) at α^D = units: 1 in the kernel regime, 1/√d in the rich one."""
    model = DiagonalNetwork(depth)
    first, even = np.eye(d)[0], np.full(d, d**-0.5)
    potentials = [model.potential(scale=unit ** (1 / depth)) for unit in units]
    return np.array([float(p.value(first)) / float(p.value(even)) for p in potentials])


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    import xarray

    curves = xarray.Dataset(
        {
            "q": (
                ("curve_depth", "z"),
                np.array([coordinate_regulariser(D, Z) for D in CURVE_DEPTHS]),
            ),
            "ratio": (
                ("curve_depth", "unit"),
                np.array(
                    [sparse_to_dense_ratio(D, RATIO_UNITS, RATIO_DIMENSION) for D in CURVE_DEPTHS]
                ),
            ),
        },
        coords={"curve_depth": list(CURVE_DEPTHS), "z": Z, "unit": RATIO_UNITS},
    )
    recovered = data["error_l1"].isel(depth=0).median("seed") <= THRESHOLD
    attributes = {
        "samples that min l1 needs": float(data["n"].where(recovered).min()),
        **_limits(RICH, EXTREME_UNITS["small"], np.sqrt(RATIO_DIMENSION)),
        **_limits(KERNEL, EXTREME_UNITS["large"], 1.0),
    }
    return data.merge(curves).assign_attrs({**data.attrs, **attributes})


def _limits(name: str, units: tuple[float, float], factor: float) -> dict[str, Any]:
    """The ratio of every depth at the last unit; its error is the change since the one before."""
    before, last = (
        factor
        * np.array(
            [sparse_to_dense_ratio(D, np.array(units), RATIO_DIMENSION) for D in CURVE_DEPTHS[1:]]
        ).T
    )
    return told(name, last, error=float(np.max(np.abs(last - before))))


def draw(summary: xarray.Dataset) -> Any:
    figure, (curve, ratio, threshold) = panels(3)
    for colour, D in zip(COLOURS, CURVE_DEPTHS, strict=False):
        curve.plot(
            summary["z"],
            summary["q"].sel(curve_depth=D) / curvature_at_zero(D),
            color=colour,
            label=f"D = {D}",
        )
        ratio.plot(
            summary["unit"], summary["ratio"].sel(curve_depth=D), color=colour, label=f"D = {D}"
        )
    z = summary["z"].values
    curve.plot(z, z**2 / 2, color=MUTED, linestyle=":", label="z²/2 (like ℓ2)")
    curve.set(
        xscale="log", yscale="log", xlabel="z = β/α^D", ylabel="q_D(z) / q_D''(0)", ylim=(3e-5, 1e8)
    )
    titled(curve, "one coordinate: quadratic, then linear")
    ratio.axhline(RATIO_DIMENSION**-0.5, color=MUTED, linestyle="--", label="ℓ1: 1/√d")
    ratio.axhline(1.0, color=MUTED, linestyle=":", label="ℓ2: 1")
    ratio.set(
        xscale="log",
        yscale="log",
        xlabel="scale of β at initialisation, α^D",
        ylabel="Q(e₁)/Q(1/√d)",
    )
    titled(ratio, "from ℓ1 to ℓ2: sharper with depth")
    curves = {
        f"D = {D}": 10 ** summary["log10_unit"].sel(depth=D).transpose("n", "seed").values
        for D in summary["depth"].values
    }
    draw_thresholds(threshold, summary, curves)
    threshold.set(ylabel=f"largest α^D with error ≤ {THRESHOLD}")
    titled(threshold, "depth relaxes the scale needed")
    for axis, where in ((curve, "upper left"), (ratio, "upper left"), (threshold, "lower right")):
        axis.legend(fontsize=7.5, loc=where)
    return figure


fig2 = Experiment(
    "W/fig2",
    "(a) The regulariser q_D of one coordinate for several depths, over its curvature at zero: all "
    "are z²/2 at first, then linear, for depth 2 with a factor log z. (b) Q(e₁)/Q(1/√d) against "
    "the scale α^D, d = 1000 (W draws it against α): 1 where Q is like ℓ2, 1/√d where it is like "
    "ℓ1; depth 2 gets there only logarithmically. (c) The largest α^D that recovers the planted "
    "predictor in sparse regression (d = 1000), by depth. Medians over data sets, bands 10–90% (of "
    "three: nearly their range).",
    {
        "quick": Grid(
            {"depth": (2, 3, 5, 10), "n": (50, 60, 70, 80, 120), "seed": (0, 1, 2)},
            {"d": 1000, "sparsity": 5, "noise_var": 0.01},
        ),
        "paper": Grid(
            {
                "depth": (2, 3, 5, 10),
                "n": (40, 45, 50, 55, 60, 70, 80, 100, 120, 150),
                "seed": tuple(range(10)),
            },
            {"d": 1000, "sparsity": 5, "noise_var": 0.01},
        ),
    },
    point,
    summarise,
    draw,
    (
        Reported(
            RICH,
            Reading.exact(1.0),
            'Figure 2: "the ℓ1 norm (where the ratio is 1/√d)", as α → 0',
            None,
        ),
        Reported(
            KERNEL,
            Reading.exact(1.0),
            'Figure 2: "the ℓ2 norm (where the ratio is 1)", as α → ∞',
            None,
        ),
    ),
    alt=(
        "Left: regularisers of all depths start as the same parabola and turn linear, depth 2 "
        "last. Middle: the ratio of sparse to dense rises from 1/√d to 1; for depth 2 over many "
        "decades, for deeper networks within few. Right: the scale needed to recover is larger by "
        "several decades for deeper networks."
    ),
)
