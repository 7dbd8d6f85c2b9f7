"""Flax: linen modules with their variables, and nnx modules, which carry their weights."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from .jax_functions import JaxFunction
from .outputs import Outputs
from .weight_files import is_path

TRAINED = "['params']"
"""The collection of a linen module's variables that is trained."""


def linen_function(fn: Any, params: Any, outputs: Outputs, fixed: Any) -> JaxFunction | None:
    """A linen module; its parameters are the variables, or their collection `params` alone."""
    linen = sys.modules.get("flax.linen")
    if linen is None or not isinstance(fn, linen.Module):
        return None

    def opened(name: str, given: Any) -> Any:
        unfreeze = getattr(given, "unfreeze", None)
        given = given if unfreeze is None else unfreeze()
        if is_path(given):
            return given
        if not isinstance(given, Mapping):
            raise InputError(
                f"{name}: expected the variables of the module, {{'params': …}}, as its init() "
                f"returns them, found {type(given).__name__}"
            )
        return dict(given) if "params" in given else {"params": given}

    return JaxFunction(fn.apply, params, outputs, opened=opened, within=TRAINED, fixed=fixed)


def nnx_function(fn: Any, params: Any, outputs: Outputs, fixed: Any) -> JaxFunction | None:
    """An nnx module; its parameters are modules like it, or their `nnx.state`."""
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or not isinstance(fn, nnx.Module):
        return None
    import jax

    graph, _, rest = nnx.split(fn, nnx.Param, ...)

    def opened(name: str, given: Any) -> Any:
        state = nnx.state(given) if isinstance(given, nnx.Module) else given
        if not isinstance(state, nnx.State):
            if isinstance(state, Mapping) or is_path(state):
                return state
            raise InputError(
                f"{name}: expected a module like the network, or its nnx.state(), found "
                f"{type(given).__name__}"
            )
        trained, other = nnx.split_state(state, nnx.Param, ...)
        return {"params": trained, "rest": other if jax.tree_util.tree_leaves(other) else rest}

    def called(tree: Any, X: Any) -> Any:
        return nnx.merge(graph, tree["params"], tree["rest"])(X)

    return JaxFunction(called, params, outputs, opened=opened, within=TRAINED, fixed=fixed)
