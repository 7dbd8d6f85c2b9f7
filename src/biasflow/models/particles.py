"""Wide two-layer ReLU networks as measures on the sphere (C, §2 and Appendix B)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, labels, matrix, real_array
from .._core.markup import card
from ..errors import InputError

UNIT_NORM_TOLERANCE = 1e-9
"""How far from one the norm of a direction may be."""
EQUAL_DIRECTIONS_DECIMALS = 9
"""Decimals to which directions must agree to count as one."""


class Particles(NamedTuple):
    """A measure ν = Σ_j mass_j·δ_{θ_j} with θ_j = (u_j, s_j)/√2, the balanced neurons of C,
    Proposition 9.

    f(x) = ∫φ(θ, x)dν = ½Σ_j mass_j·s_j(⟨u_j, (x, 1)⟩)₊. directions: u (k, d+1), unit rows, the bias
    coordinate last.
    signs: s (k,), ±1. log_masses: (k,); −∞ is no mass. Inputs come without the bias column.

    Examples
    --------
    >>> network = bf.models.Particles(np.array([[1.0, 0.0]]), np.array([1.0]), np.array([0.0]))
    >>> network(np.array([[2.0], [-2.0]])), network.norm
    (array([1., 0.]), 1.0)
    """

    directions: Array
    signs: Array
    log_masses: Array

    def __repr__(self) -> str:
        k, d = np.shape(self.directions)[-2:]
        return f"Particles({k} neurons in dimension {d}; log of the mass {self.log_norm:.4g})"

    def _repr_html_(self) -> str:
        k, d = np.shape(self.directions)[-2:]
        plus = int(np.sum(self.signs > 0))
        rows = [("neurons", f"{k} in dimension {d}, {plus} of them positive")]
        return card("Particles", [*rows, ("log of the mass", f"{self.log_norm:.6g}")])

    @property
    def masses(self) -> Array:
        """mass_j; may overflow where log_masses does not."""
        return np.exp(self.log_masses)

    @property
    def log_norm(self) -> float:
        """log Σ_j mass_j, −∞ for the zero measure."""
        top = float(np.max(self.log_masses, initial=-np.inf))
        return (
            top + float(np.log(np.sum(np.exp(self.log_masses - top))))
            if np.isfinite(top)
            else -np.inf
        )

    @property
    def norm(self) -> float:
        """ν's mass Σ_j mass_j: the F1 norm of f, or more where another measure gives the same f."""
        return float(np.exp(self.log_norm))

    @property
    def shares(self) -> Array:
        """mass_j/Σmass, summing to one; zeros for the zero measure."""
        return (
            np.exp(self.log_masses - self.log_norm)
            if np.isfinite(self.log_norm)
            else np.zeros(len(self.signs))
        )

    @property
    def support(self) -> Particles:
        """The same measure without massless particles, those of one direction and sign added up."""
        kept = np.isfinite(self.log_masses)
        u, s, log_masses = self.directions[kept], self.signs[kept], self.log_masses[kept]
        _, first, group = np.unique(
            np.round(np.column_stack([u, s]), EQUAL_DIRECTIONS_DECIMALS) + 0.0,
            axis=0,
            return_index=True,
            return_inverse=True,
        )
        sums = np.full(first.size, -np.inf)
        np.logaddexp.at(sums, group.ravel(), log_masses)
        order = np.argsort(first)
        return Particles(u[first[order]], s[first[order]], sums[order])

    def features(self, X: ArrayLike) -> Array:
        """φ(θ_j, x_i) = ½s_j(⟨u_j, (x_i, 1)⟩)₊, (n, k)."""
        return (
            0.5
            * self.signs
            * np.maximum(augmented(X, self.directions.shape[1] - 1) @ self.directions.T, 0.0)
        )

    def __call__(self, X: ArrayLike) -> Array:
        """f(x_i), (n,)."""
        return self.features(X) @ self.masses

    def margins(self, X: ArrayLike, y: ArrayLike) -> Array:
        """y_i·f(x_i)/Σmass, (n,)."""
        values = self.features(X) @ self.shares
        return labels("y", y, values.size) * values

    def margin(self, X: ArrayLike, y: ArrayLike) -> float:
        """min_i y_i·f(x_i)/Σmass, at most γ₁ (C, eq. 4)."""
        return float(np.min(self.margins(X, y)))


def augmented(X: ArrayLike, dim: int | None = None) -> Array:
    """Inputs (n, d) with a last coordinate one."""
    X = matrix("X", X)
    if dim is not None and X.shape[1] != dim:
        raise InputError(
            f"X: expected {dim} columns, inputs without the bias column, found shape {X.shape}"
        )
    return np.hstack([X, np.ones((X.shape[0], 1))])


def as_particles(network: Any) -> Particles:
    """A measure from `Particles`, or from the parameters (a, W) of h(x) = Σ_j a_j(⟨w_j, (x, 1)⟩)₊.

    A neuron has mass 2|a_j|‖w_j‖, the least that gives its function; for balanced neurons, |a_j| =
    ‖w_j‖, that is its mass a_j² + ‖w_j‖² in Π₂ (C, eq. 3 and Proposition 9).

    Parameters
    ----------
    network : Particles or (a, W)
        a (m,), W (m, d+1).

    Returns
    -------
    models.Particles

    Examples
    --------
    >>> a, W = np.array([1.0, -2.0]), np.array([[3.0, 4.0], [1.0, 0.0]])
    >>> measure = bf.models.as_particles((a, W))
    >>> measure.masses.round(6), measure(np.array([[1.0]])).round(6)
    (array([10.,  4.]), array([5.]))
    """
    if isinstance(network, Particles):
        return _checked(network)
    try:
        a, W = network
    except (TypeError, ValueError):
        raise InputError(
            f"network: expected Particles or parameters (a, W), found {type(network).__name__}"
        ) from None
    a, W = real_array("network.a", a), matrix("network.W", W)
    if a.shape != (W.shape[0],):
        raise InputError(f"network: expected a (m,) and W (m, d+1), found {a.shape} and {W.shape}")
    kept = (a != 0) & np.any(W != 0, axis=1)
    a, W = a[kept], W[kept]
    size = np.max(np.abs(W), axis=1, initial=0.0)
    lengths = np.linalg.norm(W / size[:, None], axis=1)
    return Particles(
        W / size[:, None] / lengths[:, None],
        np.sign(a),
        np.log(2.0) + np.log(np.abs(a)) + np.log(size) + np.log(lengths),
    )


def _checked(particles: Particles) -> Particles:
    u, s = matrix("directions", particles.directions), real_array("signs", particles.signs)
    log_masses = np.asarray(particles.log_masses, dtype=float)
    if s.shape != (u.shape[0],) or log_masses.shape != s.shape:
        raise InputError(
            f"particles: expected one sign and one log mass per direction {u.shape}, found "
            f"{s.shape}, {log_masses.shape}"
        )
    if np.any(np.abs(s) != 1):
        raise InputError(f"signs: expected ±1, found {s[np.abs(s) != 1][0]:g}")
    if np.any(np.isnan(log_masses)) or np.any(log_masses == np.inf):
        raise InputError("log_masses: expected numbers below infinity")
    off = np.abs(np.linalg.norm(u, axis=1) - 1)
    if np.any(off > UNIT_NORM_TOLERANCE):
        raise InputError(
            f"directions: row {int(np.argmax(off))} has norm "
            f"{np.linalg.norm(u[np.argmax(off)]):g}, must be a unit vector"
        )
    return Particles(u, s, log_masses)
