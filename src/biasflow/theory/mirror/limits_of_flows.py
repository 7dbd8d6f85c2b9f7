"""Limits of a flow that somebody hands in: they must be where the flow goes."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array, label_size
from ..._core.results import Limit
from ..evidence import Evidence
from ..verdicts import Check, unknown_check
from .measured import AT_END, NEWTON_ROUNDINGS, measured
from .mirror_witness import below_floats

FAR_DISTANCE = 0.1
"""Distance from the flow's end, over its size, from which no rounding of a limit explains it."""


def of_this_flow(evidence: Evidence, limit: Limit[Array]) -> Check:
    """The end of the flow against the limit, over its largest entry.

    The error is that of the flow, what it has left to go, and the rounding of a limit of its size.
    A limit beyond it that its own certificate allows is left open.
    """
    name = "‖β(T) − limit given‖_∞ over ‖β(T)‖_∞"
    p, value = evidence.mirror, np.asarray(limit.value)
    d = p.X.shape[1]
    if value.shape != (d,) or value.dtype.kind not in "fiu" or not np.all(np.isfinite(value)):
        return unknown_check(name, f"the limit given is no vector of {d} numbers")
    end = evidence.predictors[-1]
    size = max(float(np.max(np.abs(end))), float(np.finfo(float).tiny))
    with np.errstate(over="ignore"):
        distance = min(float(np.max(np.abs(end - value))) / size, float(np.finfo(float).max))
    error = _error(evidence, near=distance <= FAR_DISTANCE) / size
    if not error <= AT_END:
        return unknown_check(name, f"the flow still has {error:.2g} of its way to go")
    reach = float(np.linalg.norm(np.linalg.pinv(p.X), np.inf))
    stated = limit.certificate.residual * label_size(p.y) * reach / size
    if error < distance <= error + stated:
        return unknown_check(
            name, f"the limit given is known to {stated:.2g} only, by its own certificate"
        )
    return Check(name, distance, "==", 0.0, error, witness=evidence.source, reason=evidence.missing)


def _error(evidence: Evidence, near: bool) -> float:
    """Of the distance between the flow's end and a limit that is near it, or is not."""
    if below_floats(evidence.mirror.potential, evidence.mirror.X.shape[1]) is not None:
        return evidence.distance_error
    m = measured(evidence)
    error = float(np.max(m.spread[-1] + 2 * m.left_to_go))
    if not near:
        return error
    scale = m.formulas.scale(m.betas[-1])  # β is a difference of weights of this size
    formed = float(np.max(scale, where=np.isfinite(scale), initial=0.0))
    rounded = NEWTON_ROUNDINGS * float(np.finfo(float).eps) * formed
    return error + float(np.max(m.best_error)) + rounded
