"""Two-layer networks h(x) = Σ_j a_j σ(⟨w_j, x⟩), σ a ReLU or a leaky ReLU (B, eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, one_of, positive_float, positive_int, vector
from .._core.facts import params_card, params_in_words
from .._core.starts import positive_scale
from ..errors import InputError
from .model import Model, fit_dimension, read_params

ACTIVATIONS = ("relu", "leaky_relu")
STREAM = 1
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""
LEAKY_SLOPE = 0.01
"""The slope of a leaky ReLU on the negative side where none is given."""


class TwoLayerParams(NamedTuple):
    """Output weights a (m,) and neurons W (m, d); a bias is a constant column of the inputs.

    Examples
    --------
    >>> params = bf.TwoLayer(width=5, dim=2).init(1e-3, key=0)
    >>> params.a.shape, params.W.shape
    ((5,), (5, 2))
    """

    a: Array
    W: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True)
class TwoLayer(Model):
    """h(x) = Σ_j a_j σ(⟨w_j, x⟩), the plain sum over the neurons (B, eq. 1). `model(params, X)`
    predicts, (n,); a bias is a constant column of the inputs (`data.with_bias`).

    Parameters
    ----------
    width : int
        m, the number of neurons.
    dim : int
        d, of the inputs.
    activation : {'relu', 'leaky_relu'}
        σ. σ'(0) is the slope of the negative side (B, App. D: the only choice for which orthogonal
        data have a global solution); the flow itself slides along zeros, in Filippov's sense.
    slope : float, optional
        Of 'leaky_relu' on the negative side, in (0, 1).

    Examples
    --------
    >>> model = bf.TwoLayer(width=2, dim=1)
    >>> params = bf.models.TwoLayerParams(a=np.array([1.0, 1.0]), W=np.array([[1.0], [-1.0]]))
    >>> model(params, np.array([[2.0], [-3.0]]))
    array([2., 3.])
    """

    width: int
    dim: int
    activation: str = "relu"
    slope: float | None = None

    def __post_init__(self) -> None:
        positive_int("width", self.width)
        positive_int("dim", self.dim)
        one_of("activation", self.activation, ACTIVATIONS)
        if self.slope is not None:
            if self.activation == "relu":
                raise InputError("slope: only activation 'leaky_relu' has one")
            if not positive_float("slope", self.slope) < 1:
                raise InputError(f"slope: expected a number in (0, 1), found {self.slope:g}")

    @property
    def negative_slope(self) -> float:
        """σ' on the negative side: zero for a ReLU."""
        if self.activation == "relu":
            return 0.0
        return LEAKY_SLOPE if self.slope is None else float(self.slope)

    @property
    def homogeneity(self) -> int:
        return 2

    @property
    def degree(self) -> int:
        return 1

    @property
    def kinks(self) -> str:
        return (
            "a ReLU network's gradient jumps where activations change, which a smooth "
            "integrator steps over; use 'events'"
        )

    @property
    def neurons_below_floats(self) -> int:
        return self.width

    def gates(self, params: TwoLayerParams, X: Any) -> Any:
        """σ'(⟨w_j, x_k⟩), (..., m, n)."""
        return self._slopes(params.W @ X.T)

    def hidden(self, params: TwoLayerParams, X: Any) -> Any:
        """σ(⟨w_j, x_k⟩), (..., m, n)."""
        W = params.W
        if W.ndim > 2:  # all times in one product, not one after the other
            inner = (W.reshape(-1, W.shape[-1]) @ X.T).reshape(*W.shape[:-1], X.shape[0])
        else:
            inner = W @ X.T  # once: then a tangent kernel sees W in one product
        if isinstance(inner, np.ndarray) and self.negative_slope == 0:
            return np.maximum(inner, 0.0)
        return self._slopes(inner) * inner

    def _slopes(self, inner: Any) -> Any:
        return self.negative_slope + (1 - self.negative_slope) * (inner > 0)

    def outputs(self, params: TwoLayerParams, X: Any) -> Any:
        """What each neuron adds to h(x_k), (..., m, n)."""
        return params.a[..., None] * self.hidden(params, X)

    def __call__(self, params: TwoLayerParams, X: Any) -> Any:
        return (params.a[..., None, :] @ self.hidden(params, X))[..., 0, :]

    def effective(self, params: TwoLayerParams) -> Any:
        """The products a_j·w_j, (..., m, d): with the signs of a they determine h, since σ is
        positively homogeneous."""
        return params.a[..., None] * params.W

    def gradient(self, params: TwoLayerParams, X: Any, output_gradient: Any) -> TwoLayerParams:
        pulls = (self.gates(params, X) * output_gradient) @ X
        return TwoLayerParams(self.hidden(params, X) @ output_gradient, params.a[..., None] * pulls)

    def jacobian(self, params: TwoLayerParams, X: Any) -> TwoLayerParams:
        gates = self.gates(params, X)
        return TwoLayerParams(
            self.hidden(params, X).T, (params.a[:, None] * gates).T[:, :, None] * X[:, None, :]
        )

    def init(
        self,
        scale: float = 1.0,
        *,
        log_scale: float | None = None,
        key: int = 0,
        dim: int | None = None,
        balanced: bool = True,
    ) -> TwoLayerParams:
        """w_j = λ·g_j with g_j ~ N(0, I_d), a_j = ±‖w_j‖ with a random sign (B, eq. 4); unbalanced:
        a_j ~ λ·N(0, 1) instead.

        A λ below float range is written init(1.0) with log_scale = log λ, where a flow or a
        `Problem` is asked for.
        """
        lam = positive_scale(scale, log_scale)
        fit_dimension("dim", dim, self.dim)
        rng = np.random.default_rng([positive_int("key", key, least=0), STREAM])
        g = rng.standard_normal((self.width, self.dim))
        signs = rng.choice([-1.0, 1.0], self.width)
        outputs = signs * np.linalg.norm(g, axis=1) if balanced else rng.standard_normal(self.width)
        return TwoLayerParams(lam * outputs, lam * g)

    def checked(self, params: Any, d: int) -> TwoLayerParams:
        fit_dimension("data", d, self.dim)
        found: TwoLayerParams = read_params(
            TwoLayerParams, params, (self.width,), (self.width, self.dim)
        )
        return found


def two_layer_for(params: Any, d: int) -> TwoLayer:
    """The ReLU network that these parameters fit."""
    try:
        a, _ = params
    except (TypeError, ValueError):
        raise InputError(
            f"start: expected TwoLayerParams(a, W), found {type(params).__name__}"
        ) from None
    return TwoLayer(vector("start.a", a).size, d)
