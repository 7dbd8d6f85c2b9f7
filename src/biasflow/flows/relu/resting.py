"""Whether a network that seems to stand still does: its gradient vanishes up to rounding, along
thin directions of the data too.

The pull on a neuron is D = −Σ_k σ'_k r_k x_k. It counts as zero where residuals a little different
make it zero exactly: then it lies in an ellipsoid with half-axes along the inputs, as thin in any
direction as they are. To compare ‖D‖ with Σ|r_k|‖x_k‖ would
not do: of inputs (t, 1), t of about 1e9, the second weight gets a share of 1e-9, and all that tells
them apart is less still.
"""

from __future__ import annotations

import enum

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..mirror.dual_flow import CONVERGED
from .frozen_field import FrozenField
from .geometry import Network
from .layout import OUT, RHO, ROUNDING, SLIDE, Gates

EPS = float(np.finfo(float).eps)
ROUNDINGS = 16.0
"""Roundings, in units of the sizes of their terms, that sums over samples, coordinates and neurons
are allowed."""
FITTED = float(np.sqrt(CONVERGED))
"""Change of residuals, in units of the largest, that makes no difference: where labels can be
fitted, this is a fit."""


class Rest(enum.Enum):
    """Of a network that the kernels see stand still: it does; it moves, more slowly; or it moves,
    and they cannot see it."""

    SHOWN = 0
    MOVING = 1
    UNSEEN = 2


def at_rest(problem: Problem, net: Network, Y: Array, gates: Gates, faint: float) -> Rest:
    """Judged in the coordinates of the inputs. faint: 2ρ up to which a neuron that shrinks is
    none."""
    X, y, here = problem.data.X[net.samples], net.geometry.labels, net.alive
    field = FrozenField(gates, net.geometry, Y.shape)
    params = net.params(Y)
    a, W, slopes = params.a[here], params.W[here], field.slopes
    unmoved = np.max(np.abs(Y - net.start), axis=1) <= ROUNDINGS * EPS * (
        1 + np.abs(net.start[:, RHO])
    )
    if problem.in_floats:
        a[unmoved], W[unmoved] = problem.start.a[here][unmoved], problem.start.W[here][unmoved]
    lengths, sizes = np.linalg.norm(X, axis=1), np.linalg.norm(W, axis=1) * (1 + np.abs(Y[:, RHO]))
    inner, terms, spread = W @ X.T, np.abs(W) @ np.abs(X).T, np.outer(sizes, lengths)
    own = np.where(inner > 0, 1.0, net.geometry.slope)
    certain = unmoved[:, None] & (np.abs(inner) > ROUNDINGS * EPS * terms)
    # starts on a side of a kink, which its rounded direction does not tell
    unseen = np.any(certain & (own != slopes), axis=1)
    slopes = np.where(certain, own, slopes)
    residual = a @ (slopes * inner) - y
    rounded, turned = (  # of a residual: the weights as they are, and as sums of rotated ones
        ROUNDINGS * EPS * (np.abs(y) + np.abs(a) @ (slopes * size))
        for size in (np.where(unmoved[:, None], terms, spread), spread)
    )
    weights = FITTED * float(np.max(np.abs(residual))) + rounded
    pulls = -(slopes * residual) @ X
    blur = ROUNDINGS * EPS * (slopes * np.abs(residual)) @ np.abs(X)
    # of a pull that directions are rounded to
    level = ROUNDING * (slopes * np.abs(residual)) @ lengths
    units = net.polar(Y)[0].W[here]
    vanishing = (2 * Y[:, RHO] <= faint) & (np.sum(units * pulls, axis=1) * Y[:, OUT] < 0)
    verdict = Rest.SHOWN
    for j in np.flatnonzero(~vanishing & np.any(pulls != 0, axis=1)):
        D, axes, noise, w = pulls[j], (slopes[j] * weights)[:, None] * X, blur[j], units[j]
        if np.any(gates[j] == SLIDE) and not unseen[j]:  # what a slide takes up is no pull
            onto = field.keep[j] @ net.basis.T
            D, axes, noise, w = (
                onto @ D,
                axes @ onto.T,
                np.full(len(onto), np.linalg.norm(blur[j])),
                onto @ w,
            )
        passive = abs(Y[j, OUT]) <= ROUNDINGS * EPS  # then only its output could move
        if (passive or _inside(D, axes, noise)) and abs(D @ w) <= _reach(D, w, axes, noise):
            continue
        if not unseen[j] and not _inside(
            D, (turned / weights)[:, None] * axes, np.full(len(D), level[j])
        ):
            return Rest.MOVING
        verdict = Rest.UNSEEN
    return verdict


def _inside(D: Array, axes: Array, noise: Array) -> bool:
    """Whether D = Σ δ_k axes_k + Σ η_i noise_i e_i with Σδ² + Ση² ≤ 1."""
    moved = noise > 0
    if not np.any(moved):
        return True
    target, scaled = D[moved] / noise[moved], axes[:, moved] / noise[moved]
    if np.sum(target**2) <= 1:
        return True
    n, d = scaled.shape
    if n < d:  # least squares for δ, η being what is left
        tall, right = np.vstack([scaled.T, np.eye(n)]), np.append(target, np.zeros(n))
        return bool(np.sum((right - tall @ np.linalg.lstsq(tall, right)[0]) ** 2) <= 1)
    factor = np.linalg.qr(np.vstack([scaled, np.eye(d)]), mode="r")
    return bool(np.sum(sl.solve_triangular(factor, target, trans="T") ** 2) <= 1)


def _reach(D: Array, w: Array, axes: Array, noise: Array) -> float:
    """The largest ⟨w, D'⟩ of all D' inside, and the rounding of ⟨w, D⟩ for a unit vector w."""
    return float(
        np.hypot(np.linalg.norm(axes @ w), np.linalg.norm(noise * w))
    ) + ROUNDINGS * EPS * float(np.linalg.norm(D))
