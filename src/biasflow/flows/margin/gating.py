"""Gates of ReLUs over a step: implicit where a neuron slides along a kink, averaged where it crosses one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import compiling
from ..compiling import entry, inner, stamp

SWEEPS = 200
CLOSE = 1e-12
"""Change of a gate in a sweep at which the gates of a neuron are found."""
PARALLEL = 1e-20
"""Squared sine of the angle between inputs below which they are parallel."""


@inner
def _settle(z: Any, pull: Any, X: Any, squares: Any, slope: float, dt: float, gates: Any, velocity: Any) -> None:
    """Projected Gauss–Seidel on g_i ∈ σ'(z_i + Δt·⟨x_i, v⟩), v = Σ pull_i·g_i·x_i, over the kinks that attract."""
    n, d = X.shape
    for _ in range(SWEEPS):
        most = 0.0
        for i in range(n):
            if not dt * pull[i] * squares[i] < 0.0:
                continue
            end = z[i]
            for k in range(d):
                end += dt * X[i, k] * velocity[k]
            new = gates[i] - end / (dt * pull[i] * squares[i])
            new = slope if new < slope else (1.0 if new > 1.0 else new)
            change = new - gates[i]
            if change != 0.0:
                gates[i] = new
                for k in range(d):
                    velocity[k] += pull[i] * change * X[i, k]
                most = max(most, abs(change))
        if most <= CLOSE:
            break


@inner
def _classify(z: Any, pull: Any, X: Any, squares: Any, slope: float, dt: float, gates: Any, velocity: Any, slides: Any) -> None:
    """A neuron slides where both sides push it onto the kink; where it crosses, its gate is the share of the step above."""
    n, d = X.shape
    for i in range(n):
        speed = 0.0
        for k in range(d):
            speed += X[i, k] * velocity[k]
        if slope < gates[i] < 1.0:
            above, below = speed + pull[i] * (1.0 - gates[i]) * squares[i], speed + pull[i] * (slope - gates[i]) * squares[i]
            if above < 0.0 < below:
                slides[i] = True
                continue
            speed = above if z[i] > 0.0 else below
        end = z[i] + dt * speed
        if end * z[i] < 0.0:
            gates[i] = slope + (1.0 - slope) * max(end, z[i]) / abs(end - z[i])
        elif slope < gates[i] < 1.0:
            gates[i] = 1.0 if end > 0.0 else slope


@inner
def _project(basis: Any, vector: Any) -> None:
    """Takes the span of an orthonormal basis out of a vector, in place."""
    for r in range(basis.shape[0]):
        along = 0.0
        for k in range(vector.size):
            along += basis[r, k] * vector[k]
        for k in range(vector.size):
            vector[k] -= along * basis[r, k]


@inner
def _basis(X: Any, slides: Any, squares: Any) -> Any:
    """An orthonormal basis of those inputs."""
    n, d = X.shape
    basis, rank = np.zeros((d, d)), 0
    for i in range(n):
        if slides[i] and rank < d:
            vector = X[i].copy()
            for _ in range(2):
                _project(basis[:rank], vector)
            size = 0.0
            for k in range(d):
                size += vector[k] * vector[k]
            if size > PARALLEL * squares[i]:
                basis[rank] = vector / np.sqrt(size)
                rank += 1
    return basis[:rank]


def _entry(version: int) -> Any:
    def step_gates(z: Any, a: Any, q: Any, X: Any, slope: float, dt: float) -> Any:
        """Gates (m, n) of a step dt of ẇ_j = a_jΣ_i q_i·g_ij·x_i from the projections z (m, n), and which of them slide."""
        (m, n), d = z.shape, X.shape[1]
        gates, pull, velocity, squares = np.empty((m, n)), np.empty(n), np.empty(d), np.zeros(n + version - version)
        slides = np.zeros((m, n), dtype=np.bool_)
        for i in range(n):
            for k in range(d):
                squares[i] += X[i, k] * X[i, k]
        for j in range(m):
            velocity[:] = 0.0
            for i in range(n):
                pull[i] = a[j] * q[i] if squares[i] > 0.0 else 0.0
                gates[j, i] = 1.0 if z[j, i] > 0.0 else slope
                for k in range(d):
                    velocity[k] += pull[i] * gates[j, i] * X[i, k]
            _settle(z[j], pull, X, squares, slope, dt, gates[j], velocity)
            _classify(z[j], pull, X, squares, slope, dt, gates[j], velocity, slides[j])
        return gates, slides

    return entry(step_gates)


def _bases(version: int) -> Any:
    def sliding_bases(X: Any, slides: Any) -> Any:
        """Orthonormal rows (s, d, d) that span the inputs each neuron slides on, zero where there are fewer."""
        (n, d), s = X.shape, slides.shape[0]
        bases, squares = np.zeros((s, d, d)), np.zeros(n + version - version)
        for i in range(n):
            for k in range(d):
                squares[i] += X[i, k] * X[i, k]
        for j in range(s):
            basis = _basis(X, slides[j], squares)
            bases[j, : basis.shape[0]] = basis
        return bases

    return entry(sliding_bases)


STAMP = stamp(__file__, compiling.__file__)
step_gates = _entry(STAMP)
sliding_bases = _bases(STAMP)
