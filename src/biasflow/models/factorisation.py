"""Matrix factorisation UVᵀ: a depth-two linear model over matrices (W, §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, matrix_shape, one_of, positive_int
from .._core.facts import params_card, params_in_words
from .._core.former_names import renamed
from .._core.starts import positive_scale
from ..errors import InputError
from .model import PredictorModel, read_params

LAWS = ("identity", "gaussian")
STREAM = 2
"""Start of the random stream, so that data drawn with the same key are independent of the start."""


class FactorParams(NamedTuple):
    """The factors U (rows, r) and V (cols, r)."""

    U: Array
    V: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True)
class MatrixFactorisation(PredictorModel):
    """f((U, V), X) = ⟨UVᵀ, X⟩ with `rank` columns in U (rows, rank) and V (cols, rank) (W, §6).
    `model(params, X)` predicts, (n,).

    An input is a matrix of this shape, flattened by rows: in completion the indicator of an entry,
    in sensing any matrix. The gradients of the entries of UVᵀ do not commute: it follows no mirror
    flow. The flow sees a start through UUᵀ, UVᵀ and VVᵀ only (`flows.Factored`).

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    rank : int
        Columns of the factors.

    Examples
    --------
    >>> model = bf.MatrixFactorisation(shape=(2, 3), rank=1)
    >>> U, V = np.array([[1.0], [2.0]]), np.array([[1.0], [0.0], [3.0]])
    >>> model.effective(bf.models.FactorParams(U, V))
    array([[1., 0., 3.],
           [2., 0., 6.]])
    """

    shape: tuple[int, int]
    rank: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", matrix_shape(self.shape))
        positive_int("rank", self.rank)

    @property
    def homogeneity(self) -> int:
        return 2

    def __call__(self, params: FactorParams, X: Any) -> Any:
        M = self.effective(params)
        return M.reshape(*M.shape[:-2], -1) @ X.T

    def effective(self, params: FactorParams) -> Any:
        """M = UVᵀ, (..., rows, cols)."""
        return params.U @ params.V.swapaxes(-1, -2)

    def gradient(self, params: FactorParams, X: Any, output_gradient: Any) -> FactorParams:
        """(GV, GᵀU) with G = Σ g_n X_n."""
        G = (output_gradient @ X).reshape(self.shape)
        return FactorParams(G @ params.V, G.T @ params.U)

    def jacobian(self, params: FactorParams, X: Any) -> FactorParams:
        inputs = X.reshape(-1, *self.shape)
        return FactorParams(inputs @ params.V, inputs.swapaxes(1, 2) @ params.U)

    def linearised(self, params: FactorParams, direction: FactorParams) -> Any:
        return direction.U @ params.V.T + params.U @ direction.V.T

    @renamed(start="law")
    def init(
        self,
        scale: Any = 1.0,
        *,
        log_scale: Any = None,
        key: int = 0,
        dim: int | None = None,
        law: str = "identity",
    ) -> FactorParams:
        """W's unbiased start U = α[U₀, −U₀], V = α[V₀, V₀], of k = rank/2 columns each: UVᵀ = 0.

        'identity': U₀ and V₀ are the identity, k ≥ max(rows, cols), zeros beside it; 'gaussian':
        N(0, 1) entries, any k.
        """
        one_of("law", law, LAWS)
        if dim is not None and dim != self.shape[0] * self.shape[1]:
            raise InputError(
                f"dim: {dim} does not fit matrices of shape {self.shape}: "
                f"{self.shape[0] * self.shape[1]} entries"
            )
        alpha = positive_scale(scale, log_scale)
        k, odd = divmod(self.rank, 2)
        if odd:
            raise InputError(
                "rank: an unbiased start [U₀, −U₀] needs an even number of columns, found "
                f"{self.rank}"
            )
        if law == "identity":
            if k < max(self.shape):
                raise InputError(
                    f"rank: the identity start needs 2·max{self.shape} = {2 * max(self.shape)} "
                    f"columns or more, found {self.rank}; use law='gaussian'"
                )
            first, second = (np.eye(size, k) for size in self.shape)
        else:
            rng = np.random.default_rng([STREAM, positive_int("key", key, least=0)])
            first, second = (rng.standard_normal((size, k)) for size in self.shape)
        return FactorParams(alpha * np.hstack([first, -first]), alpha * np.hstack([second, second]))

    def checked(self, params: Any, d: int) -> FactorParams:
        rows, cols = self.shape
        if d != rows * cols:
            raise InputError(
                f"X: inputs have dimension {d}, matrices of shape {self.shape} have {rows * cols} "
                "entries"
            )
        found: FactorParams = read_params(
            FactorParams, params, (rows, self.rank), (cols, self.rank)
        )
        return found
