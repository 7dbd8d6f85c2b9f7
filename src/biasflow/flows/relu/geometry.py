"""Data and starts as the kernels see them, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ..._core.trees import grown
from ...errors import ScaleError
from ...models import TwoLayer, TwoLayerParams
from .frozen_field import group_forces
from .layout import FIRST, OUT, RHO, ROUNDING, Gates, Geometry, Invariants

SAME_DIRECTION = 1e-14
"""Distance of unit vectors up to which inputs share a direction."""
NEAR, FEW = 0.9, 512
"""Cosine above which it is worth a look whether directions are one; and inputs of which all pairs
are compared at once."""
LATELY_SEEN = 4
"""Data sets of which the geometry is kept: sweeps take turns between few."""


class Samples(NamedTuple):
    """Data as the kernels see them, and what follows from them alone: flows from many starts share
    it."""

    geometry: Geometry
    basis: Array  # (d, r)
    axes: Array  # (r, d): the basis, row by row
    columns: Array  # (d, n): those of all inputs
    live: Index  # the inputs that are not zero
    idle_square: float  # Σ y² over the others
    lengths: Array  # (n,): ‖x‖ of all inputs
    length: float  # √Σ‖x‖²
    largest: float  # of the norms
    smallest_label: float  # of those that are not zero; zero where all are
    pulls: tuple[Array, Array]  # F0 and F1 of every group at h = 0
    members: Index  # the inputs that are not zero, group by group
    sizes: Index  # (G,): of the groups


@dataclass(frozen=True, eq=False)
class Network:
    """A two-layer problem in the kernels' coordinates. Neurons that are zero never move and are
    left out."""

    data: Samples
    invariants: Invariants
    start: Array  # (m', r+2)
    gates: Gates  # (m', G), SLIDE where a pre-activation starts at zero
    fixed: Array  # (m', d): the part of W outside the span of the inputs, over e^{log_sizes}
    log_sizes: Array  # (m',): log of the largest weight of each neuron at the start
    alive: Index  # the m' neurons that are not zero
    given: TwoLayerParams  # the start as it was given
    lowest: float  # log‖(a, w)‖ of the smallest neuron at the start
    log_size: float  # log ½Σe^{2ρ} of the start, which bounds log|h(u)| for every unit vector u
    felt: bool  # whether some gate is not OFF at the start
    moves: bool  # whether some neuron has a part that can move
    on_kinks: bool  # whether some gate is SLIDE

    @property
    def geometry(self) -> Geometry:
        return self.data.geometry

    @property
    def basis(self) -> Array:
        """(d, r): of the span of the inputs."""
        return self.data.basis

    @property
    def samples(self) -> Index:
        """The inputs that are not zero."""
        return self.data.live

    @property
    def has_still(self) -> bool:
        """Whether some part of W may lie outside the span of the inputs."""
        return self.basis.shape[1] < self.basis.shape[0]

    @cached_property
    def still(self) -> Array:
        """(m', d): the part of W that never moves."""
        return grown(self.fixed, self.log_sizes) if self.has_still else self.fixed

    def params(self, states: Array) -> TwoLayerParams:
        """Weights of states (..., m', r+2)."""
        with np.errstate(under="ignore"):
            size = np.exp(states[..., RHO])
            moved = size[..., None] * states[..., FIRST:]
            W = (moved.reshape(-1, moved.shape[-1]) @ self.basis.T).reshape(*size.shape, -1)
            if self.has_still:
                W += self.still
            alive = TwoLayerParams(size * states[..., OUT], W)
        if self.alive.size == self.given.a.size:
            return alive
        a, W = (np.zeros((*size.shape[:-1], *leaf.shape)) for leaf in self.given)
        a[..., self.alive], W[..., self.alive, :] = alive
        return TwoLayerParams(a, W)

    def polar(self, state: Array) -> tuple[TwoLayerParams, Array]:
        """Weights of unit neurons, and log‖(a_j, w_j)‖, −∞ where a neuron is zero, of a state (m',
        r+2)."""
        rho, moving = state[:, RHO], state[:, FIRST:] @ self.basis.T
        if self.has_still:
            moving += grown(self.fixed, self.log_sizes - rho)
        if self.alive.size == self.given.a.size:
            return TwoLayerParams(state[:, OUT].copy(), moving), rho.copy()
        a, W, log_norms = (
            np.zeros_like(self.given.a),
            np.zeros_like(self.given.W),
            np.full(len(self.given.a), -np.inf),
        )
        a[self.alive], W[self.alive], log_norms[self.alive] = state[:, OUT], moving, rho
        return TwoLayerParams(a, W), log_norms


def network(problem: Problem) -> Network:
    """The problem's data in groups of one direction, and its start in normalised coordinates."""
    model: TwoLayer = problem.model
    X, y, given = problem.data.X, problem.data.y, problem.start
    speed = 2 * problem.loss.factor(len(y))
    data = _samples(X.tobytes(), y.tobytes(), X.shape, speed, model.negative_slope)
    return _started(data, given, problem.log_scale, np.arange(given.a.size))


@lru_cache(maxsize=LATELY_SEEN)
def _samples(
    inputs: bytes, labels: bytes, shape: tuple[int, int], speed: float, slope: float
) -> Samples:
    """Known by their content, since arrays may be written to."""
    X, y = np.frombuffer(inputs).reshape(shape), np.frombuffer(labels)
    norms, lengths = np.linalg.norm(X, axis=1), np.sqrt((X * X).sum(axis=1))
    live = np.flatnonzero(norms > 0)
    group, side, directions = _groups(X[live] / norms[live, None])
    U, basis = _reduced(directions)
    U = np.ascontiguousarray(np.hstack([np.zeros((len(U), FIRST)), U]))
    two_sided = bool(np.any(side < 0)) or slope > 0
    UT = np.ascontiguousarray(U.T)
    geometry = Geometry(U, UT, group, side, norms[live], y[live], speed, slope, two_sided)
    sizes = np.abs(geometry.labels)
    least = float(sizes.min(initial=math.inf, where=sizes > 0))
    return Samples(
        geometry,
        basis,
        np.ascontiguousarray(basis.T),
        X.T.copy(),
        live,
        float(np.sum(y**2)) - float(np.sum(y[live] ** 2)),
        lengths,
        math.sqrt(lengths @ lengths),
        float(geometry.kappa.max(initial=0.0)),
        least if least < math.inf else 0.0,
        group_forces(-geometry.labels, geometry),
        np.argsort(group, kind="stable"),
        np.bincount(group, minlength=1),
    )


def _groups(unit: Array) -> tuple[Index, Array, Array]:
    """The group and side of every unit vector, and the groups' directions: parallel vectors
    together, whatever their sign."""
    if len(unit) <= FEW and np.count_nonzero(np.abs(unit @ unit.T) > NEAR) == len(unit):
        return np.arange(len(unit)), np.ones(len(unit)), unit
    first: list[int] = []
    group, side = np.full(len(unit), -1), np.ones(len(unit))
    for k in range(len(unit)):
        if group[k] >= 0:
            continue
        cosines = unit @ unit[k]
        near = np.flatnonzero((group < 0) & (np.abs(cosines) > NEAR))
        signs = np.sign(cosines[near])
        same = np.linalg.norm(signs[:, None] * unit[near] - unit[k], axis=1) <= SAME_DIRECTION
        group[near[same]], side[near[same]] = len(first), signs[same]
        first.append(k)
    return group, side, unit[first]


def _reduced(directions: Array) -> tuple[Array, Array]:
    """Coordinates (G, r) of the directions in an orthonormal basis (d, r) of their span; orthogonal
    ones stay so."""
    if len(directions) == 0:
        return np.zeros((0, 1)), np.zeros((directions.shape[1], 1))
    Q, R, order = sl.qr(directions.T, mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > ROUNDING))
    U = np.empty((len(directions), rank))
    U[order] = R[:rank].T
    U[np.abs(U) < ROUNDING] = 0.0
    return U, Q[:, :rank]


