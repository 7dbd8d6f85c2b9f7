"""Two-layer networks h(x) = Σ_j a_j σ(⟨w_j, x⟩), σ a ReLU or a leaky ReLU (B, eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import (
    SMALLEST_NORMAL,
    Array,
    matrix,
    one_of,
    positive_float,
    positive_int,
    real_number,
    vector,
)
from .._core.trees import grown, leaf_map
from ..errors import InputError, RefusedError, ScaleError
from ..potentials import Potential
from .model import MirrorForm, Model, held, read_log_scale

ACTIVATIONS = ("relu", "leaky_relu")
STREAM = 1
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""
LEAKY_SLOPE = 0.01
"""The slope of a leaky ReLU on the negative side where none is given."""


class TwoLayerParams(NamedTuple):
    """Output weights a (m,) and neurons W (m, d); a bias is a constant column of the inputs."""

    a: Array
    W: Array


@dataclass(frozen=True)
class TwoLayer(Model):
    """h(x) = Σ_j a_j σ(⟨w_j, x⟩), the plain sum over `width` neurons in dimension `dim` (B, eq. 1).

    activation: 'relu', or 'leaky_relu' with `slope` in (0, 1) on the negative side. σ'(0) is the
    slope of the negative side (B, App. D: the only choice for which orthogonal data have a global
    solution); the flow itself slides along zeros, in Filippov's sense.
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

    def gates(self, params: TwoLayerParams, X: Any) -> Any:
        """σ'(⟨w_j, x_k⟩), (..., m, n)."""
        return self._slopes(params.W @ X.T)

    def hidden(self, params: TwoLayerParams, X: Any) -> Any:
        """σ(⟨w_j, x_k⟩), (..., m, n)."""
        inner = params.W @ X.T  # once: then a tangent kernel sees W in one product
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

    def linearised(self, params: TwoLayerParams, direction: TwoLayerParams) -> Any:
        return direction.a[..., None] * params.W + params.a[..., None] * direction.W

    def init(
        self, scale: float, *, dim: int | None = None, key: int = 0, balanced: bool = True
    ) -> TwoLayerParams:
        """w_j = λ·g_j with g_j ~ N(0, I_d), a_j = ±‖w_j‖ with a random sign (B, eq. 3); unbalanced:
        a_j ~ λ·N(0, 1) instead.

        A λ below float range is written init(1.0) with log_scale = log λ, where a flow or a
        `Problem` is asked for.
        """
        lam = positive_scale(scale)
        if dim is not None and dim != self.dim:
            raise InputError(f"dim: the model has dimension {self.dim}, found {dim!r}")
        rng = np.random.default_rng([positive_int("key", key, least=0), STREAM])
        g = rng.standard_normal((self.width, self.dim))
        signs = rng.choice([-1.0, 1.0], self.width)
        outputs = signs * np.linalg.norm(g, axis=1) if balanced else rng.standard_normal(self.width)
        return TwoLayerParams(lam * outputs, lam * g)

    def checked(self, params: Any, d: int) -> TwoLayerParams:
        """Parameters as finite arrays (m,) and (m, d), or an error that names the one that is
        wrong."""
        try:
            a, W = params
        except (TypeError, ValueError):
            raise InputError(
                f"params0: expected TwoLayerParams(a, W), found {type(params).__name__}"
            ) from None
        if d != self.dim:
            raise InputError(f"ds: the model takes inputs of dimension {self.dim}, found {d}")
        a, W = vector("params0.a", a, self.width), matrix("params0.W", W)
        if W.shape != (self.width, self.dim):
            raise InputError(
                f"params0.W: expected shape ({self.width}, {self.dim}), found {W.shape}"
            )
        return TwoLayerParams(a, W)

    def placed(self, params0: TwoLayerParams, log_scale: Any) -> tuple[TwoLayerParams, Any]:
        """Parameters in floats and zero where floats hold e^{log_scale}·params0, else both as they
        are: flows take logarithms."""
        scale = read_log_scale(log_scale, self.width)
        if not held(params0, scale):
            return params0, scale
        return leaf_map(lambda leaf: grown(leaf, scale), params0), 0.0

    def potential(self, *, scale: Any = None, log_scale: Any = None) -> Potential:
        raise RefusedError(
            "TwoLayer: its flow is no mirror flow; bf.flows.saddle_limit gives the limit of "
            "vanishing "
            "initialisation on orthogonal "
            "data, bf.limits.min_norm_interpolator the minimum-norm interpolator"
        )

    def features(self, X: Any) -> Any:
        raise RefusedError(
            "TwoLayer: not linear in a predictor: the activation pattern changes along the flow"
        )

    def nonsmooth(self, params0: TwoLayerParams) -> str | None:
        return (
            "a ReLU network's gradient jumps where activations change, which a smooth "
            "integrator steps over; use 'events'"
        )

    def mirror_form(self, params0: Any, loss: Any, n: int) -> MirrorForm | str:
        return (
            "a two-layer ReLU network has no mirror form: the activation pattern changes along "
            "the flow"
        )


def positive_scale(scale: Any) -> float:
    """λ as a positive number that a float holds."""
    number = real_number("scale", scale, "a positive number")
    if not np.isfinite(number):
        raise InputError(f"scale: expected a positive finite number, found {number:g}")
    if number < SMALLEST_NORMAL:
        raise ScaleError(
            f"scale: found {number:g}, needs at least {SMALLEST_NORMAL:g}: from zero nothing "
            "moves. A start below float range"
            " is init(1.0) with log_scale=log λ in gradient_flow or Problem"
        )
    return number


def two_layer_for(params: Any, d: int) -> TwoLayer:
    """The ReLU network that these parameters fit."""
    try:
        a, _ = params
    except (TypeError, ValueError):
        raise InputError(
            f"params0: expected TwoLayerParams(a, W), found {type(params).__name__}"
        ) from None
    return TwoLayer(vector("params0.a", a).size, d)
