"""Two-layer networks h(x) = Σ_j ε_j(⟨w_j, x⟩)₊² with fixed signs: C's smooth, balanced,
2-homogeneous feature (C, §2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, labels, positive_int
from .._core.facts import params_card, params_in_words
from .._core.starts import positive_scale
from .model import Model, fit_dimension, read_params

STREAM = 2
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""


class SignedTwoLayerParams(NamedTuple):
    """Neurons W (m, d); a bias is a constant column of the inputs."""

    W: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True, eq=False)
class SignedTwoLayer(Model):
    """h(x) = Σ_j ε_j(⟨w_j, x⟩)₊², squared ReLUs with signs ε that are not trained.
    `model(params, X)` predicts, (n,).

    The gradient is Lipschitz, so that the flow has no events.

    Parameters
    ----------
    width : int
        m, the number of neurons.
    dim : int
        d, of the inputs.
    signs : array of shape (m,), optional
        ε, ±1; by default +, −, +, ….

    Examples
    --------
    >>> model = bf.SignedTwoLayer(width=2, dim=1)
    >>> params = bf.models.SignedTwoLayerParams(W=np.array([[2.0], [-1.0]]))
    >>> model(params, np.array([[1.0], [-3.0]]))
    array([ 4., -9.])
    """

    width: int
    dim: int
    signs: ArrayLike | None = None

    def __post_init__(self) -> None:
        m = positive_int("width", self.width)
        positive_int("dim", self.dim)
        alternating = 1.0 - 2.0 * (np.arange(m) % 2)
        object.__setattr__(
            self, "signs", alternating if self.signs is None else labels("signs", self.signs, m)
        )

    @property
    def homogeneity(self) -> int:
        return 2

    @property
    def degree(self) -> int:
        return 2

    def hidden(self, params: SignedTwoLayerParams, X: Any) -> Any:
        """(⟨w_j, x_k⟩)₊, (..., m, n)."""
        projections = params.W @ X.T
        return (projections > 0) * projections

    def outputs(self, params: SignedTwoLayerParams, X: Any) -> Any:
        """What each neuron adds to h(x_k), (..., m, n)."""
        return self._signs[:, None] * self.hidden(params, X) ** 2

    def __call__(self, params: SignedTwoLayerParams, X: Any) -> Any:
        return self._signs @ self.hidden(params, X) ** 2

    def effective(self, params: SignedTwoLayerParams) -> Any:
        """ε_j‖w_j‖w_j, (..., m, d), which determines h."""
        return self._signs[:, None] * _norms(params.W) * params.W

    def gradient(
        self, params: SignedTwoLayerParams, X: Any, output_gradient: Any
    ) -> SignedTwoLayerParams:
        return SignedTwoLayerParams(
            2 * self._signs[:, None] * ((self.hidden(params, X) * output_gradient) @ X)
        )

    def jacobian(self, params: SignedTwoLayerParams, X: Any) -> SignedTwoLayerParams:
        slopes = 2 * self._signs[:, None] * self.hidden(params, X)
        return SignedTwoLayerParams(slopes.T[:, :, None] * X[:, None, :])

    def init(
        self,
        scale: float = 1.0,
        *,
        log_scale: float | None = None,
        key: int = 0,
        dim: int | None = None,
    ) -> SignedTwoLayerParams:
        """w_j = λ·g_j with g_j ~ N(0, I_d)."""
        lam = positive_scale(scale, log_scale)
        fit_dimension("dim", dim, self.dim)
        rng = np.random.default_rng([positive_int("key", key, least=0), STREAM])
        return SignedTwoLayerParams(lam * rng.standard_normal((self.width, self.dim)))

    def checked(self, params: Any, d: int) -> SignedTwoLayerParams:
        fit_dimension("data", d, self.dim)
        found: SignedTwoLayerParams = read_params(
            SignedTwoLayerParams, params, (self.width, self.dim)
        )
        return found

    @property
    def _signs(self) -> Array:
        return np.asarray(self.signs)


def _norms(W: Any) -> Any:
    return ((W * W).sum(-1) ** 0.5)[..., None]
