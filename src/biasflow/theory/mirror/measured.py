"""What the claims about mirror flow measure on a trajectory: divergences, losses, dissipation, each
with its error.

The trajectory is the evidence's, the witness as a rule. φ is taken from `formulas`, β* from the
limit under test, integrals over time from the dense output. Nothing is asked of the mirror flow's
dual form.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.results import Limit
from ...errors import InconsistentError, InfeasibleError
from ...limits import mirror_limit
from ..evidence import Evidence
from ..hypotheses import consistent_failure
from ..verdicts import Check, unknown_check
from .formulas import formulas_of
from .mirror_witness import below_floats, enveloped

EPS = float(np.finfo(float).eps)
RESOLVED_ERROR = 1e-3
"""Relative error of D_φ up to which a rate is read off it: three digits."""
LEAST_FALL = 1e-3
"""Relative fall of D after which a rate that is averaged from the start is read: earlier the
difference is all error."""
SLOWER_FACTOR = 10.0
"""The null model of every rate: a flow so many times slower. A bound that it satisfies too says
little."""
SLOW_FLOW = f"a flow {SLOWER_FACTOR:g} times slower"
AT_END = 1e-4
"""Distance that a flow still has to go, over its size, beyond which its end says nothing about the
limit, nor it of all times."""
LARGEST_SQUARED = 1e150
"""Entries of X and y beyond which F, a sum of squares, is no float."""
INTEGRAL_ERROR = 1e-10
"""Relative error of an integral over time, to which intervals are halved."""
HALVINGS = 8
"""Of an interval between two saved times at most."""
ACCEPTED_RESIDUAL = 1e-9
"""Residual of β*, over the larger of one and the labels, and of ∇φ(β*), at which the projection's
solver may stop."""
NEWTON_ROUNDINGS = 100.0
"""Units of rounding in β* that Newton's method leaves: its last step is at the rounding of its
residual."""


class Measured:
    """A trajectory with what R's statements speak about. Times begin at zero, whatever was
    saved."""

    def __init__(
        self,
        evidence: Evidence,
        best: Limit[Array] | None = None,
        fit: Array | None = None,
        source: str = "",
    ) -> None:
        self.evidence, m, flow = evidence, evidence.mirror, evidence.trajectory
        self.X, self.y, self.d = m.X, m.y, m.X.shape[1]
        self.formulas = formulas_of(m.potential, self.d, m.beta0)
        self.start = np.asarray(
            self.formulas.inverse(np.zeros(self.d)) if m.beta0 is None else m.beta0,
            dtype=np.float64,
        )
        betas, times = evidence.predictors, flow.times
        spread = flow.stats.get(
            "spread", enveloped(np.broadcast_to(flow.predictor_error[:, None], betas.shape))
        )
        if times[0] > 0:
            times, betas = np.append(0.0, times), np.vstack([self.start, betas])
            spread = np.vstack([np.zeros(self.d), spread])
        self.times, self.betas, self.spread = times, betas, spread
        self._best, self._fit, self._whole = best, fit, bool(source)
        followed = "∇F followed in β" if flow.stats.get("method") == "primal" else evidence.source
        self._source = source or (evidence.source and followed)

    @property
    def witness(self) -> str:
        """The source of the trajectory, where the potential's formulas are known apart from it and
        it was followed to its end."""
        return self._source if self.formulas.independent and not self.unseen else ""

    @property
    def notes(self) -> dict[str, Any]:
        """What a check on this trajectory rests on."""
        return {"witness": self.witness, "reason": self.missing}

    @property
    def missing(self) -> str:
        if not self._source:
            return self.evidence.missing
        return (
            self.unseen
            if self.formulas.independent
            else "no witness: the potential is known by its own code alone"
        )

    @cached_property
    def unseen(self) -> str:
        """What statements about all times miss where the flow stops on its way; empty where it has
        ended."""
        if self._whole:
            return ""
        left = float(np.max(self.left_to_go)) / max(
            float(np.max(np.abs(self.betas[-1]))), float(np.finfo(float).tiny)
        )
        if left <= AT_END:
            return ""
        return (
            f"the flow was followed to t = {self.times[-1]:.3g}, with {left:.2g} of its way to "
            "go: what comes later was not seen"
        )

    @cached_property
    def left_to_go(self) -> Array:
        """`remaining`; where F pushes coordinates to the wall of their half-line, their own size
        and the step of the others."""
        if not np.any(self.formulas.signs):
            return self.remaining
        end = self.betas[-1]
        held = self.formulas.signs * self.gradient(end) > 0
        root = np.sqrt(self.formulas.weight(end)) * ~held
        step = np.abs(root * np.linalg.lstsq(self.X * root, self.fit - self.X @ end, rcond=None)[0])
        other = np.where(held, np.abs(end), step)
        return other if np.max(other) < np.max(self.remaining) else self.remaining

    @cached_property
    def limit(self) -> Limit[Array]:
        found = self._predicted() if self._best is None else self._best
        return dataclasses.replace(found, value=np.asarray(found.value, dtype=np.float64))

    def _predicted(self) -> Limit[Array]:
        try:
            return self.evidence.limit
        except (InconsistentError, InfeasibleError):
            m = self.evidence.mirror
            return mirror_limit(m.potential, m.X, m.y, m.beta0)

    @cached_property
    def best(self) -> Array:
        return self.limit.value

    @cached_property
    def best_error(self) -> Array:
        """Of each β*_i: rounding of β* and of the η₀ + Xᵀν it comes from, what its solver left, its
        residual as a Newton step."""
        size = float(np.max(np.abs(self.best), initial=0.0))
        kept = ACCEPTED_RESIDUAL * max(1.0, float(np.max(np.abs(self.y))))
        left = np.clip(self.X @ self.best - self.fit, -kept, kept)
        w = self.formulas.weight(self.best)
        step = np.sqrt(w) * np.linalg.lstsq(self.X * np.sqrt(w), left, rcond=None)[0]
        with np.errstate(all="ignore"):
            first, eta = self.formulas.gradient(self.start), self.formulas.gradient(self.best)
        known = np.isfinite(eta)  # not at a wall
        nu = np.linalg.lstsq(self.X[:, known].T, (eta - first)[known], rcond=None)[0]
        loose = min(self.limit.certificate.membership, ACCEPTED_RESIDUAL) * max(
            1.0, float(np.max(np.abs(eta[known]), initial=0.0))
        )
        rounded = w * (8 * EPS * (np.abs(first) + np.abs(self.X).T @ np.abs(nu)) + loose)
        return (
            NEWTON_ROUNDINGS * EPS * (np.abs(self.best) + EPS * size)
            + np.abs(step)
            + np.where(known, rounded, 0.0)
        )

    @cached_property
    def fit(self) -> Array:
        """What Xβ* should be: y, or its least-squares fit ŷ where no β has Xβ = y."""
        if self._fit is not None:
            return self._fit
        return (
            self.y
            if consistent_failure(self.evidence.mirror) is None
            else least_fit(self.X, self.y)
        )

    @cached_property
    def excess(self) -> Array:
        """F − F* = ½‖Xβ − ŷ‖² on all of R^d, since y − ŷ is orthogonal to every Xβ."""
        return 0.5 * np.sum((self.betas @ self.X.T - self.fit) ** 2, axis=1)

    @cached_property
    def excess_error(self) -> Array:
        return self._quadratic_error(self.betas @ self.X.T - self.fit)

    @cached_property
    def residuals(self) -> Array:
        return self.betas @ self.X.T - self.y

    @cached_property
    def F(self) -> Array:
        return 0.5 * np.sum(self.residuals**2, axis=1)

    @cached_property
    def F_error(self) -> Array:
        """First and second order in the error of β, and the rounding of Xβ."""
        return self._quadratic_error(self.residuals)

    def _quadratic_error(self, residuals: Array) -> Array:
        gain = self.spread @ np.abs(self.X).T + 4 * EPS * (
            np.abs(self.betas) @ np.abs(self.X).T + np.abs(self.y)
        )
        return np.sum(np.abs(residuals) * gain + gain**2 / 2, axis=1)

    def divergence(self, target: Array) -> Array:
        """D_φ(target, β(t)) along the trajectory."""
        return np.sum(self.formulas.divergence(target, self.betas), axis=1)

    def divergence_error(self, target: Array, target_error: Array | float) -> Array:
        """What the errors of β(t) and of the target make of it."""
        f = self.formulas
        with np.errstate(all="ignore"):
            steep = np.abs(self.betas - target) / f.weight(self.betas) * self.spread
            steep = steep + self.spread**2 / f.weight(self.betas)
            shift = np.abs(f.gradient(target) - f.gradient(self.betas)) * target_error
            wall = f.conjugate(self.spread) - f.conjugate(np.zeros(self.d))
        shift = np.where(np.isfinite(shift), shift, 0.0)
        # there D_φ(0, β) is a multiple of |β|
        steep = np.where((f.signs != 0) & (target == 0), wall, steep)
        rounding = np.sum(f.rounding(target, self.betas), axis=1)
        return (
            np.sum(np.where(self.betas == target, 0.0, steep), axis=1)
            + np.sum(shift, axis=1)
            + rounding
        )

    @cached_property
    def D(self) -> Array:
        """D_φ(β*, β(t))."""
        return self.divergence(self.best)

    @cached_property
    def D_error(self) -> Array:
        return self.divergence_error(self.best, self.best_error)

    @cached_property
    def resolved(self) -> Index:
        """The times, as indices, at which D is known to three digits."""
        return np.flatnonzero((self.D_error <= RESOLVED_ERROR * self.D) & (self.D > 0))

    @cached_property
    def dual(self) -> Array:
        """∇φ(β(t)) − ∇φ(β₀)."""
        f = self.formulas
        with np.errstate(all="ignore"):
            return f.gradient(self.betas) - f.gradient(self.start)

    @cached_property
    def dual_error(self) -> Array:
        f = self.formulas
        with np.errstate(all="ignore"):
            return self.spread / f.weight(self.betas) + 4 * EPS * (
                1 + np.abs(f.gradient(self.betas))
            )

    def beta(self, t: float) -> Array:
        return np.asarray(self.evidence.effective(self.evidence.trajectory.at(t)))

    def integral(self, density: Callable[[Array], Array], index: Index) -> tuple[Array, Array]:
        """(∫₀^{t_k} density(β(s))ds, its error) at the times with these indices, by Gauss–Legendre
        rules of 4 and 7 nodes; `Unmeasured` is raised when the evidence's time is over."""
        last = int(np.max(index))
        sizes = np.array([float(np.max(np.abs(density(beta)))) for beta in self.betas[: last + 1]])
        spans = np.diff(self.times[: last + 1]) * np.maximum(sizes[1:], sizes[:-1])
        allowed = INTEGRAL_ERROR * float(np.max(spans, initial=0.0))
        values = []
        for a, b in itertools.pairwise(self.times[: last + 1].tolist()):
            _ = self.evidence.time_left
            values.append(self._halved(density, a, b, allowed, HALVINGS))
        shape = np.shape(density(self.start))
        total = np.cumsum(np.array([np.zeros(shape), *(v for v, _ in values)]), axis=0)
        error = np.cumsum([0.0, *(e for _, e in values)])
        return total[index], error[index]

    def _halved(
        self, density: Callable[[Array], Array], a: float, b: float, allowed: float, left: int
    ) -> tuple[Array, float]:
        values = []
        for nodes, weights in (_FOUR, _SEVEN):
            points = [density(self.beta(a + (b - a) * (x + 1) / 2)) for x in nodes]
            values.append((b - a) / 2 * np.tensordot(weights, np.array(points), axes=1))
        error = float(np.max(np.abs(values[1] - values[0]))) + 4 * EPS * float(
            np.max(np.abs(values[1]))
        )
        if error <= allowed or left == 0:
            return values[1], error
        middle = (a + b) / 2
        one = self._halved(density, a, middle, allowed, left - 1)
        two = self._halved(density, middle, b, allowed, left - 1)
        return one[0] + two[0], one[1] + two[1]

    def gradient(self, beta: Array) -> Array:
        """∇F."""
        return self.X.T @ (self.X @ beta - self.y)

    def dissipation(self, beta: Array) -> Array:
        """−dF/dt = ⟨∇F, ∇F/φ''⟩."""
        g = self.gradient(beta)
        return np.asarray(g @ (self.formulas.weight(beta) * g))

    @cached_property
    def dissipation_error(self) -> Array:
        """What the error of β makes of the dissipation at each time, to first order."""
        w, g = self.formulas.weight(self.betas), np.abs(self.residuals @ self.X)
        slope = (
            np.abs(self.formulas.slope(self.betas))
            if self.formulas.slope
            else w / self.formulas.scale(self.betas)
        )
        moved = (self.spread @ np.abs(self.X).T) @ np.abs(self.X)
        return np.sum(2 * g * w * moved + g**2 * slope * self.spread, axis=1)

    @cached_property
    def remaining(self) -> Array:
        """How far each β_i still is from where it goes when the flow stops: the Newton step from
        there."""
        w = self.formulas.weight(self.betas[-1])
        root = self.X * np.sqrt(w)
        step = np.linalg.lstsq(root, self.fit - self.X @ self.betas[-1], rcond=None)[0]
        return np.abs(np.sqrt(w) * step)


