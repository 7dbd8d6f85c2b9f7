"""Diagonal linear networks β = w₊^D − w₋^D (W, eqs. 4 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, log_of_scale, positive_int
from .._core.facts import params_card, params_in_words
from .._core.former_names import renamed
from .._core.starts import read_scale
from ..errors import InputError, ScaleError
from ..losses import SquareLoss
from ..potentials import DepthPotential, Hypentropy, MirrorPoint, Potential, ScaledPotential
from ..potentials.depth_potentials import DepthPoint
from ..potentials.scaled import ScaledPoint
from .hyperbola import hyperbolic_form
from .model import MirrorForm, MirrorModel, read_params


class DiagonalParams(NamedTuple):
    """The weights w₊ and w₋, each (d,).

    Examples
    --------
    >>> bf.DiagonalNetwork(2).init(0.5, dim=2).plus
    array([0.5, 0.5])
    """

    plus: Array
    minus: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True)
class DiagonalNetwork(MirrorModel):
    """f(w, x) = ⟨w₊^D − w₋^D, x⟩, D ≥ 2 (W, §§4–5): a linear predictor whose parametrisation
    decides its bias. `model(params, X)` predicts, (n,).

    Parameters
    ----------
    depth : int
        D.

    Examples
    --------
    >>> model = bf.DiagonalNetwork(depth=2)
    >>> params = bf.models.DiagonalParams(plus=np.array([2.0, 1.0]), minus=np.array([1.0, 1.0]))
    >>> model.effective(params), model(params, np.array([[1.0, 5.0]]))
    (array([3., 0.]), array([3.]))
    """

    depth: int = 2

    def __post_init__(self) -> None:
        positive_int("depth", self.depth, least=2)

    @property
    def homogeneity(self) -> int:
        return self.depth

    def effective(self, params: DiagonalParams) -> Any:
        """β = w₊^D − w₋^D; leading axes are kept."""
        return params.plus**self.depth - params.minus**self.depth

    def gradient(self, params: DiagonalParams, X: Any, output_gradient: Any) -> DiagonalParams:
        """∇_w of a function of the predictions Xβ whose gradient is given: ±D·w±^{D−1}·Xᵀg."""
        D, beta_gradient = self.depth, X.T @ output_gradient
        return DiagonalParams(
            D * params.plus ** (D - 1) * beta_gradient, -D * params.minus ** (D - 1) * beta_gradient
        )

    def jacobian(self, params: DiagonalParams, X: Any) -> DiagonalParams:
        D = self.depth
        return DiagonalParams(D * params.plus ** (D - 1) * X, -D * params.minus ** (D - 1) * X)

    def linearised(self, params: DiagonalParams, direction: DiagonalParams) -> Any:
        D = self.depth
        return D * (
            params.plus ** (D - 1) * direction.plus - params.minus ** (D - 1) * direction.minus
        )

    def init(
        self,
        scale: ArrayLike = 1.0,
        *,
        log_scale: ArrayLike | None = None,
        key: int = 0,
        dim: int | None = None,
    ) -> DiagonalParams:
        """w₊ = w₋ = α·1 (W's unbiased start: β = 0). `scale` is a number, or a vector with one α
        per coordinate.

        The start is deterministic; `key` is accepted for uniformity with random initialisations.
        """
        alpha, _ = log_of_scale("scale", read_scale(scale, log_scale), None)
        if alpha.ndim == 0:
            if dim is None:
                raise InputError("dim: needed to broadcast a scalar scale")
            alpha = np.full(positive_int("dim", dim), float(alpha))
        elif alpha.ndim > 1 or (dim is not None and alpha.size != dim):
            raise InputError(
                f"scale: expected a number or a vector of length {dim}, found shape {alpha.shape}"
            )
        return DiagonalParams(alpha.copy(), alpha.copy())

    def checked(self, params: Any, d: int) -> DiagonalParams:
        found: DiagonalParams = read_params(DiagonalParams, params, (d,), (d,))
        return found

    def potential(
        self, *, scale: ArrayLike | None = None, log_scale: ArrayLike | None = None
    ) -> Potential:
        """The potential whose Bregman projection is the limit from α·1: Φ_{2α²} for D = 2,
        α^D·Q_α^D for D ≥ 3."""
        _, log_alpha = log_of_scale("scale", scale, log_scale)
        if self.depth == 2:
            return Hypentropy(log_alpha=np.log(2.0) + 2 * log_alpha)
        return DepthPotential(self.depth, log_scale=log_alpha)

    @renamed(params0="start")
    def mirror_form(self, start: DiagonalParams, loss: Any, n: int) -> MirrorForm | str:
        """The mirror flow that β follows, in the flow's own time, or a sentence that says why there
        is none.

        D = 2, under c‖·‖²: |w₊||w₋| is conserved, and the potential is Φ_r/(8c), r = 2|w₊w₋| (W,
        §4).
        """
        if not isinstance(loss, SquareLoss):
            return f"the dual flow needs a square loss, found {type(loss).__name__}"
        c = loss.factor(n)
        if self.depth == 2:
            return hyperbolic_form(start.plus, start.minus, 1 / (8 * c), DiagonalParams)
        return _deeper(self.depth, start, c)


def _deeper(depth: int, start: DiagonalParams, c: float) -> MirrorForm | str:
    """w₊^{2−D} + w₋^{2−D} is conserved: the depth potential at α^{2−D}, its mean; ∇φ =
    ½α^{D−2}(w₋^{2−D} − w₊^{2−D})."""
    plus, minus = start
    if np.any(plus <= 0) or np.any(minus <= 0):
        return f"a network of depth {depth} needs positive weights at the start"
    with np.errstate(over="ignore"):
        a, b = plus ** (2.0 - depth), minus ** (2.0 - depth)
    mean = (a + b) / 2
    if not np.all(np.isfinite(mean)):
        raise ScaleError(
            f"start: weights down to {min(plus.min(), minus.min()):g} overflow in w^(2−D); use "
            "bf.limit with log_scale"
        )
    log_alpha = np.log(mean) / (2 - depth)
    factor = mean / (2 * c * depth * (depth - 2))
    biased = bool(np.any(plus != minus))
    potential = ScaledPotential(factor, DepthPotential(depth, log_scale=log_alpha))

    def lift(point: MirrorPoint) -> DiagonalParams:
        """w± = (mean·(1 ∓ z))^{−1/(D−2)}, the smaller of 1 ∓ z from its logarithm."""
        inner = cast(DepthPoint, cast(ScaledPoint, point).inner)
        low = np.exp((np.log(mean) + inner.log_slack) / (2 - depth))
        high = (mean * (1 + np.abs(inner.eta))) ** (1 / (2 - depth))
        return DiagonalParams(
            np.where(inner.eta > 0, low, high), np.where(inner.eta > 0, high, low)
        )

    return MirrorForm(potential, plus**depth - minus**depth if biased else None, lift)
