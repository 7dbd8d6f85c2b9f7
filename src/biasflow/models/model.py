"""What a model is: a map from parameters and inputs to predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, matrix, real_array, vector
from .._core.trees import leaf_map, leaves
from ..errors import InputError, RefusedError
from ..potentials import MirrorPoint, Potential


class Model(ABC):
    """A parametrised predictor. Parameters are NamedTuples of arrays.

    A model of your own says `init`, `__call__`, `effective` and `gradient`; `checked` and
    `jacobian` follow from these, and are written where that is faster or says more.
    """

    @property
    def homogeneity(self) -> int:
        """D with f(c·w, x) = c^D·f(w, x) for c ≥ 0; refused where there is none, or none is
        known."""
        raise RefusedError(f"{type(self).__name__}: not known to be homogeneous in its parameters")

    @property
    def degree(self) -> int | None:
        """p with f(w, c·x) = c^p·f(w, x) for c ≥ 0; None where there is none, or none is known."""
        return None

    @property
    def kinks(self) -> str | None:
        """None where predictions are smooth in the parameters, else a sentence that says where they
        are not."""
        return None

    @property
    def neurons_below_floats(self) -> int | None:
        """How many neurons may each start below float range; None where starts are floats."""
        return None

    @abstractmethod
    def init(
        self,
        scale: Any = 1.0,
        *,
        log_scale: Any = None,
        key: int = 0,
        dim: int | None = None,
    ) -> Any:
        """The model's own start of size α, given by itself or its logarithm, for inputs of
        dimension `dim`."""

    @abstractmethod
    def __call__(self, params: Any, X: Any) -> Any:
        """Predictions (n,)."""

    @abstractmethod
    def effective(self, params: Any) -> Any:
        """The predictor that the parameters stand for: β for linear models. Leading axes of the
        parameters are kept."""

    @abstractmethod
    def gradient(self, params: Any, X: Any, output_gradient: Any) -> Any:
        """Gradient in the parameters of a function of the predictions on X whose gradient is
        given."""

    def jacobian(self, params: Any, X: Any) -> Any:
        """∂f(w, x_i)/∂w for every input: the type of the parameters with a leading axis n on every
        leaf."""
        rows = [self.gradient(params, X, row) for row in np.eye(len(X))]
        parts = zip(*(leaves(row) for row in rows), strict=True)
        return leaf_map(lambda _: np.stack(next(parts)), params)

    def checked(self, params: Any, d: int) -> Any:
        """Parameters as finite arrays of the right shapes for inputs of dimension d, or an
        error."""
        expected = self.init(dim=d)
        shapes = [np.shape(leaf) for leaf in leaves(expected)]
        arrays = [real_array("start", leaf) for leaf in leaves(params)]
        if [array.shape for array in arrays] != shapes:
            raise InputError(
                f"start: expected {type(expected).__name__} with arrays of shapes {shapes}, "
                f"found {[array.shape for array in arrays]}"
            )
        parts = iter(arrays)
        return leaf_map(lambda _: next(parts), expected)


class PredictorModel(Model):
    """A model that is linear in its effective predictor: f(w, X) = features(X)·effective(w)."""

    @property
    def degree(self) -> int | None:
        return 1

    def __call__(self, params: Any, X: Any) -> Any:
        return self.effective(params) @ self.features(X).T

    def features(self, X: Any) -> Any:
        """The design (n, p) in which the model is linear: X itself."""
        return X

    def predictions_of(self, predictor: Any, X: Any) -> Any:
        """What an effective predictor gives at inputs, (n,)."""
        return self.features(X) @ np.ravel(predictor)

    @abstractmethod
    def linearised(self, params: Any, direction: Any) -> Any:
        """Derivative of the effective predictor at the parameters along a direction of the same
        type."""


@dataclass(frozen=True, eq=False)
class MirrorForm:
    """β follows d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀ in the flow's own time, X the model's features;
    `lift` gives the weights."""

    potential: Potential
    beta0: Array | None
    lift: Callable[[MirrorPoint], Any]


class MirrorModel(PredictorModel):
    """A model whose effective predictor follows a mirror flow under square losses."""

    @abstractmethod
    def potential(
        self, *, scale: ArrayLike | None = None, log_scale: ArrayLike | None = None
    ) -> Potential:
        """The potential whose Bregman projection is the limit from scale α."""

    @abstractmethod
    def mirror_form(self, start: Any, loss: Any, n: int) -> MirrorForm | str:
        """The mirror flow that the effective predictor follows on n samples, or a sentence that
        says why there is none from here.

        start is what `checked` returned.
        """


def read_params(kind: Any, params: Any, *shapes: tuple[int, ...]) -> Any:
    """Parameters of this NamedTuple as finite arrays of these shapes, or an error that names the
    one that is wrong."""
    try:
        parts = tuple(params)
    except TypeError:
        parts = ()
    if len(parts) != len(shapes):
        raise InputError(
            f"start: expected {kind.__name__}({', '.join(kind._fields)}), found "
            f"{type(params).__name__}"
        )
    return kind(
        *(
            _array(f"start.{name}", part, shape)
            for name, part, shape in zip(kind._fields, parts, shapes, strict=True)
        )
    )


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    if len(shape) == 1:
        return vector(name, value, shape[0])
    array = matrix(name, value)
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape}, found {array.shape}")
    return array


def fit_dimension(name: str, found: int | None, dim: int) -> None:
    """An error where inputs of another dimension than the model's are spoken of."""
    if found is not None and found != dim:
        said = "takes inputs of" if name == "data" else "has"
        raise InputError(f"{name}: the model {said} dimension {dim}, found {found!r}")
