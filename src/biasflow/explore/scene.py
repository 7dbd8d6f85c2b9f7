"""What a scene is: its fields with their ranges, what it computes in parts, and what it may cost.

A state is a dictionary with a value for each field. It comes from a page, a link or a file, and is
data that nobody vouches for: `Scene.read` gives it back with every field in range, or says in one
sentence what is wrong.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.problems import Dataset
from .._core.results import Certificate
from ..errors import InputError

State = dict[str, Any]
Part = tuple[str, dict[str, Any]]
"""A name that the page's view knows, and what it is to draw, JSON-able."""
LOG10 = math.log(10.0)


@dataclass(frozen=True)
class Field(ABC):
    """One entry of a state: the label that the page shows, and a sentence for those who ask."""

    label: str
    help: str = ""

    kind = ""

    @property
    @abstractmethod
    def default(self) -> Any:
        """What a page starts with."""

    @abstractmethod
    def read(self, name: str, value: Any) -> Any:
        """The value, or an `InputError` that says what was expected and what was found."""

    def described(self) -> dict[str, Any]:
        """What the page needs to draw a control."""
        return {
            "kind": self.kind,
            "label": self.label,
            "help": self.help,
            "default": self.default,
        }


@dataclass(frozen=True)
class Number(Field):
    """A number from low to high. step: what a key press moves it by."""

    low: float = 0.0
    high: float = 1.0
    start: float = 0.0
    step: float = 0.01

    kind = "number"

    @property
    def default(self) -> float:
        return self.start

    def read(self, name: str, value: Any) -> float:
        return _number(name, value, self.low, self.high)

    def described(self) -> dict[str, Any]:
        return {**super().described(), "low": self.low, "high": self.high, "step": self.step}


@dataclass(frozen=True)
class Exponent(Number):
    """log₁₀ of a positive number, as a slider with its decades beside it. symbol: what is shown as
    10^value."""

    symbol: str = "α"
    off: float | None = None
    """The value at which the quantity counts as zero, if there is one."""

    kind = "exponent"

    def described(self) -> dict[str, Any]:
        return {**super().described(), "symbol": self.symbol, "off": self.off}


