"""Any JAX function of (params, X), and equinox modules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...inputs import Array, real_array
from .factoring import Plan, plan
from .features import Features
from .functions import Leaves, TangentFunction, check_shapes, chosen_output, one_output
from .precision import jax_in_double

TOGETHER = 1e-3
"""Relative difference between predictions made together and one by one above which inputs influence each other. Loose, so that
networks that compute in half precision inside pass."""


class JaxFunction(TangentFunction):
    """fn(params, X) -> (n,), or (n, k) with `output` the column looked at. Parameters are any pytree; its floating arrays are
    the weights, the rest stays as it is. Computed in float64."""

    def __init__(self, fn: Any, params: Any, output: int | None = None) -> None:
        import jax

        self.fn, self.output, self.template = fn, output, params
        with jax_in_double():
            flat, self.structure = jax.tree_util.tree_flatten_with_path(params)
        self.words = [jax.tree_util.keystr(path) or "the array" for path, _ in flat]
        self.static = [leaf for _, leaf in flat]
        self.trained = [k for k, leaf in enumerate(self.static) if is_weight(leaf)]
        if not self.trained:
            raise InputError("params: no floating-point array in them, and so nothing to differentiate in")
        self._plans: dict[Any, tuple[Plan, Any]] = {}

    def leaves(self, name: str, params: Any) -> Leaves:
        import jax

        with jax_in_double():
            found, structure = jax.tree_util.tree_flatten(params)
        if len(found) != len(self.static):
            raise InputError(f"{name}: a tree of {len(found)} leaves, the first parameters have {len(self.static)}")
        names = [self.words[k] for k in self.trained]
        arrays = tuple(real_array(f"{name}{self.words[k]}", np.asarray(found[k]).astype(np.float64)) for k in self.trained)
        check_shapes(name, [a.shape for a in arrays], [np.shape(self.static[k]) for k in self.trained], names)
        if str(structure) != str(self.structure) and type(params) is not type(self.template):
            raise InputError(f"{name}: a tree of another structure than the first parameters")
        return arrays

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        import jax

        filled = list(self.static)
        for k, leaf in zip(self.trained, leaves, strict=True):
            filled[k] = leaf
        return jax.tree_util.tree_unflatten(self.structure, filled)

    def predictions(self, leaves: Leaves, X: Array) -> Array:
        import jax.numpy as jnp

        with jax_in_double():
            values = self.fn(self.rebuilt([jnp.asarray(leaf) for leaf in leaves]), jnp.asarray(X))
        return one_output(values, len(X), self.output)

    def features(self, leaves: Leaves, X: Array) -> Features:
        import jax

        _, compiled = self._planned(leaves, X)
        with jax_in_double():
            values, pairs, rows = jax.tree_util.tree_map(np.asarray, compiled(leaves, X))
        return Features(double(values), tuple((double(a), double(g)) for a, g in pairs), tuple(double(r) for r in rows))

    def pushforward(self, leaves: Leaves, X: Array, direction: Leaves) -> Array:
        import jax

        with jax_in_double():
            arrays = [tuple(jax.numpy.asarray(leaf) for leaf in part) for part in (leaves, direction)]
            _, moved = jax.jvp(lambda w: self._column(w, X), (arrays[0],), (arrays[1],))
        return double(moved)

    def pullback(self, leaves: Leaves, X: Array, cotangent: Array) -> Leaves:
        import jax

        with jax_in_double():
            values, pull = jax.vjp(lambda w: self._column(w, X), tuple(jax.numpy.asarray(leaf) for leaf in leaves))
            (found,) = pull(jax.numpy.asarray(cotangent, values.dtype))
        return tuple(double(leaf) for leaf in found)

    def cost(self, leaves: Leaves, X: Array) -> int:
        return self._planned(leaves, X)[0].length

    def _column(self, leaves: Sequence[Any], X: Any) -> Any:
        """The output looked at, for every input, in JAX."""
        import jax.numpy as jnp

        values = self.fn(self.rebuilt(leaves), jnp.asarray(X))
        values = values.reshape(len(X), -1)
        return values[:, chosen_output(values.shape[1], self.output)]

    def _planned(self, leaves: Leaves, X: Array) -> tuple[Plan, Any]:
        """The plan for inputs of this shape, and its compiled form, made once. Inputs that influence each other are refused."""
        import jax

        shape = X.shape[1:]
        if shape in self._plans:
            return self._plans[shape]
        together = self.predictions(leaves, X[:2])
        with jax_in_double():
            try:
                made = plan(lambda w, x: self._column(w, x[None])[0], leaves, X[0])
            except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
                raise InputError(f"fn: JAX cannot differentiate it, since it leaves JAX: {str(error).splitlines()[0]}") from None
            compiled = jax.jit(jax.vmap(made.features, in_axes=(None, 0)))
            alone = self.predictions(leaves, X[:1])
        if not abs(together[0] - alone[0]) <= TOGETHER * max(abs(together[0]), abs(alone[0])) and np.all(np.isfinite(together)):
            raise InputError(
                f"fn: the prediction of an input depends on the others ({together[0]:g} with a second input, {alone[0]:g} alone);"
                " put batch normalisation and the like into inference mode"
            )
        self._plans[shape] = made, compiled
        return made, compiled


def is_equinox(fn: Any) -> bool:
    """Whether fn is an equinox module: a function of one input that carries its weights."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(fn, equinox.Module)


def over_inputs(module: Any, X: Any) -> Any:
    """A module of one input, for every input."""
    import jax

    return jax.vmap(module)(X)


def is_weight(leaf: Any) -> bool:
    """Whether a leaf is trained: a floating-point array."""
    import jax

    return isinstance(leaf, (np.ndarray, np.floating, jax.Array, float)) and jax.numpy.issubdtype(
        jax.numpy.result_type(leaf), np.floating
    )


def double(values: Any) -> Array:
    return np.asarray(values).astype(np.float64)
