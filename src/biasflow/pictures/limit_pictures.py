"""One picture of a limit with its certificate, of a bracket, and of data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.look import COLOURS, MUTED, panels, titled
from .._core.markup import MOST_DIGITS, digits_of
from .._core.problems import Dataset
from .._core.results import Certificate, Enclosure, Limit
from .._core.trees import leaves
from ..limits import LineInterpolants
from ..models import Particles, TwoLayerParams

MOST_STEMS = 400
"""Coordinates up to which each has a stem; more are sorted by size."""
PLANE_POINTS = 161
"""Along each axis of a plane, where functions are evaluated."""
LINE_POINTS = 401
"""Along a line."""
ROOM = 0.15
"""Around samples in a plane, over their extent."""
WEIGHTLESS = 1e-6
"""Weight of a sample in a proof, over the largest, below which it is not ringed."""
KIND_COLOURS = {"bound": COLOURS[4], "heuristic": MUTED}
"""Of brackets that are not exact."""


def limit_picture(limit: Limit[Any]) -> Any:
    """The point, and the proof of it."""
    figure, (point, proof) = panels(2, height=3.5, width=4.9)
    data = limit.stats.get("data")
    if isinstance(limit, LineInterpolants):
        _draw_on_a_line(point, limit)
    elif isinstance(data, Dataset) and _in_plane(data.X).shape[1] == 2:
        _draw_classifier(point, limit, data)
    else:
        _draw_point(point, limit.value)
    certificate_panel(proof, limit.certificate, limit.objective)
    if limit.source:
        figure.suptitle(limit.source, fontsize=9, color=MUTED)
    return figure


def certificate_picture(bounds: Enclosure) -> Any:
    figure, (axis,) = panels(1, height=3.0, width=5.2)
    axis.set_title("", loc="left")
    certificate_panel(axis, bounds)
    return figure


def certificate_panel(axis: Any, bounds: Enclosure, objective: float | None = None) -> None:
    """How many digits the bracket settles and, above, what else can be off, as bars of sixteen."""
    gap = bounds.gap if isinstance(bounds, Certificate) else bounds.relative_gap
    rows = [("digits that the\nbracket settles", gap)]
    if isinstance(bounds, Certificate):
        rows.append(("digits to which\nconstraints hold", bounds.residual))
        if bounds.membership:
            rows.append(("digits to which\n∇φ lies in Im Xᵀ", bounds.membership))
    colour = KIND_COLOURS.get(bounds.kind, COLOURS[2])
    for place, (_, off) in enumerate(rows):
        digits = digits_of(off)
        axis.barh(place, MOST_DIGITS, height=0.5, color=MUTED, alpha=0.12)
        axis.barh(place, digits, height=0.5, color=colour, alpha=0.85)
        # beside the bar where there is room, else at its end
        inside = digits > 0.7 * MOST_DIGITS
        axis.text(
            digits - 0.3 if inside else digits + 0.3,
            place,
            "zero" if off == 0 else f"{off:.1e}",
            ha="right" if inside else "left",
            va="center",
            fontsize=8.5,
        )
    axis.set(
        yticks=range(len(rows)),
        yticklabels=[label for label, _ in rows],
        xlim=(0, MOST_DIGITS),
        ylim=(-0.6, len(rows) - 0.4),
        xlabel="digits (−log₁₀ of what is left)",
    )
    axis.grid(False, axis="y")
    bracket = f"[{bounds.lower:.6g}, {bounds.upper:.6g}]"
    if objective is not None:
        bracket = f"{objective:.8g}" if _closed(bounds) else f"{objective:.5g} in {bracket}"
    titled(axis, f"{bracket}, {bounds.kind}")


def _closed(bounds: Enclosure) -> bool:
    """Whether both bounds are one number as they are printed."""
    return f"{bounds.lower:.6g}" == f"{bounds.upper:.6g}"


def _in_plane(X: Array) -> Array:
    """Inputs less a last column of ones."""
    return X[:, :-1] if X.shape[1] > 1 and np.all(X[:, -1] == 1) else X


def _draw_classifier(axis: Any, limit: Limit[Any], data: Dataset) -> None:
    """The samples with the two sides of the boundary and the lines h = ±γ; those on which the proof
    has weight are ringed."""
    X, gamma = _in_plane(data.X), float(limit.objective)
    low, high = np.min(X, axis=0), np.max(X, axis=0)
    reach = np.where(high > low, high - low, np.max(high - low) or 1.0)
    across, up = np.linspace(low - ROOM * reach, high + ROOM * reach, PLANE_POINTS).T
    rows = (np.column_stack([across, np.full_like(across, at)]) for at in up)
    bias = [np.ones((PLANE_POINTS, 1))] if data.d > 2 else []
    h = np.stack([limit(np.hstack([row, *bias])) for row in rows])
    if np.any(h != 0):
        sides = {"colors": [COLOURS[1], COLOURS[0]], "alpha": 0.12}
        axis.contourf(across, up, np.sign(h), [-2, 0, 2], **sides)
    for level, style in ((-gamma, "--"), (0.0, "-"), (gamma, "--")):
        if np.min(h) < level < np.max(h) and (gamma > 0 or style == "-"):
            axis.contour(across, up, h, [level], colors=[COLOURS[5]], linestyles=[style])
    _draw_classes(axis, X, data.y)
    weights = limit.stats.get("weights")
    if weights is not None and np.shape(weights) == data.y.shape:
        held = X[np.asarray(weights) > WEIGHTLESS * np.max(weights)]
        axis.plot(*held.T, "o", color=MUTED, markersize=9, markerfacecolor="none")
    axis.set(xlabel="x₁", ylabel="x₂")
    axis.grid(False)
    proof = limit.certificate
    bracket = f"= {gamma:.8g}" if _closed(proof) else f"in [{proof.lower:.6g}, {proof.upper:.6g}]"
    titled(axis, f"h = 0, ±γ; γ {bracket}")


def _draw_on_a_line(axis: Any, found: LineInterpolants) -> None:
    """Samples, the interpolant with its kinks, and, where there are more, the range of all."""
    x, f = found.x, found.value
    reach = float(x[-1] - x[0]) or max(1.0, abs(float(x[0])))
    seen = np.linspace(x[0] - ROOM * reach, x[-1] + ROOM * reach, LINE_POINTS)
    inner = f.points[(f.points > seen[0]) & (f.points < seen[-1])]
    seen = np.unique(np.concatenate([seen, inner]))
    if found.unique is False:
        low, high = found.envelope(seen)
        if np.all(np.isfinite(low)):
            axis.fill_between(
                seen, low, high, color=COLOURS[0], alpha=0.2, linewidth=0, label="all interpolants"
            )
    one = "the interpolant" if found.unique else "one of them" if found.bends else "an interpolant"
    axis.plot(seen, f(seen), color=COLOURS[0], label=one)
    drawn = f.kinks[(f.kinks > seen[0]) & (f.kinks < seen[-1])]
    axis.plot(drawn, f(drawn), "s", color=COLOURS[1], markersize=6, label="kinks")
    axis.plot(x, found.y, "o", color="black", markersize=3.5, label="samples")
    axis.set(xlabel="x", ylabel="f(x)")
    axis.legend(fontsize=8, frameon=False)
    biases = "biases penalised" if found.penalise_bias else "biases free"
    titled(axis, f"{biases}, {'affine part free' if found.skip else 'no affine part'}")


def _draw_point(axis: Any, value: Any) -> None:
    """By what the value is: weights, a matrix, neurons, coefficients."""
    if isinstance(value, TwoLayerParams):
        _draw_neurons(axis, value.a, value.W, "a_j·w_j")
    elif isinstance(value, Particles):
        _draw_neurons(axis, value.signs * value.shares, value.directions, "share·sign·u_j")
    elif isinstance(value, np.ndarray) and value.ndim == 2:
        _draw_matrix(axis, value)
    elif isinstance(value, np.ndarray):
        _draw_stems(axis, value, "coordinate", "value")
    else:
        _draw_stems(axis, _coefficients(value), "coefficient", "of the function")


def _coefficients(value: Any) -> Array:
    """The numbers of a function: a kernel's coefficients, weights of features, or all leaves of a
    tuple."""
    for name in ("coefficients", "weights"):
        found = getattr(value, name, None)
        if isinstance(found, np.ndarray):
            return np.ravel(found)
    return np.concatenate([np.ravel(leaf) for leaf in leaves(value)])


def _draw_stems(axis: Any, values: Array, label: str, name: str) -> None:
    values = np.ravel(values)
    zeros = int(np.sum(values == 0))
    if values.size > MOST_STEMS:
        order = np.sort(np.abs(values))[::-1]
        axis.plot(np.arange(1, order.size + 1), order, color=COLOURS[0])
        axis.set(xscale="log", xlabel=f"rank of the {label}", ylabel=f"size, {name}")
        if order[-1] > 0 or np.any(order > 0):
            axis.set_yscale("log")
    else:
        places = np.arange(values.size)
        axis.vlines(places, 0, values, color=COLOURS[0], linewidth=1.3)
        axis.plot(places, values, "o", color=COLOURS[0], markersize=3.5)
        axis.axhline(0.0, color=MUTED, linewidth=0.8)
        axis.set(xlabel=label, ylabel=name)
        axis.xaxis.get_major_locator().set_params(integer=True)
    titled(axis, f"{values.size} numbers{f', {zeros} of them zero' if zeros else ''}")


def _draw_matrix(axis: Any, M: Array) -> None:
    reach = float(np.max(np.abs(M))) or 1.0
    image = axis.imshow(M, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
    axis.figure.colorbar(image, ax=axis, shrink=0.85)
    axis.grid(False)
    axis.set(xlabel="column", ylabel="row")
    titled(axis, f"matrix {M.shape}, rank {np.linalg.matrix_rank(M)}")


def _draw_neurons(axis: Any, weights: Array, directions: Array, name: str) -> None:
    """In the plane as arrows from the origin; of inputs of more dimensions, the size of each."""
    if directions.shape[0] == 0:
        axis.text(0.5, 0.5, "no neurons", transform=axis.transAxes, ha="center")
        return
    if directions.shape[1] != 2:
        sizes = weights * np.linalg.norm(directions, axis=1)
        _draw_stems(axis, sizes[np.argsort(-np.abs(sizes), kind="stable")], "neuron", "weight")
        titled(axis, f"{weights.size} neurons, the largest first")
        return
    points = np.abs(weights)[:, None] * directions
    reach = 1.15 * float(np.max(np.abs(points))) or 1.0
    for sign, colour, label in ((1, COLOURS[0], "positive"), (-1, COLOURS[1], "negative")):
        own = points[np.sign(weights) == sign]
        for point in own:
            axis.plot([0, point[0]], [0, point[1]], color=colour, linewidth=1.4, alpha=0.8)
        if len(own):
            axis.plot(*own.T, "o", color=colour, markersize=6, label=label)
    axis.axhline(0.0, color=MUTED, linewidth=0.6)
    axis.axvline(0.0, color=MUTED, linewidth=0.6)
    axis.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        aspect="equal",
        xlabel=f"{name}, first",
        ylabel="second",
    )
    axis.legend(fontsize=8, frameon=False)
    titled(axis, f"{weights.size} neurons")


def data_picture(data: Dataset) -> Any:
    """Samples on a line or in the plane with their labels; else labels and singular values."""
    X = _in_plane(data.X)
    classes = bool(np.all(np.abs(data.y) == 1))
    count = 1 if X.shape[1] <= 2 else 2
    figure, axes = panels(count, height=3.6, width=4.8)
    if X.shape[1] == 1:
        axes[0].plot(X[:, 0], data.y, "o", color=COLOURS[0])
        axes[0].set(xlabel="x", ylabel="label y")
    elif X.shape[1] == 2:
        _draw_plane(figure, axes[0], X, data.y, classes)
    else:
        _draw_stems(axes[0], data.y, "sample", "label y")
        titled(axes[0], "labels")
        values = np.linalg.svd(data.X, compute_uv=False)
        axes[1].plot(np.arange(1, values.size + 1), values, "o-", color=COLOURS[3], markersize=3.5)
        axes[1].set(yscale="log" if values[-1] > 0 else "linear", xlabel="index")
        axes[1].xaxis.get_major_locator().set_params(integer=True)
        titled(axes[1], "singular values of X")
    if count == 1:
        axes[0].set_title("", loc="left")
    figure.suptitle(f"{data.name or 'data'}: n = {data.n}, d = {data.d}", fontsize=9.5)
    return figure


def _draw_plane(figure: Any, axis: Any, X: Array, y: Array, classes: bool) -> None:
    if classes:
        _draw_classes(axis, X, y)
        axis.legend(fontsize=8, frameon=False, title="label", title_fontsize=8)
    else:
        reach = float(np.max(np.abs(y))) or 1.0
        shown = axis.scatter(
            *X.T, c=y, cmap="RdBu", vmin=-reach, vmax=reach, edgecolor=MUTED, linewidth=0.5
        )
        figure.colorbar(shown, ax=axis, label="label y")
    axis.set(xlabel="x₁", ylabel="x₂")


def _draw_classes(axis: Any, X: Array, y: Array) -> None:
    for label, colour, marker in ((1, COLOURS[0], "o"), (-1, COLOURS[1], "s")):
        axis.plot(*X[y == label].T, marker, color=colour, markersize=5, label=f"{label:+d}")
