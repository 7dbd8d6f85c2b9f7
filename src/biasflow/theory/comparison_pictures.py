"""A comparison as a table and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.look import COLOURS, MUTED, panels, titled
from .._core.markup import Markup, below, card, digits_bar
from ..errors import InputError
from ..pictures.moments import moments, state_at
from .verdict_pictures import in_lines, status_badge
from .verdicts import Status

if TYPE_CHECKING:
    from .comparison import Comparison

DISTANCE_TIMES = 80
"""Times at which the distance is drawn, beside those where something happens."""


def comparison_card(comparison: Comparison) -> Markup:
    """Flow, limit, distance, and the claims on the pair."""
    proof = comparison.certificate
    far = f"{comparison.distance:.2e} (relative {comparison.relative:.1e})"
    rows: list[tuple[Any, Any]] = [
        ("flow", f"{comparison.result.value}; final loss {comparison.final_loss:.2e}"),
        ("integration error", f"{comparison.flow_error:.1e}"),
        (
            "limit",
            below(
                f"{proof.kind}, residual {proof.residual:.1e}", digits_bar(proof.gap, proof.kind)
            ),
        ),
        ("distance", f"{comparison.compared} = {far}"),
    ]
    if comparison.norms is not None:
        ours, theirs = comparison.norms
        rows.append(("‖θ‖²", f"flow {ours:.6g}, limit {theirs:.6g}"))
    if comparison.theory:
        rows.append(("theory", comparison.theory))
    if comparison.defect:
        rows.append(("evidence", comparison.defect))
    for status in Status:
        names = [v.claim.id for v in comparison.verdicts if v.status == status]
        if names and status is not Status.DOES_NOT_APPLY:
            rows.append((status_badge(status), ", ".join(names)))
    return card("Comparison of a flow with a limit", rows)


def comparison_picture(comparison: Comparison) -> Any:
    """What both predict, side by side, and how far apart they are over time."""
    from .comparison import sides_at

    flow, limit = comparison.trajectory, comparison.limit
    if flow is None or limit is None:
        raise InputError("plot: this comparison was made without its flow and limit")
    figure, (ends, distance) = panels(2, height=3.6, width=4.9)
    ours, theirs = (np.ravel(side) for side in sides_at(flow, limit, flow.final))
    span = np.array([min(ours.min(), theirs.min()), max(ours.max(), theirs.max())])
    ends.plot(span, span, color=MUTED, linewidth=1, linestyle="--", label="equal")
    ends.plot(theirs, ours, "o", color=COLOURS[0], markersize=4.5, alpha=0.75)
    ends.set(xlabel="limit", ylabel="end of the flow")
    ends.legend(fontsize=8, frameon=False)
    titled(ends, in_lines(comparison.compared.removeprefix("of the ")))
    even = np.linspace(flow.times[0], flow.times[-1], DISTANCE_TIMES)
    times = np.union1d(moments(flow, DISTANCE_TIMES), even)
    apart = [_apart(*sides_at(flow, limit, state_at(flow, t))) for t in times]
    distance.plot(times, apart, color=COLOURS[0], linewidth=1.8, label="distance")
    if comparison.flow_error > 0:
        distance.axhline(
            comparison.flow_error,
            color=MUTED,
            linestyle=":",
            label=f"error of the flow, {comparison.flow_error:.0e}",
        )
    if np.all(np.asarray(apart) > 0):
        distance.set_yscale("log")
    distance.set(xlabel="time t", ylabel="largest difference")
    distance.legend(fontsize=8, frameon=False)
    titled(distance, f"{comparison.distance:.1e} in the end")
    return figure


def _apart(ours: Any, theirs: Any) -> float:
    return float(np.max(np.abs(np.ravel(ours) - np.ravel(theirs))))
