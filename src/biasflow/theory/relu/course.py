"""A flow seen through B's phases: when they end, what neurons are like then, and how well all that
is known."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.results import Limit, Trajectory
from ...flows import saddle_limit
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need
from .relu_setting import LabelCluster, Setting, distance, row_norms, unit_rows

ROUNDING = 1e-9
"""Relative error of what is read off a dense output."""
LEAST_NORM_IN_FLOATS = float(np.finfo(float).tiny) / float(np.finfo(float).eps)
"""‖w_j‖ below which floats have lost digits of it."""
IDLE_FACTOR = 4.0
"""Times the mass of idle neurons, in units of what a cluster fits, by which they may change the
clusters: they change its labels, its shares and its clock, each by at most that mass."""


def relative_error(flow: Trajectory, smallest: float) -> float:
    """The largest error of a neuron over its own size along a flow; `smallest`: the least of these
    sizes. NaN if that is zero and the flow's error is known over the largest neuron only."""
    if "relative" in flow.stats:
        return float(np.max(flow.stats["relative"]))
    # keeps logarithms of norms: its error is relative neuron by neuron
    if flow.stats.get("method") == "events":
        return float(np.max(flow.error)) / float(np.max(np.abs(flow.final.W)))
    return float(np.max(flow.error)) / smallest if smallest > 0 else float("nan")


