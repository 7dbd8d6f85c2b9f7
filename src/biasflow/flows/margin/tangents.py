"""Two-layer networks as the margin flow sees them: signed predictions h, and their tangents over a
step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ...models import SignedTwoLayer, SignedTwoLayerParams, TwoLayer, TwoLayerParams


class StepTangent(NamedTuple):
    """A step dt as the weights p see it: it ends at base + dt·pull(p), where h is about h + offset
    + dt·Kp, K = kernel().

    corrected(p, apart): the tangent of the gates that p leads to, or None where it ends within
    `apart` of this one.
    """

    base: Any
    offset: Array
    pull: Callable[[Array], Any]
    kernel: Callable[[], Array]
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
        signs = np.asarray(self.model.signs)

        def pull(p: Array) -> SignedTwoLayerParams:
            return SignedTwoLayerParams(2 * signs[:, None] * ((hidden * (self.y * p)) @ self.X))

        return StepTangent(
            params,
            np.zeros(len(self.y)),
            pull,
            lambda: self.gram * (hidden.T @ hidden),
            lambda p, apart: None,
        )


class ReluView(MarginView):
    """ReLUs: every neuron is followed through the kinks that a step meets."""

    def __init__(self, model: TwoLayer, X: Array, y: Array) -> None:
        self.model, self.X, self.y = model, np.ascontiguousarray(X), y
        self.signs = y[:, None] * y
        self.gram = X @ X.T

    def margins(self, params: TwoLayerParams) -> Array:
        return np.asarray(self.y * self.model(params, self.X))

    def tangent(self, params: TwoLayerParams, weights: Array, dt: float) -> StepTangent:
        """A neuron that slides on inputs is projected off them, where it stays whatever the weights
        turn out to be."""
        projections = params.W @ self.X.T
        hidden = np.maximum(projections, self.model.negative_slope * projections)
        return self._gated(
            params, projections, hidden, self._gates(params, projections, weights, dt), dt
        )

    def _gates(
        self, params: TwoLayerParams, projections: Array, weights: Array, dt: float
    ) -> tuple[Array, Array]:
        from .gate_paths import step_gates

        lengths = np.sqrt(np.sum(params.W * params.W, axis=1))
        gates, slides = step_gates(
            projections,
            params.a,
            self.y * weights,
            self.X,
            lengths,
            float(self.model.negative_slope),
            float(dt),
        )
        return gates, slides

    def _gated(
        self,
        params: TwoLayerParams,
        projections: Array,
        hidden: Array,
        gates: tuple[Array, Array],
        dt: float,
    ) -> StepTangent:
        """The tangent with these average gates and slides."""
        from .gate_paths import sliding_bases

        shares, slides = gates
        moved = np.where(slides, 0.0, params.a[:, None] * shares)
        sliding = np.flatnonzero(np.any(slides, axis=1))
        bases = sliding_bases(self.X, slides[sliding])

        def onto(rows: Array) -> Array:
            """Rows (m, d), those of sliding neurons projected off their inputs."""
            along = np.einsum("jrk,jk->jr", bases, rows[sliding])
            projected = rows.copy()
            projected[sliding] -= np.einsum("jrk,jr->jk", bases, along)
            return projected

        def pull(p: Array) -> TwoLayerParams:
            q = self.y * p
            return TwoLayerParams(hidden @ q, onto((moved * q) @ self.X))

        def kernel() -> Array:
            """Σ_j moved_ij·moved_kj·⟨x_i, P_jx_k⟩, P_j = I less the few directions of a basis."""
            used = np.any(bases != 0, axis=2)
            lost = (bases[used] @ self.X.T) * moved[sliding[np.nonzero(used)[0]]]
            return np.asarray(
                self.signs * (hidden.T @ hidden + self.gram * (moved.T @ moved) - lost.T @ lost)
            )

        def corrected(p: Array, apart: float) -> StepTangent | None:
            gates = self._gates(params, projections, p, dt)
            if not (gates[1] != slides).any():  # then only the average gates tell them apart
                pulled = params.a[:, None] * ((gates[0] - shares) * (self.y * p))
                pulled = onto(np.where(slides, 0.0, pulled) @ self.X)
                if dt * dt * np.sum(pulled * pulled) <= apart**2:
                    return None
            other = self._gated(params, projections, hidden, gates, dt)
            gap = other.base.W - base.W + dt * (other.pull(p).W - pull(p).W)
            return other if np.sum(gap * gap) > apart**2 else None

        base = TwoLayerParams(params.a, onto(params.W))
        offset = np.sum(moved[sliding] * ((base.W - params.W)[sliding] @ self.X.T), axis=0)
        offset -= np.sum(
            np.where(slides[sliding], params.a[sliding, None] * hidden[sliding], 0.0), axis=0
        )
        return StepTangent(base, self.y * offset, pull, kernel, corrected)


VIEWED = (TwoLayer, SignedTwoLayer)
"""The networks that have a view; making one forms n × n arrays, which asking need not."""


def view_of(model: Any, X: Array, y: Array) -> MarginView | None:
    """The view of a network that has one."""
    if isinstance(model, TwoLayer):
        return ReluView(model, X, y)
    return SignedView(model, X, y) if isinstance(model, SignedTwoLayer) else None