_FOUR = np.polynomial.legendre.leggauss(4)
_SEVEN = np.polynomial.legendre.leggauss(7)
_MEASURED: weakref.WeakKeyDictionary[Evidence, Measured] = weakref.WeakKeyDictionary()


def measured(evidence: Evidence) -> Measured:
    """What is measured on this evidence, once."""
    if evidence not in _MEASURED:
        _MEASURED[evidence] = Measured(evidence)
    return _MEASURED[evidence]


def least_fit(X: Array, y: Array) -> Array:
    """ŷ: the orthogonal projection of y onto Im X."""
    left, singular, _ = np.linalg.svd(X, full_matrices=False)
    kept = left[:, singular > max(X.shape) * EPS * singular[0]]
    return kept @ (kept.T @ y)


def within_floats(
    check: Callable[[Evidence], tuple[Check, ...]],
) -> Callable[[Evidence], tuple[Check, ...]]:
    """A check that is left open where r is so small that β, which it follows, says nothing, or F is
    no float."""

    @functools.wraps(check)
    def checked(evidence: Evidence) -> tuple[Check, ...]:
        m = evidence.mirror
        reason = below_floats(m.potential, m.X.shape[1])
        if max(float(np.max(np.abs(m.X))), float(np.max(np.abs(m.y)))) >= LARGEST_SQUARED:
            reason = (
                f"X or y has entries beyond {LARGEST_SQUARED:g}: F is out of the range of floats"
            )
        return check(evidence) if reason is None else (unknown_check("the flow in β", reason),)

    return checked


