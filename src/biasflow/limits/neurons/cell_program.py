"""The problem on given cells: min Σ_j ‖v_j‖ over one vector per cell and sign, Σ_j s_j(⟨v_j,
u_k⟩)_+ = z_k.

Neurons of one closed cell and one sign add up to a single neuron of no larger norm, so a measure is
a finite list of vectors
v_j, and on the faces they lie in the problem is smooth: Newton's method on its KKT system, with the
faces as active set, converges quadratically."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from ..._core.arguments import Array
from .columns import Neurons

VANISHED = 1e-10
"""Share of the largest neuron below which one is dropped while solving; feasibility is restored by
the others."""
STEPS = 60
CONDENSED = 300
"""Unknown coordinates of neurons above which Newton's system is condensed."""
SETTLED = 1e-7
"""Relative length of a full Newton step after which the next would be at rounding: convergence is
quadratic."""


@dataclass(frozen=True, eq=False)
class Neuron:
    """s·(⟨v, ·⟩)_+ with the sides of v (n,): zero where v lies on the hyperplane of a sample."""

    sign: float
    v: Array
    sides: Array

    def features(self, samples: Array) -> Array:
        active: Array = np.where(self.sides > 0, samples @ self.v, 0.0)
        return self.sign * active


@dataclass(frozen=True, eq=False)
class Solved:
    """Neurons that solve the problem on their faces, and the multipliers λ of their KKT
    conditions."""

    neurons: tuple[Neuron, ...]
    lam: Array

    @property
    def norm(self) -> float:
        return sum(float(np.linalg.norm(neuron.v)) for neuron in self.neurons)

    def misfit(self, samples: Array, targets: Array) -> float:
        fitted = sum((neuron.features(samples) for neuron in self.neurons), np.zeros(targets.size))
        return float(np.max(np.abs(fitted - targets)))


def merged(columns: Neurons, masses: Array) -> list[Neuron]:
    """One neuron for all that share a closed cell and a sign, the heaviest first."""
    neurons: list[Neuron] = []
    for j in np.argsort(-masses):
        if masses[j] <= 0 or columns.sides is None:
            break
        new = Neuron(float(columns.s[j]), masses[j] * columns.u[j], columns.sides[j])
        for i, old in enumerate(neurons):
            if old.sign == new.sign and np.all(old.sides * new.sides >= 0):
                sides = np.where(old.sides == 0, new.sides, old.sides)
                neurons[i] = Neuron(old.sign, old.v + new.v, sides)
                break
        else:
            neurons.append(new)
    return neurons


def solve_on_cells(
    neurons: list[Neuron], samples: Array, targets: Array, lam: Array, deadline: float = math.inf
) -> Solved | None:
    """The minimum over the closed cells of these neurons; λ as near as possible to the one given.
    None where Newton's method fails, or is not done by the deadline."""
    for _ in range(STEPS):
        neurons = _without_vanished(neurons)
        if not neurons or time.monotonic() > deadline:
            return None
        faces = [_face(neuron, samples) for neuron in neurons]
        maps = [_map(neuron, face, samples) for neuron, face in zip(neurons, faces, strict=True)]
        step, lam = _newton_step(neurons, faces, maps, targets, lam)
        blocked, length = _longest_step(neurons, step, samples)
        length = _shortened(neurons, step, length, samples, targets, lam)
        moved = [
            replace(neuron, v=neuron.v + length * dv)
            for neuron, dv in zip(neurons, step, strict=True)
        ]
        if blocked is not None and length == blocked[0]:
            _, j, k = blocked
            sides = moved[j].sides.copy()
            sides[k] = 0.0
            moved[j] = _on_face(replace(moved[j], sides=sides), samples)
        change = max(float(np.linalg.norm(dv)) for dv in step)
        neurons = moved
        if length == 1.0 and change <= SETTLED * max(
            float(np.linalg.norm(neuron.v)) for neuron in neurons
        ):
            return Solved(tuple(neurons), lam)
        if length < 1e-12 and blocked is None:
            return None
    return None


def _without_vanished(neurons: list[Neuron]) -> list[Neuron]:
    lengths = [float(np.linalg.norm(neuron.v)) for neuron in neurons]
    least = VANISHED * max(lengths, default=0.0)
    return [neuron for neuron, length in zip(neurons, lengths, strict=True) if length > least]


def _face(neuron: Neuron, samples: Array) -> Array:
    """An orthonormal basis (r, f) of the face that the neuron lies in."""
    on = samples[neuron.sides == 0]
    if not on.shape[0]:
        return np.eye(samples.shape[1])
    _, s, vt = np.linalg.svd(on, full_matrices=True)
    basis: Array = vt[int(np.sum(s > 1e-11)) :].T
    return basis


def _map(neuron: Neuron, face: Array, samples: Array) -> Array:
    """How the fitted values (n,) depend on the coordinates of the neuron in its face."""
    linear: Array = neuron.sign * ((neuron.sides > 0)[:, None] * (samples @ face))
    return linear


def _on_face(neuron: Neuron, samples: Array) -> Neuron:
    face = _face(neuron, samples)
    return replace(neuron, v=face @ (face.T @ neuron.v))


