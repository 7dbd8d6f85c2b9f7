"""Which numbers of a network's prediction are looked at: one, some, all, or random sums of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core.arguments import Array, positive_int
from ...errors import InputError
from .inputs import Batch, Inputs

MOST_OUTPUTS = 32
"""Outputs up to which all are looked at one by one, where the caller does not say; and how many
random sums take their place beyond."""
OUTPUT_WORDS = "a number, a list of numbers, 'all' or bf.regime.Sketch(draws)"


@dataclass(frozen=True)
class Sketch:
    """Random signed sums of all outputs, in place of the outputs.

    Σ_o ⟨∇f_o(x), ∇f_o(x')⟩ is the mean of ⟨∇(s·f)(x), ∇(s·f)(x')⟩ over signs s. Along several axes,
    as positions and words, signs are products of signs of each axis. draws: how many sums.
    """

    draws: int = MOST_OUTPUTS
    key: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        positive_int("draws", self.draws)

    def _signs(self, shape: Sequence[int]) -> list[Array]:
        """(draws, size) for each axis; the first is divided by √draws."""
        rng = np.random.default_rng(self.key)
        found: list[Any] = [2.0 * rng.integers(2, size=(self.draws, size)) - 1 for size in shape]
        found[0] = found[0] / np.sqrt(self.draws)
        return found


@dataclass(frozen=True)
class Outputs:
    """asked: a column; None, the only one; several columns; 'all'; a `Sketch`; or 'auto', all of
    up to 32 and a sketch of more."""

    asked: Any = None

    @property
    def one(self) -> bool:
        return self.asked is None or isinstance(self.asked, int)

    def looked_at(self, values: Any, n: int) -> Any:
        """The numbers looked at, (n, m), of predictions (n, …), arrays of any library."""
        shape = tuple(values.shape)
        if len(shape) < 1 or shape[0] != n or (self.one and len(shape) > 2):
            raise InputError(
                f"network: expected one prediction for each of {n} inputs, found shape {shape}"
            )
        if 0 in shape:
            raise InputError(f"network: predictions of shape {shape}, which are no numbers")
        sketch = self.sketch(shape)
        if sketch is not None:
            return _summed(values, sketch._signs(shape[1:] or (1,)), n)
        values = values.reshape(n, -1)
        if self.asked in ("all", "auto"):
            return values
        if self.one:
            k = _one_column(values.shape[1], self.asked)
            return values[:, k : k + 1]
        wrong = [k for k in self.asked if not 0 <= k < values.shape[1]]
        if wrong:
            raise InputError(
                f"output: expected numbers from 0 to {values.shape[1] - 1}, found {wrong[0]}"
            )
        return values[:, list(self.asked)]

    def sketch(self, shape: Sequence[int]) -> Sketch | None:
        if isinstance(self.asked, Sketch):
            return self.asked
        if self.asked == "auto" and math.prod(shape[1:]) > MOST_OUTPUTS:
            return Sketch()
        return None


def read_outputs(output: Any) -> Outputs:
    """`output` as a user gives it."""
    if isinstance(output, Outputs):
        return output
    if output is None or isinstance(output, Sketch) or output in ("all", "auto"):
        return Outputs(output)
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        return Outputs(int(output))
    if isinstance(output, (list, tuple, range, np.ndarray)) and len(output):
        numbers = tuple(output)
        if all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in numbers):
            if len(set(numbers)) < len(numbers):
                raise InputError(f"output: the same output twice in {list(numbers)}")
            return Outputs(tuple(int(k) for k in numbers))
    raise InputError(f"output: expected {OUTPUT_WORDS}, found {output!r}")


def array_of(returned: Any) -> Any:
    """The predictions in what a network returned: the array itself, or its `logits`."""
    logits: Any = (
        returned.get("logits")
        if isinstance(returned, Mapping)
        else getattr(returned, "logits", None)
    )
    for found in (logits, returned):
        if hasattr(found, "shape") and hasattr(found, "dtype"):
            if str(found.dtype).rpartition(".")[2].startswith(("float", "bfloat")):
                return found
            raise InputError(
                f"network: its predictions are {found.dtype}, which has no gradients; return the "
                "numbers before they are rounded or compared"
            )
    raise InputError(
        f"network: returned {type(returned).__name__}, expected an array of predictions, or an "
        "object with one as `logits`; wrap the network in one that returns the array"
    )


def without_padding(values: Any, X: Inputs) -> Any:
    """Predictions for each position of a text, those of padding set to zero."""
    mask = X.parts.get("attention_mask") if isinstance(X, Batch) else None
    if mask is None or len(values.shape) != 3 or tuple(values.shape[:2]) != mask.shape:
        return values
    return values * like(values, mask[:, :, None])


def like(values: Any, array: Any) -> Any:
    """An array in the library of `values`, of their precision."""
    return values.new_tensor(array) if hasattr(values, "new_tensor") else array


def _summed(values: Any, signs: list[Array], n: int) -> Any:
    """Σ signs·values over every axis but the first, (n, draws)."""
    shape = tuple(values.shape)[1:] or (1,)
    values = values.reshape((n, *shape)) @ like(values, signs[-1].T)
    for part in signs[-2::-1]:
        values = (values * like(values, part.T)).sum(-2)
    return values


def _one_column(count: int, output: int | None) -> int:
    if output is None and count > 1:
        raise InputError(
            f"network: returns {count} outputs for each input, and a tangent kernel is of one: say "
            f"which with output=0..{count - 1},"
            " or give a function of one output"
        )
    if output is not None and not 0 <= output < count:
        raise InputError(f"output: expected a number from 0 to {count - 1}, found {output!r}")
    return output or 0
