"""C, eq. (10): the distance between the classes after the best projection of each rank."""

from __future__ import annotations

import itertools

import numpy as np

from ..._core.arguments import Array
from ..._core.results import Bracket
from ...diagnostics import interclass_distance
from ..evidence import Evidence
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA, SEPARABLE, SIGNS, TWO_CLASSES
from .margin_setting import inputs_of
from .margins import ROUNDING, SUM_ROUNDING, ratio
from .routes import SWEEP_WIDTH, swept_distance

RELAXATION_GAP = 1e-4
"""Relative gap to which interclass_distance solves its relaxation."""
RANDOM_FRAMES = 200
"""Random frames that are tried where no sweep is affordable."""


def _eq10(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    pairs = (data.X[data.y > 0][:, None] - data.X[data.y < 0][None]).reshape(-1, data.d)
    brackets = [interclass_distance(data.X, data.y, rank) for rank in range(1, data.d + 1)]
    plain = float(np.min(np.linalg.norm(pairs, axis=1)))
    direct = "pairs of samples, projected"
    error = ROUNDING + SUM_ROUNDING * float(np.max(np.abs(data.X))) / plain
    if error > TELLING:
        return (
            unknown_check(
                "Δ_d",
                f"classes {plain:.2g} apart, which float64 does not resolve for inputs of this "
                "size",
            ),
        )
    checks = [
        Check(
            "Δ_d (no projection), over the least distance",
            brackets[-1].objective / plain,
            "==",
            1.0,
            error,
            direct,
        )
    ]
    for rank, found in enumerate(brackets, start=1):
        V = found.value
        closest = float(np.min(np.linalg.norm(pairs @ V, axis=1)))
        checks += [
            Check(
                f"Δ_{rank}: largest of |VᵀV − 1|",
                float(np.max(np.abs(V.T @ V - np.eye(rank)))),
                "==",
                0.0,
                ROUNDING + SUM_ROUNDING,
                direct,
            ),
            Check(
                f"Δ_{rank}: |distance after the projection − lower bound|/Δ_d",
                abs(closest - found.objective) / plain,
                "<=",
                2 * error,
                error,
                direct,
            ),
            Check(
                f"Δ_{rank}: upper bound, over Δ_d",
                found.upper / plain,
                "<=",
                1 + RELAXATION_GAP + error,
                error,
                direct,
            ),
        ]
        if rank < data.d:
            checks += _swept(pairs, rank, found, plain, error)
    checks += [
        Check(
            f"upper bound of Δ_{rank}, over the lower one of Δ_{rank - 1}",
            ratio(after.upper, before.objective) if before.objective else 1.0 + RELAXATION_GAP,
            ">=",
            1.0 - RELAXATION_GAP - error,
            error,
            direct,
        )
        for rank, (before, after) in enumerate(itertools.pairwise(brackets), start=2)
    ]
    return tuple(checks)


def _swept(
    pairs: Array, rank: int, found: Bracket[Array], plain: float, error: float
) -> list[Check]:
    """The bracket of Δ_r against a sweep over all projections, which also sees that Δ_r ≤
    Δ_{r+1}."""
    sweep = swept_distance(pairs, rank)
    chance = _random_frames(pairs, rank)
    if sweep is None:
        return [
            Check(
                f"Δ_{rank}: upper bound, at least what random frames reach",
                found.upper / plain,
                ">=",
                float(np.max(chance)) / plain - error,
                error,
                "random frames",
            ),
            Check(
                f"Δ_{rank}: lower bound, at most the upper",
                found.objective / plain,
                "<=",
                found.upper / plain + error,
                error,
                reason=f"no sweep over projections of rank {rank} in {pairs.shape[1]} dimensions",
            ),
        ]
    low, high = sweep
    witness = "sweep of the sphere with a Lipschitz bound"
    checks = [
        Check(
            f"Δ_{rank}: lower bound, at most the sweep's upper one",
            found.objective / plain,
            "<=",
            high / plain + 2 * error,
            error,
            witness,
        ),
        Check(
            f"Δ_{rank}: upper bound, at least what the sweep reaches",
            found.upper / plain,
            ">=",
            low / plain - 2 * error,
            error,
            witness,
        ),
    ]
    quantity = f"Δ_{rank}: lower bound, over what the sweep reaches"
    reached = ratio(found.objective, low)
    if not reached >= 1 - 2 * SWEEP_WIDTH:
        return [
            *checks,
            unknown_check(
                quantity,
                f"the frame found reaches {reached:.3g} of Δ_{rank}, by a sweep of all projections",
            ),
        ]
    return [
        *checks,
        Check(
            quantity,
            reached,
            ">=",
            1 - 2 * SWEEP_WIDTH,
            error,
            witness,
            null=float(np.median(chance)) / low,
        ),
    ]


def _random_frames(pairs: Array, rank: int) -> Array:
    """Least distances after random projections."""
    rng = np.random.default_rng(0)
    frames = [
        np.linalg.qr(each)[0] for each in rng.standard_normal((RANDOM_FRAMES, pairs.shape[1], rank))
    ]
    return np.array([float(np.min(np.linalg.norm(pairs @ V, axis=1))) for V in frames])


eq10 = Claim(
    "C/eq10",
    "Δ_r, the distance of the classes after the best projection of rank r, grows with r up to "
    "their plain distance.",
    "C, eq. (10)",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE),
    lambda key: cluster_data(key, d=3),
    _eq10,
    kind=Kind.STATIC,
    witness="a sweep of all projections in up to three dimensions, with a Lipschitz bound",
    null="a random projection",
    family=lambda key: labelled_family(key, classes=2),
)

CLAIMS = (eq10,)
