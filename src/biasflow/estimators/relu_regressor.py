"""Regression by the two-layer ReLU network of least weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array
from ..limits import min_norm
from ..models import TwoLayer, augmented
from .certified import warn_of_bound
from .contrasts import averaged


class MinNormReLURegressor(RegressorMixin, BaseEstimator):
    """Of all two-layer ReLU networks that fit the labels, the one of least ‖θ‖² (B, eq. 34).

    Where gradient flow from vanishing starts goes on orthogonal inputs (B, Theorem 1); on a line, a
    linear spline with few kinks. Equal inputs with different labels have the mean of these:
    networks with a bias fit all else, so that this is the least sum of squares, and the network is
    of least norm among those that reach it. Without a bias other labels can be out of reach, which
    is an error that names the samples.

    Parameters
    ----------
    bias : {'append', 'none', 'column'}, default='append'
        Who adds the constant input: we, nobody, or the user, whose last column is one. Its weights
        count in the norm like all others.
    gap : float, default=1e-3
        Relative width of the bracket of ‖θ‖² that will do.
    time_s : float, default=5
        Seconds for the search and its proof.
    key : int, default=0
        Of the random starts of the search.

    Attributes
    ----------
    network_ : TwoLayerParams
        a (m,) and W (m, n_features + 1).
    certificate_ : Certificate
        Bounds on the least ‖θ‖²; a ConvergenceWarning says where they are further apart than gap.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> x, y = [[-1.0], [0.0], [1.0], [2.0]], [1.0, 0.0, 1.0, 2.0]
    >>> model = bf.estimators.MinNormReLURegressor().fit(x, y)
    >>> [round(float(value), 6) for value in model.predict(x)]
    [1.0, 0.0, 1.0, 2.0]
    >>> model.certificate_.kind
    'exact'
    """

    def __init__(
        self, bias: str = "append", *, gap: float = 1e-3, time_s: float = 5.0, key: int = 0
    ) -> None:
        self.bias = bias
        self.gap = gap
        self.time_s = time_s
        self.key = key

    def fit(self, X: ArrayLike, y: ArrayLike) -> MinNormReLURegressor:
        """The network of least norm that fits as well as any."""
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        inputs, targets, _ = averaged(inputs, np.asarray(targets, dtype=float))
        found = min_norm(
            inputs,
            targets,
            norm="relu",
            bias=self.bias,
            gap=self.gap,
            time_s=self.time_s,
            key=self.key,
        )
        self.network_, self.certificate_ = found.value, found.certificate
        warn_of_bound(self, "the least ‖θ‖²", found.certificate, "raise time_s, or gap")
        return self

    def predict(self, X: ArrayLike) -> Array:
        """h(x), (n_samples,)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        inputs = augmented(inputs) if self.bias == "append" else inputs
        if not self.network_.a.size:
            return np.zeros(len(inputs))
        model = TwoLayer(self.network_.a.size, inputs.shape[1])
        return np.asarray(model(self.network_, inputs))
