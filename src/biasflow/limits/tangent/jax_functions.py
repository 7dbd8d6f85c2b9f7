"""Any JAX function of (params, X), and equinox modules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ..._numerics.double_precision import jax_in_double
from ...errors import BiasflowError, InputError
from .factoring import Plan, plan
from .functions import Leaves, TangentFunction, check_alone, check_shapes, column, two_inputs
from .gradient_features import Features

FAILURES = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)
"""What a function raises on inputs or parameters that it was not made for."""


class JaxFunction(TangentFunction):
    """fn(params, X) -> (n,), or (n, k) with `output` the column looked at. Parameters are any
    pytree; its floating-point numbers and arrays (`trains` may say otherwise) are the weights, the
    rest stays as it is. Computed in float64."""

    def __init__(self, fn: Any, params: Any, output: int | None = None, trains: Any = None) -> None:
        import jax

        self.fn, self.output, self.structure = fn, output, jax.tree_util.tree_structure(params)
        self.words, self.static = _paths(params)
        self.trained = [
            k
            for k, leaf in enumerate(self.static)
            if is_weight(leaf) and (trains is None or trains(leaf))
        ]
        if not self.trained:
            raise InputError(
                "params: no floating-point array in them, and so nothing to differentiate in"
            )
        self._plans: dict[Any, tuple[Plan, Any]] = {}
        self._values = jax.jit(self._column)
        self._pushed = jax.jit(lambda w, X, v: jax.jvp(lambda u: self._column(u, X), (w,), (v,))[1])
        self._pulled = jax.jit(lambda w, X, c: _pulled(lambda u: self._column(u, X), w, c))

    def leaves(self, name: str, params: Any) -> Leaves:
        words, found = _paths(params)
        if words != self.words:
            other = next((w for w in words if w not in self.words), None) or next(
                w for w in self.words if w not in words
            )
            raise InputError(
                f"{name}: a tree of {len(words)} leaves that differs from the first parameters' "
                f"{len(self.words)} at {other}"
            )
        settings = [
            k for k, leaf in enumerate(self.static) if is_weight(leaf) and k not in self.trained
        ]
        changed = [k for k in settings if found[k] != self.static[k]]
        if changed:
            k = changed[0]
            raise InputError(
                f"{name}: the setting {words[k]} is {found[k]}, and {self.static[k]} in the first "
                "parameters"
            )
        arrays = tuple(
            real_array(f"{name}{words[k]}", np.asarray(found[k]).astype(np.float64))
            for k in self.trained
        )
        expected = [np.shape(self.static[k]) for k in self.trained]
        check_shapes(
            name,
            [a.shape for a in arrays],
            expected,
            [words[k] or "the array" for k in self.trained],
        )
        return arrays

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        import jax

        filled = list(self.static)
        for k, leaf in zip(self.trained, leaves, strict=True):
            filled[k] = leaf
        return jax.tree_util.tree_unflatten(self.structure, filled)

    def predictions(self, leaves: Leaves, X: Array) -> Array:
        return self._run(self._values, leaves, X)

    def features(self, leaves: Leaves, X: Array) -> Features:
        values, pairs, rows = self._run(self._planned(leaves, X)[1], leaves, X)
        return Features(values, tuple(pairs), tuple(rows))

    def pushforward(self, leaves: Leaves, X: Array, direction: Leaves) -> Array:
        return self._run(self._pushed, leaves, X, tuple(direction))

    def pullback(self, leaves: Leaves, X: Array, cotangent: Array) -> Leaves:
        return self._run(self._pulled, leaves, X, cotangent)

    def cost(self, leaves: Leaves, X: Array) -> int:
        return self._planned(leaves, X)[0].length

    def _column(self, leaves: Sequence[Any], X: Any) -> Any:
        """The output looked at, for every input, in JAX."""
        return column(self.fn(self.rebuilt(leaves), X), len(X), self.output)

    def _run(self, compiled: Any, leaves: Leaves, *arguments: Any) -> Any:
        """A compiled function in double precision, its results as NumPy arrays; functions that
        leave JAX are refused."""
        import jax

        try:
            with jax_in_double():
                return jax.tree_util.tree_map(double, compiled(tuple(leaves), *arguments))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise InputError(
                "network: JAX cannot differentiate it, since it leaves JAX: "
                f"{str(error).splitlines()[0]}"
            ) from None
        except BiasflowError:
            raise
        except FAILURES as error:
            shapes = ", ".join(str(np.shape(argument)) for argument in arguments[:1])
            said = f"{type(error).__name__}: {(str(error) or 'without a word').splitlines()[0]}"
            raise InputError(f"network: fails on inputs of shape {shapes}: {said}") from error

    def _planned(self, leaves: Leaves, X: Array) -> tuple[Plan, Any]:
        """The plan for inputs of this shape, and its compiled form, made once. Inputs that
        influence each other are refused."""
        import jax

        shape = X.shape[1:]
        if shape in self._plans:
            return self._plans[shape]
        pair, alone = self._run(
            jax.jit(lambda w, two: (self._column(w, two), self._column(w, two[:1]))),
            leaves,
            two_inputs(X),
        )
        check_alone(float(pair[0]), float(alone[0]))
        with jax_in_double():
            made = plan(lambda w, x: self._column(w, x[None])[0], leaves, X[0])
        self._plans[shape] = made, jax.jit(jax.vmap(made.features, in_axes=(None, 0)))
        return self._plans[shape]


def _paths(params: Any) -> tuple[list[str], list[Any]]:
    """The leaves of a tree, and where they are in it."""
    import jax

    flat, _ = jax.tree_util.tree_flatten_with_path(params)
    return [jax.tree_util.keystr(path) for path, _ in flat], [leaf for _, leaf in flat]


def _pulled(function: Any, weights: Any, cotangent: Any) -> Any:
    import jax

    values, pull = jax.vjp(function, weights)
    (found,) = pull(cotangent.astype(values.dtype))
    return found


def is_equinox(fn: Any) -> bool:
    """Whether fn is an equinox module: a function of one input that carries its weights."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(fn, equinox.Module)


def over_inputs(module: Any, X: Any) -> Any:
    """A module of one input, for every input."""
    import jax

    return jax.vmap(module)(X)


def is_array(leaf: Any) -> bool:
    """Whether a leaf of an equinox module is trained: numbers that are no arrays are settings, as
    in `equinox.filter_grad`."""
    import jax

    return isinstance(leaf, (np.ndarray, jax.Array))


def is_weight(leaf: Any) -> bool:
    """Whether a leaf can be trained: a floating-point number, or an array of them."""
    import jax

    return isinstance(leaf, (np.ndarray, np.floating, jax.Array, float)) and jax.numpy.issubdtype(
        jax.numpy.result_type(leaf), np.floating
    )


def double(values: Any) -> Array:
    return np.asarray(values).astype(np.float64)
