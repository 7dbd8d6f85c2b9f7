"""The same velocity in NumPy with its derivative, for the implicit tail, and whether frozen gates
still stand."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from .layout import DEPENDENT, FIRST, HYSTERESIS, OFF, ON, OUT, RHO, SLIDE, Gates, Geometry


class FrozenField:
    """The velocity of a state with gates as they are, and its derivative."""

    def __init__(self, gates: Gates, geometry: Geometry, shape: tuple[int, int]) -> None:
        self.shape, self.gates, self.geometry = shape, gates.copy(), geometry
        upper, group = geometry.side > 0, geometry.group
        mine = gates[:, group]
        high = (mine == ON) == upper
        self.slopes = np.where(mine == SLIDE, 0.0, np.where(high, 1.0, geometry.slope))  # (m, N)
        self.X = (geometry.kappa * geometry.side)[:, None] * geometry.U[group, FIRST:]  # (N, r)
        # (m, r, r): onto what may move
        self.keep = np.repeat(np.eye(self.X.shape[1])[None], len(gates), axis=0)
        self.neuron, self.held = np.nonzero(gates == SLIDE)  # (S,) each: slides
        self.force = np.empty(
            (self.held.size, self.X.shape[1])
        )  # (S, r): of the pull of all else, the part that a slide takes up
        for j in np.unique(self.neuron):
            mine = self.neuron == j
            directions = geometry.U[self.held[mine], FIRST:].T
            self.force[mine] = np.linalg.pinv(directions, DEPENDENT)
            self.keep[j] -= directions @ self.force[mine]

    def residual(self, Y: Array) -> Array:
        weight = np.exp(2 * Y[:, RHO]) * Y[:, OUT]
        return weight @ (self.slopes * (Y[:, FIRST:] @ self.X.T)) - self.geometry.labels

    def pulls(self, residual: Array) -> Array:
        free = -self.geometry.speed * (self.slopes * residual) @ self.X
        return np.einsum("jab,jb->ja", self.keep, free)

    def __call__(self, t: float, flat: Array) -> Array:
        Y = flat.reshape(self.shape)
        D, out, z = self.pulls(self.residual(Y)), Y[:, OUT], Y[:, FIRST:]
        along = np.sum(D * z, axis=1)
        growth = 2 * out * along
        return np.column_stack(
            [growth, along - growth * out, out[:, None] * D - growth[:, None] * z]
        ).ravel()

    def jacobian(self, t: float, flat: Array) -> Array:
        Y = flat.reshape(self.shape)
        (m, width), r = self.shape, self.X.shape[1]
        residual = self.residual(Y)
        D, out, z, rows = self.pulls(residual), Y[:, OUT], Y[:, FIRST:], np.arange(m)
        along = np.sum(D * z, axis=1)
        # what each residual does to each velocity
        # (m, N, r)
        dD = (
            -self.geometry.speed
            * self.slopes[:, :, None]
            * np.einsum("jab,kb->jka", self.keep, self.X)
        )
        d_along = np.einsum("jka,ja->jk", dD, z)
        d_growth = 2 * out[:, None] * d_along
        pushed = np.concatenate(
            [
                d_growth[:, None, :],
                (d_along - d_growth * out[:, None])[:, None, :],
                np.swapaxes(out[:, None, None] * dD - d_growth[:, :, None] * z[:, None, :], 1, 2),
            ],
            axis=1,
        )  # (m, width, N)
        # what each number of the state does to each residual
        size = np.exp(2 * Y[:, RHO])[:, None]
        inner = self.slopes * (z @ self.X.T)
        felt = np.concatenate(
            [
                (2 * size * out[:, None] * inner)[:, None, :],
                (size * inner)[:, None, :],
                np.swapaxes((size * out[:, None] * self.slopes)[:, :, None] * self.X[None], 1, 2),
            ],
            axis=1,
        )
        J = pushed.reshape(m * width, -1) @ felt.reshape(m * width, -1).T
        # what each number of a neuron does to its own velocity, forces fixed
        own = np.zeros((m, width, width))
        own[:, RHO, OUT], own[:, RHO, FIRST:] = 2 * along, 2 * out[:, None] * D
        own[:, OUT, OUT], own[:, OUT, FIRST:] = -4 * out * along, (1 - 2 * out**2)[:, None] * D
        own[:, FIRST:, OUT] = D - 2 * along[:, None] * z
        own[:, FIRST:, FIRST:] = -2 * out[:, None, None] * z[:, :, None] * D[:, None, :]
        own[:, FIRST:, FIRST:] -= (2 * out * along)[:, None, None] * np.eye(r)
        blocks = J.reshape(m, width, m, width)
        blocks[rows, :, rows, :] += own
        return J

    def stands(self, flat: Array) -> bool:
        """Whether every gate is as it was frozen: signs of pre-activations, and forces inside what
        holds a slide."""
        Y = flat.reshape(self.shape)
        geometry = self.geometry
        P = Y[:, FIRST:] @ geometry.U[:, FIRST:].T
        if np.any(P[self.gates == ON] < -HYSTERESIS) or np.any(P[self.gates == OFF] > HYSTERESIS):
            return False
        residual = self.residual(Y)
        F0, F1 = group_forces(residual, geometry)
        free = -self.geometry.speed * (self.slopes * residual) @ self.X
        force, sign = np.sum(self.force * free[self.neuron], axis=1), np.sign(Y[self.neuron, OUT])
        return bool(
            np.all(sign * (force - F0[self.held]) >= 0)
            and np.all(sign * (F1[self.held] - force) >= 0)
        )


def group_forces(residual: Array, geometry: Geometry) -> tuple[Array, Array]:
    """F0 and F1 of every group where the residuals are h − y."""
    push, upper = geometry.speed * residual * geometry.kappa, geometry.side > 0
    F0, F1 = np.zeros(len(geometry.U)), np.zeros(len(geometry.U))
    np.add.at(F1, geometry.group, np.where(upper, push, -geometry.slope * push))
    np.add.at(F0, geometry.group, np.where(upper, geometry.slope * push, -push))
    return F0, F1
