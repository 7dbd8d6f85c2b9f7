"""States as trees of arrays: nested tuples, whose leaves are what is computed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arguments import Array


def grown(leaf: Array, log_factor: Any) -> Array:
    """e^{log_factor}·leaf, the factor a number or one for each row; in two halves, since the factor
    alone may be out of range."""
    half = np.exp(np.asarray(log_factor) / 2)
    half = half.reshape(half.shape + (1,) * (np.ndim(leaf) - 1)) if half.ndim else half
    with np.errstate(under="ignore"):
        return np.asarray(leaf * half * half)


def leaf_map(function: Callable[[Any], Any], state: Any) -> Any:
    """Apply to every leaf of a state: an array, or a tuple or NamedTuple of states."""
    if isinstance(state, tuple):
        return regrouped(state, [leaf_map(function, leaf) for leaf in state])
    return function(state)


def leaves(state: Any) -> list[Any]:
    """The arrays of a state, in order."""
    if not isinstance(state, tuple):
        return [state]
    found: list[Any] = []
    for part in state:
        if isinstance(part, tuple):
            found += leaves(part)
        else:
            found.append(part)
    return found


def stack(states: list[Any]) -> Any:
    """States over time as one state with a leading time axis."""
    first = states[0]
    if isinstance(first, tuple):
        return regrouped(first, [stack(list(parts)) for parts in zip(*states, strict=True)])
    return np.stack(states)


def regrouped(state: tuple[Any, ...], parts: Sequence[Any]) -> Any:
    """Parts as a tuple of the same type as the state."""
    return tuple(parts) if type(state) is tuple else type(state)(*parts)
