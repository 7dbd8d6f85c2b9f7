"""What gradient flow conserves in networks with units that can be rescaled, and how far a training
moved it.

Where f is the same function after the weights into unit j are multiplied by c and those out of it
divided by c, for every c > 0, gradient flow on any loss of f keeps ‖in_j‖² − ‖out_j‖² (Du, Hu and
Lee 2018): the derivative of f along (in_j, −out_j) vanishes, and with it that of the loss. ReLU and
leaky ReLU units have this symmetry, those of tanh, GELU or normalised layers have not.

Whether a network has it is tried on the network itself: c = 2^k for random whole k commutes with
rounding, so that the predictions must stay what they are to the last digits. It is tried at the
first, the last and at random weights.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._core.arguments import Array, Index
from ..errors import InputError
from ..limits.tangent.functions import Leaves
from ..limits.tangent.inputs import Inputs
from ..limits.tangent.tangent_kernels import Tangent
from .measures import Estimate, jackknifed, left_out

SAME = {False: 1e-5, True: 1e-11}
"""Relative difference of predictions that other orders of sums make, in single and in double
precision. A unit that is no ReLU changes them by a share of order one."""
TRIED_INPUTS = 8
LARGEST_POWER = 3
"""Units are multiplied by 2^-3 to 2^3."""
MOST_AXES = 2
"""Axes of a tensor that may count its units: outputs and inputs, in either order."""


@dataclass(frozen=True)
class Units:
    """Units between two tensors of weights: one slice of `into` along its axis and one of `out`
    each; bias: of the units, where they have one. Of an axis of `out` that is a multiple of the
    units (channels, flattened), each has as many slices, next to each other or apart."""

    into: int
    out: int
    into_axis: int
    out_axis: int
    count: int
    bias: int | None = None
    adjacent: bool = True

    def rescaled(self, leaves: Leaves, factors: Array) -> Leaves:
        """Weights into unit j times factors[j], weights out of it divided by them."""
        found = list(leaves)
        found[self.into] = _times(leaves[self.into], factors, self.into_axis)
        if self.bias is not None:
            found[self.bias] = leaves[self.bias] * factors
        found[self.out] = _times(leaves[self.out], 1 / self._spread(leaves, factors), self.out_axis)
        return tuple(found)

    def sizes(self, leaves: Leaves) -> tuple[Array, Array]:
        """‖in_j‖² and ‖out_j‖²."""
        into = _squares(leaves[self.into], self.into_axis)
        if self.bias is not None:
            into = into + leaves[self.bias] ** 2
        out = _squares(leaves[self.out], self.out_axis)
        shape = (self.count, -1) if self.adjacent else (-1, self.count)
        return into, out.reshape(shape).sum(axis=1 if self.adjacent else 0)

    def _spread(self, leaves: Leaves, factors: Array) -> Array:
        times = leaves[self.out].shape[self.out_axis] // self.count
        return np.repeat(factors, times) if self.adjacent else np.tile(factors, times)


@dataclass(frozen=True)
class Conserved:
    """‖in_j‖² − ‖out_j‖² of the units between two layers.

    drift: for every later checkpoint ‖Δ(in² − out²)‖/(‖Δ in²‖ + ‖Δ out²‖) over units, Δ from the
    first: zero under gradient flow, of the order of the step size under descent, and up to one
    where the layers moved without regard to each other; the error is a jackknife over units. null:
    the same with weights of another seed, mean and standard deviation.
    """

    into: str
    out: str
    units: int
    drift: tuple[Estimate, ...]
    null: Estimate


@dataclass(frozen=True)
class Conservation:
    """What is conserved; and which layers next to each other conserve nothing, with the reason."""

    found: tuple[Conserved, ...]
    refused: tuple[str, ...]

    def describe(self) -> str:
        """In a sentence."""
        if not self.found:
            return (
                "No two layers can be rescaled against each other, so no ‖in‖² − ‖out‖² is "
                "conserved by gradient flow."
            )
        worst = max(self.found, key=lambda one: np.nan_to_num(one.drift[-1].value))
        drift = worst.drift[-1]
        if np.isnan(drift.value):
            return "Units that can be rescaled have the sizes that they had."
        return (
            f"Gradient flow would keep ‖in‖² − ‖out‖² of every unit between {worst.into} and "
            f"{worst.out}; of the movement of these sizes {drift} is drift (0: gradient flow; "
            f"{worst.null} between seeds)."
        )


def conservation(
    at: Tangent, X: Inputs, along: Sequence[Leaves], others: Sequence[Leaves]
) -> Conservation:
    """Pairs of layers next to each other in the order of their names. along: the weights of every
    checkpoint; others: of untrained networks of other seeds."""
    function, some = at.function, X[:TRIED_INPUTS]
    rng = np.random.default_rng(0)
    random = tuple(leaf + np.std(leaf) * rng.standard_normal(leaf.shape) for leaf in along[0])
    tried = (along[0], along[-1], random)
    precise = bool(getattr(function, "double", True))
    found, refused = [], []
    order = [k for k in _natural(function.names) if np.ndim(along[0][k]) >= 1]
    biases = {k: bias for k in order if (bias := _bias(k, function.names, along[0])) is not None}
    weights = [k for k in order if k not in biases.values()]
    for first, second in itertools.pairwise(weights):
        names = function.names[first], function.names[second]
        for units in _candidates(first, second, along[0], biases):
            if _is_symmetry(at, some, tried, units, rng, SAME[precise]):
                named = function.names[units.into], function.names[units.out]
                found.append(_measured(named, units, along, others))
                break
        else:
            refused.append(
                f"{names[0]} and {names[1]}: no rescaling of units between them leaves the "
                "predictions as they are (no ReLU alone between them, or they do not follow each "
                "other)"
            )
    return Conservation(tuple(found), tuple(refused))


def _natural(names: Sequence[str]) -> list[int]:
    """As they come; where they come by the alphabet, as of dictionaries in JAX, layer10 after
    layer2."""
    if list(names) != sorted(names):
        return list(range(len(names)))

    def key(k: int) -> list[tuple[int, int, str]]:
        parts = re.split(r"(\d+)", names[k])
        return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p]

    return sorted(range(len(names)), key=key)


def _bias(k: int, names: Sequence[str], leaves: Leaves) -> int | None:
    """The vector that belongs to the same layer as tensor k."""
    layer, _, _ = names[k].rpartition(".")
    if leaves[k].ndim < 2 or not layer:
        return None
    for other, name in enumerate(names):
        same = other != k and name.rpartition(".")[0] == layer and leaves[other].ndim == 1
        if same and leaves[other].size in leaves[k].shape[:2] + leaves[k].shape[-2:]:
            return other
    return None


def _candidates(first: int, second: int, leaves: Leaves, biases: dict[int, int]) -> Iterator[Units]:
    for into, out in ((first, second), (second, first)):
        for i, j in itertools.product(_axes(leaves[into]), _axes(leaves[out])):
            count, width = leaves[into].shape[i], leaves[out].shape[j]
            if width % count or (width > count and leaves[into].ndim < 3):
                continue
            for bias in _possible_biases(into, out, count, leaves, biases):
                for adjacent in (True, False) if width > count else (True,):
                    yield Units(into, out, i, j, count, bias, adjacent)


def _possible_biases(
    into: int, out: int, count: int, leaves: Leaves, biases: dict[int, int]
) -> list[int | None]:
    """The layer's own; where names tell of no layers, any vector of this length, or none."""
    if into in biases:
        return [biases[into]] if leaves[biases[into]].size == count else []
    if biases:
        return [None]
    vectors = (k for k, leaf in enumerate(leaves) if leaf.shape == (count,))
    return [None, *(k for k in vectors if k not in (into, out))]


