"""R, §3.1 and A.2: a two-layer network with fixed directions is a mirror flow.

The witness is a flow of the weights (a, b) themselves, which knows nothing of the reduction. The
mirror equation is tested on it with R's r and X written down here, and the library's own reduction
is compared with it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.results import Trajectory
from ...errors import BiasflowError
from ...flows import gradient_flow, mirror_flow
from ...models import merge_directions
from ...potentials import Hypentropy, ScaledPotential
from ..evidence import Evidence
from ..examples import fixed_directions_problem, merged_family, network_family, twin_problem
from ..hypotheses import CONE, FELT, FIXED, NONTRIVIAL, SQUARE
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .followed import DUAL_RTOL, GIVEN_ERROR_FACTOR, SAVED, Followed, followed_weights
from .formulas import formulas_of
from .measured import EPS, Measured, farthest

KNOWN_ERROR = 1e-3
"""Error of ∇φ, over its largest change, beyond which a neuron is left out: its β is at rounding."""


class Reduced(Measured):
    """The flow of the weights seen through β_k = Σa_jb_j over groups of neurons, with R's X and
    r."""

    def __init__(self, evidence: Evidence, followed: Followed, groups: Index) -> None:
        self.evidence, self.followed, self.groups = evidence, followed, groups
        p, flow = evidence.network, followed.flow
        a0, b0 = p.start
        count = int(np.max(groups)) + 1
        first = np.array([int(np.flatnonzero(groups == k)[0]) for k in range(count)])
        self.y, self.d = p.data.y, count
        self.X = np.maximum(p.data.X @ p.model.directions[first].T, 0.0)
        self.start = np.asarray(np.bincount(groups, a0 * b0), dtype=np.float64)
        self.r = np.array([printed_radius(a0[groups == k], b0[groups == k]) for k in range(count)])
        self.edge = edge = self.r <= GIVEN_ERROR_FACTOR * EPS * np.bincount(groups, a0**2)
        potential = ScaledPotential(
            0.5, Hypentropy(np.where(edge, 0.0, self.r), sign=np.sign(self.start))
        )
        self.formulas = formulas_of(potential, count, self.start)
        self.times, self.weights = flow.times, flow.states
        self.betas = self._summed(flow.states)
        stated = (
            np.bincount(groups).astype(np.float64)
            * np.maximum.accumulate(flow.predictor_error)[:, None]
        )
        self.spread = followed.error(self._summed, self._sensitivity, stated)
        # of the differences that r is made of
        self.r_error = 8 * EPS * np.bincount(groups, a0**2 + b0**2)
        if self.times[0] > 0:
            self.times, self.betas = np.append(0.0, self.times), np.vstack([self.start, self.betas])
            self.spread = np.vstack([np.zeros(count), self.spread])
        self._best, self._fit, self._source = None, None, followed.source
        self._whole = False

    def _summed(self, states: Any) -> Array:
        beta = states[0] * states[1]
        return np.stack([np.bincount(self.groups, row) for row in np.atleast_2d(beta)])

    def _sensitivity(self, states: Any, error: Any) -> Array:
        return self._summed((states[0], error[1])) + self._summed((states[1], error[0]))

    def beta(self, t: float) -> Array:
        return np.asarray(self._summed(self.followed.flow.at(t))[0])

    @cached_property
    def dual_error(self) -> Array:
        """With that of r: ½arcsinh(β/r) changes by ½β/√(β²+r²) for each unit of log r."""
        with np.errstate(all="ignore"):
            bent = np.abs(
                self.betas / np.hypot(self.betas, self.r)
                - self.start / np.hypot(self.start, self.r)
            )
            from_r = np.where(self.edge, 0.0, bent * self.r_error / (2 * self.r))
            return (
                self.spread / self.formulas.weight(self.betas)
                + 4 * EPS * (1 + np.abs(self.formulas.gradient(self.betas)))
                + from_r
            )

    def force(self, beta: Array) -> Array:
        """−Xᵀ∇ℓ(Xβ)."""
        return -(self.X.T @ self.evidence.network.loss.gradient(self.X @ beta, self.y))


def printed_radius(a: Array, b: Array) -> float:
    """R's r_k, from r_k² = ¼Σ_{i,j}[(a_ia_j−b_ib_j)² + (a_ib_j−b_ia_j)²]; ½(a²−b²) for one
    neuron."""
    # fourth powers underflow
    unit = max(float(np.max(np.abs(a))), float(np.max(np.abs(b))), float(np.finfo(float).tiny))
    a, b = a / unit, b / unit
    first, second = np.outer(a, a) - np.outer(b, b), np.outer(a, b) - np.outer(b, a)
    return float(np.sqrt(np.sum(first**2 + second**2)) / 2) * unit**2


EQUATION = "|½∇Φ_r(β(t)) − ½∇Φ_r(β₀) + ∫Xᵀ(Xβ−y)ds| over its largest term"


def mirror_equation(m: Reduced) -> Check:
    """½∇Φ_r(β(t)) − ½∇Φ_r(β₀) = −∫Xᵀ∇ℓ(Xβ)ds at the times saved, on the weights' own flow."""
    index = np.unique(np.linspace(1, len(m.times) - 1, SAVED).astype(int))
    pushed, quadrature = m.integral(m.force, index)
    moved, error = m.dual[index], m.dual_error[index]
    rounded = 4 * EPS * (np.abs(m.betas) @ np.abs(m.X).T + np.abs(m.y))  # of Xβ − y
    bend = (m.spread @ np.abs(m.X).T + rounded) @ np.abs(m.X)
    along = np.vstack(
        [
            np.zeros(m.d),
            np.cumsum(np.diff(m.times)[:, None] * np.maximum(bend[1:], bend[:-1]), axis=0),
        ]
    )[index]
    size = float(np.max(np.abs(pushed)))
    allowed = error + quadrature[:, None] + along
    with np.errstate(invalid="ignore"):
        known = np.isfinite(moved) & (allowed <= KNOWN_ERROR * size)
    if not np.any(known):
        raise Unmeasured("∇φ has not moved by more than its error")
    off = np.where(known, np.abs(moved - pushed), 0.0)
    k = np.unravel_index(farthest(off.ravel(), allowed.ravel()), off.shape)
    return Check(EQUATION, float(off[k]) / size, "==", 0.0, float(allowed[k]) / size, **m.notes)


