"""Gradient ascent on fixed features: the recursions of C's Propositions 6 and 7, step by step in
float64."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.arguments import Array, matrix, one_of, positive_float, positive_int
from .._core.facts import record_line
from .._core.former_names import warn_of
from .._numerics.interrupts import apart
from ..errors import RefusedError
from ..losses import MarginLoss, margin_loss, soft_minimum
from .ascent import COMPILED_LOSSES, climb, default_step
from .jobs import Job, chosen_steps, geometric_steps
from .step_rules import StepRule, read_step
from .trainables import FixedFeatures, Start

FEATURE_TRAININGS = ("directions", "output")
RECORDS = 60
"""Iterates kept of a run where none are asked for, at geometric steps."""


@dataclass(frozen=True, eq=False)
class FeatureAscent:
    """What `feature_ascent` did, t = 0 … T; C's notation.

    log_beta: log β(t), (T+1,). margin: min_i z_i·ā(t), (T+1,). step: η(t), (T,). kept: the
    steps (K,) whose iterates ā(t) (K, m) and weights p(t) = ∇S (K, n) are held. largest: ‖z‖_∞.
    """

    training: str
    log_beta: Array
    margin: Array
    step: Array
    kept: NDArray[np.intp]
    iterates: Array
    weights: Array
    largest: float
    samples: int

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def step_sizes(self) -> Array:
        """The word of 0.1 for step."""
        warn_of("FeatureAscent.step_sizes", "FeatureAscent.step")
        return self.step

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
    step: float | StepRule | None = None,
    *,
    start: float = 1.0,
    loss: MarginLoss | str = "exponential",
    keep: Iterable[int] | None = None,
) -> FeatureAscent:
    """r ← r + η(t)m∇F(r) on signed features z_ij = y_iφ(θ_j, x_i), in float64.

    The iterates are held at β = 1 with log β, so that β may exceed what a float holds.

    Parameters
    ----------
    Z : array of shape (n, m)
    steps : int
    training : {'directions', 'output'}
        'directions' (C, §4): F(r) = S((1/m)Σ_jz_jr_j²) from r(0) = start·1, a_j = r_j²/m, β = ‖a‖₁,
        ā = a/β. 'output' (C, §5): F(r) = S((1/m)Σ_jz_jr_j) from r(0) = 0, a = r/m, β(t) = max{1,
        max_{s≤t} √m‖a(s)‖₂}, ā = a/β.
    step : float or StepRule, optional
        By default the one of Proposition 6, or 7.
    start : float
    loss : MarginLoss or {'exponential', 'logistic'}
    keep : iterable of int, optional
        The steps whose iterates are held; by default geometric ones and the last.

    Returns
    -------
    training.FeatureAscent

    Examples
    --------
    >>> Z = [[1.0, 0.0], [0.0, 3.0]]
    >>> found = bf.training.feature_ascent(Z, steps=3000)
    >>> print(found.margin[[0, 100, 3000]].round(3), round(bf.limits.l1_max_margin(Z).objective, 3))
    [0.5   0.598 0.75 ] 0.75
    """
    Z, steps = matrix("Z", Z), positive_int("steps", steps)
    one_of("training", training, FEATURE_TRAININGS)
    risk, output, largest = margin_loss(loss), training == "output", float(np.max(np.abs(Z)))
    if type(risk) not in COMPILED_LOSSES:
        raise RefusedError(f"feature_ascent: exponential and logistic losses only, not {risk!r}")
    trained = FixedFeatures(False, output)
    schedule = (default_step(trained) if step is None else read_step(step)).schedule(largest)
    held = geometric_steps(steps, RECORDS) if keep is None else chosen_steps("keep", keep, steps)
    m, scale = Z.shape[1], positive_float("start", start)
    origin, log_beta = (np.zeros(m), 0.0) if output else (np.full(m, m**-0.5), 2 * math.log(scale))
    trace = np.empty((steps + 1, 2))
    run = apart(
        climb,
        trained,
        Start((origin,), (Z,), log_beta, largest),
        schedule,
        Job(np.union1d(held, [0, steps]).astype(np.intp), None),
        risk,
        trace=trace,
    )
    found = {t: soft_minimum(risk, trained.margins(x, (Z,)), now.log_beta) for t, x, now in run}
    trace[-1] = found[steps].least, run[-1][2].log_beta
    margin, logs = trace.T.copy()
    return FeatureAscent(
        training,
        logs,
        margin,
        schedule(np.arange(steps), logs[:-1]),
        held,
        np.array([x[0] if output else x[0] ** 2 for t, x, _ in run if t in set(held.tolist())]),
        np.array([found[t].weights for t in held.tolist()]),
        largest,
        Z.shape[0],
    )
