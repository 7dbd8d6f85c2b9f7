"""Any JAX function of (params, X), and equinox modules."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ..._numerics.double_precision import jax_in_double
from ...errors import BiasflowError, InputError
from .factoring import Plan, plan
from .functions import (
    DOUBLE_UP_TO,
    FLOAT,
    OTHER_FUNCTION,
    Leaves,
    Portion,
    TangentFunction,
    check_alone,
    check_shapes,
    cut,
    single_note,
)
from .gradient_features import WORKING, Features
from .inputs import Batch, Inputs, has_integers, shape_of, two_inputs, words_of
from .outputs import Outputs, array_of, without_padding
from .weight_files import HALVES, half_note, is_path, read_weights

ONE_OUTPUT = Outputs()


class JaxFunction(TangentFunction):
    """fn(params, X) -> (n,), or (n, …) with `outputs` those looked at. Parameters are any pytree;
    its floating-point numbers and arrays (`trains` may say otherwise, of a leaf) are the weights,
    the rest stays as it is. Computed in float64.

    opened: what makes such a pytree of what a user gives. fixed: parameters whose untrained leaves
    hold for all others; without it they must be equal everywhere.
    """

    def __init__(
        self,
        fn: Any,
        params: Any,
        outputs: Outputs = ONE_OUTPUT,
        trains: Any = None,
        *,
        opened: Callable[[str, Any], Any] | None = None,
        within: str = "",
        fixed: Any = None,
    ) -> None:
        import jax

        self.fn, self.outputs, self.opened, self.within = fn, outputs, opened, within
        self.fixed = fixed is not None
        if opened is not None:
            params = opened("params", params)
            fixed = None if fixed is None else opened("the last checkpoint", fixed)
        self.structure = jax.tree_util.tree_structure(params)
        self.words, self.static = _paths(params if fixed is None else fixed)
        self.trained = [
            k
            for k, leaf in enumerate(self.static)
            if is_weight(leaf)
            and (trains is None or trains(leaf))
            and self.words[k].startswith(within)
        ]
        if not self.trained:
            raise InputError(
                "params: no floating-point array in them, and so nothing to differentiate in"
            )
        self.names = [_dotted(self.words[k].removeprefix(within)) for k in self.trained]
        self._plans: dict[Any, Plan] = {}
        self._compiled: dict[Any, Any] = {}
        self._real = False
        self._values = jax.jit(self._columns)
        self._pushed = jax.jit(
            lambda w, X, v: jax.jvp(lambda u: self._columns(u, X), (w,), (v,))[1]
        )
        self._pulled = jax.jit(lambda w, X, c: _pulled(lambda u: self._columns(u, X), w, c))

    def leaves(self, name: str, params: Any) -> Leaves:
        if self.opened is not None:
            params = self.opened(name, params)
        params = self._from_names(name, params)
        words, found = _paths(params)
        if words != self.words:
            other = next((w for w in words if w not in self.words), None) or next(
                w for w in self.words if w not in words
            )
            raise InputError(
                f"{name}: a tree of {len(words)} leaves that differs from the first parameters' "
                f"{len(self.words)} at {other}"
            )
        if not self.fixed:
            self._check_settings(name, found)
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
        self._note_halves(found)
        return arrays

    def _check_settings(self, name: str, found: Sequence[Any]) -> None:
        """What is not trained is the same everywhere."""
        for k, first in enumerate(self.static):
            if k in self.trained or not is_weight(first) or np.array_equal(found[k], first):
                continue
            if np.size(first) == 1:
                raise InputError(
                    f"{name}: the setting {self.words[k]} is {found[k]}, and {first} in the first "
                    "parameters"
                )
            raise InputError(f"{name}: {self.words[k]}{OTHER_FUNCTION}")

    def _from_names(self, name: str, params: Any) -> Any:
        """A dictionary of arrays by dotted names, or a file of one, as a tree."""
        state = read_weights(name, params) if is_path(params) else params
        if not isinstance(state, Mapping) or not state or not self.names:
            return params
        state = {str(key).replace("/", "."): value for key, value in state.items()}
        if set(state) != set(self.names) or [f"['{n}']" for n in self.names] == [
            self.words[k] for k in self.trained
        ]:
            if is_path(params):
                raise InputError(
                    f"{name}: {sorted(state)[:3]} are not the names of the network's weights, "
                    f"{self.names[:3]}"
                )
            return params
        return self.rebuilt([np.asarray(state[word]) for word in self.names])

    def _note_halves(self, found: Sequence[Any]) -> None:
        halves = {str(getattr(found[k], "dtype", "")) for k in self.trained} & HALVES.keys()
        if halves:
            self.notes = tuple(dict.fromkeys((*self.notes, half_note(halves.pop()))))

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        import jax

        filled = list(self.static)
        for k, leaf in zip(self.trained, leaves, strict=True):
            filled[k] = leaf
        return jax.tree_util.tree_unflatten(self.structure, filled)

    def values(self, leaves: Leaves, X: Inputs) -> Array:
        return double(self._run(self._values, leaves, X))

    def features(self, leaves: Leaves, X: Inputs, parts: Any = None) -> Features:
        made = self._planned(leaves, X)
        chosen = tuple(range(len(made.units))) if parts is None else tuple(parts)
        compiled = self._features(made, shape_of(X), chosen)
        weights = tuple(leaf.astype(made.dtype) for leaf in leaves)
        n = len(X)
        found: Any = None
        size = max(1, int(2 * WORKING / (made.dtype.itemsize * max(1, made.passing))))
        size = -(-n // -(-n // size))  # equal passes, so that one compiled form serves all
        for start in range(0, n, size):
            block = np.minimum(np.arange(start, start + size), n - 1)
            passed, tree = _flat(self._run(compiled, weights, X[block]))
            if found is None:
                found = [np.empty((n, *part.shape[1:]), part.dtype) for part in passed]
            for room, part in zip(found, passed, strict=True):
                room[start : start + size] = part[: n - start]
        values, pairs = tree.unflatten(found)
        units = [made.units[k] for k in chosen]
        of_units = (made.part(unit, *pair) for unit, pair in zip(units, pairs, strict=True))
        return Features(values.astype(np.float64), tuple(of_units))

    def _features(self, made: Plan, shape: Any, chosen: tuple[int, ...]) -> Any:
        """Features of some units, compiled once."""
        import jax

        if (shape, chosen) not in self._compiled:
            single = partial(made.features, chosen=chosen)
            self._compiled[shape, chosen] = jax.jit(jax.vmap(single, in_axes=(None, 0)))
        return self._compiled[shape, chosen]

    def portions(self, leaves: Leaves, X: Inputs, memory: float) -> list[Portion]:
        made = self._planned(leaves, X)
        return cut([made.dtype.itemsize * unit.need for unit in made.units], len(X), memory)

    def slopes(self, leaves: Leaves, X: Inputs, direction: Leaves) -> Array:
        return double(self._run(self._pushed, leaves, X, tuple(direction)))

    def pulled(self, leaves: Leaves, X: Inputs, cotangent: Array) -> Leaves:
        return tuple(double(part) for part in self._run(self._pulled, leaves, X, cotangent))

    def cost(self, leaves: Leaves, X: Inputs) -> int:
        made = self._planned(leaves, X)
        return max(1, sum(unit.need for unit in made.units) * made.dtype.itemsize // FLOAT)

    def _columns(self, leaves: Sequence[Any], X: Any) -> Any:
        """The outputs looked at, for every input, (n, m), in JAX."""
        inputs = Batch(X) if isinstance(X, dict) else X
        values = array_of(self.fn(self.rebuilt(leaves), X))
        values = without_padding(values, inputs)
        self.shape = tuple(values.shape)
        return self.outputs.looked_at(values, len(inputs))

    def _run(self, compiled: Any, leaves: Leaves, X: Inputs, *arguments: Any) -> Any:
        """A compiled function in the precision of the leaves, its results as NumPy arrays;
        functions that leave JAX are refused. Whole numbers are given as they are, and as floats
        where that fails."""
        if not has_integers(X) or self._real:
            return self._run_on(compiled, leaves, X, *arguments)
        try:
            return self._run_on(compiled, leaves, X, *arguments)
        except InputError:
            try:
                found = self._run_on(compiled, leaves, X.astype(np.float64), *arguments)
            except InputError:
                found = None
            if found is None:
                raise
            self._real = True
            return found

    def _run_on(self, compiled: Any, leaves: Leaves, X: Inputs, *arguments: Any) -> Any:
        import jax

        try:
            with jax_in_double():
                found = compiled(tuple(leaves), self._given(X, leaves[0].dtype), *arguments)
                return jax.tree_util.tree_map(np.asarray, found)
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise InputError(
                "network: JAX cannot differentiate it, since it leaves JAX: "
                f"{str(error).splitlines()[0]}"
            ) from None
        except BiasflowError:
            raise
        except Exception as error:  # whatever a function raises that was not made for this
            said = f"{type(error).__name__}: {(str(error) or 'without a word').splitlines()[0]}"
            raise InputError(f"network: fails on inputs of {words_of(X)}: {said}") from error

    def _given(self, X: Inputs, dtype: Any) -> Any:
        """Inputs in this precision; whole numbers whole, unless the network takes floats alone."""
        if isinstance(X, Batch):
            return {name: _cast(part, dtype) for name, part in X.parts.items()}
        return X.astype(dtype) if self._real else _cast(X, dtype)

    def _planned(self, leaves: Leaves, X: Inputs) -> Plan:
        """The plan for inputs of this shape, made once. Inputs that influence each other are
        refused. Large networks that convolve are looked at in single precision: JAX has no fast
        convolutions in double."""
        shape = shape_of(X)
        if shape not in self._plans:
            two = two_inputs(X)
            check_alone(self.values(leaves, two)[0], self.values(leaves, two[:1])[0])
            made = self._plan(leaves, two, np.dtype(np.float64))
            weights = sum(leaf.size for leaf in leaves)
            if made.convolves and weights > DOUBLE_UP_TO:
                made = self._plan(leaves, two, np.dtype(np.float32))
                self.notes = tuple(dict.fromkeys((*self.notes, single_note(weights))))
            self._plans[shape] = made
        return self._plans[shape]

    def _plan(self, leaves: Leaves, X: Inputs, dtype: Any) -> Plan:
        import jax

        def of_one(w: Any, x: Any) -> Any:
            return self._columns(w, jax.tree_util.tree_map(lambda part: part[None], x))[0]

        first = jax.tree_util.tree_map(lambda part: part[0], self._given(X, dtype))
        with jax_in_double():
            return plan(of_one, [leaf.astype(dtype) for leaf in leaves], first, dtype)


def _cast(part: Array, dtype: Any) -> Array:
    return part.astype(dtype) if part.dtype.kind == "f" else part


def _flat(tree: Any) -> tuple[list[Array], Any]:
    import jax

    return jax.tree_util.tree_flatten(tree)


def _dotted(word: str) -> str:
    """`.layers[0]['weight'].value` as `layers.0.weight`."""
    parts = re.findall(r"[^\[\].'\"]+", word)
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "value" else parts) or "weights"


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