def _agreement(m: Reduced, other: Trajectory, betas: Array, quantity: str) -> Check:
    at = np.searchsorted(m.times, other.times)
    size = float(np.max(np.abs(m.betas)))
    error = float(np.max(np.max(m.spread[at], axis=1) + other.predictor_error)) / size
    distance = float(np.max(np.abs(betas - m.betas[at]))) / size
    return Check(quantity, distance, "==", 0.0, error, **m.notes)


def _compared(m: Reduced) -> Array:
    return m.times[np.unique(np.linspace(1, len(m.times) - 1, SAVED).astype(int))]


def _thm3_4(evidence: Evidence) -> tuple[Check, ...]:
    followed = followed_weights(evidence)
    if isinstance(followed, str):
        return (unknown_check("flow of the weights", followed),)
    p = evidence.network
    m = Reduced(evidence, followed, np.arange(p.model.width))
    quantity = "‖β(t) − a(t)b(t)‖_∞ over ‖β‖_∞, mirror flow against the weights"
    try:
        dual = gradient_flow(p, times=_compared(m), rtol=DUAL_RTOL, time_s=evidence.time_left / 2)
        agreement = _agreement(m, dual, p.model.effective(dual.states), quantity)
    except BiasflowError as reason:
        agreement = unknown_check(quantity, f"the mirror flow: {reason}")
    a, b = m.weights
    outputs = np.stack(
        [_network(p.model.directions, *state, p.data.X) for state in zip(a, b, strict=True)]
    )
    beta = p.model.effective(m.weights)
    reach = np.max(np.abs(beta), axis=0) @ m.X.T + EPS
    linear = float(np.max(np.abs(beta @ m.X.T - outputs) / reach))
    rounding = 8 * EPS * p.model.width
    return (
        *part(EQUATION, lambda: mirror_equation(m)),
        agreement,
        Check(
            "|Σb_j(⟨a_jθ_j, x⟩)₊ − Σβ_j(⟨θ_j, x⟩)₊|, relative",
            linear,
            "==",
            0.0,
            rounding,
            witness="the definition",
        ),
    )


