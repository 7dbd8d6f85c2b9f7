"""Diagonal networks with two layers of weights, β = u∘v (W, §4 and footnote 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, log_of_scale
from .._core.facts import params_card, params_in_words
from .._core.former_names import renamed
from ..losses import SquareLoss
from ..potentials import Hypentropy, Potential
from .diagonal import DiagonalNetwork, DiagonalParams
from .hyperbola import hyperbolic_form
from .model import MirrorForm, MirrorModel, read_params


class ProductParams(NamedTuple):
    """The weights u of the first layer and v of the second, each (d,)."""

    u: Array
    v: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True)
class ProductNetwork(MirrorModel):
    """f((u, v), x) = ⟨u∘v, x⟩: each input has one unit, with the weight u_i into it and v_i out of
    it. `model(params, X)` predicts, (n,).

    It is the depth-2 diagonal network with w± = (u ± v)/2, whose flow it follows at half the speed:
    u² − v² is conserved.

    Examples
    --------
    >>> model = bf.ProductNetwork()
    >>> params = bf.models.ProductParams(u=np.array([1.0, 2.0]), v=np.array([3.0, -1.0]))
    >>> model.effective(params), model(params, np.eye(2))
    (array([ 3., -2.]), array([ 3., -2.]))
    """

    @property
    def homogeneity(self) -> int:
        return 2

    def effective(self, params: ProductParams) -> Any:
        """β = u∘v; leading axes are kept."""
        return params.u * params.v

    def gradient(self, params: ProductParams, X: Any, output_gradient: Any) -> ProductParams:
        beta_gradient = X.T @ output_gradient
        return ProductParams(params.v * beta_gradient, params.u * beta_gradient)

    def jacobian(self, params: ProductParams, X: Any) -> ProductParams:
        return ProductParams(params.v * X, params.u * X)

    def linearised(self, params: ProductParams, direction: ProductParams) -> Any:
        return params.v * direction.u + params.u * direction.v

    def init(
        self,
        scale: ArrayLike = 1.0,
        *,
        log_scale: ArrayLike | None = None,
        key: int = 0,
        dim: int | None = None,
    ) -> ProductParams:
        """u = α·1, v = 0: unbiased, and no saddle. `scale` is a number, or a vector with one α per
        coordinate."""
        u = DiagonalNetwork(2).init(scale, log_scale=log_scale, key=key, dim=dim).plus
        return ProductParams(u, np.zeros_like(u))

    def checked(self, params: Any, d: int) -> ProductParams:
        found: ProductParams = read_params(ProductParams, params, (d,), (d,))
        return found

    def paired(self, params: ProductParams) -> DiagonalParams:
        """The weights w± = (u ± v)/2 of the depth-2 diagonal network with the same predictor."""
        return DiagonalParams((params.u + params.v) / 2, (params.u - params.v) / 2)

    def potential(
        self, *, scale: ArrayLike | None = None, log_scale: ArrayLike | None = None
    ) -> Potential:
        """The potential whose Bregman projection is the limit from u = α·1, v = 0: Φ_r, r = |u² −
        v²|/2 = α²/2."""
        _, log_alpha = log_of_scale("scale", scale, log_scale)
        return Hypentropy(log_alpha=2 * log_alpha - np.log(2.0))

    @renamed(params0="start")
    def mirror_form(self, start: ProductParams, loss: Any, n: int) -> MirrorForm | str:
        """Φ_r/(4c) under c‖·‖², r = |u² − v²|/2; half-lines where |u| = |v|, refused where both are
        zero."""
        if not isinstance(loss, SquareLoss):
            return f"the dual flow needs a square loss, found {type(loss).__name__}"
        plus, minus = self.paired(start)
        return hyperbolic_form(
            plus, minus, 1 / (4 * loss.factor(n)), lambda p, m: ProductParams(p + m, p - m)
        )