def _axes(leaf: Array) -> list[int]:
    """The first two and the last two."""
    return sorted({*range(min(MOST_AXES, leaf.ndim)), *range(max(0, leaf.ndim - 2), leaf.ndim)})


def _is_symmetry(
    at: Tangent,
    X: Inputs,
    tried: Sequence[Leaves],
    units: Units,
    rng: np.random.Generator,
    same: float,
) -> bool:
    powers = rng.integers(-LARGEST_POWER, LARGEST_POWER + 1, units.count)
    factors: Array = np.ldexp(np.ones(units.count), powers)
    factors[0] = 2.0**LARGEST_POWER  # not all of them one
    for leaves in tried:
        try:
            before = at.function.values(leaves, X)
            after = at.function.values(units.rescaled(leaves, factors), X)
        except InputError:
            return False
        if not np.linalg.norm(after - before) <= same * np.linalg.norm(before):
            return False
    return bool(np.any(at.function.values(tried[-1], X)))


def _measured(
    names: tuple[str, str], units: Units, along: Sequence[Leaves], others: Sequence[Leaves]
) -> Conserved:
    start = units.sizes(along[0])
    null = np.array([_drift(start, units.sizes(leaves)).value for leaves in others])
    spread = float(np.std(null, ddof=1)) if len(null) > 1 else float("nan")
    reference = Estimate(float(np.mean(null)) if len(null) else float("nan"), spread)
    drift = tuple(_drift(start, units.sizes(leaves)) for leaves in along[1:])
    return Conserved(*names, units.count, drift, reference)


def _drift(start: tuple[Array, Array], end: tuple[Array, Array]) -> Estimate:
    into, out = (b - a for a, b in zip(start, end, strict=True))

    def share(kept: Index) -> float:
        moved = np.linalg.norm(into[kept]) + np.linalg.norm(out[kept])
        return float(np.linalg.norm((into - out)[kept]) / moved) if moved > 0 else float("nan")

    everything = np.arange(len(into))
    if len(into) < 2:
        return Estimate(share(everything), float("nan"))
    parts = left_out(len(into))
    return jackknifed(share(everything), [share(np.delete(everything, part)) for part in parts])


def _times(leaf: Array, factors: Array, axis: int) -> Array:
    shape = [1] * leaf.ndim
    shape[axis] = len(factors)
    found: Array = leaf * factors.reshape(shape)
    return found


def _squares(leaf: Array, axis: int) -> Array:
    others = tuple(k for k in range(leaf.ndim) if k != axis)
    found: Array = np.sum(leaf**2, axis=others)
    return found
