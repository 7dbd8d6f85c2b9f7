"""The gradients of the coordinates of a parametrisation w ↦ G(w) ∈ R^d, as fields to follow.

Gradient flow on any loss of G(w) is w′ = Σu_i(t)∇G_i(w), u = −∇L. Where the end depends on
μ = ∫u alone, Ψ_μ(w₀) is the flow of Σμ_i∇G_i for unit time, and

    ∇φ*(μ) = G(Ψ_μ(w₀)),   ∇²φ*(μ) = ∂G ∂Gᵀ,   φ*(μ) = ∫₀¹ ⟨μ, G(Ψ_{sμ}(w₀))⟩ ds:

β = G(w) moves by ∂G∂Gᵀδ when μ moves by δ, and a field with a symmetric derivative is a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.arguments import Array, Index
from .._numerics.double_precision import jax_in_double
from .._numerics.eighth_order import followed, group_tops

FINE, LOOSE = 1e-13, 1e-11
"""Relative tolerances of steps; what the two ends differ by is the error of the looser one."""
ROUNDINGS = 64 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """What lies at one μ: β = ∇φ*(μ) and φ*(μ), with estimates of their errors, the weights that
    were reached, and ∂G there."""

    mu: Array
    beta: Array
    error: Array
    conjugate: float
    conjugate_error: float
    jacobian: Array
    w: Array

    def __repr__(self) -> str:
        shown = np.array2string(self.beta, threshold=6, precision=6)
        return f"DualPoint(beta={shown} ± {float(np.max(self.error)):.1g})"

    @property
    def hessian(self) -> Array:
        """∇²φ*(μ) = ∂G∂Gᵀ, (d, d)."""
        return self.jacobian @ self.jacobian.T


class GradientFields:
    """G and the fields ∇G_i in double precision, from flat weights.

    G: a function of JAX arrays, (P,) to (d,); start: w₀ (P,)."""

    def __init__(self, G: Callable[[Any], Any], start: Array) -> None:
        self.function, self.start = G, np.asarray(start, dtype=float)
        self.d = int(self.value(self.start).size)

    @cached_property
    def _compiled(self) -> dict[str, Any]:
        import jax
        import jax.numpy as jnp

        G = self.function

        def pull(w: Any, u: Any) -> Any:
            return jax.vjp(G, w)[1](u)[0]

        def course(w: Any, u: Any) -> Any:
            beta, back = jax.vjp(G, w)
            return jnp.append(back(u)[0], jnp.vdot(u, beta))

        def turn(w: Any, u: Any, v: Any) -> Any:
            """D(∂Gᵀv)·∂Gᵀu."""
            return jax.jvp(lambda x: pull(x, v), (w,), (pull(w, u),))[1]

        return {
            "value": jax.jit(G),
            "pull": jax.jit(pull),
            "course": jax.jit(course),
            "turn": jax.jit(turn),
            "jacobian": jax.jit(jax.jacrev(G)),
        }

    def _call(self, name: str, *arguments: Array) -> Array:
        with jax_in_double():
            return np.asarray(self._compiled[name](*arguments))

    def value(self, w: Array) -> Array:
        """G(w), (d,)."""
        return self._call("value", w)

    def pull(self, w: Array, u: Array) -> Array:
        """Σu_i∇G_i(w), (P,)."""
        return self._call("pull", w, u)

    def jacobian(self, w: Array) -> Array:
        """∂G(w), (d, P)."""
        return self._call("jacobian", w)

    def turn(self, w: Array, u: Array, v: Array) -> Array:
        """Derivative of Σv_i∇G_i along Σu_i∇G_i, (P,)."""
        return self._call("turn", w, u, v)

    def bracket(self, w: Array, u: Array, v: Array) -> tuple[Array, float]:
        """[Σu_i∇G_i, Σv_i∇G_i](w), and the size of its two terms."""
        one, other = self.turn(w, u, v), self.turn(w, v, u)
        return one - other, max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))

    def carried(self, w: Array, mu: Array, rtol: float) -> tuple[Array, float] | None:
        """Ψ_μ(w) and ∫⟨μ, G⟩ on the way; None where the flow does not last that long."""
        if not np.any(mu):
            return w, 0.0
        with jax_in_double():
            course = self._compiled["course"]

            def field(y: Array) -> Array:
                return np.asarray(course(y[:-1], mu))

            groups = np.append(self.groups, np.max(self.groups) + 1)
            least = np.append(np.zeros(w.size), np.abs(mu) @ self.sums)
            end = followed(field, np.append(w, 0.0), 1.0, rtol, groups, least)
        return None if end is None else (end[:-1], float(end[-1]))

    @cached_property
    def groups(self) -> Index:
        """Numbers of groups of weights (P,): those that coordinates share at the start are one, and
        small ones are followed no better than large ones of their group. One group of all where
        there are weights that no coordinate feels there."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        used = self.jacobian(self.start) != 0
        if not np.all(np.any(used, axis=0)):
            return np.zeros(self.start.size, int)
        rows, columns = np.nonzero(used)
        size = self.d + self.start.size
        joined = csr_array((np.ones(rows.size), (rows, self.d + columns)), shape=(size, size))
        labels = connected_components(joined, directed=False)[1][self.d :]
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    @cached_property
    def sums(self) -> Array:
        """Size of the terms of G at the start, whatever cancels, (d,)."""
        J = self.jacobian(self.start)
        return np.abs(self.value(self.start)) + np.abs(J) @ np.abs(self.start)

    def rounding(self, w: Array, J: Array, beta: Array) -> Array:
        """What rounding, and the floor of steps, leaves unknown of β = G(w), (d,)."""
        return ROUNDINGS * (np.abs(beta) + np.abs(J) @ group_tops(w, self.groups))

    def at(self, mu: Array) -> DualPoint | None:
        """The point at μ, followed twice; None outside the domain of φ*."""
        ends = [self.carried(self.start, mu, rtol) for rtol in (FINE, LOOSE)]
        if ends[0] is None or ends[1] is None:
            return None
        (w, area), (coarse, other) = ends[0], ends[1]
        beta, J = self.value(w), self.jacobian(w)
        rounding = self.rounding(w, J, beta)
        sums = ROUNDINGS * (abs(area) + float(np.abs(mu) @ np.abs(beta)))
        return DualPoint(
            mu,
            beta,
            np.abs(beta - self.value(coarse)) + rounding,
            area,
            abs(area - other) + sums,
            J,
            w,
        )