def _network(directions: Array, a: Array, b: Array, X: Array) -> Array:
    """Σ_j b_j(⟨a_jθ_j, x⟩)₊."""
    return np.maximum(X @ (a[:, None] * directions).T, 0.0) @ b


def _lemA2(evidence: Evidence) -> tuple[Check, ...]:
    """On raw gradients: nothing in the integration knows of the cone."""
    followed = followed_weights(evidence)
    if isinstance(followed, str):
        return (unknown_check("flow of the weights", followed),)
    flow, p = followed.flow, evidence.network
    a, b = flow.states
    a0, b0 = p.start
    size = float(np.max(np.abs(a) + np.abs(b))) ** 2
    stated = GIVEN_ERROR_FACTOR * flow.predictor_error[:, None] * np.ones_like(a)
    error = followed.error(_difference, lambda w, e: 2 * (w[0] * e[0] + w[1] * e[1]), stated) / size
    inside = _difference(flow.states) / size
    drift = np.abs(inside - _difference((a0, b0)) / size)
    worst = np.unravel_index(farthest(drift.ravel(), error.ravel()), drift.shape)
    k = np.unravel_index(int(np.argmin(inside)), inside.shape)
    least = float(np.min(a)) / float(np.max(a))
    notes = Reduced(evidence, followed, np.arange(p.model.width)).notes
    held = abs(float(inside[k])) >= float(error[k])
    cone = "least a²−b² over (|a|+|b|)² (the cone)"
    return (
        Check(
            "drift of a²−b² over (|a|+|b|)²",
            float(drift[worst]),
            "==",
            0.0,
            float(error[worst]),
            **notes,
        ),
        Check(cone, float(inside[k]), ">=", 0.0, float(error[k]), **notes)
        if held
        else Check(cone + ", on its edge", float(inside[k]), "==", 0.0, float(error[k]), **notes),
        Check(
            "least a(t) over the largest: a keeps its sign",
            least,
            ">=",
            -float(np.sqrt(np.max(error))),
            0.0,
            **notes,
        ),
    )


def _difference(states: Any) -> Array:
    """a² − b²."""
    a, b = states
    return np.asarray((a - b) * (a + b))


def relative(values: Array, unit: Array) -> Array:
    """Values over a unit for each group of neurons; zero for neurons that are zero, which stay
    so."""
    return np.divide(
        values,
        unit,
        out=np.zeros(np.broadcast_shapes(np.shape(values), unit.shape)),
        where=unit > 0,
    )


