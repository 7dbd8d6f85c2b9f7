"""The Lasso by training: the average of a diagonal network's flow, stopped where its penalty is the
one that was asked for."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array, positive_float
from .._core.problems import MirrorProblem
from .._core.results import Certificate, Trajectory
from ..diagnostics.lasso_gaps import lasso_gap, lasso_proof
from ..flows import mirror_flow
from ..models import DiagonalNetwork
from .contrasts import Reduced, reduced

FURTHER = 1.2
"""Factor by which a flow that has not come down to the penalty is followed further."""
MOST_TRIES = 8
"""How often: the penalty falls like one over the time, so that one or two do."""


class AveragedFlowRegressor(RegressorMixin, BaseEstimator):
    """Linear regression by early stopping: the average β̄ of gradient flow on a diagonal network
    from a tiny start, up to the time at which it is a Lasso solution for the penalty alpha, nearly
    and with a proof (Berthier 2025; claim S/lasso).

    The objective is scikit-learn's, (1/2n)‖Xβ + b − y‖² + alpha·‖β‖₁. As long as the flow runs,
    ‖Xᵀ(y − Xβ̄)‖_∞/n falls, about like one over the time: stopping is choosing alpha.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty at which to stop.
    depth : int, default=2
        D ≥ 2. The gap of deeper networks falls faster with the start.
    log_scale : float, default=-50.0
        log α of the start: the gap is of the order of 1/log(1/α) for D = 2, of α^{D−2} for D ≥ 3.
        A jump takes as much of the time, which floats have to resolve: for D ≥ 3 about −10/(D−2)
        is what can be followed.
    fit_intercept : bool, default=True
        Whether b is free, at its best at every time; else it is zero.
    time_s : float, default=20
        Seconds for the flow.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        β̄.
    intercept_ : float
        b.
    alpha_ : float
        The penalty that the certificate is about: alpha, up to the error of the flow; above the
        largest useful penalty, alpha itself.
    certificate_ : Certificate
        Bounds on the least value of the objective at alpha_, between which it lies; its upper one
        is that of coef_.
    error_ : float
        An estimate of the largest error of coef_ as an average of the exact flow.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> data = bf.data.sparse_regression(20, 60, 2, 0.0, key=0)
    >>> averaged = bf.estimators.AveragedFlowRegressor(alpha=0.05).fit(data.X, data.y)
    >>> print(round(averaged.alpha_, 6), averaged.certificate_.relative_gap < 1e-2)
    0.05 True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        depth: int = 2,
        log_scale: float = -50.0,
        fit_intercept: bool = True,
        time_s: float = 20.0,
    ) -> None:
        self.alpha = alpha
        self.depth = depth
        self.log_scale = log_scale
        self.fit_intercept = fit_intercept
        self.time_s = time_s

    def fit(self, X: ArrayLike, y: ArrayLike) -> AveragedFlowRegressor:
        """The average of the flow until its penalty is alpha."""
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        system = reduced(inputs, np.asarray(targets, dtype=float), bool(self.fit_intercept))
        n, penalty = len(inputs), positive_float("alpha", self.alpha) * len(inputs)
        self.coef_, self.error_ = self._average(system, penalty)
        proof = lasso_proof(
            inputs - system.mean,
            targets - system.offset,
            self.coef_,
            intercept=bool(self.fit_intercept),
        )
        if not np.any(self.coef_):  # zero is optimal from its own penalty on
            proof = proof._replace(penalty=max(proof.penalty, penalty))
        self.alpha_ = proof.penalty / n
        self.intercept_ = float(system.offset - system.mean @ self.coef_)
        lower = max(proof.objective - proof.gap, 0.0)
        self.certificate_ = Certificate(proof.objective / n, lower / n, 0.0, "bound")
        return self

    def predict(self, X: ArrayLike) -> Array:
        """⟨β, x⟩ + b, (n_samples,)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(inputs @ self.coef_ + self.intercept_)

    def _average(self, system: Reduced, penalty: float) -> tuple[Array, float]:
        """β̄ when its penalty is this one, and its error."""
        A, b = system.A, system.b
        potential = DiagonalNetwork(self.depth).potential(log_scale=self.log_scale)
        if float(np.max(np.abs(A.T @ b), initial=0.0)) <= penalty:
            return np.zeros(A.shape[1]), 0.0
        largest = np.abs(np.linalg.lstsq(A, b, rcond=None)[0])
        reach = float(np.max(potential.at(np.maximum(largest, np.max(largest))).eta))
        problem, until = MirrorProblem(potential, A, b), FURTHER * reach / penalty
        for _ in range(MOST_TRIES):
            flow = mirror_flow(problem, t1=until, time_s=self.time_s, throw=False)
            falling = _penalties(flow, A)
            if falling[-1] <= penalty or not flow.result.success:
                break
            until = FURTHER * until
        if falling[-1] > penalty:
            warnings.warn(
                f"AveragedFlowRegressor: {flow.result.value} where the penalty is "
                f"{falling[-1] / penalty:.3g} times alpha; raise "
                + ("log_scale, time_s or alpha" if self.depth > 2 else "time_s or alpha"),
                ConvergenceWarning,
                stacklevel=3,
            )
            found = lasso_gap(flow, flow.times[-1:])
        else:
            found = lasso_gap(flow, [_crossing(flow, A, b, falling, penalty)])
        return found.mean[0], float(found.error[0])


def _penalties(flow: Trajectory, A: Array) -> Array:
    """‖Aᵀν‖_∞/t at the saved times, which is ‖Aᵀ(b − Aβ̄)‖_∞; infinite at the start."""
    pulls = np.max(np.abs(np.asarray(flow.dual) @ A), axis=1)
    return np.divide(pulls, flow.times, out=np.full(len(pulls), np.inf), where=flow.times > 0)


def _crossing(flow: Trajectory, A: Array, b: Array, falling: Array, penalty: float) -> float:
    """When the penalty first falls to this one: ν between two times by its values and slopes there,
    ν̇ = b − Aβ."""
    k = max(int(np.argmax(falling <= penalty)), 1)
    begun, end = float(flow.times[k - 1]), float(flow.times[k])
    assert flow.dual is not None
    ends = flow.dual[k - 1 : k + 1]
    slopes = (end - begun) * (b - flow.states[k - 1 : k + 1] @ A.T)

    def excess(t: float) -> float:
        u = (t - begun) / (end - begun)
        nu = (1 + 2 * u) * (1 - u) ** 2 * ends[0] + u * u * (3 - 2 * u) * ends[1]
        nu = nu + u * (1 - u) * ((1 - u) * slopes[0] - u * slopes[1])
        return float(np.max(np.abs(A.T @ nu))) - penalty * t

    if excess(begun) <= 0 or excess(end) >= 0:
        return end
    return float(brentq(excess, begun, end, rtol=1e-14))