def _newton_step(
    neurons: list[Neuron], faces: list[Array], maps: list[Array], targets: Array, lam: Array
) -> tuple[list[Array], Array]:
    """Newton's step for v_j/‖v_j‖ = M_jᵀλ, Σ_j M_jv_j = z; λ is moved as little as possible."""
    dims = [face.shape[1] for face in faces]
    ends = np.cumsum([0, *dims])
    total, n = int(ends[-1]), targets.size
    if total > CONDENSED:
        return _condensed_step(neurons, faces, maps, targets, lam)
    system, right = np.zeros((total + n, total + n)), np.zeros(total + n)
    right[total:] = targets
    for j, (neuron, face, linear) in enumerate(zip(neurons, faces, maps, strict=True)):
        here = slice(ends[j], ends[j + 1])
        p = face.T @ neuron.v
        size = float(np.linalg.norm(p))
        system[here, here] = (np.eye(p.size) - np.outer(p / size, p / size)) / size
        system[here, total:], system[total:, here] = -linear.T, linear
        right[here] = linear.T @ lam - p / size
        right[total:] -= linear @ p
    sizes = np.concatenate(
        [np.full(dim, np.linalg.norm(neuron.v)) for dim, neuron in zip(dims, neurons, strict=True)]
    )
    scale = np.concatenate([np.sqrt(sizes), np.ones(n)])  # heavy and light neurons alike
    solution = (
        scale * np.linalg.lstsq(scale[:, None] * system * scale, scale * right, rcond=1e-14)[0]
    )
    return [face @ solution[ends[j] : ends[j + 1]] for j, face in enumerate(faces)], lam + solution[
        total:
    ]


def _condensed_step(
    neurons: list[Neuron], faces: list[Array], maps: list[Array], targets: Array, lam: Array
) -> tuple[list[Array], Array]:
    """The same step from a system of size n + m, which squares the condition of the maps: for many
    unknowns.

    Across v_j the first equation gives the step, ‖v_j‖·P_jM_jᵀλ with P_j the projection across v_j;
    along it, ⟨b_j, λ⟩ = 1 with b_j = M_jv_j/‖v_j‖. What is left is symmetric, in λ and the lengths
    α: Σ_j ‖v_j‖M_jP_jM_jᵀλ + Σ_j α_jb_j = z − Σ_j M_jv_j."""
    n, m = targets.size, len(neurons)
    sizes = np.array([float(np.linalg.norm(neuron.v)) for neuron in neurons])
    units = [
        face.T @ neuron.v / size for neuron, face, size in zip(neurons, faces, sizes, strict=True)
    ]
    along = np.stack([linear @ unit for linear, unit in zip(maps, units, strict=True)], axis=1)
    across = [
        linear - np.outer(b, unit) for linear, b, unit in zip(maps, along.T, units, strict=True)
    ]
    curvature = np.zeros((n, n))
    for size, projected in zip(sizes, across, strict=True):
        curvature += size * (projected @ projected.T)
    system = np.block([[curvature, along * sizes], [(along * sizes).T, np.zeros((m, m))]])
    right = np.concatenate([targets - along @ sizes - curvature @ lam, sizes * (1 - along.T @ lam)])
    solution = np.linalg.lstsq(system, right, rcond=1e-15)[0]
    lam = lam + solution[:n]
    lengths = sizes * solution[n:]
    step = [
        face @ (size * (projected.T @ lam) + length * unit)
        for face, size, projected, length, unit in zip(
            faces, sizes, across, lengths, units, strict=True
        )
    ]
    return step, lam


def _longest_step(
    neurons: list[Neuron], step: list[Array], samples: Array
) -> tuple[tuple[float, int, int] | None, float]:
    """How far every neuron stays in its closed cell: (length, neuron, sample) of the first
    crossing, or None."""
    first: tuple[float, int, int] | None = None
    for j, (neuron, dv) in enumerate(zip(neurons, step, strict=True)):
        value, change = (samples @ neuron.v) * neuron.sides, (samples @ dv) * neuron.sides
        leaving = np.flatnonzero((neuron.sides != 0) & (value + change < 0))
        for k in leaving:
            length = float(max(value[k], 0.0) / -change[k])
            if first is None or length < first[0]:
                first = (length, j, int(k))
    return first, 1.0 if first is None else first[0]


def _shortened(
    neurons: list[Neuron],
    step: list[Array],
    length: float,
    samples: Array,
    targets: Array,
    lam: Array,
) -> float:
    """Halve the step until Σ‖v_j‖ + penalty·‖misfit‖₁ does not grow."""
    penalty = 2 * float(np.max(np.abs(lam))) + 1

    def merit(t: float) -> float:
        fitted, norm = np.zeros(targets.size), 0.0
        for neuron, dv in zip(neurons, step, strict=True):
            moved = replace(neuron, v=neuron.v + t * dv)
            fitted += moved.features(samples)
            norm += float(np.linalg.norm(moved.v))
        return norm + penalty * float(np.sum(np.abs(fitted - targets)))

    before = merit(0.0)
    slack = 1e-11 * before
    for _ in range(40):
        if merit(length) <= before + slack:
            return length
        length /= 2
    return 0.0
