"""What C's statements are about: labelled inputs, scores and their loss, grids of alternating
classes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core.arguments import Array, positive_int, vector
from ..._core.problems import Dataset, Problem
from ...errors import InputError
from ...losses import ExponentialLoss, LogisticLoss

LOOSE_GAP = 1e-3
"""Relative gap of a max margin that only enters a bound."""
STEPS = 100_000
"""Of ascents on fixed features."""
EARLY_NORM = 8.0
"""log β that long training is compared with; starts lie below."""
ONE = 4 * float(np.finfo(float).eps)
"""Rounding of a bias that was scaled or averaged."""
DELTA = 0.05
"""Probability with which C's generalisation bound may fail."""


def bias_column(X: Array) -> int | None:
    """The column of ones, wherever it stands; of several the last. None where there is none, or
    nothing beside it."""
    ones = np.flatnonzero(np.all(np.abs(X - 1) <= ONE, axis=0))
    return int(ones[-1]) if ones.size and X.shape[1] >= 2 else None


def inputs_of(problem: Any) -> Dataset:
    """The labelled inputs without the bias column: a `Dataset` as it is, a network's data less
    their column of ones."""
    if isinstance(problem, Dataset):
        return problem
    column = bias_column(problem.data.X)
    return Dataset(
        np.delete(problem.data.X, -1 if column is None else column, axis=1),
        problem.data.y,
        problem.data.name,
    )


def remembered(evidence: Any, name: str, compute: Callable[[], Any]) -> Any:
    """What is expensive, computed once for hypotheses and checks of one problem."""
    kept = evidence.__dict__.setdefault("remembered", {})
    if name not in kept:
        kept[name] = compute()
    return kept[name]


def ask_for_time(evidence: Any) -> None:
    """`Unmeasured` is raised if the seconds of the verdict are over: for use between steps that
    look at no clock."""
    evidence.time_left  # noqa: B018


def signed_features(problem: Problem) -> Array:
    """z_ij = y_iφ(θ_j, x_i), θ_j = (a_j, b_j)/‖·‖ the neurons of the start on the sphere, (n,
    m)."""
    a, W = problem.start
    squares = a**2 + np.sum(W**2, axis=1)
    return (
        problem.data.y[:, None]
        * (a[:, None] * problem.model.hidden(problem.start, problem.data.X) / squares[:, None]).T
    )


def output_features(problem: Problem) -> Array:
    """z_ij = y_iσ(⟨u_j, (x_i, 1)⟩), u_j the directions of the first layer, (n, m)."""
    lengths = np.linalg.norm(problem.start.W, axis=1)
    return (
        problem.data.y[:, None]
        * (problem.model.hidden(problem.start, problem.data.X) / lengths[:, None]).T
    )


@dataclass(frozen=True, eq=False)
class Scores:
    """Normalised scores ū_i = y_if̄(x_i) (n,) and the loss they are judged by: what C's lemmas on
    the soft-min are about."""

    margins: Array
    loss: ExponentialLoss | LogisticLoss

    def __post_init__(self) -> None:
        object.__setattr__(self, "margins", vector("margins", self.margins))
        if not isinstance(self.loss, (ExponentialLoss, LogisticLoss)):
            raise InputError(
                f"loss: expected ExponentialLoss or LogisticLoss, found {type(self.loss).__name__}"
            )


@dataclass(frozen=True)
class Clusters:
    """The distribution of C's experiments (§7): k² discs in the first two of d coordinates; key:
    their classes."""

    k: int = 3
    d: int = 2
    key: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        positive_int("k", self.k)
        positive_int("d", self.d, least=2)
        positive_int("key", self.key, least=0)


@dataclass(frozen=True)
class Alternating:
    """Grids of finer and finer classes in r dimensions: k^r points of [−1, 1]^r with alternating
    labels, turned and moved.

    rank: r, one or two, so that γ₁ is exact. sizes: the k. angle: of the turn, for r = 2; centre:
    where the grid lies, the same in each coordinate. Δ_r/R falls as 1/(k−1): here exponents of
    margins in Δ_r/R are measured (C, Lemma 20, Theorem 8).
    """

    rank: int = 1
    sizes: tuple[int, ...] = (9, 17, 33, 65)
    angle: float = 0.0
    centre: float = 0.0

    def __post_init__(self) -> None:
        if positive_int("rank", self.rank) > 2:
            raise InputError(f"rank: expected 1 or 2, where γ₁ is exact, found {self.rank}")
        sizes = [positive_int("sizes", k, least=2) for k in self.sizes]
        if len(sizes) < 3 or any(after <= k for k, after in itertools.pairwise(sizes)):
            raise InputError(f"sizes: expected at least three growing numbers, found {self.sizes}")
        if not (np.isfinite(self.angle) and np.isfinite(self.centre)):
            raise InputError(
                f"angle, centre: expected finite numbers, found {self.angle:g} and {self.centre:g}"
            )

    def grid(self, k: int) -> Dataset:
        """k^r points with alternating labels."""
        places = np.stack(np.meshgrid(*[np.arange(k)] * self.rank, indexing="ij"), axis=-1).reshape(
            -1, self.rank
        )
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        turn = np.array([[cosine, -sine], [sine, cosine]]) if self.rank == 2 else np.eye(1)
        labels = np.where(np.sum(places, axis=1) % 2 == 0, 1.0, -1.0)
        return Dataset((2 * places / (k - 1) - 1) @ turn + self.centre, labels, f"alternating {k}")
