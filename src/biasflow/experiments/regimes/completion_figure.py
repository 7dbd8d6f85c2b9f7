"""W/fig3 and W/fig5: completion of a rank-one matrix by gradient flow on UVᵀ, from the kernel to
the rich regime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, band, panels, titled
from ..._core.problems import Dataset, Problem
from ...data import completion, observed_entries
from ...flows import gradient_flow
from ...limits import min_frobenius_norm, min_nuclear_norm
from ...losses import SquareLoss
from ...models import MatrixFactorisation
from ...sweeps.grids import Grid
from ...theory.regimes.matrix_completion import scaled, transition_scale
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told

if TYPE_CHECKING:
    import xarray

IDENTITY = 0
"""The axis k at the identity start, which has k = d."""
DIFFERENT_ABOVE = 1e-6
"""Distance, relative to the planted matrix, above which the completion of least nuclear norm is
another one."""
RECOVERS = "squared distance from the planted matrix at the smallest alpha, relative"
UNCHANGED = "squared change of unobserved entries at the largest alpha, relative"
LEAST_DRAWN = 1e-8
"""Excess norm that the pictures show for less."""
RTOL = 1e-5
"""Tolerance of the flows: their own error estimate is in the data."""


def start_of(data: Dataset, shape: tuple[int, int], k: int, key: int) -> Problem:
    """The identity start, or a Gaussian one with 2k columns, at α = 1."""
    model = MatrixFactorisation(shape, 2 * (k or max(shape)))
    params = model.init(1.0, key=key, law="gaussian" if k else "identity")
    return Problem(model, data, SquareLoss("sum"), params)


def point(k: int, seed: int, size: int, observed: int, alphas: list[float]) -> xarray.Dataset:
    """One planted matrix and start: flow limits over α, both completions of least norm, and the
    transition scale."""
    import xarray

    shape = (size, size)
    data = completion(shape, 1, observed, key=seed)
    problem, entries = start_of(data, shape, k, seed), observed_entries(data, shape)
    truth = np.asarray(data.truth).reshape(shape)
    nuclear, frobenius = min_nuclear_norm(shape, *entries), min_frobenius_norm(shape, *entries)
    hidden = np.ones(shape, dtype=bool)
    hidden[entries.rows, entries.cols] = False
    curves = np.empty((6, len(alphas)))
    for place, alpha in enumerate(alphas):
        flow = gradient_flow(
            problem.model, data, problem.loss, scaled(problem.start, alpha), rtol=RTOL, time_s=None
        )
        M = problem.model.effective(flow.final)
        curves[:, place] = (
            np.sum((M - truth)[hidden] ** 2),
            np.sum(M[hidden] ** 2),
            np.linalg.norm(M, "nuc") - nuclear.objective,
            np.linalg.norm(M) - frobenius.objective,
            np.sum((M - nuclear.value)[hidden] ** 2),
            flow.predictor_error[-1],
        )
    names = (
        "reconstruction",
        "change",
        "excess_nuclear",
        "excess_frobenius",
        "distance_nuclear",
        "flow_error",
    )
    return xarray.Dataset(
        {
            **{name: ("alpha", curve) for name, curve in zip(names, curves, strict=True)},
            "unobserved": np.sum(truth[hidden] ** 2),
            "reconstruction_nuclear": np.sum((nuclear.value - truth)[hidden] ** 2),
            "excess_planted": np.linalg.norm(truth, "nuc") - nuclear.objective,
            "excess_frobenius_planted": np.linalg.norm(truth) - frobenius.objective,
            "gap": nuclear.certificate.gap,
            "transition": transition_scale(problem, RTOL),
        },
        coords={"alpha": list(alphas)},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    identity, gaussian = (
        data.sel(k=IDENTITY),
        data.sel(k=[k for k in data["k"].values if k != IDENTITY]),
    )
    small = identity.isel(alpha=0)
    widest = np.log(gaussian["transition"].mean("seed").values[-2:])
    slope = np.diff(widest)[0] / np.diff(np.log(gaussian["k"].values[-2:]))[0]
    attributes = {
        **told(RECOVERS, _relative(small, "reconstruction")),
        **told(UNCHANGED, _relative(identity.isel(alpha=-1), "change")),
        "share of matrices where min nuclear norm is not the planted one": float(
            differing(identity).mean()
        ),
        "excess nuclear norm at the smallest alpha minus the planted one's, largest": float(
            np.abs(small["excess_nuclear"] - small["excess_planted"]).max()
        ),
        "exponent of the transition scale between the two largest k": float(slope),
        "largest flow error": float(data["flow_error"].max()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def _relative(identity: xarray.Dataset, name: str) -> np.ndarray:
    """Squares over those of the planted matrix on the unobserved entries, one a matrix: what W's
    figure shows."""
    return np.asarray(identity[name] / identity["unobserved"])


def differing(identity: xarray.Dataset) -> np.ndarray:
    """Which matrices have a completion of smaller nuclear norm than the planted one."""
    return np.asarray(
        identity["reconstruction_nuclear"] > DIFFERENT_ABOVE**2 * identity["unobserved"]
    )


def draw_fig3(summary: xarray.Dataset) -> Any:
    figure, (identity, widths, scales) = panels(3)
    alpha = summary["alpha"].values
    shown = summary.sel(k=IDENTITY)
    share = {
        name: (shown[name] / shown["unobserved"]).transpose("alpha", "seed").values
        for name in ("reconstruction", "change", "distance_nuclear")
    }
    band(
        identity,
        alpha,
        share["reconstruction"],
        COLOURS[0],
        "distance from the planted M*",
        marker="o",
        markersize=3,
    )
    band(
        identity,
        alpha,
        share["change"],
        COLOURS[1],
        "change of unobserved entries",
        marker="s",
        markersize=3,
    )
    others = differing(shown)
    if np.any(others):
        label = (
            f"distance from min nuclear norm,\nwhere that is not M* ({np.sum(others)} of "
            f"{others.size})"
        )
        band(
            identity,
            alpha,
            share["distance_nuclear"][:, others],
            COLOURS[2],
            label,
            marker="^",
            markersize=3,
        )
    identity.axhline(
        1.0, color=MUTED, linestyle="--", linewidth=1, label="zeros (min Frobenius norm)"
    )
    identity.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="squares, unobserved entries / M*'s",
    )
    titled(identity, "identity start: rich left, kernel right")
    for colour, (k, runs) in zip(COLOURS, _gaussian(summary), strict=False):
        samples = (runs["reconstruction"] / runs["unobserved"]).transpose("alpha", "seed").values
        band(widths, alpha, samples, colour, f"k = {k}", marker="o", markersize=3)
    widths.axhline(1.0, color=MUTED, linestyle="--", linewidth=1, label="zeros")
    widths.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="reconstruction error, as in (a)",
    )
    titled(widths, "Gaussian starts of k columns")
    draw_transition(scales, summary)
    for axis in (identity, widths, scales):
        axis.legend(fontsize=7.5)
    return figure


def draw_transition(axis: Any, summary: xarray.Dataset) -> None:
    """Transition scale against k, over the identity start's at α√k."""
    k = np.array([k for k, _ in _gaussian(summary)])
    samples = np.array([runs["transition"].values for _, runs in _gaussian(summary)])
    identity = summary["transition"].sel(k=IDENTITY).values
    band(axis, k, samples, COLOURS[0], "Gaussian start", marker="o", markersize=4)
    band(
        axis,
        k,
        identity / np.sqrt(k)[:, None],
        COLOURS[2],
        "identity start's α over √k",
        linestyle="--",
    )
    axis.set(
        xscale="log", yscale="log", xlabel="columns k", ylabel="scale α halfway between the limits"
    )
    titled(axis, "the transition scale falls with k")


