"""What a record says of itself: a title and a few lines, as text and as HTML."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .markup import Markup, below, card
from .trees import leaves

LONGEST = 100
"""Characters of a model, a loss or a line, before it is cut."""
LONGEST_FIELD = 60
"""Of what is in a field of a record."""
WRITTEN_OUT = 8
"""Numbers that parameters show one by one; of more they say shapes and norms."""


class Fact(NamedTuple):
    """A line: what it is about, what it says, and the drawing that HTML has below it."""

    label: str
    text: str
    drawing: Callable[[], Markup] | None = None


@dataclass(frozen=True)
class Facts:
    """A title and lines."""

    title: str
    lines: tuple[Fact, ...]

    def __str__(self) -> str:
        rows = [f"  {line.label}: {line.text}" for line in self.lines if line.text]
        return "\n".join([self.title, *rows])

    @property
    def html(self) -> Markup:
        return card(self.title, [(line.label, _cell(line)) for line in self.lines])


def _cell(line: Fact) -> Any:
    drawn = line.drawing() if line.drawing is not None else ""
    return below(*(part for part in (line.text, drawn) if part)) if drawn else line.text


class Shown:
    """A record that says by its facts what it is: as text, and as HTML in notebooks."""

    def facts(self) -> Facts:
        """A title and a few lines."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self.facts())

    def _repr_html_(self) -> str:
        return self.facts().html


def brief(value: Any) -> str:
    """A value on one line: arrays abbreviated, the rest cut."""
    with np.printoptions(threshold=WRITTEN_OUT, edgeitems=1, precision=4):
        text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def record_line(record: Any) -> str:
    """A record on one line: its fields, numbers to six digits, arrays by their shapes."""
    if isinstance(record, tuple):
        fields: tuple[str, ...] = type(record)._fields  # type: ignore[attr-defined]
    else:
        fields = tuple(field.name for field in dataclasses.fields(record) if field.repr)
    shown = [
        f"{name} {_in_line(getattr(record, name))}" for name in fields if not name.startswith("_")
    ]
    return f"{type(record).__name__}({', '.join(shown)})"


def _in_line(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.size <= WRITTEN_OUT:
            return np.array2string(value, precision=4, separator=", ")
        return str(value.shape)
    if isinstance(value, tuple) and not hasattr(value, "_fields") and len(value) > WRITTEN_OUT:
        return f"of {len(value)}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_in_line(one)}" for key, one in value.items()) or "{}"
    if callable(value) and not isinstance(value, type) and not dataclasses.is_dataclass(value):
        return str(getattr(value, "__qualname__", type(value).__name__))
    text = brief(value)
    return text if len(text) <= LONGEST_FIELD else f"{text[: LONGEST_FIELD - 1]}…"


def shape_of(value: Any) -> str:
    """What a point is: arrays with their shapes, a function by its type."""
    if isinstance(value, np.ndarray):
        zeros = value.size - int(np.count_nonzero(value))
        sparse = f", {value.size - zeros} not zero" if zeros else ""
        return f"array {value.shape}{sparse}"
    if not isinstance(value, tuple):
        return type(value).__name__
    parts = [
        f"{name} {_shapes(part)}"
        for name, part in zip(getattr(value, "_fields", range(len(value))), value, strict=True)
    ]
    return f"{type(value).__name__}({', '.join(parts)})"


def _shapes(part: Any) -> str:
    if isinstance(part, tuple):
        return f"[{', '.join(_shapes(each) for each in part)}]"
    return f"{np.shape(part)}"


def params_in_words(params: Any) -> str:
    """Parameters: their numbers where these are few, else shapes and the norm of them all."""
    arrays = leaves(params)
    if not all(isinstance(array, np.ndarray) for array in arrays):  # traced by JAX, or of a device
        return shape_of(params)
    if sum(array.size for array in arrays) <= WRITTEN_OUT:
        parts = [f"{name}={brief(part)}" for name, part in zip(params._fields, params, strict=True)]
        return f"{type(params).__name__}({', '.join(parts)})"
    return f"{shape_of(params)[:-1]}; norm {norm_of(arrays):.4g})"


def norm_of(arrays: list[Any]) -> float:
    """√Σ of all squares."""
    return float(np.sqrt(sum(float(np.sum(np.abs(np.asarray(a)) ** 2)) for a in arrays)))


def params_card(params: Any) -> str:
    """Parameters as HTML: a line for each array."""
    rows = []
    for name, part in zip(params._fields, params, strict=True):
        for k, leaf in enumerate(leaves(part)):
            values = np.asarray(leaf)
            span = (
                f", {float(np.min(values)):.4g} … {float(np.max(values)):.4g}"
                if values.size and values.dtype.kind in "fiu"
                else ""
            )
            label = f"{name}[{k}]" if isinstance(part, tuple) else name
            rows.append((label, f"{values.shape}{span}"))
    rows.append(("norm", f"{norm_of(leaves(params)):.4g}"))
    return card(type(params).__name__, rows)