@dataclass(frozen=True)
class Integer(Field):
    """An integer from low to high."""

    low: int = 0
    high: int = 10
    start: int = 0

    kind = "integer"

    @property
    def default(self) -> int:
        return self.start

    def read(self, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{name}: expected an integer, found {_seen(value)}")
        return int(_number(name, value, self.low, self.high))

    def described(self) -> dict[str, Any]:
        return {**super().described(), "low": self.low, "high": self.high, "step": 1}


@dataclass(frozen=True)
class Choice(Field):
    """One of several words, each with what the page calls it."""

    options: Mapping[str, str] = field(default_factory=dict)
    start: str = ""

    kind = "choice"

    @property
    def default(self) -> str:
        return self.start

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise InputError(f"{name}: expected one of {list(self.options)}, found {_seen(value)}")
        return value

    def described(self) -> dict[str, Any]:
        return {**super().described(), "options": dict(self.options)}


@dataclass(frozen=True)
class Table(Field):
    """Rows of numbers: points in the plane, labelled points, a vector as rows of one entry.

    columns: the range of every column, or, where widths vary, of every entry with `most_columns`.
    None is a value where `optional` says so. distinct: columns in which no two rows may agree.
    """

    columns: tuple[tuple[float, float], ...] = ()
    fewest: int = 0
    most: int = 100
    start: tuple[tuple[float, ...], ...] | None = ()
    most_columns: int | None = None
    optional: bool = False
    signs: tuple[int, ...] = ()
    """Columns that hold labels, +1 or −1."""

    kind = "table"

    @property
    def default(self) -> Any:
        return None if self.start is None else [list(row) for row in self.start]

    def read(self, name: str, value: Any) -> Any:
        if value is None and self.optional:
            return None
        if not isinstance(value, list):
            raise InputError(f"{name}: expected rows of numbers, found {_seen(value)}")
        if not self.fewest <= len(value) <= self.most:
            raise InputError(
                f"{name}: expected {self.fewest} to {self.most} rows, found {len(value)}"
            )
        rows = [self._row(f"{name}, row {k + 1}", row) for k, row in enumerate(value)]
        if len({len(row) for row in rows}) > 1:
            raise InputError(f"{name}: rows differ in length")
        return rows

    def _row(self, name: str, row: Any) -> list[float]:
        if not isinstance(row, list):
            raise InputError(f"{name}: expected numbers, found {_seen(row)}")
        if self.most_columns is None:
            if len(row) != len(self.columns):
                raise InputError(f"{name}: expected {len(self.columns)} numbers, found {len(row)}")
            ranges = self.columns
        else:
            if not 1 <= len(row) <= self.most_columns:
                raise InputError(
                    f"{name}: expected 1 to {self.most_columns} numbers, found {len(row)}"
                )
            ranges = (self.columns[0],) * len(row)
        read = [
            _number(f"{name}, column {k + 1}", entry, *bounds)
            for k, (entry, bounds) in enumerate(zip(row, ranges, strict=True))
        ]
        for k in self.signs:
            if read[k] not in (-1.0, 1.0):
                raise InputError(f"{name}, column {k + 1}: expected a label, 1 or −1")
        return read

    def described(self) -> dict[str, Any]:
        return {
            **super().described(),
            "columns": [list(bounds) for bounds in self.columns],
            "fewest": self.fewest,
            "most": self.most,
            "most_columns": self.most_columns,
            "optional": self.optional,
            "signs": list(self.signs),
        }


@dataclass(frozen=True)
class Preset:
    """A state worth seeing: what it is called, where it is from, and the fields it sets."""

    title: str
    source: str
    state: Mapping[str, Any]


@dataclass(frozen=True)
class Scene:
    """A picture that follows its data.

    parts: yields what there is to draw, the quickest first; between two parts a worker looks
    whether anybody still waits. seconds: how long one request may take before its worker is
    killed; a scene gives its own solvers less. checked: what no single field can tell, such as two
    points at the same place. as_python: code that prints the picture's numbers. warm: the smallest
    request that compiles and loads all that the others need. csv: how a table that a reader brings
    becomes a state, in words for the page.
    """

    name: str
    title: str
    question: str
    caption: str
    fields: Mapping[str, Field]
    parts: Callable[[State], Iterator[Part]]
    as_python: Callable[[State], str]
    seconds: float
    presets: tuple[Preset, ...] = ()
    checked: Callable[[State], None] = lambda state: None
    warm: Callable[[], None] = lambda: None
    csv: str = ""

    @property
    def start(self) -> State:
        """The state that a page begins with."""
        return {name: each.default for name, each in self.fields.items()}

    def read(self, state: Any) -> State:
        """The state, with defaults for fields that are not there; an `InputError` otherwise."""
        if not isinstance(state, dict):
            raise InputError(f"state: expected an object, found {_seen(state)}")
        for name in state:
            if name not in self.fields:
                raise InputError(
                    f"{_seen(name)}: the scene {self.name!r} has no such field; it has "
                    f"{', '.join(self.fields)}"
                )
        read = {
            name: each.read(name, state[name]) if name in state else each.default
            for name, each in self.fields.items()
        }
        self.checked(read)
        return read

    def described(self) -> dict[str, Any]:
        """What the page is told of the scene when it connects."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "caption": self.caption,
            "fields": {name: each.described() for name, each in self.fields.items()},
            "presets": [
                {"title": each.title, "source": each.source, "state": self.read(dict(each.state))}
                for each in self.presets
            ],
            "csv": self.csv,
            "seconds": self.seconds,
        }


Frozen = tuple[bytes, bytes, int]
"""Inputs, labels and the number of columns, as something that a cache can remember."""


def frozen(data: Dataset) -> Frozen:
    return data.X.tobytes(), data.y.tobytes(), data.d


def thawed(key: Frozen) -> tuple[Array, Array]:
    """Inputs and labels."""
    X, y, columns = key
    return np.frombuffer(X).reshape(-1, columns).copy(), np.frombuffer(y).copy()


def script(lines: Iterable[str]) -> str:
    """Python that a reader can run."""
    imports = ["import matplotlib.pyplot as plt", "import numpy as np", "", "import biasflow as bf"]
    code = "\n".join([*imports, "", *lines, ""])
    return code if "plt." in code else code.removeprefix(f"{imports[0]}\n")


def rounded(values: Any, digits: int = 5) -> Any:
    """Numbers for a page: so many digits, nested as they were; what is not finite becomes None."""
    array = np.asarray(values, dtype=float)
    if array.ndim == 0:
        return _rounded(float(array), digits)
    size = np.abs(array)
    usual = (size > 1e-12) & (size < 1e12)
    # powers of ten that floats hold exactly, so that the quotient has no further digits
    shift = digits - 1 - np.floor(np.log10(np.where(usual, size, 1.0)))
    up, down = 10.0 ** np.clip(shift, 0, 22), 10.0 ** np.clip(-shift, 0, 22)
    found = np.rint(np.where(usual, array, 0.0) * up / down) * down / up
    if np.all(usual | (array == 0)):
        return found.tolist()
    mixed = found.astype(object)
    for place in np.argwhere(~usual):
        mixed[tuple(place)] = _rounded(float(array[tuple(place)]), digits)
    return mixed.tolist()


def bracketed(proof: Certificate, digits: int = 5) -> dict[str, Any]:
    """A certificate for a page: bounds that still enclose the optimum with so few digits, how far
    they are apart relative to it, and what kind of proof it is."""
    low, high = _towards(proof.lower, digits, -1), _towards(proof.upper, digits, 1)
    size = max(abs(proof.lower), abs(proof.upper))
    gap = (proof.upper - proof.lower) / size if size > 0 else 0.0
    return {"low": low, "high": high, "gap": rounded(gap, 2), "kind": proof.kind}


def even_in_loss(times: Array, loss: Array, count: int, until: float = 1e-6) -> Array:
    """Moments for a film: half of them even in time, half even in log(loss), up to when the loss is
    so small a share of its start."""
    share = np.maximum(loss, 0.0) / max(float(loss[0]), np.finfo(float).tiny)
    below = np.flatnonzero(share <= until)
    end = int(below[0]) if below.size else len(times) - 1
    end = min(max(end, 1), len(times) - 1)
    even = np.linspace(float(times[0]), float(times[end]), count // 2)
    depth = -np.log(np.maximum(share[: end + 1], until))
    falling = np.maximum.accumulate(depth) + 1e-9 * np.arange(end + 1)
    levels = np.linspace(falling[0], falling[-1], count - count // 2)
    return np.unique(np.concatenate([even, np.interp(levels, falling, times[: end + 1])]))


def _rounded(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def _towards(value: float, digits: int, sign: int) -> float | None:
    """So many digits, rounded down (−1) or up (1)."""
    if not math.isfinite(value):
        return None
    near = Decimal(f"{value:.{digits - 1}e}")
    if sign * (near - Decimal(value)) < 0:
        near += sign * Decimal(1).scaleb(near.adjusted() - digits + 1)
    return float(near)


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}: expected a number, found {_seen(value)}")
    if isinstance(value, int) and abs(value) > 2**53:
        raise InputError(f"{name}: expected a number from {low:g} to {high:g}, found a larger one")
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"{name}: expected a number from {low:g} to {high:g}, found {value:g}")
    return float(value)


def _seen(value: Any) -> str:
    """A value in a few characters."""
    text = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}…"