def _started(data: Samples, given: TwoLayerParams, log_scale: Any, alive: Index) -> Network:
    """The network with its start in the kernels' coordinates; alive: neurons that may be zero."""
    kernels = _kernels()
    whole, (a, W), axes, U = alive.size == given.a.size, given, data.axes, data.geometry.U
    if not whole:
        a, W = a[alive], W[alive]
    (m, d), W = W.shape, np.ascontiguousarray(W)
    shift = np.zeros(m)
    shift += log_scale if whole or np.ndim(log_scale) == 0 else log_scale[alive]
    start, gates = np.empty((m, FIRST + len(axes))), np.empty((m, len(U)), np.int8)
    fixed, kept = np.empty((m, d)), np.empty((4, m))
    found, lowest, log_size = kernels.fold(a, W, shift, axes, U, start, gates, fixed, kept)
    if found == kernels.ZERO:
        alive = ((a != 0) | W.any(axis=1)).nonzero()[0]
        if alive.size == 0:
            raise ScaleError(
                "start: every weight is zero; the flow never leaves this saddle, start from a "
                "positive scale"
            )
        return _started(data, given, log_scale, alive)
    return Network(
        data,
        Invariants(kept[1], kept[2], kept[3], not found & kernels.UNBALANCED),
        start,
        gates,
        fixed,
        kept[0],
        alive,
        given,
        lowest,
        log_size,
        bool(found & kernels.FELT),
        bool(found & kernels.MOVES),
        bool(found & kernels.KINK),
    )


@cache
def _kernels() -> ModuleType:
    from . import saved_weights

    return saved_weights
