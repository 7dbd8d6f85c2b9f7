"""S/parametrisation: potentials that were found along gradients, and parametrisations that have
none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.problems import Dataset, Problem
from ...diagnostics import find_potential
from ...flows import gradient_flow
from ...limits import bregman_projection
from ...losses import SquareLoss
from ...models import DiagonalNetwork
from ...potentials import DepthPotential, Hypentropy, Potential
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

ALPHA = 0.3
"""Weights at the start."""
BETAS = np.concatenate([-np.geomspace(30, 1e-3, 30), np.geomspace(1e-3, 30, 30)])
"""β at which mirror maps are compared."""
X = np.array([[1.0, 0.6, -0.4], [0.2, 1.0, 0.7]])
Y = np.array([1.0, 0.8])


def known(depth: int) -> tuple[Potential, float]:
    """The closed form, and the factor of its ∇φ over the one of ½‖·‖²."""
    if depth == 2:
        return Hypentropy(2 * ALPHA**2), 1 / 4
    return DepthPotential(depth, ALPHA), 1 / (depth * (depth - 2)) * ALPHA ** (2 - depth)


def coupled(depth: int, mixing: float) -> Any:
    """Three coordinates w₊^D − w₋^D; the second is added ε times a product of weights of the first
    and the third."""

    def G(w: Any) -> Any:
        import jax.numpy as jnp

        beta = w[0] ** depth - w[1] ** depth
        return beta + mixing * jnp.array([0.0, 1.0, 0.0]) * w[0, 0] * w[1, 2]

    return G


def point(depth: int, mixings: tuple[float, ...]) -> xarray.Dataset:
    """∇φ found and known, the end of raw gradients against both limits, and how far apart ways with
    the same μ end, with the error, against ε."""
    import xarray

    start = np.full((2, 3), ALPHA)
    found = find_potential(coupled(depth, 0.0), start, loops=1)
    eta = found.potential.grad(np.repeat(BETAS[:, None], 3, axis=1))[:, 0]
    potential, factor = known(depth)
    exact = factor * potential.grad(BETAS)
    limit = found.limit(X, Y)
    model = DiagonalNetwork(depth)
    loss = SquareLoss("half")
    problem = Problem(model, Dataset(X, Y), loss, model.init(ALPHA, dim=3))
    flow = gradient_flow(problem, method="weights", time_s=None)
    end = model.effective(flow.final)
    gaps = np.empty((2, len(mixings)))
    for k, mixing in enumerate(mixings):
        loop = find_potential(coupled(depth, mixing), start, loops=1).loop
        worst = int(np.argmax(np.abs(loop.ends[0] - loop.ends[1]) / loop.error))
        gaps[:, k] = np.abs(loop.ends[0] - loop.ends[1])[worst], loop.error[worst]
    return xarray.Dataset(
        {
            "eta": ("beta", eta),
            "known": ("beta", exact),
            "gap": ("mixing", gaps[0]),
            "gap_error": ("mixing", gaps[1]),
            "limit": ("coordinate", limit.value),
            "limit_error": ("coordinate", limit.stats["error"]),
            "known_limit": ("coordinate", bregman_projection(potential, X, Y).value),
            "end": ("coordinate", np.asarray(end)),
        },
        {"beta": BETAS, "mixing": list(mixings)},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    told: dict[str, float] = {}
    for depth in data["depth"].values:
        one = data.sel(depth=depth)
        off = abs(one["eta"] / one["known"] - 1).max()
        told[f"largest relative error of ∇φ, D = {depth}"] = float(off)
        far = abs(one["limit"] - one["known_limit"]).max()
        told[f"limit found against the closed form's, D = {depth}"] = float(far)
        told[f"limit found against the end of raw gradients, D = {depth}"] = float(
            abs(one["limit"] - one["end"]).max()
        )
    return data.assign_attrs({**data.attrs, **told})


def draw(summary: xarray.Dataset) -> Any:
    figure, (maps, errors, gaps) = panels(3)
    beta: Array = summary["beta"].values
    for depth, colour in zip(summary["depth"].values, COLOURS, strict=False):
        one = summary.sel(depth=depth)
        unit = float(np.max(np.abs(one["known"].values)))
        maps.plot(beta, one["known"] / unit, color=colour, label=f"D = {depth}")
        maps.plot(beta, one["eta"] / unit, "o", color=colour, markersize=3, mfc="none")
        off = np.abs(one["eta"].values / one["known"].values - 1)
        errors.plot(np.abs(beta), np.maximum(off, 1e-17), "o", color=colour, markersize=3)
        gaps.plot(one["mixing"], one["gap"], color=colour, marker="o", ms=3, label=f"D = {depth}")
        gaps.plot(one["mixing"], one["gap_error"], color=colour, ls=":")
    gaps.plot([], [], color=MUTED, ls=":", label="its error")
    maps.plot([], [], "o", color=MUTED, markersize=3, mfc="none", label="found")
    maps.set(xlabel="β", ylabel="∇φ(β), over its largest")
    maps.set_xscale("symlog", linthresh=1e-2)
    maps.set_xticks([-10, -0.1, 0, 0.1, 10])
    titled(maps, "mirror maps, known and found")
    errors.set(xlabel="|β|", ylabel="relative error of ∇φ", xscale="log", yscale="log")
    errors.set_ylim(1e-17, 1e-9)
    titled(errors, "found to twelve digits")
    gaps.set(xlabel="coupling ε", ylabel="how far apart two ways end", yscale="log")
    gaps.set_xscale("symlog", linthresh=1e-8)
    gaps.set_xlim(-3e-9, 2)
    gaps.set_xticks([0, 1e-8, 1e-6, 1e-4, 1e-2, 1])
    titled(gaps, "a small coupling is seen")
    maps.legend(fontsize=7)
    gaps.legend(fontsize=7)
    return figure


QUICK = (0.0, 1e-8, 1e-4, 0.5)

parametrisation = Experiment(
    "S/parametrisation",
    "Potentials found by following the gradients of G(w) = w₊^D − w₋^D from 0.3. (a) The mirror "
    "map ∇φ of a coordinate, known in closed form (lines) and found (circles). (b) The relative "
    "difference. (c) G with ε times a product of weights of two other coordinates added to one: "
    "how far apart two ways with the same sum of pulls end, which no mirror flow allows, and the "
    "error of that (dotted); at ε = 0 they end together.",
    {
        "quick": Grid({"depth": (2, 3)}, {"mixings": QUICK}),
        "paper": Grid(
            {"depth": (2, 3, 4, 5)}, {"mixings": (0.0, *(10.0**k for k in range(-10, 1)))}
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: S-shaped curves with circles on them; the deeper, the flatter far out. "
        "Middle: relative errors of 1e-15 to 1e-12 at all sizes of β. Right: gaps rise in "
        "proportion to the coupling, far above the dotted errors near 1e-13, and lie below them "
        "without a coupling."
    ),
)
