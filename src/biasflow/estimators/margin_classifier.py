"""Classification by the largest margin, in any of the norms that training leads to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.arguments import Array, positive_float, real_number
from ..errors import InputError, unknown
from ..limits import arc_cosine_kernel
from .certified import PROOFS, warn_of_bound
from .separators import (
    LINEAR,
    NEURONS,
    Kernel,
    Separator,
    kernel_separator,
    linear_separator,
    neural_separator,
)

OWN_KERNELS = ("arc_cosine", "arc_cosine_squared")
"""Those of wide ReLU and squared ReLU networks whose output layer is trained."""


class MaxMarginClassifier(ClassifierMixin, BaseEstimator):
    """The classifier of largest margin: max min_i y_if(x_i) over ‖f‖ ≤ 1, one class against the
    rest.

    Where training with exponential and logistic losses goes in direction: in F1 for a wide
    two-layer ReLU network, in F2 for its output layer alone (C, eqs. 4 and 5), in the norm of a
    tangent kernel for a linearised network, in ℓ2 for linear functions, in ℓ1 for diagonal networks
    of depth two (Moroshko et al., 2020).

    Where no function of the class separates, `separable_` says so. Then f has the least violation
    as follows. In ℓ1, ℓ2 and kernels each sample gets slack ξ_i, y_if(x_i) ≥ 1 − ξ_i, and ‖f‖₂² +
    Σξ_i²/c² is least, or ‖f‖₁ + Σ|ξ_i|/c: the largest margin again, of inputs with a coordinate of
    length c for each sample, so that the certificate is as good as any. In F1 and F2 all distinct
    inputs can be separated; of equal ones with different labels those outvoted are left out, and no
    function errs on fewer samples.

    Parameters
    ----------
    norm : {'f1', 'f2', 'l1', 'l2', 'precomputed'}, name of a kernel, or callable, default='f2'
        Over what, and measured how. 'f2' is quick and exact for any number of columns; 'f1' is
        exact for one or two columns or few samples near the margin, elsewhere a bracket. A kernel:
        'arc_cosine', 'arc_cosine_squared', a name of scikit-learn's ('rbf', 'polynomial', …), a
        function k(X, X') -> (n, n'), or 'precomputed' where X is its matrix.
    bias : {'append', 'none', 'column'}, default='append'
        Who adds the constant input: we, nobody, or the user, whose last column is one; it counts
        in the norm. F1 and F2 refuse 'none'; kernels have no bias but their own.
    slack : float, default=1e-3
        c over the largest ‖x_i‖ (ℓ2, kernels) or |x_ij| (ℓ1), the bias included; used where nothing
        separates. Zero: f = 0 then.
    gap : float, default=1e-3
        Relative width of the bracket in F1 that will do.
    time_s : float, default=5
        Seconds in all, shared by the classes, half of them for a problem with slack.
    key : int, default=0
        Of the random starts of the search in F1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    certificate_ : Certificate, or a tuple of one for each class against the rest
        Bounds on the largest margin γ: lower ≤ γ ≤ upper; with slack, or without the samples
        outvoted, where separable_ is False. Of two classes there is one.
    margin_ : float, or ndarray of shape (n_classes,)
        min_i y_if(x_i) of the f found, ‖f‖ = 1: the lower bound where the classes are separable,
        negative or zero where they are not.
    separable_ : bool, or ndarray of shape (n_classes,)
        Whether f is proven to separate the class from the rest.
    coef_, intercept_ : of ℓ1 and ℓ2 only
        The weights, (1 or n_classes, n_features), and (1 or n_classes,).
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> X, labels = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["=", "=", "≠", "≠"]
    >>> network = bf.estimators.MaxMarginClassifier("f2").fit(X, labels)
    >>> [str(label) for label in network.predict(X)]
    ['=', '=', '≠', '≠']
    >>> network.certificate_.kind, bool(network.margin_ > 0)
    ('exact', True)
    >>> bf.estimators.MaxMarginClassifier("l2").fit(X, labels).separable_
    False
    """

    def __init__(
        self,
        norm: str | Callable[..., Any] = "f2",
        bias: str = "append",
        slack: float = 1e-3,
        *,
        gap: float = 1e-3,
        time_s: float = 5.0,
        key: int = 0,
    ) -> None:
        self.norm = norm
        self.bias = bias
        self.slack = slack
        self.gap = gap
        self.time_s = time_s
        self.key = key

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.norm, str) and self.norm == "precomputed"
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> MaxMarginClassifier:
        """A function for two classes, else one for each against the rest."""
        inputs, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        if not (isinstance(self.norm, str) or callable(self.norm)):
            raise InputError(
                "norm: expected a name or a function of two sets of inputs, found "
                f"{type(self.norm).__name__}; a kernel matrix is X, with norm='precomputed'"
            )
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise InputError(f"y: expected at least two classes, found {count} class")
        first = 1 if count == 2 else 0
        time_s = positive_float("time_s", self.time_s) / (count - first)
        found = [
            self._separator(inputs, np.where(numbers == k, 1.0, -1.0), time_s)
            for k in range(first, count)
        ]
        self.separators_ = tuple(found)
        one = count == 2
        self.certificate_ = found[0].certificate if one else tuple(f.certificate for f in found)
        self.margin_ = found[0].margin if one else np.array([f.margin for f in found])
        self.separable_ = found[0].separable if one else np.array([f.separable for f in found])
        if self.norm in LINEAR:
            self.coef_ = np.stack([f.function.coefficients for f in found])
            self.intercept_ = np.array([f.function.intercept for f in found])
        worst = max(
            found, key=lambda f: (f.certificate.kind not in PROOFS, f.certificate.relative_gap)
        )
        warn_of_bound(self, "the largest margin", worst.certificate, ADVICE)
        if not all(f.held for f in found):
            warnings.warn(
                "MaxMarginClassifier: a margin is so far below the size of the inputs that floats "
                "do not hold its function, whose own margin is less; centre and scale the columns",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """f(x), (n_samples,), positive for classes_[1]; (n_samples, n_classes) where these are
        more than two."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.column_stack([found.function(inputs) for found in self.separators_])
        return np.asarray(values[:, 0] if len(self.classes_) == 2 else values)

    def predict(self, X: ArrayLike) -> Array:
        """The class of each input, (n_samples,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.asarray(self.classes_[(values > 0).astype(int)])
        return np.asarray(self.classes_[np.argmax(values, axis=1)])

    def _separator(self, X: Array, y: Array, time_s: float) -> Separator:
        """The class y = 1 against the rest."""
        slack = real_number("slack", self.slack)
        if slack < 0:
            raise InputError(f"slack: expected a number of at least zero, found {slack:g}")
        options: dict[str, Any] = {"time_s": time_s}
        if self.norm not in NEURONS:  # with slack there is a second problem
            options["time_s"] = time_s / 2
        if self.norm in LINEAR:
            return linear_separator(X, y, str(self.norm), self.bias, slack, options)
        if self.norm in NEURONS:
            options |= {"gap": self.gap} if self.norm == "f1" else {}
            return neural_separator(X, y, str(self.norm), self.bias, options | {"key": self.key})
        return kernel_separator(X, y, self._kernel(), slack, options)

    def _kernel(self) -> Kernel | None:
        """The kernel as a function of two sets of inputs; None where X is its matrix."""
        if callable(self.norm):
            return self.norm
        if self.norm == "precomputed":
            return None
        if self.norm in OWN_KERNELS:
            activation = "relu" if self.norm == OWN_KERNELS[0] else "squared_relu"
            return partial(arc_cosine_kernel, activation=activation)
        known = [*NEURONS, *LINEAR, "precomputed", *OWN_KERNELS, *PAIRWISE_KERNEL_FUNCTIONS]
        if self.norm not in known:
            raise unknown("norm", self.norm, known)
        return partial(pairwise_kernels, metric=self.norm)


ADVICE = "raise time_s, or gap"
"""What narrows the bracket of a margin, or makes do with it."""
