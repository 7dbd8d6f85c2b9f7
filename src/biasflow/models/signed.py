"""Two-layer networks h(x) = Σ_j ε_j(⟨w_j, x⟩)₊² with fixed signs: C's smooth, balanced,
2-homogeneous feature (C, §2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, labels, matrix, positive_int
from ..errors import InputError, RefusedError
from ..potentials import Potential
from .model import MirrorForm, Model
from .two_layer import positive_scale

STREAM = 2
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""


class SignedTwoLayerParams(NamedTuple):
    """Neurons W (m, d); a bias is a constant column of the inputs."""

    W: Array


@dataclass(frozen=True, eq=False)
class SignedTwoLayer(Model):
    """h(x) = Σ_j ε_j(⟨w_j, x⟩)₊², squared ReLUs with signs ε (m,) that are not trained (by default
    +, −, +, …).

    The gradient is Lipschitz, so that the flow has no events.
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

    def linearised(self, params: SignedTwoLayerParams, direction: SignedTwoLayerParams) -> Any:
        norms = _norms(params.W)
        unit = params.W / (norms + (norms == 0))
        along = (unit * direction.W).sum(-1)[..., None]
        return self._signs[:, None] * (norms * direction.W + along * params.W)

    def init(self, scale: float, *, dim: int | None = None, key: int = 0) -> SignedTwoLayerParams:
        """w_j = λ·g_j with g_j ~ N(0, I_d)."""
        lam = positive_scale(scale)
        if dim is not None and dim != self.dim:
            raise InputError(f"dim: the model has dimension {self.dim}, found {dim!r}")
        rng = np.random.default_rng([positive_int("key", key, least=0), STREAM])
        return SignedTwoLayerParams(lam * rng.standard_normal((self.width, self.dim)))

    def checked(self, params: Any, d: int) -> SignedTwoLayerParams:
        """Parameters as a finite array (m, d), or an error that says what is wrong."""
        try:
            (W,) = params
        except (TypeError, ValueError):
            raise InputError(
                f"params0: expected SignedTwoLayerParams(W), found {type(params).__name__}"
            ) from None
        if d != self.dim:
            raise InputError(f"ds: the model takes inputs of dimension {self.dim}, found {d}")
        W = matrix("params0.W", W)
        if W.shape != (self.width, self.dim):
            raise InputError(
                f"params0.W: expected shape ({self.width}, {self.dim}), found {W.shape}"
            )
        return SignedTwoLayerParams(W)

    def potential(self, *, scale: Any = None, log_scale: Any = None) -> Potential:
        raise RefusedError("SignedTwoLayer: its flow is no mirror flow")

    def features(self, X: Any) -> Any:
        raise RefusedError(
            "SignedTwoLayer: not linear in a predictor: the activation pattern changes along the "
            "flow"
        )

    def nonsmooth(self, params0: SignedTwoLayerParams) -> str | None:
        """A squared ReLU has a Lipschitz gradient."""
        return None

    def mirror_form(self, params0: Any, loss: Any, n: int) -> MirrorForm | str:
        return (
            "a squared ReLU network has no mirror form: the activation pattern changes along "
            "the flow"
        )

    @property
    def _signs(self) -> Array:
        return np.asarray(self.signs)


def _norms(W: Any) -> Any:
    return ((W * W).sum(-1) ** 0.5)[..., None]
