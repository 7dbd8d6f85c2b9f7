"""Gradient ascent on fixed features: the recursions of C's Propositions 6 and 7, step by step in
float64."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.arguments import Array, instance, matrix, one_of, positive_float, positive_int
from ..errors import InputError
from ..losses import LogisticLoss, MarginLoss, margin_loss
from .step_rules import Proposition6Step, Proposition7Step, Schedule, StepRule

FEATURE_TRAININGS = ("directions", "output")
KEPT = 60
"""Iterates kept of a run where none are asked for, at geometric steps."""


@dataclass(frozen=True, eq=False)
class FeatureAscent:
    """What `feature_ascent` did, t = 0 … T; C's notation.

    log_beta: log β(t), (T+1,). margin: min_i z_i·ā(t), (T+1,). step_sizes: η(t), (T,). kept: the
    steps (K,) whose iterates ā(t) (K, m) and weights p(t) = ∇S (K, n) are held. largest: ‖z‖_∞.
    """

    training: str
    log_beta: Array
    margin: Array
    step_sizes: Array
    kept: NDArray[np.intp]
    iterates: Array
    weights: Array
    largest: float
    samples: int

    @property
    def beta(self) -> Array:
        """β(t): ‖a(t)‖₁ for directions, max{1, max_{s≤t} √m‖a(s)‖₂} for the output layer. May
        overflow."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_beta)

    @property
    def best(self) -> Array:
        """max_{s≤t} min_i z_i·ā(s), (T+1,)."""
        return np.maximum.accumulate(self.margin)

    @property
    def partial_sums(self) -> Array:
        """Σ_{s<t} 1/(β(s)√(s+1)), t = 0 … T; its limit is C's B (eq. 15)."""
        terms = np.exp(-self.log_beta[:-1]) / np.sqrt(np.arange(1.0, self.log_beta.size))
        return np.concatenate([[0.0], np.cumsum(terms)])

    def guarantee(self, gamma: float) -> Array:
        """What the proposition promises of best[t−1], for t = 1 … T: Proposition 6 with the partial
        sum (eq. 15), or 7.

        gamma: γ₁^(m) = bf.limits.l1_max_margin(Z).objective, or γ₂^(m) =
        bf.limits.l2_max_margin(Z).objective. For the step sizes of the proposition only, and for
        directions from a uniform start.
        """
        t, log_n = np.arange(1.0, self.log_beta.size), math.log(self.samples)
        if self.training == "directions":
            slow = (
                self.largest * (8 * math.log(self.iterates.shape[1]) + np.log(t) + 1)
                + 4 * log_n * self.partial_sums[1:]
            )
        else:
            slow = self.largest * (
                2 * math.sqrt(2) + math.sqrt(3) * log_n / positive_float("gamma", gamma)
            )
        return gamma - slow / np.sqrt(t)


def feature_ascent(
    Z: ArrayLike,
    steps: int,
    training: str = "directions",
    step: StepRule | None = None,
    *,
    start: float = 1.0,
    loss: MarginLoss | str = "exponential",
    keep: Iterable[int] | None = None,
) -> FeatureAscent:
    """r ← r + η(t)m∇F(r) on signed features z_ij = y_iφ(θ_j, x_i), Z (n, m), in float64.

    training 'directions' (C, §4): F(r) = S((1/m)Σ_jz_jr_j²) from r(0) = start·1, a_j = r_j²/m, β =
    ‖a‖₁, ā = a/β. 'output' (C, §5): F(r) = S((1/m)Σ_jz_jr_j) from r(0) = 0, a = r/m, β(t) = max{1,
    max_{s≤t} √m‖a(s)‖₂}, ā = a/β. step: by default the one of Proposition 6, or 7. keep: the steps
    whose iterates are held; by default geometric ones and the last. The iterates are held at β = 1
    with log β, so that β may exceed what a float holds.
    """
    Z, steps = matrix("Z", Z), positive_int("steps", steps)
    one_of("training", training, FEATURE_TRAININGS)
    risk = margin_loss(loss)
    output = training == "output"
    step = (
        (Proposition7Step() if output else Proposition6Step())
        if step is None
        else instance("step", step, StepRule)
    )
    largest = float(np.max(np.abs(Z)))
    kept = geometric_steps(steps, KEPT) if keep is None else _steps_to_keep(keep, steps)
    return _recursion(
        Z,
        steps,
        output,
        step.schedule(largest),
        positive_float("start", start),
        risk,
        kept,
        largest,
    )


def _recursion(
    Z: Array,
    steps: int,
    output: bool,
    schedule: Schedule,
    start: float,
    loss: MarginLoss,
    kept: NDArray[np.intp],
    largest: float,
) -> FeatureAscent:
    from .._numerics.compilation import announced
    from .recursion import recursion

    n, m = Z.shape
    bar, log_beta = (np.zeros(m), 0.0) if output else (np.full(m, 1 / m), 2 * math.log(start))
    betas, margins, sizes = np.empty(steps + 1), np.empty(steps + 1), np.empty(steps)
    iterates, weights = np.empty((kept.size, m)), np.empty((kept.size, n))
    numbers = (schedule.size, schedule.power, schedule.offset, schedule.with_norm)
    arrays = (betas, margins, sizes, kept, iterates, weights)
    announced(
        "ascent",
        recursion,
        np.ascontiguousarray(Z),
        bar,
        log_beta,
        output,
        isinstance(loss, LogisticLoss),
        *numbers,
        *arrays,
    )
    return FeatureAscent(
        FEATURE_TRAININGS[output], betas, margins, sizes, kept, iterates, weights, largest, n
    )


def geometric_steps(steps: int, count: int) -> NDArray[np.intp]:
    """0, 1, … geometrically to the last."""
    return np.unique(
        np.concatenate([[0], np.geomspace(1, steps, max(count - 1, 1)).astype(np.intp), [steps]])
    )


def _steps_to_keep(keep: Iterable[int], steps: int) -> NDArray[np.intp]:
    kept = sorted({positive_int("keep", t, least=0) for t in instance("keep", keep, Iterable)})
    if not kept or kept[-1] > steps:
        raise InputError(
            f"keep: expected steps from 0 to {steps}, found {kept[-1] if kept else 'none'}"
        )
    return np.array(kept, dtype=np.intp)
