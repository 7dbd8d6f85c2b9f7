"""R, §5.4: the operator norm ‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} in which the rates are written."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..._core.arguments import Array
from ...diagnostics import inverse_norm
from ..evidence import Evidence
from ..examples import design_family, design_problem
from ..fits import exponent_check
from ..hypotheses import FULL_RANK, MIRROR, NONTRIVIAL
from ..verdicts import Check, Claim, Kind, unknown_check
from .measured import EPS

MOST_VERTICES = 60_000
"""Vertices up to which all of them are looked at."""
SLACK = 1e-9
"""By which a vertex may leave the ball, in units of its bound: rounding of a linear system of at
most a few unknowns."""
DISTANCES = np.logspace(-7, -3, 9)
"""Relative distances of two samples, over four decades, at which the norm is to grow as one over
the distance."""


def least_singular(X: Array) -> float:
    """σ_min as the least positive eigenvalue of [[0, X], [Xᵀ, 0]]: no singular value decomposition,
    no squares."""
    n, m = X.shape
    joined = np.block([[np.zeros((n, n)), X], [X.T, np.zeros((m, m))]])
    return float(np.linalg.eigvalsh(joined)[-n])


def vertex_norm(X: Array, norm: str) -> float | None:
    """sup‖u‖₂ over {‖Xᵀu‖_* ≤ 1} by looking at every vertex; None where there are too many. A
    convex function is largest at one.

    ℓ∞: n of the constraints ±⟨x^j, u⟩ ≤ 1 are active. ℓ1: the ball is the cross-polytope cut by Im
    Xᵀ, at a vertex n − 1 entries of Xᵀu vanish.
    """
    X = X[:, np.any(X != 0, axis=0)]  # a column of zeros bounds nothing
    n, m = X.shape
    unit = X / np.linalg.norm(X, axis=0)
    if norm == "linf":
        if math.comb(m, n) * 2 ** (n - 1) > MOST_VERTICES:
            return None
        chosen = np.array(list(itertools.combinations(range(m), n)))
        signs = np.array([(1.0, *s) for s in itertools.product((1.0, -1.0), repeat=n - 1)])
        systems = unit[:, chosen].transpose(1, 2, 0)
        regular = np.linalg.svd(systems, compute_uv=False)[:, -1] > SLACK
        right = signs[None] / np.linalg.norm(X, axis=0)[chosen[regular]][:, None]
        vertices = np.linalg.solve(systems[regular][:, None], right[..., None])[..., 0].reshape(
            -1, n
        )
        inside = np.max(np.abs(vertices @ X), axis=1) <= 1 + SLACK
        return float(np.max(np.linalg.norm(vertices[inside], axis=1)))
    if math.comb(m, n - 1) > MOST_VERTICES:
        return None
    if n == 1:
        return 1 / float(np.sum(np.abs(X)))
    chosen = np.array(list(itertools.combinations(range(m), n - 1)))
    vertices = np.linalg.svd(unit[:, chosen].transpose(1, 0, 2))[0][..., -1]
    return float(np.max(1 / np.sum(np.abs(vertices @ X), axis=1)))


def _sec5_4(evidence: Evidence) -> tuple[Check, ...]:
    X = evidence.mirror.X
    omega = np.random.default_rng(0).uniform(0.1, 1.0, X.shape[1])
    checks = []
    for name, weights in (("ℓ2", None), ("weighted ℓ2", omega)):
        scaled = X if weights is None else X * np.sqrt(weights)
        sigma = least_singular(scaled)
        found = inverse_norm(X, weights=weights, time_s=evidence.time_left / 2)
        # both decompositions err by (n + m)ε‖X‖; the ends lie (n + m + 4)ε‖X‖ and 4ε further out
        error = (4 * sum(X.shape) + 8) * EPS * float(np.linalg.norm(scaled, 2)) / sigma
        for end, value in (("", found.objective), (", upper end", found.upper)):
            quantity = f"‖Xᵀ†‖·σ_min(X), {name}{end}"
            checks.append(
                Check(
                    quantity,
                    value * sigma,
                    "==",
                    1.0,
                    error,
                    witness="eigenvalues of [[0, X], [Xᵀ, 0]]",
                )
            )
        length = float(np.linalg.norm(found.value @ scaled))
        checks.append(
            Check(
                f"‖Xᵀu‖ at the u found, {name}", length, "==", 1.0, error, witness="the definition"
            )
        )
    for norm in ("l1", "linf"):
        checks += _bracket(X, norm, evidence.time_left / 3)
    return (*checks, *_below_rank(X, evidence.time_left / 2))


def _size(v: Array, norm: str) -> float:
    return float(np.sum(np.abs(v)) if norm == "l1" else np.max(np.abs(v)))


def _bracket(X: Array, norm: str, time_s: float) -> list[Check]:
    """The bracket holds the norm; by John's theorem its upper end need be no more than √n times
    it."""
    found, n = inverse_norm(X, norm, time_s=time_s), len(X)
    low, high = float(np.linalg.norm(found.value)), found.upper
    rounding = SLACK + 8 * EPS * float(np.linalg.cond(X))
    feasible = Check(
        f"‖Xᵀu‖ at the u found, {norm}",
        _size(found.value @ X, norm),
        "==",
        1.0,
        rounding,
        witness="the definition",
    )
    stated = Check(
        f"‖u‖₂ of that u over the lower end, {norm}",
        low / found.objective,
        "==",
        1.0,
        rounding,
        witness="the definition",
    )
    true = vertex_norm(X, norm)
    if true is None:
        # ‖v‖₁ ≥ ‖v‖₂ and ‖v‖_∞ ≥ ‖v‖₂/√m bound the norm from above, the singular vector of σ_min
        # from below
        sigma = least_singular(X)
        top = 1 / sigma if norm == "l1" else np.sqrt(X.shape[1]) / sigma
        vector = np.linalg.svd(X)[0][:, -1]
        reached = 1 / _size(vector @ X, norm)
        reason = (
            f"{math.comb(X.shape[1], n)} vertices and more are too many to look at: only "
            "crude bounds were compared"
        )
        return [
            feasible,
            stated,
            Check(
                f"upper end over the bound from ℓ2, {norm}",
                high / top,
                "<=",
                1.0 + rounding,
                reason=reason,
            ),
            Check(
                f"lower end over what σ_min's vector reaches, {norm}",
                low / reached,
                ">=",
                1.0 - rounding,
                reason=reason,
            ),
        ]
    witness = "every vertex of the ball"
    return [
        feasible,
        stated,
        Check(
            f"lower end of the bracket over the norm, {norm}",
            low / true,
            "<=",
            1.0 + rounding,
            witness=witness,
        ),
        Check(
            f"lower end of the bracket over the norm, times √n, {norm}",
            low / true * np.sqrt(n),
            ">=",
            1.0 - rounding,
            witness=witness,
        ),
        Check(
            f"upper end of the bracket over the norm, {norm}",
            high / true,
            ">=",
            1.0 - rounding,
            witness=witness,
        ),
        *_john(X, norm, high, true, rounding),
    ]


def _john(X: Array, norm: str, high: float, true: float, rounding: float) -> list[Check]:
    """The best ellipsoid gives an upper end of at most √n times the norm. That of the library is
    found by Frank–Wolfe steps.

    Where these have not come so far yet nothing is said against the theorem; the ball they begin
    with bounds them all the same.
    """
    quantity, witness = (
        f"upper end of the bracket over √n times the norm (John), {norm}",
        "every vertex of the ball",
    )
    ratio = high / true / np.sqrt(len(X))
    if ratio <= 1 + rounding:
        return [Check(quantity, ratio, "<=", 1.0 + rounding, witness=witness)]
    begun = (1.0 if norm == "l1" else np.sqrt(X.shape[1])) / least_singular(X)
    crude = Check(
        f"upper end over the bound from ℓ2, {norm}",
        high / begun,
        "<=",
        1.0 + rounding,
        witness=witness,
    )
    return [
        crude,
        unknown_check(quantity, f"{ratio:.3g}: the ellipsoid found is not yet the best one"),
    ]


def _below_rank(X: Array, time_s: float) -> tuple[Check, ...]:
    """Infinite with a sample doubled, where u = e₁ − e_{n+1} is in the kernel of Xᵀ; near that as
    one over the distance."""
    doubled = np.vstack([X, X[:1]])
    kernel = np.zeros(len(doubled))
    kernel[0], kernel[-1] = 1.0, -1.0
    twin = inverse_norm(doubled, time_s=time_s).objective
    checks = [
        Check(
            "‖Xᵀu‖ for u = e₁ − e_{n+1}, a sample doubled",
            float(np.max(np.abs(kernel @ doubled))),
            "==",
            0.0,
            witness="arithmetic",
        ),
        Check(
            "1/‖Xᵀ†‖ with a sample doubled",
            1 / twin,
            "==",
            0.0,
            witness="a vector of the kernel of Xᵀ",
        ),
    ]
    if X.shape[1] <= len(X):
        return tuple(checks)
    away = np.linalg.svd(X)[2][-1] * float(np.linalg.norm(X[0]))
    norms = [
        inverse_norm(np.vstack([X, X[0] + eps * away]), time_s=time_s).objective
        for eps in DISTANCES
    ]
    name = "exponent of ‖Xᵀ†‖ in the distance of two samples"
    errors = 64 * EPS * float(np.linalg.cond(X)) / DISTANCES + DISTANCES
    return (
        *checks,
        exponent_check(name, DISTANCES, norms, -1.0, errors, witness="a fit over four decades"),
    )


sec5_4 = Claim(
    "R/sec5.4",
    "‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} is 1/σ_min for (weighted) ℓ2, is bracketed for ℓ1 and ℓ∞ to a "
    "factor √n on either side, and is infinite below rank n.",
    "R, §5.4",
    (MIRROR, NONTRIVIAL, FULL_RANK),
    design_problem,
    _sec5_4,
    kind=Kind.STATIC,
    witness="eigenvalues, every vertex of the ball",
    family=design_family,
)

CLAIMS = (sec5_4,)