def farthest(off: Array, allowed: Array) -> int:
    """Where a distance is largest in units of what is allowed."""
    with np.errstate(all="ignore"):
        share = np.where(off > 0, off / allowed, 0.0)
    return int(np.argmax(np.where(np.isnan(share), -1.0, share)))


def rate_check(
    quantity: str, gained: Array, error: Array, since: Array, rate: float, **notes: Any
) -> Check:
    """The least of gained/since over the times after the start, against a rate; its null model is a
    slower flow.

    gained: what a flow that meets the rate exactly would gain at constant speed: log(D₀/D) or 1/D −
    1/D₀. A rate that is met to
    the error, where that is small, is attained: an equality.
    """
    with np.errstate(all="ignore"):
        known = (since > 0) & np.isfinite(gained) & (error <= RESOLVED_ERROR * np.abs(gained))
    later = np.flatnonzero(known)
    if later.size == 0:
        return unknown_check(quantity, "the flow has not left its start by more than the error")
    pace, unsure = gained[later] / since[later], error[later] / since[later]
    k = int(np.argmin(pace))
    least, off = float(pace[k]), float(unsure[k])
    if abs(least - rate) < off <= RESOLVED_ERROR * rate:
        return Check(
            f"{quantity} (attained)", least, "==", rate, off, null=least / SLOWER_FACTOR, **notes
        )
    return Check(quantity, least, ">=", rate, off, null=least / SLOWER_FACTOR, **notes)


