"""Two of the probe's measures on their own, without errors and references: for curves over many
trainings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, length
from .._core.former_names import renamed
from ..errors import InputError
from ..limits.tangent.inputs import read_inputs
from ..limits.tangent.tangent_kernels import MEMORY, Tangent, tangent


@renamed(fn="network", params0="start", memory="memory_b")
def kernel_distance(
    network: Any,
    start: Any,
    params: Any,
    X: ArrayLike,
    *,
    output: int | Sequence[int] | str | None = None,
    memory_b: float = MEMORY,
) -> float:
    """‖K − K₀‖_F/‖K₀‖_F between the tangent kernels at two sets of parameters.

    Parameters
    ----------
    network
        As for `tangent_kernel`.
    start, params
        Those of K₀ and of K.
    X : array of shape (n, …)
    output : int, sequence of int, 'all' or regime.Sketch, optional
        Where the network has several outputs: kernels and cosines are summed over those named.
    memory_b : float

    Returns
    -------
    float
        NaN where K₀ vanishes.

    Examples
    --------
    >>> model = bf.DiagonalNetwork(2)
    >>> start, end = model.init(1.0, dim=2), model.init(2.0, dim=2)
    >>> round(bf.regime.kernel_distance(model, start, end, np.eye(2)), 6)
    3.0
    """
    inputs = read_inputs(X)
    before, after = _both(network, start, params, inputs, output, memory_b)
    with np.errstate(over="ignore", invalid="ignore"):
        K0, K = before.kernel(inputs), after.kernel(inputs)
    _check_finite(K0, K)
    size = length(K0)
    return length(K - K0) / size if size else float("nan")


@renamed(fn="network", params0="start", memory="memory_b")
def gradient_distance(
    network: Any,
    start: Any,
    params: Any,
    X: ArrayLike,
    *,
    output: int | Sequence[int] | str | None = None,
    memory_b: float = MEMORY,
) -> float:
    """The mean over x of 1 − cos(∇_w f(w₀, x), ∇_w f(w, x)) (W, §7).

    Linear in the number of inputs: no kernel is formed. Inputs at which a gradient vanishes are
    left out.

    Parameters
    ----------
    network
        As for `tangent_kernel`.
    start, params
        w₀ and w.
    X : array of shape (n, …)
    output : int, sequence of int, 'all' or regime.Sketch, optional
        Where the network has several outputs: kernels and cosines are summed over those named.
    memory_b : float

    Returns
    -------
    float
        NaN where no input remains, products of gradients below 1e-308 counting as zero.

    Examples
    --------
    >>> model, ones = bf.DiagonalNetwork(2), np.ones(2)
    >>> start, end = (bf.models.DiagonalParams(a * ones, ones) for a in (1.0, 2.0))
    >>> round(bf.regime.gradient_distance(model, start, end, np.eye(2)), 4)
    0.0513
    """
    inputs = read_inputs(X)
    before, after = _both(network, start, params, inputs, output, memory_b)
    sums = np.zeros((3, len(inputs)))
    with np.errstate(over="ignore", invalid="ignore"):
        for block, one, two in before.beside(after, inputs):
            for k, (first, second) in enumerate(((one, two), (one, one), (two, two))):
                for _, found in first.by_leaf(second, "dots"):
                    sums[k, block] += np.sum(found, axis=0)
        dots, lengths = sums[0], np.sqrt(sums[1]) * np.sqrt(sums[2])
    _check_finite(dots, lengths)
    felt = lengths > 0
    return float(np.mean(1 - dots[felt] / lengths[felt])) if np.any(felt) else float("nan")


def _check_finite(*arrays: Array) -> None:
    if not all(np.all(np.isfinite(array)) for array in arrays):
        raise InputError(
            "X: products of gradients at these inputs are beyond float range, or not numbers; "
            "scale the inputs"
        )


def _both(
    network: Any, start: Any, params: Any, X: Any, output: Any, memory: float
) -> tuple[Tangent, Tangent]:
    first = tangent(network, start, X, output, memory, "start")
    return first, Tangent(first.function, first.function.leaves("params", params), first.memory)
