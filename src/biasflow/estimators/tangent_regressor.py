"""Regression by a network linearised at its start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array, positive_float, positive_int
from .._core.results import Limit
from ..errors import InconsistentError
from ..limits import LinearisedFlow, TangentPredictor, linearised_flow, tangent_interpolator
from ..losses import SquareLoss
from ..models import Model, TwoLayer, TwoLayerParams, augmented
from .certified import warn_of_bound

MEAN = SquareLoss("half-mean")
TRUSTED = 2.0**30
"""2cT·λ_max at the time T to which labels out of reach are followed, λ_max the largest mode of K
and c the loss's factor. Modes above λ_max/2^30 have arrived then; sums with the coefficients round
to 2^-52·2^30 of the labels, below the millionth that `kernel_interpolator` accepts, while modes
within rounding of zero would let them grow without end."""


class TangentKernelRegressor(RegressorMixin, BaseEstimator):
    """A network trained by gradient flow while it is linear in its weights (W, §3).

    f_t = f(w₀, ·) + Σ_i a_i(t)K(x_i, ·) with the tangent kernel K at the start, in closed form at
    any time. In the end it has the least kernel norm of all that fit the labels; labels out of the
    range of K, as those of equal inputs that differ, have their least-squares fit in their place,
    where the flow goes, in all modes of K that are above 1e-9 of its largest. There is no search,
    so no time limit: K of n samples is decomposed three times, five seconds for n = 2000.

    Parameters
    ----------
    network : optional
        A biasflow model, a JAX function network(params, X) -> (n,), an equinox or PyTorch module.
        Where it is not given: a two-layer ReLU network with a bias, from a start in pairs of
        neurons that cancel, f(w₀, ·) = 0, of a size for which K does not grow with the width.
    start : optional
        The weights w₀; a biasflow model draws its own where it is not given.
    width : int, default=512
        Neurons of the network that is not given, in pairs.
    t : float, optional
        When to stop, by the clock of the mean loss (1/2n)‖·‖²; never, where it is not given.
    output : int, optional
        The column looked at where the network has several outputs.
    key : int, default=0
        Of the start that is drawn.

    Attributes
    ----------
    predictor_ : TangentPredictor
        f_t.
    certificate_ : Certificate
        Bounds on ‖f_t − f(w₀, ·)‖_K, the least kernel norm of all functions that predict what this
        one does on the training set.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> model = bf.estimators.TangentKernelRegressor().fit(x, np.cos(2 * x[:, 0]))
    >>> float(abs(model.predict(x) - np.cos(2 * x[:, 0])).max()) < 1e-9
    True
    """

    def __init__(
        self,
        network: Any = None,
        start: Any = None,
        *,
        width: int = 512,
        t: float | None = None,
        output: int | None = None,
        key: int = 0,
    ) -> None:
        self.network = network
        self.start = start
        self.width = width
        self.t = t
        self.output = output
        self.key = key

    def fit(self, X: ArrayLike, y: ArrayLike) -> TangentKernelRegressor:
        """The linearised network at the end of its flow, or at the time t."""
        inputs, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        inputs, targets = self._seen(inputs), np.asarray(targets, dtype=float)
        network, start = self._at_start(inputs.shape[1])

        def interpolated(labels: Array) -> Limit[TangentPredictor]:
            return tangent_interpolator(network, start, inputs, labels, output=self.output)

        until = math.inf if self.t is None else positive_float("t", self.t)
        flow = linearised_flow(network, start, inputs, targets, MEAN, output=self.output)
        try:
            found = interpolated(targets if self.t is None else flow.predictions(until))
        except InconsistentError:
            until = min(until, _trusted_time(flow))
            found = interpolated(flow.predictions(until))
        self.predictor_ = found.value if until == math.inf else flow.at(until)
        self.certificate_ = found.certificate
        warn_of_bound(self, "its kernel norm", found.certificate, ADVICE)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """f_t(x), (n_samples,)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.predictor_(self._seen(inputs)))

    def _seen(self, X: Array) -> Array:
        """The inputs as the network sees them: with a constant one where it is ours."""
        return augmented(X) if self.network is None else X

    def _at_start(self, dim: int) -> tuple[Any, Any]:
        if self.network is None:
            pairs = positive_int("width", self.width, least=2) // 2
            own = TwoLayer(pairs, dim).init(1 / math.sqrt(2 * pairs), key=self.key)
            pair = TwoLayerParams(np.append(own.a, -own.a), np.vstack([own.W, own.W]))
            return TwoLayer(2 * pairs, dim), pair if self.start is None else self.start
        if self.start is None and isinstance(self.network, Model):
            return self.network, self.network.init(dim=dim, key=self.key)
        return self.network, self.start


def _trusted_time(flow: LinearisedFlow) -> float:
    """The time up to which rounding has no say."""
    largest = 2 * flow.factor * float(np.max(flow.eigenvalues, initial=0.0))
    return TRUSTED / largest if largest > 0 else math.inf


ADVICE = "inputs that are almost equal ask for modes of the kernel within rounding of zero"
"""Why a kernel's norm can be open."""