def _lem3_5(evidence: Evidence) -> tuple[Check, ...]:
    followed = followed_weights(evidence)
    if isinstance(followed, str):
        return (unknown_check("flow of the weights", followed),)
    p = evidence.network
    merged = merge_directions(p)
    m, library = Reduced(evidence, followed, merged.groups), merged.mirror
    quantity = "‖β_k(t) − Σa_jb_j‖_∞ over ‖β‖_∞, merged mirror flow against the weights"
    try:
        flow = mirror_flow(
            library, times=_compared(m), rtol=DUAL_RTOL, time_s=evidence.time_left / 2
        )
        agreement = _agreement(m, flow, flow.states, quantity)
    except BiasflowError as reason:
        agreement = unknown_check(quantity, f"the mirror flow: {reason}")
    a0, b0 = p.start
    start = np.asarray(np.bincount(merged.groups, (np.abs(a0) + np.abs(b0)) ** 2), dtype=np.float64)
    top = np.max(
        [np.bincount(merged.groups, a**2 + b**2) for a, b in zip(*m.weights, strict=True)], axis=0
    )

    def share(states: Any) -> Array:
        """r_k² over (|a|²+|b|²)², squared last: at tiny scales r² is no float."""
        rows = zip(*states, strict=True)
        radii = [
            [printed_radius(a[merged.groups == k], b[merged.groups == k]) for k in range(m.d)]
            for a, b in rows
        ]
        return relative(np.asarray(radii), top) ** 2

    def moved(states: Any, error: Any) -> Array:
        """|dr²| ≤ ½|a+b||a−b|(|a−b||d(a+b)| + |a+b||d(a−b)|) ≤ (|a|+|b|)³(|da|+|db|)."""
        size = [
            np.stack([np.sqrt(np.bincount(merged.groups, row**2)) for row in leaf])
            for leaf in (*states, *error)
        ]
        return relative(size[0] + size[1], np.sqrt(top)) ** 3 * relative(
            size[2] + size[3], np.sqrt(top)
        )

    drift = np.abs(share(m.weights) - relative(m.r, top) ** 2)
    stated = GIVEN_ERROR_FACTOR * relative(
        np.broadcast_to(followed.flow.predictor_error[:, None], drift.shape), top
    )
    error = followed.error(share, moved, stated)
    k = np.unravel_index(farthest(drift.ravel(), error.ravel()), drift.shape)
    # sums, and r = e^{log r}, whose rounding grows with |log r|
    logs = np.abs(np.log(np.where(merged.r > 0, merged.r, 1.0)))
    rounding = 16 * EPS * (float(np.max(np.bincount(merged.groups))) + float(np.max(logs)))
    return (
        *part(EQUATION, lambda: mirror_equation(m)),
        agreement,
        Check(
            "r_k² as printed against (½‖a+b‖·‖a−b‖)², over (|a|+|b|)⁴",
            float(np.max(np.abs(relative(m.r, start) ** 2 - relative(merged.r, start) ** 2))),
            "==",
            0.0,
            rounding,
            witness="R's double sum",
        ),
        Check(
            "drift of r_k² along the weights, over (|a|²+|b|²)²",
            float(drift[k]),
            "==",
            0.0,
            float(error[k]),
            **m.notes,
        ),
    )


thm3_4 = Claim(
    "R/thm3.4",
    "β_j = a_jb_j follows a mirror flow with potential ½Φ_r, r = ½(a₀²−b₀²), and X_ij = (⟨θ_j, "
    "x_i⟩)₊.",
    "R, Theorem 3.4",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    fixed_directions_problem,
    _thm3_4,
    kind=Kind.FLOW,
    witness="∇L followed in the weights",
    family=network_family,
)
lem3_5 = Claim(
    "R/lem3.5",
    "Neurons with equal directions merge: β_k = Σa_jb_j follows ½Φ_r with r_k² = "
    "¼Σ_{i,j}[(a_ia_j−b_ib_j)² + (a_ib_j−b_ia_j)²]"
    " = ¼‖a+b‖²‖a−b‖², X_ik = (⟨θ_k, x_i⟩)₊ (indices transposed in print).",
    "R, Lemma 3.5",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    twin_problem,
    _lem3_5,
    kind=Kind.FLOW,
    witness="∇L followed in the weights",
    family=merged_family,
)
lemA2 = Claim(
    "R/lemA2",
    "The cone a_j² ≥ b_j² is invariant, a_j²−b_j² is conserved, and a_j keeps its sign.",
    "R, Lemma A.2",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    fixed_directions_problem,
    _lemA2,
    kind=Kind.FLOW,
    witness="∇L followed in the weights",
    family=network_family,
)

CLAIMS = (thm3_4, lem3_5, lemA2)