def draw_fig5(summary: xarray.Dataset) -> Any:
    figure, (identity, nuclear, frobenius) = panels(3)
    alpha, shown = summary["alpha"].values, summary.sel(k=IDENTITY)
    others, dots = differing(shown), {"marker": "o", "markersize": 3}
    excess = {
        name: shown[name].transpose("alpha", "seed").values
        for name in ("excess_nuclear", "excess_frobenius")
    }
    band(
        identity,
        alpha,
        excess["excess_frobenius"],
        COLOURS[1],
        "Frobenius norm",
        marker="s",
        markersize=3,
    )
    for which, colour, words in ((~others, COLOURS[0], "is"), (others, COLOURS[2], "is not")):
        if np.any(which):
            label = f"nuclear norm, M* {words} least ({np.sum(which)})"
            band(
                identity,
                alpha,
                np.maximum(excess["excess_nuclear"][:, which], LEAST_DRAWN),
                colour,
                label,
                **dots,
            )
    if np.any(others):
        planted = float(np.median(shown["excess_planted"].values[others]))
        identity.axhline(
            planted,
            color=COLOURS[2],
            linestyle=":",
            label="M* itself, median where it is not least",
        )
    identity.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="excess over the least norm that fits",
    )
    titled(identity, "identity start")
    for axis, name, least in (
        (nuclear, "excess_nuclear", "nuclear"),
        (frobenius, "excess_frobenius", "Frobenius"),
    ):
        for colour, (k, runs) in zip(COLOURS, _gaussian(summary), strict=False):
            band(
                axis,
                alpha,
                runs[name].transpose("alpha", "seed").values,
                colour,
                f"k = {k}",
                marker="o",
                markersize=3,
            )
        axis.axhline(0, color=MUTED, linewidth=0.8)
        axis.set(xscale="log", xlabel="initialisation scale α", ylabel=f"excess {least} norm")
        titled(axis, f"Gaussian starts: {least} norm")
    for axis in (identity, nuclear, frobenius):
        axis.legend(fontsize=7.5)
    return figure


