"""Networks as measures on the sphere of their neurons, and how these move and grow (C, eq. 3 and
Appendix C.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance, labels, matrix, vector
from .._core.facts import record_line
from ..errors import InputError
from .signed import SignedTwoLayer
from .two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class SphereMeasure:
    """Π₂ of a network: ν = Σ_j mass_j·δ_{θ_j}, θ_j the neuron's weights over their norm, mass_j
    that norm squared (C, eq. 3).

    neurons: the θ_j in the type of the parameters. log_masses: (m,), −∞ for a neuron that is zero,
    whose θ_j is any.
    """

    model: TwoLayer | SignedTwoLayer
    neurons: Any
    log_masses: Array

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def points(self) -> Array:
        """θ (m, p), unit rows: (w_j, a_j) of a TwoLayer, p = d + 1; w_j of a SignedTwoLayer, whose
        signs stay with the model."""
        return _rows(self.neurons)

    @property
    def log_norm(self) -> float:
        """log β, β = Σmass."""
        return float(np.logaddexp.reduce(self.log_masses))

    @property
    def shares(self) -> Array:
        """mass_j/β, the normalised measure ν̄."""
        return np.exp(self.log_masses - self.log_norm)

    def features(self, X: ArrayLike) -> Array:
        """φ(θ_j, x_i), (n, m)."""
        return np.asarray(self.model.outputs(self.neurons, _inputs(self.model, X)).T)

    def __call__(self, X: ArrayLike) -> Array:
        """∫φ(θ, x_i)dν, (n,): the network's predictions."""
        return self.features(X) @ np.exp(self.log_masses)


class TransportGrowth(NamedTuple):
    """∂_tν = −div(ν∇J') + 4J'ν particle by particle (C, eq. 11): J'(θ_j) (m,), dθ_j/dt (m, p), d
    log mass_j/dt (m,)."""

    potential: Array
    velocity: Array
    growth: Array

    def __repr__(self) -> str:
        return record_line(self)


def sphere_measure(model: TwoLayer | SignedTwoLayer, params: Any) -> SphereMeasure:
    """Π₂(μ) of a network: its neurons projected onto the sphere, weighted by their squared norms
    (C, eq. 3).

    Parameters
    ----------
    model : TwoLayer or SignedTwoLayer
    params
        Its parameters.

    Returns
    -------
    models.SphereMeasure

    Examples
    --------
    >>> model = bf.TwoLayer(width=2, dim=1)
    >>> params = bf.models.TwoLayerParams(a=np.array([3.0, 1.0]), W=np.array([[4.0], [0.0]]))
    >>> np.exp(bf.models.sphere_measure(model, params).log_masses).round(6)
    array([25.,  1.])
    """
    instance("model", model, (TwoLayer, SignedTwoLayer))
    params = model.checked(params, model.dim)
    largest = np.max(np.abs(_rows(params)), axis=1)
    safe = np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(_rows(params) / safe[:, None], axis=1)
    scale = safe * np.where(largest > 0, norms, 1.0)
    neurons = type(params)(*((leaf.T / scale).T for leaf in params))
    neurons.W[largest == 0, 0] = 1.0
    with np.errstate(divide="ignore"):
        return SphereMeasure(
            model, neurons, 2 * (np.log(largest) + np.log(np.where(largest > 0, norms, 1.0)))
        )


def transport_growth(
    measure: SphereMeasure, X: ArrayLike, y: ArrayLike, weights: ArrayLike
) -> TransportGrowth:
    """How the flow of the smooth margin moves Π₂(μ), in C's clock.

    J'(θ) = Σ_i weights_i·y_i·φ(θ, x_i); dθ/dt is its gradient along the sphere, d log mass/dt =
    4J'(θ) (C, eq. 11). The normalised measure's growth is that less its mean, Σ_j share_j·growth_j;
    C, eq. 12 prints J'_ν̄ for J'_ν, the potential at the true norm.

    Parameters
    ----------
    measure : models.SphereMeasure
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels ±1.
    weights : array of shape (n,)
        ∇S.

    Returns
    -------
    models.TransportGrowth
        potential J' (m,), velocity dθ/dt (m, p), growth (m,).

    Examples
    --------
    >>> model = bf.TwoLayer(width=2, dim=1)
    >>> params = bf.models.TwoLayerParams(a=np.ones(2), W=np.array([[1.0], [-1.0]]))
    >>> measure = bf.models.sphere_measure(model, params)
    >>> bf.models.transport_growth(measure, [[1.0]], [1.0], [1.0]).growth.round(6)
    array([2., 0.])
    """
    instance("measure", measure, SphereMeasure)
    X = _inputs(measure.model, X)
    y = labels("y", y, X.shape[0])
    gradient = _rows(
        measure.model.gradient(measure.neurons, X, y * vector("weights", weights, X.shape[0]))
    )
    along = np.sum(measure.points * gradient, axis=1)
    return TransportGrowth(along / 2, gradient - along[:, None] * measure.points, 2 * along)


def _inputs(model: TwoLayer | SignedTwoLayer, X: ArrayLike) -> Array:
    found = matrix("X", X)
    if found.shape[1] != model.dim:
        raise InputError(
            f"X: the model takes inputs of dimension {model.dim}, found {found.shape[1]}"
        )
    return found


def _rows(params: Any) -> Array:
    """One row per neuron, output weights last."""
    return np.column_stack(list(params)[::-1])
