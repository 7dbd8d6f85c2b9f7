"""The two-layer ReLU network of least norm that interpolates (B, eqs. 8 and 34, Proposition 1)."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, label_size, positive_float, positive_int, system
from ..._core.progress import doing
from ..._core.results import Certificate, Limit
from ...errors import ConvergenceError
from ...models import TwoLayerParams, augmented
from ..predicting import relu_network, relu_network_with_bias
from ..rounding import WIDE
from .best_neuron import Oracle, SearchOracle, load_search
from .column_generation import Effort, LevelBracket, generate
from .columns import no_neurons
from .labelled_inputs import without_bias
from .listed_cells import ArcsOracle, CellsOracle, ListedOracle
from .masters import NormMaster
from .norm_bracket import network_bracket
from .patterns import cell_count_bound, enumeration_cost
from .rays import Samples, read_samples
from .uniqueness import uniqueness

MAX_CELLS = 5000
MAX_ENUMERATION = 200_000
"""Most cells that are listed, and most candidates looked at to list them: a few seconds."""
RESTARTS = 24
"""Random starts of either sign in a round, where cells are too many to list."""
PROOF_SHARE = 0.3
"""Share of the time that is kept for the proof of the dual bound, where that is searched for."""
GAP_AIMED_AT = 1e-2
"""The gap aimed at, as a share of the gap asked for."""


@doing("least norm of a network")
def min_norm_interpolator(
    X: ArrayLike,
    y: ArrayLike,
    *,
    gap: float = 1e-9,
    time_s: float = 60.0,
    key: int = 0,
    bias: str = "none",
) -> Limit[TwoLayerParams]:
    """argmin ‖θ‖² = Σ_j(a_j² + ‖w_j‖²) over networks h(x) = Σ_j a_j(⟨w_j, x⟩)_+ of any width with
    h(x_k) = y_k (B, eq. 34).

    The minimum is 2·min Σ|c_j| over unit neurons, Σ_j c_j(⟨u_j, x_k⟩)_+ = y_k, twice the least
    variation norm (B, eq. 8); its dual max ⟨y, λ⟩, |Σ_k λ_k(⟨u, x_k⟩)_+| ≤ 1, gives the
    certificate. Orthogonal inputs: closed form, 2(‖Σ_{y>0} y_kx_k/‖x_k‖²‖ + ‖Σ_{y<0} …‖) (B,
    Proposition 1, inputs of any length). Inputs of rank two, such as (x, 1), and inputs whose
    activation patterns can be listed: exact. Others: column generation with neurons found from many
    starts, and a dual bound proven by a visit to every face of the arrangement of the inputs'
    hyperplanes, where time allows it, else by branch and bound over cones of directions, to a
    thousandth, up to rank 10, or by a relaxation, and loose; certificate.kind is 'exact' where the
    relative gap is at most `gap` and the residual below 1e-6, else 'bound'.

    Parameters
    ----------
    X : array of shape (n, d)
        Taken as given: a bias is a constant column, and is then penalised like any weight.
    y : array of shape (n,)
    gap : float
        Relative gap to reach.
    time_s : float
        The search ends in time for its proof to end then.
    key : int
        Of the search.
    bias : {'none', 'column', 'append'}
        'column' where the last column is to be that of ones; 'append' adds it.

    Returns
    -------
    Limit
        value: `models.TwoLayerParams`; `limit(X)` predicts. stats: multipliers λ (those of B, eq.
        35), method, rank, neurons; `unique`: whether the certificate proves that every minimiser is
        the same function on the span of the inputs, `unique_measure`: that it is the same measure Σ
        c_jδ_{u_j} (None: not known). Neurons on one ray may always be split.

    Raises
    ------
    InconsistentError
        Of labels that no network fits; it names the samples.

    Examples
    --------
    >>> data = bf.data.two_points()
    >>> least = bf.limits.min_norm_interpolator(data.X, data.y)
    >>> print(least(data.X).round(6), round(least.objective, 4), least.certificate.kind)
    [-1.  1.] 2.6833 closed-form
    """
    X, y = system(X, y)
    without = without_bias(X, bias, ("none", "column", "append"))
    if bias == "append":
        found = _least(augmented(without), y, gap, time_s, key)
        return dataclasses.replace(found, predictor=relu_network_with_bias)
    return _least(X, y, gap, time_s, key)


def least_norm_alone(X: Array, y: Array, *, time_s: float) -> Limit[TwoLayerParams]:
    """`min_norm_interpolator`, its proof included, but not whether it is the only one, which takes
    a third of the time: None in its stats."""
    X, y = system(X, y)
    return _least(X, y, 1e-9, time_s, 0, asks_unique=False)


def _least(
    X: Array, y: Array, gap: float, time_s: float, key: int, asks_unique: bool = True
) -> Limit[TwoLayerParams]:
    gap, time_s, key = (
        positive_float("gap", gap),
        positive_float("time_s", time_s),
        positive_int("key", key, least=0),
    )
    samples = read_samples(X, y)
    if samples.size == 0:
        empty = TwoLayerParams(np.zeros(0), np.zeros((0, X.shape[1])))
        stats = _stats(samples, "zero", np.zeros(samples.targets.size), 0, (True, True))
        proof = Certificate(0.0, 0.0, 0.0, "closed-form")
        return Limit(empty, 0.0, proof, stats, predictor=relu_network)
    if _orthogonal(samples):
        return _closed_form(samples, X, y)
    method, found, unique = _generated(samples, gap, time_s, key, asks_unique)
    vectors, lam = (
        found.masses[:, None] * found.neurons.u / found.lower,
        found.weights / found.upper,
    )
    stats = _stats(samples, method, lam, len(found.neurons), unique)
    stats |= {"rounds": found.rounds, "columns": found.met}
    kind, dual = "exact" if found.gap <= gap else "bound", 1 / found.upper
    return _limit(vectors, found.neurons.s, lam, dual, kind, samples, X, y, stats, gap)


def _generated(
    samples: Samples, gap: float, time_s: float, key: int, asks_unique: bool
) -> tuple[str, LevelBracket, tuple[bool | None, bool | None]]:
    """The method, its bracket around 1/Σ|c_j|, and what it says of uniqueness."""
    if samples.rank > 2:
        load_search(samples.directions)
    end = time.monotonic() + time_s
    effort = Effort(gap, GAP_AIMED_AT * gap, end - PROOF_SHARE * time_s, end)
    method, oracle = _oracle(samples, key, effort.search_until)
    nothing = no_neurons(samples.rank), np.zeros(0)
    bracket = LevelBracket(*nothing, 0.0, np.zeros(samples.targets.size), np.inf)
    with doing(lambda: f"relative gap {bracket.gap:.2g}, round {bracket.rounds}"):
        found = generate(
            NormMaster(samples.directions, samples.targets),
            oracle,
            oracle.spanning(samples.targets),
            bracket,
            effort,
        )
    if not found.lower:
        late = time.monotonic() > effort.search_until
        why = (
            f" within {time_s:g} s; raise time_s"
            if late
            else "; the inputs are too close to one another"
        )
        raise ConvergenceError(f"min_norm_interpolator: no interpolating network was found{why}")
    if found.gap > gap or not isinstance(oracle, ListedOracle) or not asks_unique:
        return method, found, (None, None)
    lam = found.weights / found.upper
    return method, found, uniqueness(oracle, found.neurons, found.masses, lam)


def _oracle(samples: Samples, key: int, deadline: float) -> tuple[str, Oracle]:
    n, rank = samples.directions.shape
    if rank == 2:
        return "arcs", ArcsOracle(samples.directions)
    if cell_count_bound(n, rank) <= MAX_CELLS and enumeration_cost(n, rank) <= MAX_ENUMERATION:
        return "cells", CellsOracle(samples.directions)
    rng = np.random.default_rng(key)
    return "columns", SearchOracle(samples.directions, rng, RESTARTS, deadline)


def _orthogonal(samples: Samples) -> bool:
    off = samples.gram - np.eye(samples.targets.size)
    rounding = 4 * np.finfo(float).eps * np.sqrt(samples.basis.shape[1])
    return bool(np.max(np.abs(off)) <= rounding)


def _closed_form(samples: Samples, X: Array, y: Array) -> Limit[TwoLayerParams]:
    """One neuron per sign of label, along Σ_{±y_k>0} y_kx_k/‖x_k‖²; λ_k = y_k/(‖x_k‖²·its length)
    is feasible by Cauchy–Schwarz."""
    z, lam, dual = samples.targets, np.zeros(samples.targets.size), 0.0
    vectors, signs = [], []
    for sign in (1.0, -1.0):
        own = sign * z > 0
        if np.any(own):
            length = float(np.linalg.norm(z[own]))
            vectors.append(np.abs(z[own]) @ samples.directions[own])
            signs.append(sign)
            lam[own] = z[own] / length
            dual += length
    stats = _stats(samples, "orthogonal", lam, len(signs), (True, True))
    return _limit(
        np.array(vectors), np.array(signs), lam, dual, "closed-form", samples, X, y, stats
    )


def _limit(
    vectors: Array,
    signs: Array,
    lam: Array,
    dual: float,
    kind: str,
    samples: Samples,
    X: Array,
    y: Array,
    stats: dict[str, Any],
    gap: float = 0.0,
) -> Limit[TwoLayerParams]:
    """The balanced network of neurons s_j(⟨v_j, ·⟩)_+: |a_j| = ‖w_j‖ = √‖v_j‖ (the cheapest way to
    write each)."""
    lengths = samples.size * np.linalg.norm(vectors, axis=1)
    w = (samples.size * vectors / np.sqrt(lengths)[:, None]) @ samples.basis
    params = TwoLayerParams(signs * np.sqrt(lengths), w)
    objective = float(np.sum(params.a**2) + np.sum(w**2))
    misfit = np.max(np.abs(np.maximum(X @ w.T, 0.0) @ params.a - y))
    residual = float(misfit) / label_size(y)
    bounds = network_bracket(samples, X, y, params, lam, dual)
    narrow = np.isfinite(bounds[0]) and bounds[0] - bounds[1] <= max(gap, WIDE) * bounds[0]
    # the network itself is off where labels drown in the rounding of others
    narrow = narrow and residual <= WIDE
    if not narrow:  # what is not known to be a minimum says nothing about others
        kind, stats = "bound", {**stats, "unique": None, "unique_measure": None}
    proof = Certificate(*bounds, residual, kind)
    return Limit(params, objective, proof, stats, predictor=relu_network)


def _stats(
    samples: Samples, method: str, lam: Array, neurons: int, unique: tuple[bool | None, bool | None]
) -> dict[str, Any]:
    stats = {
        "multipliers": samples.multipliers(lam),
        "method": method,
        "rank": samples.rank,
        "neurons": neurons,
    }
    return stats | {"unique": unique[0], "unique_measure": unique[1]}