class Course:
    """A trajectory seen through B's phases."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.setting = evidence, Setting(evidence.network)

    @cached_property
    def flow(self) -> Trajectory:
        return need(self.evidence.trajectory)

    @property
    def notes(self) -> dict[str, Any]:
        """What checks on the flow say about their evidence."""
        return {"witness": self.evidence.source, "reason": self.evidence.missing}

    @property
    def end(self) -> float:
        return float(self.flow.times[-1])

    def at(self, t: float) -> TwoLayerParams:
        return self.flow.at(min(t, self.end))

    def polar(self, t: float) -> tuple[TwoLayerParams, Array]:
        """Unit neurons and log‖w_j‖ at a time: from the weights, and for those that are below float
        range as the flow says."""
        t = min(t, self.end)
        params = self.flow.at(t)
        norms = row_norms(params.W)
        units = TwoLayerParams(np.sign(params.a), unit_rows(params.W))
        with np.errstate(divide="ignore"):
            logs = np.log(norms)
        lost = norms < LEAST_NORM_IN_FLOATS
        if np.any(lost) and self.flow.polar is not None:
            known, log_norms = self.flow.polar(t)
            lengths = row_norms(known.W)
            units.a[lost], units.W[lost] = np.sign(known.a[lost]), unit_rows(known.W)[lost]
            with np.errstate(divide="ignore"):
                logs[lost] = (log_norms + np.log(lengths))[lost]
        return units, logs

    @cached_property
    def limit(self) -> Limit[TwoLayerParams]:
        """θ*, where the flow from λ·g ends as λ → 0, as the early phase predicts it."""
        return saddle_limit(self.setting.problem.data, self.setting.unit)

    @cached_property
    def offsets(self) -> Array:
        """Of the midpoints of the first and the second growth, in B's clock, from the early
        phase."""
        found = self.limit.stats["offset"]
        return np.array([found[0 if cluster.sign > 0 else 1] for cluster in self.setting.clusters])

    def middle(self, i: int) -> float:
        """The midpoint of a cluster's growth in the flow's clock, as predicted."""
        s = self.setting
        return (-s.log_scale / s.clusters[i].rate + float(self.offsets[i])) / s.speed

    @cached_property
    def idle(self) -> float:
        """The largest Σ‖w_j‖² of all idle neurons together, over that of a cluster: what λ > 0
        changes of it, relatively."""
        s = self.setting
        sizes = s.idle_sizes(self.offsets)
        return (
            IDLE_FACTOR * float(np.sum(sizes**2)) / min(cluster.capacity for cluster in s.clusters)
        )

    def error(self, t: float) -> float:
        """The error of the flow around a time, over its largest weight."""
        k = int(np.clip(np.searchsorted(self.flow.times, t), 1, len(self.flow.times) - 1))
        top = max(float(np.max(np.abs(self.at(t).W))), np.finfo(float).tiny)
        return float(np.max(self.flow.error[k - 1 : k + 1])) / top + ROUNDING

    def relative(self, t: float) -> float:
        """The error of each neuron over its own size around a time: NaN where the flow's is known
        over the largest one only."""
        if "relative" in self.flow.stats:
            k = int(np.clip(np.searchsorted(self.flow.times, t), 1, len(self.flow.times) - 1))
            return float(np.max(self.flow.stats["relative"][k - 1 : k + 1])) + ROUNDING
        return relative_error(self.flow, float(np.min(row_norms(self.at(t).W)))) + ROUNDING

    def grown(self, cluster: LabelCluster, level: float) -> float:
        """When u_± first reaches a level."""
        times = self.flow.times
        reached = np.flatnonzero(cluster.size(self.flow.states) >= level)
        if reached.size == 0:
            name = "+" if cluster is self.setting.first else "−"
            raise Unmeasured(f"u_{name} never reaches {level / cluster.capacity:.4g} of its size")
        k = int(reached[0])
        if k == 0:
            return float(times[0])
        return float(
            brentq(
                lambda t: float(cluster.size(self.at(t))) - level,
                times[k - 1],
                times[k],
                xtol=1e-12 * times[k],
            )
        )

    @cached_property
    def t2(self) -> float:
        """End of the second phase, u_+ = n‖D_+‖ − λ^{ε/5}."""
        s = self.setting
        return self._ended(s.first, s.power(1 / 5), "λ^{ε/5}", "n‖D_+‖", 0.0)

    @cached_property
    def t3(self) -> float:
        """End of the third phase, u_− = n‖D_−‖ − λ^{ε/29}."""
        s = self.setting
        # if λ is so small that t₂ is not seen, the second cluster grows later anyway
        seen = s.power(1 / 5) >= ROUNDING * s.n * s.first.rate
        least = self.t2 if seen else 0.0
        return self._ended(s.second, s.power(1 / 29), "λ^{ε/29}", "n‖D_−‖", least)

    def _ended(
        self, cluster: LabelCluster, missing: float, power: str, size: str, least: float
    ) -> float:
        s = self.setting
        level = s.n * cluster.rate - missing
        if level <= 0:
            raise Unmeasured(
                f"{power} = {missing:.2g} exceeds {size} = {s.n * cluster.rate:.2g}: λ is not "
                "below B's λ*, which is not explicit"
            )
        if missing < ROUNDING * level:
            raise Unmeasured(
                f"{power} = {missing:.2g} is below what the flow is known to: λ is too small "
                "for the printed powers to be seen"
            )
        return max(self.grown(cluster, level), s.time(s.epsilon, cluster), least)

    def others(self, params: TwoLayerParams, *clusters: LabelCluster) -> float:
        """The largest ‖w_j‖ outside the clusters."""
        rest = np.setdiff1d(np.arange(len(params.a)), np.concatenate([c.neurons for c in clusters]))
        return float(np.max(np.linalg.norm(params.W[rest], axis=1), initial=0.0))

    def residual(self, params: TwoLayerParams, cluster: LabelCluster) -> Array:
        """y_k − h(x_k) on the labels of a cluster."""
        s = self.setting
        own = cluster.sign * s.y > 0
        return np.asarray((s.y - s.problem.model(params, s.X))[own])

    @cached_property
    def saddle(self) -> TwoLayerParams:
        """θ_S: the first cluster at its limit, all others at zero."""
        best, s = self.limit.value, self.setting
        keep = np.isin(np.arange(len(best.a)), s.first.neurons)
        return TwoLayerParams(np.where(keep, best.a, 0.0), np.where(keep[:, None], best.W, 0.0))

    def gap(self, t: float, point: TwoLayerParams) -> float:
        return distance(self.at(t), point)
