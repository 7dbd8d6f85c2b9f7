"""R/fig4, R/fig5: the cone a² ≥ b² inside which a ReLU neuron never meets its kink, and how often
random neurons lie in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, panels, titled
from ...models.fixed_directions import LAWS
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

LABEL = 1.0
"""The label y of both data points."""
END = 4.0
"""Final time of the trajectories of fig 4."""
REACH = 2.2
REGIONS = {
    "a² ≥ b²: invariant": COLOURS[2],
    "b > |a|: leaves a = 0": COLOURS[4],
    "b < −|a|: runs into a = 0": COLOURS[1],
}


def one_neuron(a0: float, b0: float, times: Array) -> tuple[Array, Array, float]:
    """Gradient flow of ½(y − b|a|)², exactly: a(t), b(t), and when a reaches zero (inf: never).
    There it stops.

    By symmetry a > 0. With r = ½|a²−b²| and w the square of (a+b)/√(2r) (inside the cone) the flow
    is ẇ = 2yw − r(w²−1), a Riccati equation with the fixed points w± = (y ± S)/r, S = √(y²+r²):
    (w−w₊)/(w−w₋) decays like exp(−2St). Outside the cone with b < 0, w runs from below to 1, where
    a = 0.
    """
    mirrored, a0 = np.sign(a0), abs(a0)
    r = abs(a0**2 - b0**2) / 2
    if r == 0:
        raise ValueError("one_neuron: a² = b² is not on a hyperbola")
    root, inside = np.hypot(LABEL, r), a0 >= abs(b0)
    high, low = (LABEL + root) / r, (LABEL - root) / r
    # outside, (a, b) = √(2r)·side·(sinh u, cosh u), w = exp(2u)
    side = 1.0 if inside or b0 > 0 else -1.0
    w0 = (side * (a0 + b0)) ** 2 / (2 * r)
    ratio0 = (w0 - high) / (w0 - low)
    kink = np.log(ratio0 * (1 - low) / (1 - high)) / (2 * root) if side < 0 else np.inf
    ratio = ratio0 * np.exp(-2 * root * np.minimum(times, kink))
    w = (high - low * ratio) / (1 - ratio)
    cosh, sinh = (
        np.sqrt(r / 2) * (np.sqrt(w) + 1 / np.sqrt(w)),
        np.sqrt(r / 2) * (np.sqrt(w) - 1 / np.sqrt(w)),
    )
    a, b = (cosh, sinh) if inside else (side * sinh, side * cosh)
    return mirrored * a, b, float(kink)


def neuron_point(a0: float, b0: float, size: int) -> xarray.Dataset:
    """One trajectory, its loss, and when it hits the kink."""
    import xarray

    times = np.linspace(0, END, size)
    a, b, kink = one_neuron(a0, b0, times)
    curves = {
        "a": ("time", a),
        "b": ("time", b),
        "loss": ("time", 0.5 * (LABEL - b * np.abs(a)) ** 2),
    }
    return xarray.Dataset({**curves, "kink": kink}, {"time": times})


def summarise_neuron(data: xarray.Dataset) -> xarray.Dataset:
    outside = np.abs(data["b0"]) > np.abs(data["a0"])
    hits, below = np.isfinite(data["kink"]), outside & (data["b0"] < 0)
    drift = np.abs(data["a"] ** 2 - data["b"] ** 2 - data["a0"] ** 2 + data["b0"] ** 2)
    attributes = {
        "starts inside the cone that hit the kink": float((hits & ~outside).sum()),
        "share of starts with b < -|a| that hit it": float((hits & below).sum() / below.sum()),
        "largest drift of a^2 - b^2": float(drift.max()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw_neuron(summary: xarray.Dataset) -> Any:
    figure, (plane, losses) = panels(2, height=5.2, width=5.8)
    _draw_field(plane)
    runs = summary.stack(start=("a0", "b0")).transpose("start", ...)
    for k in range(runs.sizes["start"]):
        run = runs.isel(start=k)
        a0, b0 = float(run["a"][0]), float(run["b"][0])
        colour = list(REGIONS.values())[_region(a0, b0)]
        plane.plot(run["a"], run["b"], color=colour, linewidth=1.8)
        plane.plot(a0, b0, "o", color=colour, markersize=4)
        losses.plot(run["time"], run["loss"], color=colour, linewidth=1.2, alpha=0.8)
        if np.isfinite(run["kink"]):
            plane.plot(
                0, run["b"][-1], "X", color=COLOURS[1], markersize=8, markeredgecolor="white"
            )
            losses.plot(
                run["kink"],
                LABEL**2 / 2,
                "X",
                color=COLOURS[1],
                markersize=7,
                markeredgecolor="white",
            )
    plane.set(
        xlabel="first layer a",
        ylabel="second layer b",
        xlim=(-REACH, REACH),
        ylim=(-REACH, REACH),
        aspect="equal",
    )
    titled(plane, "directions of −∇f, and exact trajectories from the dots")
    losses.axhline(LABEL**2 / 2, color=MUTED, linestyle=":", label="½y²: the loss of a = 0")
    for label, colour in REGIONS.items():
        losses.plot([], [], color=colour, label=label)
    losses.plot(
        [],
        [],
        "X",
        color=COLOURS[1],
        label="stuck at the kink",
        markersize=7,
        markeredgecolor="white",
    )
    losses.set(
        xlabel="time t", ylabel="loss ½(y − b|a|)²", yscale="log", ylim=(1e-9, 30), xlim=(0, END)
    )
    losses.legend(fontsize=8, loc="lower left")
    titled(losses, "inside the cone the loss always vanishes")
    return figure


def _region(a: float, b: float) -> int:
    return 0 if abs(a) >= abs(b) else 1 if b > 0 else 2


def _draw_field(axis: Any) -> None:
    edge = np.array([0.0, REACH])
    cones = list(REGIONS.values())
    for sign in (1, -1):
        axis.fill_between(sign * edge, -edge, edge, color=cones[0], alpha=0.13, linewidth=0)
    axis.fill_between(
        [-REACH, 0, REACH], [REACH, 0, REACH], REACH, color=cones[1], alpha=0.18, linewidth=0
    )
    axis.fill_between(
        [-REACH, 0, REACH], [-REACH, 0, -REACH], -REACH, color=cones[2], alpha=0.13, linewidth=0
    )
    ticks = np.linspace(-REACH + 0.1, REACH - 0.1, 22)  # even: none on the kink
    a, b = np.meshgrid(ticks, ticks)
    residual = LABEL - b * np.abs(a)
    da, db = np.sign(a) * b * residual, np.abs(a) * residual
    speed = np.hypot(da, db)
    axis.quiver(
        a, b, da / speed, db / speed, color=MUTED, scale=38, width=0.0025, pivot="mid", alpha=0.75
    )
    fine = np.linspace(-REACH, REACH, 201)
    a, b = np.meshgrid(fine, fine)
    axis.contour(
        a,
        b,
        a**2 - b**2,
        [-3, -1, -0.25, 0.25, 1, 3],
        colors="white",
        linewidths=0.9,
        linestyles="solid",
    )
    for sign in (1, -1):
        right = np.linspace(LABEL / REACH, REACH, 100)
        axis.plot(sign * right, LABEL / right, color="black", linewidth=2.4)
    boxed = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5}
    axis.text(0.62, 1.95, "minimisers b|a| = y", fontsize=8, ha="left", va="center", bbox=boxed)
    axis.plot([0, 0], [-REACH, REACH], color="black", linewidth=1.2, linestyle=(0, (4, 3)))
    axis.text(0.08, -0.62, "kink a = 0", fontsize=8, ha="left", va="center", bbox=boxed)
    axis.grid(False)


QUICK_STARTS = {"a0": (-1.5, -0.3, 0.3, 1.5), "b0": (-1.8, -1.0, 0.2, 1.2)}
PAPER_STARTS = {
    "a0": (-1.9, -1.5, -0.6, -0.3, 0.3, 0.6, 1.5, 1.9),
    "b0": (-2.0, -1.8, -1.0, -0.2, 0.2, 1.2, 1.7),
}

fig4 = Experiment(
    "R/fig4",
    "One ReLU neuron b(aθx)₊ with two data points x = ±1 of label y = 1, so that f = ½(y − b|a|)² "
    "up to a constant. (a) Directions of the gradient flow, the hyperbolas a² − b² = const that it "
    "conserves (white), the minimisers b|a| = y (black), and exact trajectories. The cone a² ≥ b² "
    "is invariant (R, Lemma A.2). Outside it, for b < −|a|, the flow runs into the kink a = 0 and "
    "is stuck there (crosses); for b > |a| it leaves the kink, so that solutions from a = 0 are "
    "not unique. (b) The loss along the trajectories.",
    {"quick": Grid(QUICK_STARTS, {"size": 200}), "paper": Grid(PAPER_STARTS, {"size": 800})},
    neuron_point,
    summarise_neuron,
    draw_neuron,
    alt=(
        "A plane of the neuron's two weights, with arrows. Trajectories that start inside the cone "
        "|a| ≥ |b| follow hyperbolas to the curve of minimisers; those below it run into the line "
        "a = 0 and stop there at crosses. Beside it their losses: most fall to zero, the stuck "
        "ones stay."
    ),
)


def failure_probability(d: int, law: str) -> float:
    """P(‖a‖ < |b|) for d + 1 iid weights: P(F_{1,d} > d) (Gaussian), V_d/(2^d(d+1)) (uniform)."""
    from scipy.special import gammaln
    from scipy.stats import f

    if law == "gaussian":
        return float(f.sf(d, 1, d))
    log_ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    return float(np.exp(log_ball - d * np.log(2.0)) / (d + 1))


def wilson(count: Array, trials: Array, z: float = 1.96) -> tuple[Array, Array]:
    """Wilson's interval for a probability."""
    share, extra = count / trials, z * z / trials
    centre = (share + extra / 2) / (1 + extra)
    half = z * np.sqrt(share * (1 - share) / trials + extra / (4 * trials)) / (1 + extra)
    return centre - half, centre + half


