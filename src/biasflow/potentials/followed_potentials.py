"""Separable potentials that nobody wrote down: their mirror curves μ_i ↦ β_i, followed along the
gradients of a parametrisation.

Every curve is followed by a clock s of its own, dμ = ds/(1 + h/h₀), h = ‖∇G_i‖² with its value h₀
at the start: neither a pole in μ (deep networks) nor one in β (a half-line) is reached in finite s,
and steps may grow. Points that are asked for lie one step from a node that was kept; which step,
Newton's method says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._core.arguments import Array, Index, Mask
from .._numerics.double_precision import jax_in_double
from .._numerics.eighth_order import step, steps
from ..errors import DomainError, InputError
from .gradient_fields import FINE, LOOSE, ROUNDINGS, GradientFields
from .potential import MirrorPoint, Potential

MOST_NODES = 600
"""On one side of the start; a pole is within 1e-30 of its place by then."""
NEWTON_STEPS = 12
CANCELLED = 1e-6
"""Share of its terms below which a divergence is integrated instead."""
TOGETHER = 64
"""Points that are looked for at once where there are many."""
LEGENDRE = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, eq=False)
class FollowedPoint(MirrorPoint):
    """slope: (φ*)″ = ‖∇G_i‖²; area: φ_i*."""

    slope: Array
    area: Array
    potential: FollowedPotential

    def weight(self) -> Array:
        return self.slope

    def value(self) -> Array:
        return self.eta * self.beta - self.area

    def conjugate(self) -> Array:
        return self.area

    def moved(self, delta: Array) -> Self:
        return self.potential.found(self.eta + delta, None)  # type: ignore[return-value]

    def minus(self, start: Self) -> Array:
        return self.eta - start.eta

    def log_size(self) -> Array:
        return np.full_like(self.beta, np.inf)

    def divergence(self, start: Self) -> Array:
        """φ*(η₀) − φ*(η) + β(η − η₀); ∫(t − η₀)(φ*)″(t)dt where that would cancel."""
        width = self.eta - start.eta
        terms = np.abs(start.area) + np.abs(self.area) + np.abs(self.beta * width)
        plain = start.area - self.area + self.beta * width
        near = plain < CANCELLED * terms
        if not np.any(near):
            return plain
        curved = np.zeros_like(plain)
        for node, share in zip((LEGENDRE[0] + 1) / 2, LEGENDRE[1] / 2, strict=True):
            between = self.potential.found(
                np.where(near, start.eta + node * width, start.eta), None
            )
            curved += share * node * between.slope
        return np.where(near, curved * width**2, plain)


class Curves:
    """Nodes on the curves of all coordinates, to one side of the start, as far as was asked.

    lanes: one where no weight serves two coordinates, which are followed together then; else one
    for each coordinate, with weights of its own."""

    def __init__(self, fields: GradientFields, owners: Array | None, rtol: float) -> None:
        self.fields, self.owners, self.rtol = fields, owners, rtol
        d, start = fields.d, fields.start
        J = fields.jacobian(start)
        self.slope0, self.beta0 = np.einsum("ij,ij->i", J, J), fields.value(start)
        sizes = np.max(np.where(J != 0, np.abs(start), 0.0), axis=1)
        top = float(np.max(np.abs(start), initial=0.0)) or 1.0
        sizes = np.where(sizes > 0, sizes, top)
        self.unit = sizes / np.sqrt(self.slope0)
        lanes = start if owners is not None else np.tile(start, d)
        self.first = np.concatenate([lanes, np.zeros(2 * d)])
        self.weights = lanes.size
        self.nodes: dict[int, list[Array]] = {
            side: [self._node(0.0, self.first)] for side in (1, -1)
        }
        self._rows = {side: np.array(self.nodes[side]) for side in (1, -1)}
        lane = np.repeat(np.arange(d), start.size) if owners is None else np.maximum(owners, 0)
        groups = np.concatenate([lane, np.arange(d, 3 * d)])
        least = np.concatenate([np.zeros(lanes.size), self.unit, self.unit * fields.sums])
        self.walks: dict[int, Iterator[tuple[float, Array]]] = {
            side: steps(
                self._field(side * self.unit[None]), self.first, 1e300, rtol, 0.0, groups, least
            )
            for side in (1, -1)
        }

    @cached_property
    def _clocked(self) -> Any:
        import jax
        import jax.numpy as jnp

        G, d, slope0 = self.fields.function, self.fields.d, self.slope0

        def together(w: Any, ds: Any) -> Any:
            beta, back = jax.vjp(G, w)
            h = jax.jvp(G, (w,), (back(jnp.ones(d))[0],))[1]
            rate = ds / (1 + h / slope0)
            return back(rate)[0], rate, beta, h

        def apart(w: Any, ds: Any) -> Any:
            def one(v: Any, i: Any) -> Any:
                return jax.value_and_grad(lambda x: G(x)[i])(v)

            beta, rows = jax.vmap(one)(w.reshape(d, -1), jnp.arange(d))
            h = jnp.sum(rows**2, axis=1)
            rate = ds / (1 + h / slope0)
            return (rows * rate[:, None]).ravel(), rate, beta, h

        return jax.jit(jax.vmap(apart if self.owners is None else together))

    def _course(self, y: Array, ds: Array) -> tuple[Array, ...]:
        """(w′, μ′, β, slope) of states (B, ·) with clocks ds (B, d)."""
        with jax_in_double():
            return tuple(np.asarray(part) for part in self._clocked(y[:, : self.weights], ds))

    def _field(self, ds: Array) -> Any:
        def field(y: Array) -> Array:
            moved, rate, beta, _ = self._course(y.reshape(len(ds), -1), ds)
            return np.concatenate([moved, rate, rate * beta], axis=1).ravel()

        return field

    def _node(self, s: float, y: Array) -> Array:
        """s, weights, μ, φ*, β in one row."""
        beta = self._course(y[None], np.zeros((1, self.fields.d)))[2][0]
        return np.concatenate([[s], y, beta])

    def rows(self, side: int) -> Array:
        """All nodes on one side."""
        if len(self._rows[side]) != len(self.nodes[side]):
            self._rows[side] = np.array(self.nodes[side])
        return self._rows[side]

    def place(self, name: str) -> slice:
        """Where a row has μ or β."""
        d = self.fields.d
        first = 1 + self.weights
        return slice(-d, None) if name == "beta" else slice(first, first + d)

    def extend(self, side: int, name: str, target: Array, wanted: Mask) -> None:
        """More nodes until every wanted target lies before the last, or there are no more."""
        place = self.place(name)
        while np.any(wanted & (side * (self.nodes[side][-1][place] - target) < 0)):
            found = None if len(self.nodes[side]) > MOST_NODES else next(self.walks[side], None)
            if found is None or not np.all(np.isfinite(found[1])):
                return
            self.nodes[side].append(self._node(*found))

    def points(self, name: str, targets: Array) -> tuple[Array, ...]:
        """(β, μ, slope, φ*) where μ or β is the target, (B, d); infinite where no curve reaches it.
        Many are done together, always as many, so that little is compiled."""
        if len(targets) == 1:
            return self._points(name, targets)
        chunks = []
        for k in range(0, len(targets), TOGETHER):
            part = targets[k : k + TOGETHER]
            filled = np.vstack([part, np.repeat(part[-1:], TOGETHER - len(part), axis=0)])
            chunks.append([row[: len(part)] for row in self._points(name, filled)])
        return tuple(np.concatenate(rows) for rows in zip(*chunks, strict=True))

    def _points(self, name: str, target: Array) -> tuple[Array, ...]:
        d, w = self.fields.d, self.weights
        origin = self.beta0 if name == "beta" else np.zeros(d)
        side = np.where(target >= origin, 1, -1)
        reached = np.isfinite(target)
        low, width, theta = (
            np.zeros(target.shape, int),
            np.zeros_like(target),
            np.zeros_like(target),
        )
        for sign in (1, -1):
            mine = reached & (side == sign)
            if not np.any(mine):
                continue
            self.extend(sign, name, target, mine)
            column, s = sign * self.rows(sign)[:, self.place(name)], self.rows(sign)[:, 0]
            aim = np.where(mine, sign * target, column[0])
            reached &= ~mine | (aim <= column[-1])
            if len(s) == 1:
                continue
            below = np.sum(column[:, None, :] <= aim[None], axis=0) - 1
            k = np.clip(below, 0, len(s) - 2)
            i = np.arange(d)
            with np.errstate(all="ignore"):
                share = (aim - column[k, i]) / (column[k + 1, i] - column[k, i])
            share = np.clip(np.where(np.isfinite(share), share, 0.0), 0.0, 1.0)
            low = np.where(mine, k, low)
            width = np.where(mine, s[k + 1] - s[k], width)
            theta = np.where(mine, share * (s[k + 1] - s[k]), theta)
        y, still = self._gathered(side, low), np.zeros_like(target)
        for _ in range(NEWTON_STEPS):
            ds = side * self.unit * theta
            field = self._field(ds)
            end = step(field, y.ravel(), field(y.ravel()), 1.0)[0].reshape(y.shape)
            _, _, beta, h = self._course(end, still)
            mu = end[:, w : w + d]
            speed = self.unit / (1 + h / self.slope0) * (h if name == "beta" else 1.0)
            miss = side * ((beta if name == "beta" else mu) - target)
            with np.errstate(all="ignore"):
                change = np.where(reached & (speed > 0), miss / speed, 0.0)
            new = np.clip(theta - change, 0.0, width)
            settled = np.abs(new - theta) <= 4e-16 * np.maximum(width, 1e-300)
            theta = new
            if np.all(settled):
                break
        if name == "beta":
            mu, beta = np.where(reached, mu, np.nan), np.where(reached, target, np.nan)
        else:
            beta, mu = np.where(reached, beta, side * np.inf), target
        area = np.where(reached, end[:, w + d :], np.inf)
        return beta, mu, np.where(reached, h, np.inf), area

    def _gathered(self, side: Array, low: Array) -> Array:
        """Weights, μ and φ* of every coordinate from its own node."""
        d, w = self.fields.d, self.weights
        owner = np.repeat(np.arange(d), w // d) if self.owners is None else self.owners
        # a weight without an owner never moves
        owner = np.concatenate([np.maximum(owner, 0), np.arange(d), np.arange(d)])
        columns = 1 + np.arange(w + 2 * d)
        ahead, behind = (
            self.rows(sign)[np.minimum(low[:, owner], len(self.rows(sign)) - 1), columns]
            for sign in (1, -1)
        )
        return np.asarray(np.where(side[:, owner] > 0, ahead, behind))


class FollowedPotential(Potential):
    """The potential of a parametrisation whose coordinates do not interfere, φ(β) = Σφ_i(β_i), from
    its gradients: `bf.diagnostics.find_potential(G, start).potential`.

    ∇φ(β₀) = 0 and φ*(0) = 0 at β₀ = G(w₀). `accuracy(eta)` estimates the relative error of a point.

    Examples
    --------
    >>> found = bf.diagnostics.find_potential(lambda w: w[:2] ** 2 - w[2:] ** 2, 0.1 * np.ones(4))
    >>> print(found.potential.grad([0.5, -2.0]).round(6))
    [ 0.978106 -1.324586]
    >>> print((bf.potentials.Hypentropy(0.02).grad([0.5, -2.0]) / 4).round(6))
    [ 0.978106 -1.324586]
    """

    def __init__(
        self,
        fields: GradientFields,
        owners: Array | None,
        curves: Curves | None = None,
        index: Index | None = None,
    ) -> None:
        self.fields, self.owners = fields, owners
        self.curves = Curves(fields, owners, FINE) if curves is None else curves
        self.index = np.arange(fields.d) if index is None else index

    def __repr__(self) -> str:
        return f"FollowedPotential(d={self.index.size})"

    def found(self, eta: Array | None, beta: Array | None) -> FollowedPoint:
        """The point at η, or at β."""
        given = eta if beta is None else beta
        assert given is not None
        if given.shape[-1:] != self.index.shape:
            raise InputError(
                f"{'eta' if beta is None else 'beta'}: expected shape ({self.index.size},), found "
                f"{given.shape}; every coordinate has a potential of its own"
            )
        flat = given.reshape(-1, self.index.size)
        full = np.tile(
            np.zeros(self.fields.d) if beta is None else self.curves.beta0, (len(flat), 1)
        )
        full[:, self.index] = flat
        rows = self.curves.points("eta" if beta is None else "beta", full)
        b, mu, slope, area = (row[:, self.index].reshape(given.shape) for row in rows)
        return FollowedPoint(b, mu, slope, area, self)

    def at(self, beta: Array) -> FollowedPoint:
        point = self.found(None, beta)
        outside = ~np.isfinite(point.eta)
        if np.any(outside):
            *_, i = np.argwhere(outside)[0]
            raise DomainError(
                f"beta: coordinate {i} does not reach {beta[outside].flat[0]:g} from the start"
            )
        return point

    def at_dual(self, eta: Array) -> FollowedPoint:
        point = self.found(eta, None)
        if np.any(np.isinf(point.beta)):
            beyond = np.isinf(point.beta)
            *_, i = np.argwhere(beyond)[0]
            raise DomainError(f"eta: {eta[beyond].flat[0]:g} is beyond the pole of coordinate {i}")
        return point

    def carried(self, point: Any, shift: Array) -> FollowedPoint:
        return self.found(point.eta + shift, None)

    def oriented(self, beta0: Array) -> FollowedPotential:
        self.at(beta0)
        return self

    def restricted(self, index: Index) -> FollowedPotential:
        return FollowedPotential(self.fields, self.owners, self.curves, self.index[index])

    def raised(self, log_floor: float) -> FollowedPotential:
        return self

    def log_units(self, d: int) -> Array:
        return np.full(d, np.inf)

    @property
    def stride(self) -> float:
        return np.inf

    def half_lines(self, d: int) -> Array:
        return np.zeros(d)

    @cached_property
    def _second(self) -> Curves:
        return Curves(self.fields, self.owners, LOOSE)

    def accuracy(self, eta: Array) -> float:
        """By a second table with looser steps: the largest relative error of β at η, or of η at β
        where that is smaller. Rounding of G itself is not in it: 1e-16 of its terms at β, however
        much they cancel."""
        mu = np.zeros((1, self.fields.d))
        mu[0, self.index] = eta
        beta = self.curves.points("eta", mu)[0]
        again, back = self._second.points("eta", mu)[0], self._second.points("beta", beta)[1]
        size = np.maximum(np.abs(beta), np.abs(self.curves.beta0))
        with np.errstate(all="ignore"):
            off = np.fmin(np.abs(again - beta) / size, np.abs(back - mu) / np.abs(mu))
        return float(np.max(off[np.isfinite(off)], initial=0.0)) + ROUNDINGS
