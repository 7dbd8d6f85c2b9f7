"""What flows, limits and certificates say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .facts import Fact, Facts, brief, shape_of
from .markup import Markup, digits_bar, sparkline, stems
from .problems import MirrorProblem, Problem

if TYPE_CHECKING:
    from .results import Certificate, Enclosure, Limit, Trajectory


def trajectory_facts(flow: Trajectory[Any]) -> Facts:
    """Model and data, the loss, why and when it ended, how well it is known."""
    worst = np.max(flow.error) if np.size(flow.error) else np.nan
    told = [f"{key} {flow.stats[key]}" for key in ("method", "engine", "rtol") if key in flow.stats]
    counts = [f"{len(flow.times)} states"]
    counts += [f"{len(flow.events)} events"] if flow.events else []
    counts += [] if flow.unique else [f"{len(flow.stats['branches'])} branches"]
    title, data = _asked(flow.problem)
    lines = [
        Fact("data", data),
        Fact(
            "loss",
            f"{flow.loss[0]:.4g} → {flow.loss[-1]:.4g}",
            lambda: sparkline(flow.times, flow.loss, "loss over time"),
        ),
    ]
    if flow.margin is not None:
        lines.append(Fact("margin", f"{flow.margin[0]:.4g} → {flow.margin[-1]:.4g}"))
    dead = len(flow.stats.get("dead", ()))
    off = f"; {dead} neurons are active on no input" if dead else ""
    lines += [
        Fact("end", f"{flow.result.value}{off}"),
        Fact("time", f"{flow.times[0]:.4g} … {flow.times[-1]:.4g}, {', '.join(counts)}"),
        Fact("error", "; ".join([f"about {worst:.1g}", *([", ".join(told)] if told else [])])),
    ]
    return Facts(f"Trajectory of {title}", tuple(lines))


def limit_facts(limit: Limit[Any]) -> Facts:
    """The objective between its bounds, the proof, the value and the theorem."""
    proof = limit.certificate
    value = limit.value if isinstance(limit.value, np.ndarray) else np.empty(0)
    lines = [
        Fact("objective", f"{limit.objective:.8g} in {bracket_of(proof)}"),
        proof_fact(proof.gap, proof.kind, proof.residual),
        Fact("value", shape_of(limit.value), lambda: stems(value, "the value, by coordinate")),
    ]
    lines += [Fact("source", limit.source)] if limit.source else []
    return Facts("Limit", tuple(lines))


def certificate_facts(proof: Certificate) -> Facts:
    """Both bounds, and what else can be off."""
    lines = [
        Fact("primal", f"{proof.primal:.12g}"),
        Fact("dual", f"{proof.dual:.12g}"),
        proof_fact(proof.gap, proof.kind),
        Fact("residual", f"{proof.residual:.1e}"),
    ]
    lines += [Fact("membership", f"{proof.membership:.1e}")] if proof.membership else []
    return Facts("Certificate", tuple(lines))


def _asked(problem: Problem | MirrorProblem) -> tuple[str, str]:
    """The model, or the potential, and the data."""
    if isinstance(problem, MirrorProblem):
        n, d = problem.X.shape
        return brief(problem.potential), f"n = {n}, d = {d}"
    data = problem.data
    name = f"{data.name}: " if data.name else ""
    return brief(problem.model), f"{name}n = {data.n}, d = {data.d}"


def proof_fact(gap: float, kind: str, residual: float | None = None) -> Fact:
    """What kind of proof, and how many digits it settles."""

    def drawn() -> Markup:
        return digits_bar(gap, kind)

    left = "" if residual is None else f", residual {residual:.1e}"
    return Fact("certificate", f"{kind}, relative gap {gap:.1e}{left}", drawn)


def bracket_of(bounds: Enclosure) -> str:
    """Two bounds."""
    return f"[{bounds.lower:.6g}, {bounds.upper:.6g}]"