def probability_point(
    d: int, law: str, neurons: int, widths: list[int], seed: int
) -> xarray.Dataset:
    """Neurons drawn and grouped into networks of every width: how many networks lie in the cone,
    and the exact probability.

    surprise: the standardised deviation |z| that has the count's two-sided binomial probability.
    """
    import xarray
    from scipy.stats import binom, norm

    rng = np.random.default_rng([seed, d, list(LAWS).index(law)])
    weights = LAWS[law](rng, (neurons, d + 1))
    inside = np.linalg.norm(weights[:, :d], axis=1) >= np.abs(weights[:, d])
    q = failure_probability(d, law)
    trials = np.array([neurons // m for m in widths])
    count = np.array(
        [
            np.sum(inside[: k * m].reshape(k, m).all(axis=1))
            for k, m in zip(trials, widths, strict=True)
        ]
    )
    exact = np.array([np.exp(m * np.log1p(-q)) for m in widths])
    tail = np.minimum(binom.cdf(count, trials, exact), binom.sf(count - 1, trials, exact))
    found = {
        "count": count,
        "trials": trials,
        "exact": exact,
        "surprise": norm.isf(np.minimum(tail, 0.5)),
    }
    return xarray.Dataset(
        {name: ("width", values) for name, values in found.items()}, {"width": list(widths)}
    )


def summarise_probability(data: xarray.Dataset) -> xarray.Dataset:
    low, high = wilson(data["count"].values, data["trials"].values)
    dims = data["count"].dims
    data = data.assign(share=data["count"] / data["trials"], low=(dims, low), high=(dims, high))
    surprise = data["surprise"].values
    attributes = {
        "largest standardised deviation": float(surprise.max()),
        "deviations compared": float(surprise.size),
        "mean squared standardised deviation": float(np.mean(surprise**2)),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw_probability(summary: xarray.Dataset) -> Any:
    figure, axes = panels(2, height=3.8, width=5.0)
    d = summary["d"].values
    for axis, law in zip(axes, ("gaussian", "uniform"), strict=True):
        for colour, width in zip(COLOURS, summary["width"].values, strict=False):
            shown = summary.sel(law=law, width=width)
            axis.plot(d, shown["exact"], color=colour, linewidth=1.4, alpha=0.7)
            bars = np.maximum([shown["share"] - shown["low"], shown["high"] - shown["share"]], 0)
            axis.errorbar(
                d,
                shown["share"],
                bars,
                fmt="o",
                color=colour,
                markersize=4,
                capsize=2.5,
                label=f"m = {width}",
            )
        axis.plot([], [], color=MUTED, label="exact: $(1-q)^m$")
        axis.set(
            xlabel="input dimension d",
            ylabel="P(all m neurons in the cone ‖a‖ ≥ |b|)",
            ylim=(-0.03, 1.05),
        )
        axis.locator_params(axis="x", integer=True)
    axes[1].legend(fontsize=8, loc="lower right")
    titled(axes[0], "Gaussian weights: $q = P(F_{1,d} > d)$")
    titled(axes[1], "uniform weights: $q = V_d/(2^d(d+1))$")
    return figure


WIDTHS = {"quick": [1, 10, 100, 1000], "paper": [1, 5, 10, 50, 100, 1000]}

fig5 = Experiment(
    "R/fig5",
    "Probability that all m neurons of a network with iid weights satisfy ‖a_j‖ ≥ |b_j|, the "
    "condition of R's theorems, against the input dimension d: Monte Carlo (dots, 95% Wilson "
    "intervals) and the exact (1 − q)^m (lines), q = P(F₁,d > d) for Gaussian and q = "
    "V_d/(2^d(d+1)) for uniform weights, V_d the volume of the unit ball. Uniform weights need "
    "about half the dimension.",
    {
        "quick": Grid(
            {"d": tuple(range(1, 21)), "law": ("gaussian", "uniform")},
            {"neurons": 200_000, "widths": WIDTHS["quick"], "seed": 0},
        ),
        "paper": Grid(
            {"d": tuple(range(1, 31)), "law": ("gaussian", "uniform")},
            {"neurons": 2_000_000, "widths": WIDTHS["paper"], "seed": 0},
        ),
    },
    probability_point,
    summarise_probability,
    draw_probability,
    alt=(
        "Probabilities rise from zero to one as the input dimension grows, in S-shaped curves, one "
        "for each width; more neurons need more dimensions, uniform weights about half as many as "
        "Gaussian ones. Dots of simulation lie on the exact lines."
    ),
)
