"""The growth of one neuron that fits all labels of a sign: from D_± on, along which it leaves zero,
to the neuron that fits them.

Neurons of a cluster are parallel when they have grown, so together they move as one balanced neuron
of squared norm u = Σ‖w_j‖². In the directions of its inputs, orthogonal and of lengths κ_k, it has
p_k = ⟨w, x_k⟩/(κ_k‖w‖), and with the pulls f_k = (|y_k| − uκ_kp_k)κ_k/n it follows u̇ = 2u⟨p, f⟩, ṗ
= f − ⟨p, f⟩p, B's clock. Where all lengths are equal p does not move and u is logistic (B, §4.2);
elsewhere it turns from D_± to Σ_± y_kx_k/κ_k² while it grows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ...errors import ConvergenceError

SAME_LENGTH = 1e-10
"""Relative difference of lengths of inputs up to which growth is logistic."""
SEED = 40.0
"""−log(u/capacity) where the curve begins: what u changes of the pulls is below rounding there."""
LEFT = 40.0
"""Times the slowest rate, in units of time, after which the labels are fitted to rounding."""
RTOL, ATOL = 1e-12, 1e-14
"""Tolerances of the curve."""
RESOLVED = 1e-10
"""Least component of D_± along an input, relative to its length, that the curve follows: four
digits above its tolerance."""
POINTS = 4001
"""Places at which pulls are summed over time."""


class Growth:
    """The curve for labels y of one sign on orthogonal inputs of some lengths, n labels in all.

    Times τ count from where u is half the capacity.
    """

    def __init__(self, y: Array, lengths: Array, n: int) -> None:
        self.y, self.lengths, self.n = np.abs(y), lengths, n

    @property
    def rate(self) -> float:
        """‖D_±‖, at which a small neuron grows."""
        return float(np.linalg.norm(self.y * self.lengths)) / self.n

    @property
    def capacity(self) -> float:
        """The final u: ‖Σ_± y_kx_k/κ_k²‖."""
        return float(np.linalg.norm(self.y / self.lengths))

    @property
    def logistic(self) -> bool:
        return float(np.ptp(self.lengths)) <= SAME_LENGTH * float(np.max(self.lengths))

    @property
    def lead(self) -> float:
        """The time of u = capacity/2 for a neuron that is e^{rate·t} as long as it is small."""
        return float(np.log(self.capacity)) / (2 * self.rate) + (
            0.0 if self.logistic else self._curve[1]
        )

    def size(self, tau: Array) -> Array:
        """u at times τ."""
        if self.logistic:
            return np.asarray(self.capacity / (1 + np.exp(-2 * self.rate * np.asarray(tau))))
        solution, late = self._curve
        t = np.asarray(tau) + late + SEED / (2 * self.rate)
        u = self.capacity * np.exp(solution(np.clip(t, 0.0, solution.t_max))[0])
        return np.asarray(np.where(t < 0, self.capacity * np.exp(2 * self.rate * t - SEED), u))

    def delay(self, active: Any) -> float:
        """By how much ∫‖D_A‖dt/‖D_A(0)‖, A the inputs that are active, exceeds the time of u =
        capacity/2."""
        if self.logistic or not np.any(active):
            return 0.0
        t, pulls = self._pulls
        lengths = np.linalg.norm(pulls[active], axis=0)
        return (
            float(np.trapezoid(lengths, t) / lengths[0]) - self._curve[1] - SEED / (2 * self.rate)
        )

    @cached_property
    def overshoot(self) -> float:
        """∫‖f_−‖dt: while the neuron turns, labels of short inputs are still missing when those of
        long ones are exceeded."""
        if self.logistic:
            return 0.0
        t, pulls = self._pulls
        return float(np.trapezoid(np.linalg.norm(np.minimum(pulls, 0.0), axis=0), t))

    @cached_property
    def _pulls(self) -> tuple[Array, Array]:
        solution = self._curve[0]
        t = np.linspace(0.0, solution.t_max, POINTS)
        state = solution(t)
        return t, self._pull(self.capacity * np.exp(state[0]), state[1:])

    def _pull(self, u: Any, p: Array) -> Array:
        columns = (slice(None),) + (None,) * (p.ndim - 1)
        return np.asarray(
            (self.y[columns] - u * self.lengths[columns] * p) * self.lengths[columns] / self.n
        )

    @cached_property
    def _curve(self) -> tuple[Any, float]:
        """(log(u/capacity), p) against time from where log u is −SEED, and how much later than a
        logistic curve it is halfway."""
        from scipy.integrate import solve_ivp

        def velocity(_: float, state: Array) -> Array:
            f = self._pull(self.capacity * np.exp(state[0]), state[1:])
            along = float(state[1:] @ f)
            return np.append(2 * along, f - along * state[1:])

        p = self.y * self.lengths / float(np.linalg.norm(self.y * self.lengths))
        if float(np.min(p)) < RESOLVED:
            raise ConvergenceError(
                f"growth of a neuron on inputs of lengths {np.min(self.lengths):.3g} to "
                f"{np.max(self.lengths):.3g}: the shortest"
                " is lost beside the longest"
            )
        slowest = self.capacity * float(np.min(self.lengths)) ** 2 / self.n
        span = SEED / self.rate + LEFT / min(slowest, self.rate)
        run = solve_ivp(
            velocity,
            (0.0, span),
            np.append(-SEED, p),
            "LSODA",
            dense_output=True,
            rtol=RTOL,
            atol=ATOL,
            events=_half,
        )
        if not run.success or run.t_events[0].size == 0:
            raise ConvergenceError(
                f"growth of a neuron on inputs of lengths {np.min(self.lengths):.3g} to "
                f"{np.max(self.lengths):.3g}: {run.message}"
            )
        return run.sol, float(run.t_events[0][0]) - SEED / (2 * self.rate)


def _half(_: float, state: Array) -> float:
    return float(state[0] + np.log(2.0))
