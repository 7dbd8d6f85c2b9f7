"""Linear regression by gradient flow on a diagonal network: from ridge-like to sparse by the size
of the start."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array, positive_float
from .._core.problems import Dataset, MirrorProblem, Problem
from ..flows import gradient_flow, limit
from ..losses import SquareLoss
from ..models import DiagonalNetwork
from .certified import as_far_as_found, warn_of_bound
from .contrasts import Reduced, reduced


class GradientFlowRegressor(RegressorMixin, BaseEstimator):
    """Linear regression by gradient flow on a diagonal network β = w₊^D − w₋^D from w± = α·1.

    The flow of (1/2n)‖Xβ + b − y‖² ends at argmin φ_α(β) over the least-squares solutions (W,
    Theorems 1 and 3; R, Theorem 2.3): near the one of least ℓ2 norm from large α, of least ℓ1 norm
    from small α. Labels out of reach are no special case: all least-squares solutions have the same
    fit, onto which the flow moves as if it were the labels.

    Parameters
    ----------
    depth : int, default=2
        D ≥ 2. Deeper networks change sooner from one regime to the other.
    scale : float or array of shape (n_features,), optional
        α, or one for every column; 1 where neither it nor log_scale is given. β of size α^D is
        where the regimes meet, in the units of labels over inputs: scale both, in a pipeline.
    log_scale : float or array, optional
        log α instead, for starts below float range; not with t.
    t : float, optional
        When to stop, by the clock of the mean loss (1/2n)‖·‖²; never, where it is not given.
    fit_intercept : bool, default=True
        Whether b is free, at its best at every time; else it is zero.
    time_s : float, default=5
        Seconds for a flow up to t; the limit takes none of them.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        β.
    intercept_ : float
        b.
    certificate_ : Certificate
        Bounds on D_φ(β, 0), the least divergence of all coefficients that predict what these do on
        the training set; kind 'exact' where they are one number. Of coefficients at a time t this
        holds, too (∇φ(β) is in the span of the inputs all along): that the time is t is what error_
        says.
    error_ : float
        An estimate of the largest error of coef_ at the time t; zero for the limit, which has its
        certificate.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> data = bf.data.sparse_regression(20, 60, 2, 0.0, key=0)
    >>> rich = bf.estimators.GradientFlowRegressor(scale=1e-4, fit_intercept=False)
    >>> float(abs(rich.fit(data.X, data.y).coef_ - data.truth).max()) < 1e-3
    True
    >>> rich.certificate_.kind
    'exact'
    """

    def __init__(
        self,
        depth: int = 2,
        scale: ArrayLike | None = None,
        log_scale: ArrayLike | None = None,
        t: float | None = None,
        *,
        fit_intercept: bool = True,
        time_s: float = 5.0,
    ) -> None:
        self.depth = depth
        self.scale = scale
        self.log_scale = log_scale
        self.t = t
        self.fit_intercept = fit_intercept
        self.time_s = time_s

    def fit(self, X: ArrayLike, y: ArrayLike) -> GradientFlowRegressor:
        """The coefficients at the end of the flow, or at the time t."""
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        system = reduced(inputs, np.asarray(targets, dtype=float), bool(self.fit_intercept))
        self.coef_ = self._end(system) if self.t is None else self._at(system, len(inputs))
        self.intercept_ = float(system.offset - system.mean @ self.coef_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """⟨β, x⟩ + b, (n_samples,)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(inputs @ self.coef_ + self.intercept_)

    def _start(self) -> dict[str, Any]:
        """α, by the word that was given."""
        if self.scale is None and self.log_scale is None:
            return {"scale": 1.0}
        return {"scale": self.scale, "log_scale": self.log_scale}

    def _end(self, system: Reduced) -> Array:
        """The limit, whatever the labels; where nothing is left to choose, the only solution."""
        potential, only = DiagonalNetwork(self.depth).potential(**self._start()), system.solution
        A, b = (system.A, system.b) if only is None else (np.eye(only.size), only)
        found = as_far_as_found(lambda: limit(MirrorProblem(potential, A, b), time_s=self.time_s))
        self.certificate_, self.error_ = found.certificate, 0.0
        warn_of_bound(self, "the divergence of its limit", found.certificate, ADVICE)
        return np.asarray(found.value) if only is None else only

    def _at(self, system: Reduced, n: int) -> Array:
        """The flow at t, with the proof that it is where such flows are."""
        A, b = system.A, system.b
        model, until = DiagonalNetwork(self.depth), positive_float("t", self.t) / n
        given = {name: value for name, value in self._start().items() if value is not None}
        problem: Problem[Any, Any] = Problem(model, Dataset(A, b), SquareLoss("half"), **given)
        flow = gradient_flow(problem, t1=until, times=[until], time_s=self.time_s, throw=False)
        beta = np.asarray(model.effective(flow.final))
        potential = model.potential(**self._start())
        found = as_far_as_found(
            lambda: limit(MirrorProblem(potential, A, A @ beta), time_s=self.time_s)
        )
        self.certificate_, self.error_ = found.certificate, float(flow.predictor_error[-1])
        if not flow.result.success:
            warnings.warn(
                f"GradientFlowRegressor: {flow.result.value} at t = {flow.times[-1] * n:.4g} of "
                f"{self.t:.4g}; raise time_s, or leave out t for the limit",
                ConvergenceWarning,
                stacklevel=3,
            )
        return beta


ADVICE = "columns with an offset are better centred, those of mixed units rescaled"
"""What narrows the bracket of a linear limit."""