def exponential_check(quantity: str, m: Measured, index: Index, rate: float) -> Check:
    """D(t) ≤ D(t_first)·e^{−rate·(t − t_first)}, as a bound on the rate, from the first of these
    times on."""
    first, later = _since(m, index)
    if later.size == 0:
        return unknown_check(quantity, "the flow has not left its start by more than the error")
    gained = np.log(m.D[first] / m.D[later])
    error = m.D_error[first] / m.D[first] + m.D_error[later] / m.D[later]
    return rate_check(quantity, gained, error, m.times[later] - m.times[first], rate, **m.notes)


def hyperbolic_check(quantity: str, m: Measured, index: Index, rate: float) -> Check:
    """D(t) ≤ 1/(rate·(t − t_first) + 1/D(t_first)), as a bound on the rate."""
    first, later = _since(m, index)
    if later.size == 0:
        return unknown_check(quantity, "the flow has not left its start by more than the error")
    gained = 1 / m.D[later] - 1 / m.D[first]
    error = m.D_error[first] / m.D[first] ** 2 + m.D_error[later] / m.D[later] ** 2
    return rate_check(quantity, gained, error, m.times[later] - m.times[first], rate, **m.notes)


def _since(m: Measured, index: Index) -> tuple[int, Index]:
    if index.size == 0:
        return 0, index
    first = int(index[0])
    return first, index[m.D[index] <= (1 - LEAST_FALL) * m.D[first]]


