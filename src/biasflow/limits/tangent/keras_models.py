"""Keras 3 models, on JAX or on PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from .functions import TangentFunction
from .outputs import Outputs


def keras_function(fn: Any, params: Any, outputs: Outputs, fixed: Any) -> TangentFunction | None:
    """A built Keras model; its parameters are models like it, or what `get_weights()` returns."""
    keras = sys.modules.get("keras")
    if keras is None or not isinstance(fn, keras.Model):
        return None
    if not fn.built:
        raise InputError("network: the Keras model has no weights yet; call it once, on X[:1]")
    backend = keras.backend.backend()
    if backend not in ("jax", "torch"):
        raise InputError(
            f"network: Keras runs on {backend}; probes need JAX or PyTorch: set KERAS_BACKEND=jax "
            "and load the model again"
        )
    words = [variable.path.replace("/", ".") for variable in fn.weights]
    trained = [any(v is w for w in fn.trainable_variables) for v in fn.weights]

    def opened(name: str, given: Any) -> dict[str, Any]:
        """Weights by name, the trained ones apart."""
        if isinstance(given, dict) and given.keys() == {"params", "rest"}:
            return given
        arrays = given.get_weights() if isinstance(given, keras.Model) else given
        if not isinstance(arrays, Sequence) or len(arrays) != len(words):
            found = len(arrays) if isinstance(arrays, Sequence) else type(given).__name__
            raise InputError(
                f"{name}: expected a model like the network, or the {len(words)} arrays of its "
                f"get_weights(), found {found}; a file is read by model.load_weights()"
            )
        named = list(zip(words, map(np.asarray, arrays), trained, strict=True))
        return {
            "params": {word: array for word, array, yes in named if yes},
            "rest": {word: array for word, array, yes in named if not yes},
        }

    # variables that no weight stands for, such as seeds of generators, are not differentiated
    kept = [variable for variable in fn.non_trainable_variables]
    order = [variable.path.replace("/", ".") for variable in fn.trainable_variables]
    places = {id(variable): word for variable, word in zip(fn.weights, words, strict=True)}

    def called(tree: Any, X: Any) -> Any:
        rest = [
            tree["rest"][places[id(variable)]] if id(variable) in places else variable.value
            for variable in kept
        ]
        weights = [tree["params"][word] for word in order]
        return fn.stateless_call(weights, rest, X, training=False)[0]

    if backend == "jax":
        from .jax_functions import JaxFunction

        return JaxFunction(called, params, outputs, opened=opened, within="['params']", fixed=fixed)
    from .torch_modules import TorchTree

    return TorchTree(called, params, outputs, opened, fixed)
