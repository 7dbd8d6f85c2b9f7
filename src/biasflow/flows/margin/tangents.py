"""Two-layer networks as the margin flow sees them: signed predictions h, and their tangents over a
step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array, Index, Mask
from ...models import SignedTwoLayer, SignedTwoLayerParams, TwoLayer, TwoLayerParams
from .dual_weights import Kernel


class StepTangent(NamedTuple):
    """A step dt as the weights p see it: it ends at end(p), where h is about margins + dt·Kp, K =
    kernel(); pull(p) is the velocity at its start.

    corrected(p, apart): the tangent of the gates that p leads to, or None where it ends within
    `apart` of this one.
    """

    margins: Array
    pull: Callable[[Array], Any]
    end: Callable[[Array], Any]
    kernel: Callable[[], Kernel]
    corrected: Callable[[Array, float], StepTangent | None]


INSTANT = 1e-9
"""Length of a step that asks for the velocity only."""


class MarginView(ABC):
    """A 2-homogeneous network on labelled samples."""

    @abstractmethod
    def margins(self, params: Any) -> Array:
        """h_i = y_i·f(w, x_i)."""

    @abstractmethod
    def tangent(self, params: Any, weights: Array, dt: float) -> StepTangent:
        """The tangent over a step dt along which the samples weigh about `weights`."""

    def velocity(self, params: Any, weights: Array) -> Any:
        """ẇ = ∂h/∂w·p."""
        return self.tangent(params, weights, INSTANT).pull(weights)


class SignedView(MarginView):
    """Squared ReLUs: the tangent at the start of the step."""

    def __init__(self, model: SignedTwoLayer, X: Array, y: Array) -> None:
        self.model, self.X, self.y = model, X, y
        self.gram = 4 * (y[:, None] * y) * (X @ X.T)

    def margins(self, params: SignedTwoLayerParams) -> Array:
        return np.asarray(self.y * self.model(params, self.X))

    def tangent(self, params: SignedTwoLayerParams, weights: Array, dt: float) -> StepTangent:
        hidden = self.model.hidden(params, self.X)
        signs, none = np.asarray(self.model.signs), np.empty((0, len(self.y)))

        def pull(p: Array) -> SignedTwoLayerParams:
            return SignedTwoLayerParams(2 * signs[:, None] * ((hidden * (self.y * p)) @ self.X))

        return StepTangent(
            self.y * (signs @ hidden**2),
            pull,
            lambda p: SignedTwoLayerParams(params.W + dt * pull(p).W),
            lambda: tangent_kernel(none, hidden, self.gram, none),
            lambda p, apart: None,
        )


class StepGates(NamedTuple):
    """Average gates over a step and which samples a neuron slides on at its end (m, n); which
    neurons slide, and which are active at any time (m,)."""

    shares: Array
    slides: Mask
    sliding: Mask
    live: Mask


class _Place(NamedTuple):
    """Where a step begins: ⟨w, x⟩ and what the ReLUs make of it (m, n), the network's outputs (n,),
    ‖w‖ (m,), and how long it lasts."""

    params: TwoLayerParams
    projections: Array
    hidden: Array
    outputs: Array
    lengths: Array
    dt: float


class ReluView(MarginView):
    """ReLUs: every neuron is followed through the kinks that a step meets."""

    def __init__(self, model: TwoLayer, X: Array, y: Array) -> None:
        self.model, self.X, self.y = model, np.ascontiguousarray(X), y
        self.gram = X @ X.T

    def margins(self, params: TwoLayerParams) -> Array:
        return np.asarray(self.y * self.model(params, self.X))

    def tangent(self, params: TwoLayerParams, weights: Array, dt: float) -> StepTangent:
        """A neuron that slides on inputs is projected off them, where it stays whatever the weights
        turn out to be."""
        projections = params.W @ self.X.T
        hidden = np.maximum(projections, self.model.negative_slope * projections)
        lengths = np.sqrt(np.einsum("jk,jk->j", params.W, params.W))
        place = _Place(params, projections, hidden, params.a @ hidden, lengths, float(dt))
        return self._gated(place, self._gates(place, weights))

    def _gates(self, place: _Place, weights: Array) -> StepGates:
        from .gate_paths import step_gates

        found = step_gates(
            place.projections,
            place.params.a,
            self.y * weights,
            self.X,
            place.lengths,
            float(self.model.negative_slope),
            place.dt,
        )
        return StepGates(*found)

    def _gated(self, place: _Place, gates: StepGates) -> StepTangent:
        """The tangent with these average gates and slides."""
        from .gate_paths import sliding_bases

        (a, W), hidden, dt = place.params, place.hidden, place.dt
        moved, base, outputs = a[:, None] * gates.shares, W, place.outputs
        sliding, slides = np.flatnonzero(gates.sliding), gates.slides
        bases = sliding_bases(self.X, slides[sliding])

        def onto(rows: Array) -> Array:
            """Rows (m, d), those of sliding neurons projected off their inputs."""
            if sliding.size == 0:
                return rows
            projected, own = rows.copy(), rows[sliding]
            along = bases @ own[:, :, None]
            projected[sliding] = own - (along.swapaxes(1, 2) @ bases)[:, 0]
            return projected

        def pull(p: Array) -> TwoLayerParams:
            q = self.y * p
            return TwoLayerParams(hidden @ q, onto((moved * q) @ self.X))

        def end(p: Array) -> TwoLayerParams:
            pulled = pull(p)
            return TwoLayerParams(a + dt * pulled.a, base + dt * pulled.W)

        def kernel() -> Kernel:
            """Σ_j moved_ij·moved_kj·⟨x_i, P_jx_k⟩, P_j = I less the few directions of a basis."""
            live, signed = np.flatnonzero(gates.live), moved * self.y
            used = np.any(bases != 0, axis=2)
            lost = (bases[used] @ self.X.T) * signed[sliding[np.nonzero(used)[0]]]
            return tangent_kernel(hidden[live] * self.y, signed[live], self.gram, lost)

        def corrected(p: Array, apart: float) -> StepTangent | None:
            now = self._gates(place, p)
            if np.array_equal(now.slides, slides):  # then only the average gates tell them apart
                differ = (now.shares - gates.shares) * (self.y * p)
                if sliding.size:
                    differ[slides] = 0.0
                pulled = onto(a[:, None] * (differ @ self.X))
                if dt * dt * np.vdot(pulled, pulled) <= apart**2:
                    return None
            other = self._gated(place, now)
            gap = other.end(p).W - end(p).W
            return other if np.vdot(gap, gap) > apart**2 else None

        if sliding.size:
            held, own = slides[sliding], a[sliding, None]
            moved[slides] = 0.0
            base = onto(W)
            offset = moved[sliding] * ((base - W)[sliding] @ self.X.T)
            offset[held] -= (own * hidden[sliding])[held]
            outputs = outputs + offset.sum(axis=0)
        return StepTangent(self.y * outputs, pull, end, kernel, corrected)


def tangent_kernel(plain: Array, tied: Array, gram: Array, lost: Array) -> Kernel:
    """AᵀA + G∘(BᵀB) − CᵀC for A, B, C (k, n), as it is asked for."""

    def rows(which: Index) -> Array:
        every = which.size == gram.shape[0]

        def product(A: Array) -> Array:
            return np.asarray(A.T @ A if every else A[:, which].T @ A)

        found = product(tied)
        found *= gram if every else gram[which]
        if len(plain):
            found += product(plain)
        if len(lost):
            found -= product(lost)
        return found

    squares = [np.einsum("ij,ij->j", A, A) for A in (plain, tied, lost)]
    return Kernel(squares[0] + np.diagonal(gram) * squares[1] - squares[2], rows)


VIEWED = (TwoLayer, SignedTwoLayer)
"""The networks that have a view; making one forms n × n arrays, which asking need not."""


def view_of(model: Any, X: Array, y: Array) -> MarginView | None:
    """The view of a network that has one."""
    if isinstance(model, TwoLayer):
        return ReluView(model, X, y)
    return SignedView(model, X, y) if isinstance(model, SignedTwoLayer) else None
