"""Starts e^{log_scale}·start: in floats where these hold them, as they were given below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, RefusedError, ScaleError
from .arguments import SMALLEST_NORMAL, real_array, real_number
from .trees import grown, leaf_map, leaves

SMALLEST_LOG, LARGEST_LOG = (
    float(np.log(SMALLEST_NORMAL)) + 1e-9,
    float(np.log(np.finfo(np.float64).max)) - 1e-9,
)
"""Logarithms of the numbers that floats hold to full precision, by more than the rounding of a
logarithm."""


def place(model: Any, params0: Any, log_scale: Any) -> tuple[Any, Any]:
    """Parameters in floats and zero where floats hold e^{log_scale}·start, else both as they are:
    for models whose neurons may start below float range."""
    rows = model.neurons_below_floats
    scale = _log_scale(log_scale, rows)
    if _held(params0, scale):
        return leaf_map(lambda leaf: grown(leaf, scale), params0), 0.0
    if rows is None:
        raise RefusedError(
            f"log_scale: {type(model).__name__} starts in floats, which do not hold "
            f"e^{scale:g} times start"
        )
    return params0, scale


def read_scale(scale: ArrayLike, log_scale: ArrayLike | None) -> ArrayLike:
    """α from `scale`, or from `log_scale` where that is given instead and floats hold it."""
    if log_scale is None:
        return scale
    if np.ndim(scale) or scale != 1.0:
        raise InputError("scale: give exactly one of scale and log_scale")
    logs = real_array("log_scale", log_scale)
    if np.any(logs < SMALLEST_LOG) or np.any(logs > LARGEST_LOG):
        raise ScaleError(
            "log_scale: parameters are floats, which do not hold "
            f"e^{logs.flat[np.argmax(np.abs(logs))]:g}; below their range give log_scale to "
            "bf.limit, and for a TwoLayer init(1.0) with log_scale to gradient_flow or Problem"
        )
    return np.exp(logs)


def positive_scale(scale: Any, log_scale: Any = None) -> float:
    """α, given by itself or its logarithm, as a positive number that a float holds."""
    number = real_number("scale", read_scale(scale, log_scale), "a positive number")
    if not np.isfinite(number):
        raise InputError(f"scale: expected a positive finite number, found {number:g}")
    if number < SMALLEST_NORMAL:
        raise ScaleError(
            f"scale: found {number:g}, needs at least {SMALLEST_NORMAL:g}: from zero nothing "
            "moves. A start below float range"
            " is init(1.0) with log_scale=log λ in gradient_flow or Problem"
        )
    return number


def _log_scale(value: Any, rows: int | None) -> Any:
    """log_scale as a finite number; where the model has rows that may have their own, also an array
    of so many."""
    array = real_array("log_scale", value)
    if array.ndim == 0:
        return float(array)
    if rows is None or array.shape != (rows,):
        needed = "a number" if rows is None else f"a number, or {rows} of them, one for each neuron"
        raise ScaleError(f"log_scale: expected {needed}, found shape {array.shape}")
    return array


def _held(params: Any, log_scale: Any) -> bool:
    """Whether floats hold e^{log_scale}·params, each entry to full precision."""
    for leaf in leaves(params):
        shift = (
            np.reshape(log_scale, np.shape(log_scale) + (1,) * (np.ndim(leaf) - 1))
            if np.ndim(log_scale)
            else log_scale
        )
        logs = (np.log(np.abs(leaf, where=leaf != 0, out=np.ones_like(leaf))) + shift)[leaf != 0]
        if np.any(logs > LARGEST_LOG):
            raise ScaleError(f"log_scale: e^{np.max(log_scale):g} times start is above float range")
        if np.any(logs < SMALLEST_LOG):
            return False
    return True