def _gaussian(summary: xarray.Dataset) -> list[tuple[int, xarray.Dataset]]:
    """The runs of every Gaussian start, by k."""
    return [(int(k), summary.sel(k=k)) for k in summary["k"].values if k != IDENTITY]


SETTING = {"size": 10, "observed": 60}
GRIDS = {
    "quick": Grid(
        {"k": (IDENTITY, 10, 40, 160), "seed": tuple(range(3))},
        {**SETTING, "alphas": [1e-5, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 10.0]},
    ),
    "paper": Grid(
        {"k": (IDENTITY, 5, 10, 20, 40, 100, 400), "seed": tuple(range(20))},
        {**SETTING, "alphas": [float(a) for a in np.geomspace(1e-6, 30, 26)]},
    ),
}
REPORTED = (
    Reported(RECOVERS, Reading.plot(0.0, 1.0), '§6: "for α → 0 recovers the ground truth"', None),
    Reported(
        UNCHANGED,
        Reading.plot(0.0, 1.0),
        '§6: "for large α, there are no updates to the unobserved entries"',
        None,
    ),
)

fig3 = Experiment(
    "W/fig3",
    "Completion of a 10×10 rank-one matrix from 60 entries by gradient flow on UVᵀ, with 2k "
    "columns each, from the unbiased start α[U₀, −U₀], α[V₀, V₀]. (a) U₀ = V₀ = I: error on the "
    "unobserved entries and their change, over the planted matrix's own sum of squares there; "
    "where the completion of least nuclear norm is another matrix, the flow from small α stays "
    "away from it. (b) Gaussian U₀, V₀ of k columns. (c) The scale halfway between both limits "
    "falls with k, in the end like k^{−1/2}: the limit depends on α²U₀U₀ᵀ and α²V₀V₀ᵀ only. "
    "Medians over matrices and starts, bands 10–90%.",
    GRIDS,
    point,
    summarise,
    draw_fig3,
    REPORTED,
    alt=(
        "Left: as α grows the distance from the planted matrix rises from near zero to one, and "
        "the change of the unobserved entries falls to near zero. Middle: the same for Gaussian "
        "starts, earlier for more columns. Right: the transition scale falls with the number of "
        "columns, in the end parallel to one over its square root."
    ),
)
fig5 = Experiment(
    "W/fig5",
    "Norms of the limits of figure 3 in excess of the least nuclear and the least Frobenius norm "
    "that fit the entries. (a) Identity start, apart for matrices M* that are and that are not the "
    "completion of least nuclear norm: from small α the flow goes to M* either way. (b), (c) "
    "Gaussian starts of k columns. Medians over matrices and starts, bands 10–90%.",
    GRIDS,
    point,
    summarise,
    draw_fig5,
    alt=(
        "Left: from the identity start the excess nuclear norm is small at small α and the excess "
        "Frobenius norm at large α. Where the planted matrix is not the one of least nuclear norm, "
        "the excess stays at its value. Middle and right: the same for Gaussian starts, earlier "
        "for more columns."
    ),
)
