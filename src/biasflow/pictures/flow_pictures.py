"""One picture of a flow: its loss with phases and events, and what moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.look import COLOURS, MUTED, panels, titled
from .._core.markup import DECADES_FOR_LOG
from .._core.problems import MirrorProblem, Problem
from .._core.results import Trajectory
from ..diagnostics import phases
from ..diagnostics.loss_phases import loss_curve
from ..models import DeepNetwork, SignedTwoLayer, TwoLayer
from .line_panels import SIGNS
from .moments import early, effective_state, nth_state, settled, state_at

PHASE_COLOURS = {
    "escape": COLOURS[4],
    "plateau": MUTED,
    "drop": COLOURS[0],
    "final convergence": COLOURS[2],
}
MOST_CURVES = 40
"""Coordinates or neurons that are drawn: the largest at the end."""
MOST_NAMED = 8
"""Curves up to which each has a line in the legend."""
CURVE_TIMES = 300


def flow_picture(flow: Trajectory) -> Any:
    """Loss, and coordinates or neurons; of classifiers the margin, too."""
    figure, axes = panels(2 if flow.margin is None else 3, height=3.7, width=4.9)
    loss_panel(axes[0], flow)
    _moving(axes[1], flow)
    if flow.margin is not None:
        _margin(axes[2], flow)
    figure.suptitle(flow.result.value, fontsize=9, color=MUTED)
    return figure


def loss_panel(axis: Any, flow: Trajectory) -> None:
    """The loss, its phases as shades, its events as ticks at the foot."""
    times, loss = loss_curve(flow)
    style, stretches = ("steps-post", ()) if _jumps(flow) else ("default", phases(flow))
    axis.plot(times, loss, color="black", linewidth=1.8, label="loss", zorder=3, drawstyle=style)
    _scales(axis, flow, times, loss)
    seen = set()
    for phase in stretches:
        label = None if phase.name in seen else phase.name
        seen.add(phase.name)
        colour = PHASE_COLOURS[phase.name]
        axis.axvspan(phase.start, phase.end, color=colour, alpha=0.13, linewidth=0, label=label)
    if flow.events:
        moments = np.array([event[0] for event in flow.events], dtype=float)
        axis.plot(
            moments,
            np.full(len(moments), 0.025),
            "|",
            transform=axis.get_xaxis_transform(),
            color=COLOURS[3],
            markersize=7,
            alpha=0.5,
            label=f"{len(moments)} events",
        )
    axis.set(xlabel=_clock(flow), ylabel="loss")
    axis.legend(fontsize=7.5, frameon=False)
    titled(axis, f"loss {loss[0]:.3g} → {loss[-1]:.3g}")


def _jumps(flow: Trajectory) -> bool:
    """Whether it is a path of jumps, which stays where it is in between."""
    return flow.interpolant is None and isinstance(flow.problem, MirrorProblem)


def _scales(axis: Any, flow: Trajectory, times: Array, loss: Array) -> None:
    positive = loss[loss > 0]
    if positive.size == loss.size and np.log10(positive.max() / positive.min()) > DECADES_FOR_LOG:
        axis.set_yscale("log")
    if early(flow):
        _in_log_time(axis, times)


def _in_log_time(axis: Any, times: Array) -> None:
    later = times[times > 0]
    axis.set_xscale("log")
    axis.set_xlim(max(float(later[0]), float(times[-1]) * 1e-8), float(times[-1]))


def _clock(flow: Trajectory) -> str:
    return "time τ = t/log(1/r)" if _jumps(flow) else "time t"


def _moving(axis: Any, flow: Trajectory) -> None:
    """Neurons of two-layer networks by their size, coordinates of everything else."""
    model = flow.problem.model if isinstance(flow.problem, Problem) else None
    times, states = _sampled(flow)
    if isinstance(model, TwoLayer | SignedTwoLayer):
        _neurons(axis, model, times, states)
    else:
        _coordinates(axis, flow, times, states)
    if flow.margin is not None and early(flow):  # it never settles, in direction
        _in_log_time(axis, flow.times)
        axis.set_xlabel(_clock(flow))
        return
    end = settled(flow)
    if np.any((times > 0) & (times < end)):
        axis.set_xlim(-0.02 * end, end)
    cut = "" if end >= flow.times[-1] else ", until the loss has settled"
    axis.set_xlabel(f"{_clock(flow)}{cut}")


def _sampled(flow: Trajectory) -> tuple[Array, list[Any]]:
    """Times and states: as saved, more where few were and the flow knows more, fewer where too
    many."""
    times = flow.times
    if flow.interpolant is not None and len(times) < CURVE_TIMES:
        dense = np.linspace(0.0, settled(flow), CURVE_TIMES)
        times = np.union1d(times, dense) if times[-1] > 0 else times
        return times, [state_at(flow, t) for t in times]
    last = int(np.searchsorted(times, settled(flow)))
    places = np.unique(np.linspace(0, min(last + 1, len(times) - 1), CURVE_TIMES).astype(int))
    return times[places], [nth_state(flow.states, k) for k in places]


def _coordinates(axis: Any, flow: Trajectory, times: Array, states: list[Any]) -> None:
    paths = np.array([effective_state(flow, state) for state in states])
    largest = np.argsort(-np.max(np.abs(paths), axis=0), kind="stable")[:MOST_CURVES]
    style = "steps-post" if _jumps(flow) else "default"
    for rank, k in enumerate(largest):
        named = rank < MOST_NAMED
        axis.plot(
            times,
            paths[:, k],
            color=COLOURS[rank % 5] if named else MUTED,
            linewidth=1.4 if named else 0.7,
            alpha=1.0 if named else 0.6,
            linestyle="-" if rank < 5 else "--" if named else "-",
            drawstyle=style,
            label=f"{k}" if named else None,
            zorder=3 if named else 2,
        )
    rest = paths.shape[1] - len(largest)
    model = flow.problem.model if isinstance(flow.problem, Problem) else None
    moving = "weights" if isinstance(model, DeepNetwork) else "predictor"
    axis.set_ylabel(f"{moving}, by coordinate")
    axis.legend(
        fontsize=7, framealpha=0.8, edgecolor="none", ncols=2, title="coordinate", title_fontsize=7
    )
    titled(axis, f"largest {len(largest)} of {paths.shape[1]} coordinates" if rest else moving)


def _neurons(axis: Any, model: Any, times: Array, states: list[Any]) -> None:
    """What a neuron weighs: |a|‖w‖, or ‖w‖² where the signs are fixed."""
    sizes = np.array([_weights(model, state) for state in states])
    signs = np.sign(sizes[-1]) if not isinstance(model, SignedTwoLayer) else np.asarray(model.signs)
    signs = np.where(signs == 0, np.sign(np.sum(sizes, axis=0)), signs)
    sizes = np.abs(sizes)
    largest = np.argsort(-np.max(sizes, axis=0), kind="stable")[:MOST_CURVES]
    for sign, label, colour in SIGNS:
        own = [k for k in largest if signs[k] == sign]
        if own:
            axis.plot(times, sizes[:, own], color=colour, linewidth=1.1, alpha=0.6)
            axis.plot([], [], color=colour, label=label)
    positive = sizes[sizes > 0]
    if positive.size and positive.max() > 10**DECADES_FOR_LOG * np.median(sizes[0]):
        axis.set_yscale("log")
        axis.set_ylim(bottom=max(float(positive.min()), float(positive.max()) * 1e-12))
    squared = isinstance(model, SignedTwoLayer)
    axis.set_ylabel("‖w‖² of each neuron" if squared else "|a|‖w‖ of each neuron")
    axis.legend(fontsize=7.5, frameon=False)
    rest = sizes.shape[1] - len(largest)
    titled(axis, f"largest {len(largest)} of {sizes.shape[1]} neurons" if rest else "neurons")


def _weights(model: Any, state: Any) -> Array:
    norms = np.linalg.norm(state.W, axis=-1)
    weights: Array = norms**2 if isinstance(model, SignedTwoLayer) else state.a * norms
    return weights


def _margin(axis: Any, flow: Trajectory) -> None:
    """The normalised margin against the logarithm of the norm, or against time."""
    margin = np.asarray(flow.margin)
    across = flow.times if flow.log_norm is None else flow.log_norm
    axis.plot(across, margin, color=COLOURS[2], linewidth=1.8)
    known = np.ptp(across) > 0
    axis.set_xlabel("time t" if flow.log_norm is None else "log Σ‖w‖²")
    axis.set_ylabel("margin min y·f/Σ‖w‖²")
    if known and np.any(margin < 0) and np.any(margin > 0):
        axis.axhline(0.0, color=MUTED, linewidth=0.8)
    titled(axis, f"margin {margin[-1]:.4g} at the end")
