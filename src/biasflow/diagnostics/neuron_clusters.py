"""What a two-layer ReLU network consists of: clusters of neurons with one direction, kinks of a
function on a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.arguments import Array, Index, positive_float, row_lengths
from .._core.facts import record_line
from ..errors import InputError
from ..limits.neurons.variation_norms import read_network
from ..models import TwoLayerParams

ANGLE = np.deg2rad(5.0)
"""How far from its heaviest neuron a cluster reaches where nothing else is asked for."""
LEAST_SHARE = 1e-3
"""Share of a network below which a neuron or a kink does not count."""
MERGED_KINKS_ANGLE = 1e-3
"""Angle between kinks, seen from height 1 above the origin, up to which they are one."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Neurons of one sign and, nearly, of one direction.

    direction: unit vector, the mean weighted by |a_j|‖w_j‖; sign: that of a_j; mass: Σ|a_j|‖w_j‖;
    share: of the network's mass;
    spread: largest angle of a member to the direction; neurons: the members, heaviest first.
    """

    direction: Array
    sign: int
    mass: float
    share: float
    spread: float
    neurons: Index

    def __repr__(self) -> str:
        return record_line(self)

    def __str__(self) -> str:
        count = f"{self.neurons.size} neuron{'s' * (self.neurons.size > 1)}"
        return (
            f"{'+' if self.sign > 0 else '−'} {count}, {self.share:.3g} of the mass, within "
            f"{np.rad2deg(self.spread):.2g}°"
        )


@dataclass(frozen=True, eq=False)
class Kink:
    """Where the slope of a function on a line changes, by how much, and which neurons make it
    so."""

    position: float
    change: float
    neurons: Index

    def __repr__(self) -> str:
        return record_line(self)

    def __str__(self) -> str:
        return f"x = {self.position:.4g}: slope changes by {self.change:.4g}"


def clusters(
    params: TwoLayerParams, angle: float = ANGLE, least: float = LEAST_SHARE
) -> tuple[Cluster, ...]:
    """The clusters of neuron directions, heaviest first.

    The heaviest neuron that is left gathers those of its sign within `angle` of it, and so on.
    Shares are free of underflow: a network at scale 1e-200 has clusters too.

    Parameters
    ----------
    params : models.TwoLayerParams
    angle : float
        In radians.
    least : float
        Clusters with less than this share of Σ|a_j|‖w_j‖ are left out.

    Returns
    -------
    tuple of diagnostics.Cluster

    Examples
    --------
    >>> a, W = np.array([1.0, 1.0, -1.0]), np.array([[1.0, 0.0], [2.0, 0.01], [0.0, 1.0]])
    >>> for one in bf.diagnostics.clusters(bf.models.TwoLayerParams(a, W)):
    ...     print(one.sign, one.direction.round(2), one.neurons, round(one.share, 2))
    1 [1. 0.] [1 0] 0.75
    -1 [0. 1.] [2] 0.25
    """
    a, W = read_network(params)
    angle, least = positive_float("angle", angle), positive_float("least", least)
    lengths = row_lengths(W) if a.size else np.zeros(0)
    alive = np.flatnonzero((a != 0) & (lengths > 0))
    if alive.size == 0:
        return ()
    units = W[alive] / lengths[alive, None]
    relative = (np.abs(a[alive]) / np.max(np.abs(a[alive]))) * (
        lengths[alive] / np.max(lengths[alive])
    )
    signs, total, left = np.sign(a[alive]), float(np.sum(relative)), np.ones(alive.size, dtype=bool)
    found = []
    for leader in np.argsort(-relative, kind="stable"):
        if not left[leader]:
            continue
        members = np.flatnonzero(
            left & (signs == signs[leader]) & (_angles(units, units[leader]) <= angle)
        )
        left[members] = False
        members = members[np.argsort(-relative[members], kind="stable")]
        weight = float(np.sum(relative[members]))
        if weight < least * total:
            continue
        direction = relative[members] @ units[members]
        direction /= np.linalg.norm(direction)
        spread = float(np.max(_angles(units[members], direction)))
        mass = float(np.sum(np.abs(a[alive[members]]) * lengths[alive[members]]))
        found.append(
            Cluster(direction, int(signs[leader]), mass, weight / total, spread, alive[members])
        )
    return tuple(sorted(found, key=lambda cluster: -cluster.share))


def kinks(
    params: TwoLayerParams, apart: float = MERGED_KINKS_ANGLE, least: float = LEAST_SHARE
) -> tuple[Kink, ...]:
    """The kinks of x ↦ h(x, 1) for a network on a line with a bias coordinate, from left to right.

    A neuron with w = (w₁, w₂), w₁ ≠ 0, has its kink at −w₂/w₁ and changes the slope there by
    a·|w₁|. Its position is the mean weighted by |change| where several are one.

    Parameters
    ----------
    params : models.TwoLayerParams
        W (m, 2).
    apart : float
        Kinks at angles arctan(position) no more than this from the next are one: its change is the
        sum.
    least : float
        Those of less than this share of the sum of all |a·w₁| are left out: opposite neurons may
        cancel.

    Returns
    -------
    tuple of diagnostics.Kink

    Examples
    --------
    >>> a, W = np.array([1.0, 2.0]), np.array([[1.0, -1.0], [-1.0, 0.5]])
    >>> kinks = bf.diagnostics.kinks(bf.models.TwoLayerParams(a, W))
    >>> [(round(kink.position, 3), round(kink.change, 3)) for kink in kinks]
    [(0.5, 2.0), (1.0, 1.0)]
    """
    a, W = read_network(params)
    apart, least = positive_float("apart", apart), positive_float("least", least)
    if W.shape[1] != 2:
        raise InputError(
            "params.W: kinks are those of a function on a line with a bias, so (m, 2), found "
            f"{W.shape}"
        )
    bent = np.flatnonzero((W[:, 0] != 0) & (a != 0))
    if bent.size == 0:
        return ()
    position, change = -W[bent, 1] / W[bent, 0], a[bent] * np.abs(W[bent, 0])
    weight = (np.abs(a[bent]) / np.max(np.abs(a[bent]))) * (
        np.abs(W[bent, 0]) / np.max(np.abs(W[bent, 0]))
    )
    order = np.argsort(position, kind="stable")
    cuts = np.flatnonzero(np.diff(np.arctan(position[order])) > apart) + 1
    found, total = [], float(np.sum(weight))
    for members in np.split(order, cuts):
        signed = float(np.sum(np.sign(a[bent[members]]) * weight[members]))
        if abs(signed) >= least * total:
            middle = float(np.average(position[members], weights=weight[members]))
            found.append(Kink(middle, float(np.sum(change[members])), bent[members]))
    return tuple(found)


def _angles(units: Array, unit: Array) -> Array:
    """Angles to a unit vector, accurate near zero and near π."""
    return 2 * np.arctan2(
        np.linalg.norm(units - unit, axis=-1), np.linalg.norm(units + unit, axis=-1)
    )
