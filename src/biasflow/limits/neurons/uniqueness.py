"""Is the minimiser the only one? Complementary slackness confines every minimiser to the neurons
where the dual constraint is tight.

Two measures give one function when they agree on every pair {u, −u}, c(u) + c(−u), and in Σ c_j
u_j: (t)_+ = (|t| + t)/2, and functions |⟨u, ·⟩| are independent. Where Σ_k λ_kx_k = 0 both neurons
of every pair are tight, and mass moves between them without changing the function."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array
from .columns import Neurons
from .listed_cells import ListedOracle

TIGHT = 1e-7
"""Distance of |Σ_k λ_k(⟨u, u_k⟩)_+| from one below which a neuron may belong to a minimiser."""
SAME_NEURON = 1e-3
"""Distance below which tight directions are one: within a cell f falls off quadratically, so it is
tight up to √(2·TIGHT) from its maximiser."""
MOVABLE = 1e-6
"""Share of the norm that another minimiser must put elsewhere to count as another."""


def uniqueness(
    oracle: ListedOracle, neurons: Neurons, masses: Array, lam: Array
) -> tuple[bool, bool]:
    """Whether every minimiser is this function, and whether it is this measure of mass one; λ
    satisfies its constraints.

    Minimisers are the non-negative masses on tight neurons that fit the labels, a polytope; it is a
    point if a functional in general position is constant on it. False is said up to TIGHT: a second
    network whose norm is that close."""
    own = list(zip(neurons.s, neurons.u, strict=True))
    tight = own + _others(oracle, own, lam)
    features = np.array([sign * np.maximum(oracle.rows @ u, 0.0) for sign, u in tight])
    fitted = features[: masses.size].T @ masses
    functional = np.random.default_rng(0).uniform(1.0, 2.0, len(tight))
    if _constant(functional, features, fitted):
        return True, True
    lines = _lines([u for _, u in tight])
    signs = np.array([sign for sign, _ in tight])
    return _constant(signs * functional[lines], features, fitted), False


def _constant(functional: Array, features: Array, fitted: Array) -> bool:
    """Whether a functional of the masses is constant on {masses ≥ 0 that fit}."""
    ends = [
        linprog(side * functional, A_eq=features.T, b_eq=fitted, bounds=(0, 2), method="highs")
        for side in (1, -1)
    ]
    return any(end.status != 0 for end in ends) or -(ends[0].fun + ends[1].fun) <= MOVABLE


def _others(
    oracle: ListedOracle, own: list[tuple[float, Array]], lam: Array
) -> list[tuple[float, Array]]:
    """Signed tight neurons, those of the minimiser found left out."""
    known = list(own)
    for sign in (1.0, -1.0):
        found = oracle.maximisers(sign * lam, sign, TIGHT)
        for u in found.u[lam @ found.features(oracle.rows) >= 1 - TIGHT]:
            if not any(sign == s and np.linalg.norm(u - v) <= SAME_NEURON for s, v in known):
                known.append((sign, u))
    return known[len(own) :]


def _lines(units: list[Array]) -> Array:
    """The number of the line {u, −u} that each unit vector spans."""
    found: list[Array] = []
    numbers = np.zeros(len(units), dtype=int)
    for j, u in enumerate(units):
        near = [
            i
            for i, v in enumerate(found)
            if min(np.linalg.norm(u - v), np.linalg.norm(u + v)) <= SAME_NEURON
        ]
        numbers[j] = near[0] if near else len(found)
        if not near:
            found.append(u)
    return numbers