def ended_check(m: Measured) -> Check:
    """D_φ(β*, β(T)) is gone where the flow has ended: β(t) → β*. What is left is a Newton step."""
    name = "D_φ(β*, β(T)) over D₀, where the flow has ended"
    left, size = m.remaining, float(np.max(np.abs(m.betas[-1])))
    if not float(np.max(left)) <= RESOLVED_ERROR * size:
        return unknown_check(
            name, f"the flow still has {float(np.max(left)) / size:.2g} of its way to go"
        )
    with np.errstate(all="ignore"):
        step = 2 * (left + m.spread[-1] + m.best_error)
        allowed = float(np.sum(np.where(step > 0, step**2 / m.formulas.weight(m.betas[-1]), 0.0)))
    return Check(name, float(m.D[-1] / m.D[0]), "==", 0.0, float(allowed / m.D[0]) + EPS, **m.notes)


def membership_check(quantity: str, X: Array, vector: Array, error: Array, **notes: Any) -> Check:
    """Distance of a vector from Im Xᵀ, over its length, on the coordinates where its error is small
    enough to say anything."""
    size = float(np.max(np.abs(vector[np.isfinite(vector)]), initial=0.0))
    with np.errstate(invalid="ignore"):
        known = np.isfinite(vector) & (error <= RESOLVED_ERROR * size)
    if size == 0 or not np.any(known):
        return unknown_check(quantity, "∇φ has not moved by more than its error")
    part, columns = vector[known], X[:, known]
    basis = np.linalg.svd(columns, full_matrices=False)
    kept = basis[2][basis[1] > max(columns.shape) * EPS * basis[1][0]]
    off = part - kept.T @ (kept @ part)
    length = float(np.linalg.norm(part))
    allowed = float(np.linalg.norm(error[known])) / length + 8 * EPS * len(part)
    return Check(quantity, float(np.linalg.norm(off)) / length, "==", 0.0, allowed, **notes)
