"""Sides of kinks: which neuron is on which side of which input, and what happens to it there.

Inputs on one line share a kink: they are one group with a unit vector u, and σ' at x_k is read off
the side ⟨w_j, u⟩ is on. On a kink the velocities of both sides decide. Both point to one side: it
is crossed. They point to each other: the neuron slides, that is ẇ is the combination of both that
stays on the kink (Filippov), which is either one with its part along u taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ...models import TwoLayer

KINK = 1e-12
"""⟨w, u⟩ over the size of a neuron that is zero: what rounding leaves of it over some thousand
steps."""
START_KINK = 1e-10
"""The same for a start, whose zeros may have been computed by somebody else."""
VELOCITY_ROUNDING = 1e-12
"""Velocity along u over its terms that is rounding: on orthogonal inputs a closed gate has none."""
PARALLEL_DISTANCE = 1e-12
"""Distance of unit inputs up to which they are one direction."""
LOW, SLIDE, HIGH = -1, 0, 1


class Groups:
    """The inputs by their lines: unit vectors U (p, d), the group of each input, and on which side
    of u it is."""

    def __init__(self, X: Array) -> None:
        units: list[Array] = []
        self.of, self.orientation = np.zeros(len(X), int), np.zeros(len(X))
        for k, x in enumerate(X):
            norm = float(np.linalg.norm(x))
            if norm == 0:
                continue
            signs = [1.0 if float(x @ u) > 0 else -1.0 for u in units]
            same = [
                g
                for g, u in enumerate(units)
                if float(np.max(np.abs(signs[g] * x / norm - u))) <= PARALLEL_DISTANCE
            ]
            self.of[k], self.orientation[k] = (
                (same[0], signs[same[0]]) if same else (len(units), 1.0)
            )
            if not same:
                units.append(x / norm)
        self.U = np.array(units).reshape(len(units), X.shape[1])


@dataclass
class Network:
    """A two-layer network at neurons (a_j, w_j)·2^{s_j}, with sides (m, p) in place of the signs of
    pre-activations.

    Between kinks its field is smooth. Powers of two keep neurons of 1e-300 and of one at the same
    precision, and are exact.
    """

    problem: Problem
    sides: Array
    exponents: Array
    groups: Groups

    def __post_init__(self) -> None:
        data, model = self.problem.data, self.problem.model
        assert isinstance(model, TwoLayer)
        self.X, self.y, self.loss, self.slope = (
            data.X,
            data.y,
            self.problem.loss,
            model.negative_slope,
        )
        self.XT = np.ascontiguousarray(self.X.T)
        self.products = self.X @ self.groups.U.T
        self.members = np.array(
            [
                np.where(self.groups.of == g, self.groups.orientation, 0.0)
                for g in range(len(self.groups.U))
            ]
        )

    def refresh(self) -> None:
        """Read gates, sliding directions and factors from sides and exponents."""
        self.gates = self.gates_at(self.sides)
        self.factors = np.ldexp(1.0, 2 * self.exponents)
        self.projections = []
        for j in np.flatnonzero(np.any(self.sides == SLIDE, axis=1)):
            U = self.groups.U[self.sides[j] == SLIDE]
            self.projections.append((int(j), np.linalg.pinv(U) @ U))

    def gates_at(self, sides: Array) -> Array:
        """σ' at every input; a sliding neuron's are those of the low side, which its projection
        makes up for."""
        high = np.where(sides == HIGH, 1.0, -1.0)[..., self.groups.of] * self.groups.orientation > 0
        return np.where(high, 1.0, self.slope)

    def outputs(self, phi: Array) -> Array:
        """h at the inputs."""
        hidden = self.gates * (phi[:, 1:] @ self.XT)
        return np.asarray((phi[:, 0] * self.factors) @ hidden)

    def residual(self, phi: Array) -> Array:
        """∂L/∂h at the inputs."""
        return np.asarray(self.loss.gradient(self.outputs(phi), self.y))

    def value(self, phi: Array) -> float:
        return float(self.loss(self.outputs(phi), self.y))

    def __call__(self, phi: Array) -> Array:
        """−∇L at (m, 1 + d), the pattern frozen."""
        a, hidden = phi[:, 0], self.gates * (phi[:, 1:] @ self.XT)
        slopes = self.loss.gradient((a * self.factors) @ hidden, self.y)
        pulls = (self.gates * slopes) @ self.X
        for j, projection in self.projections:
            pulls[j] -= projection @ pulls[j]
        out = np.empty_like(phi)
        out[:, 0] = -(hidden @ slopes)
        out[:, 1:] = -a[:, None] * pulls
        return out

    def rooms(self, phi: Array, tolerance: float) -> list[tuple[float, int, int]]:
        """How far inside [0, 1] the share of the high side in a velocity is, with neuron and kink,
        for all that slide.

        They slide while that is so. An error of `tolerance` in what neurons add to h changes
        shares, the more the smaller the
        residuals are: that is added.
        """
        hidden = self.gates * (phi[:, 1:] @ self.XT)
        outputs = (phi[:, 0] * self.factors) @ hidden
        blurred = outputs + tolerance * (np.abs(phi[:, 0]) * self.factors) @ np.abs(hidden)
        slopes = self.loss.gradient(outputs, self.y)
        blur = np.abs(self.loss.gradient(blurred, self.y) - slopes) @ np.abs(self.products)
        found = []
        for j, _ in self.projections:
            sliding = np.flatnonzero(self.sides[j] == SLIDE)
            low = (self.gates[j] * slopes) @ self.products[:, sliding]
            changes = (
                (1 - self.slope) * (self.members[sliding] * slopes) @ self.products[:, sliding]
            )
            shares = (
                -low / changes[0]
                if len(low) == 1
                else np.linalg.lstsq(changes.T, -low, rcond=None)[0]
            )
            extra = blur[sliding] / np.maximum(np.abs(np.diag(changes)), np.finfo(float).tiny)
            found += [
                (float(room), j, int(g))
                for room, g in zip(np.minimum(shares, 1 - shares) + extra, sliding, strict=True)
            ]
        return found

    def _pulls(self, j: int, near: Index, slopes: Array) -> tuple[Array, Array]:
        """Σσ'_kℓ'_kx_k with the neuron on the low side of some kinks, and what the high side of
        each would change."""
        sides = np.array(self.sides[j])
        sides[near] = LOW
        low = (self.gates_at(sides) * slopes) @ self.X
        return low, (1 - self.slope) * (self.members[near] * slopes) @ self.X

    def decide(self, phi: Array, j: int, near: Index, start: bool = False) -> str | None:
        """Set the sides of a neuron on some kinks; a sentence where flows leave a start to both
        sides."""
        slopes, a = self.residual(phi), float(phi[j, 0])
        U = self.groups.U[near]
        low, changes = self._pulls(j, near, slopes)
        noise = VELOCITY_ROUNDING * float(np.abs(slopes) @ np.linalg.norm(self.X, axis=1))
        sides = np.full(len(near), LOW)
        attracts = a * np.sum(U * changes, axis=1) > 0
        inner = np.flatnonzero(attracts)
        for i in np.flatnonzero(~attracts):
            pull = low + _least(low, changes[inner]) @ changes[inner]
            speed = -np.sign(a) * float(pull @ U[i])
            if start and speed < -noise and -np.sign(a) * float((pull + changes[i]) @ U[i]) > noise:
                return f"neuron {j} starts on a kink, from which flows leave to both sides"
            if speed > noise:
                sides[i], low = HIGH, low + changes[i]
        if inner.size:
            share = _least(low, changes[inner])
            without = low + share @ changes[inner] - share[:, None] * changes[inner]
            below, above = (
                -np.sign(a) * np.sum(U[inner] * pull, axis=1)
                for pull in (without, without + changes[inner])
            )
            sides[inner] = np.where(below <= noise, LOW, np.where(above >= -noise, HIGH, SLIDE))
        self.sides[j, near] = sides
        w = phi[j, 1:]
        w -= np.linalg.pinv(U) @ (U @ w)
        return None


def _least(low: Array, changes: Array) -> Array:
    """Shares in [0, 1] at which ‖low + shares·changes‖ is least: the velocity on kinks that
    attract."""
    if len(changes) == 0:
        return np.zeros(0)
    if len(changes) == 1:
        size = float(changes[0] @ changes[0])
        return np.clip([-float(low @ changes[0]) / size if size > 0 else 0.0], 0.0, 1.0)
    from scipy.optimize import lsq_linear

    scale = float(np.max(np.abs(changes))) or 1.0
    return np.asarray(lsq_linear(changes.T / scale, -low / scale, bounds=(0, 1), method="bvls").x)
