"""Classifiers that somebody hands in: they must have the largest margin, as C defines it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.problems import Dataset, Problem
from ..._core.results import Limit
from ...limits import KernelClassifier, f1_max_margin, f2_max_margin
from ...models import Particles, SignedTwoLayer, augmented
from ..evidence import Evidence
from ..unmeasured import Unmeasured
from ..verdicts import Check
from .margin_setting import inputs_of
from .routes import circle_kernel
from .trained import trained

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-12
"""What a mass or a length of one leaves in floats."""

DIRECT = "f summed over its neurons"


def of_f1_margin(evidence: Evidence, limit: Limit[Any]) -> tuple[Check, ...]:
    """A measure of mass one on unit neurons, whose margin is γ₁, between certified bounds."""
    data, problem = inputs_of(evidence.problem), evidence.problem
    power = 2 if isinstance(problem, Problem) and isinstance(problem.model, SignedTwoLayer) else 1
    measure = measure_of(limit, data, power)
    if isinstance(problem, Problem):
        best = trained(evidence).best
    else:
        best = f1_max_margin(data.X, data.y, time_s=evidence.time_left / 2)
    margin = float(np.min(data.y * _values(measure, data, power)))
    return (
        *mass_checks(measure),
        *margin_checks(limit, margin, best.certificate.primal, best.certificate.dual, data),
    )


def of_f2_margin(evidence: Evidence, limit: Limit[Any]) -> tuple[Check, ...]:
    """A classifier of norm one in the kernel's space, whose margin is γ₂."""
    data, found = inputs_of(evidence.problem), limit.value
    if not isinstance(found, KernelClassifier) or found.points.shape[1:] != data.X.shape[1:]:
        raise Unmeasured(f"it is a {type(found).__name__}, needs a KernelClassifier on the inputs")
    best = f2_max_margin(data.X, data.y, time_s=evidence.time_left / 2).certificate
    points, c = augmented(found.points), found.coefficients
    kernel = circle_kernel(points, points)
    norm = float(np.sqrt(np.maximum(c @ kernel @ c, 0.0)))
    margin = float(np.min(data.y * (circle_kernel(augmented(data.X), points) @ c)))
    upper = max(best.dual, float(np.finfo(float).tiny))
    noise = EPS * (8 * float(np.max(kernel)) + len(c) * float(np.linalg.norm(kernel, 2))) / upper**2
    size = Check("norm of the classifier given", norm, "==", 1.0, noise, DIRECT)
    return (size, *margin_checks(limit, margin, best.primal, best.dual, data, noise))


def measure_of(limit: Limit[Any], data: Dataset, power: int = 1) -> Particles:
    """The measure that was handed in, on these inputs."""
    value = limit.value
    if power == 2 and type(value) is tuple and len(value) == 3:
        u, signs, masses = (np.asarray(each, dtype=np.float64) for each in value)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = Particles(u, signs, np.log(masses))
    if not isinstance(value, Particles):
        raise Unmeasured(f"it is a {type(value).__name__}, needs Particles")
    u, signs, logs = (np.asarray(each) for each in value)
    if u.shape != (len(signs), data.d + 1) or len(logs) != len(signs):
        raise Unmeasured(f"its directions have the shape {u.shape}, the inputs {data.d} columns")
    return value


def _values(measure: Particles, data: Dataset, power: int) -> Any:
    hidden = np.maximum(augmented(data.X) @ measure.directions.T, 0.0) ** power
    return hidden @ (np.exp(measure.log_masses) * measure.signs) / (2 if power == 1 else 1)


def mass_checks(measure: Particles) -> tuple[Check, Check]:
    """Mass one, on unit directions."""
    lengths = np.linalg.norm(measure.directions, axis=1)
    mass = float(np.sum(np.exp(measure.log_masses)))
    far = float(lengths[int(np.argmax(np.abs(lengths - 1)))])
    return (
        Check("total mass of the measure given", mass, "==", 1.0, ROUNDING, DIRECT),
        Check("length of its directions, farthest from one", far, "==", 1.0, ROUNDING, DIRECT),
    )


def margin_checks(
    limit: Limit[Any] | None,
    margin: float,
    lower: float,
    upper: float,
    data: Dataset,
    noise: float = 0.0,
) -> tuple[Check, ...]:
    """A margin, and the one that a limit states, against certified bounds of the largest."""
    top = max(upper, float(np.finfo(float).tiny))
    rows = augmented(data.X)
    error = (upper - lower) / top + noise
    error += 16 * EPS * float(np.max(np.linalg.norm(rows, axis=1))) / top
    quantity = "margin of the classifier given, over the largest"
    found = Check(quantity, margin / top, "==", 1.0, error, DIRECT)
    if limit is None:
        return (found,)
    gap = float(limit.certificate.gap)
    if error < abs(margin / top - 1) <= error + gap:
        raise Unmeasured(f"the limit given is known to {gap:.2g} only, by its own certificate")
    stated = Check(
        "margin that it states, over the largest", limit.objective / top, "==", 1.0, error, DIRECT
    )
    return found, stated
