"""How many directions vector fields and their Lie brackets span at a point: exactly, and in floats.

Polynomial fields are evaluated at whole numbers, their derivatives by dual numbers a + bε, ε² = 0,
nested for brackets of brackets, so that nothing is rounded. Ranks are taken modulo a prime: a minor
that is not zero modulo the prime is not zero, hence **the rank found is a lower bound, proven**, of
the rank at a generic point. Where every bracket of the fields found with every generator lies in
their span, the span is closed: by Frobenius its rank is the dimension of the orbits. That is seen
at one random point and could be an accident there, with a chance of at most
tests·(rank + 1)·degree/2³¹ (Schwartz and Zippel).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._core.arguments import Array

PRIME = 2**31 - 1
"""Products of two residues fit into 64 bits."""
HALF_BITS = 16
"""A residue in two halves, so that a sum of 2¹⁶ products fits into 63 bits."""
NEGLIGIBLE = 1e-9
"""Singular values in floats, relative to the largest, below which a direction is none: brackets of
brackets are good to 1e-12 or so."""

Field = Callable[[Any], Any]
"""θ (P,), an array of exact numbers or of JAX, to a vector of the same kind."""


class Dual:
    """a + bε with ε² = 0, a and b whole numbers, fractions, or dual numbers themselves. Compared by
    a; floats that it meets count as the fractions that they are."""

    __slots__ = ("real", "slope")

    def __init__(self, real: Any, slope: Any) -> None:
        self.real, self.slope = real, slope

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.real + other.real, self.slope + other.slope)
        return Dual(self.real + exact(other), self.slope)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            slope = self.real * other.slope + self.slope * other.real
            return Dual(self.real * other.real, slope)
        factor = exact(other)
        return Dual(self.real * factor, self.slope * factor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Dual:
        return Dual(-self.real, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return self + -exact(other)

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __pow__(self, power: int) -> Dual:
        if power < 0:
            return self.inverse() ** -power
        result: Dual = Dual(1, 0)
        for _ in range(power):
            result = result * self
        return result

    def __truediv__(self, other: Any) -> Dual:
        return self * (other.inverse() if isinstance(other, Dual) else 1 / Fraction(exact(other)))

    def __rtruediv__(self, other: Any) -> Dual:
        return self.inverse() * other

    def inverse(self) -> Dual:
        """1/(a + bε) = 1/a − (b/a²)ε."""
        real = self.real.inverse() if isinstance(self.real, Dual) else 1 / Fraction(self.real)
        return Dual(real, -self.slope * real * real)

    def __abs__(self) -> Dual:
        return -self if self < 0 else self

    def __lt__(self, other: Any) -> bool:
        return bool(_real(self) < _real(other))

    def __gt__(self, other: Any) -> bool:
        return bool(_real(self) > _real(other))

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other


def exact(number: Any) -> Any:
    """A number as itself: a whole number, a fraction or a dual number; a float as the fraction that
    it is."""
    if isinstance(number, (int, Fraction, Dual)):
        return number
    value = Fraction(float(number))
    return value.numerator if value.denominator == 1 else value


def _real(number: Any) -> Any:
    while isinstance(number, Dual):
        number = number.real
    return number


def moved(field: Field, place: Any, direction: Any) -> tuple[Any, Any]:
    """v(θ) and its derivative Dv(θ)·h, exactly."""
    lifted = _objects([Dual(x, h) for x, h in zip(place, direction, strict=True)])
    found = [x if isinstance(x, Dual) else Dual(exact(x), 0) for x in field(lifted)]
    return _objects([x.real for x in found]), _objects([x.slope for x in found])


def value(field: Field, place: Any) -> Any:
    """v(θ), exactly: in dual numbers even where no derivative is asked for, since whole numbers of
    Python turn into floats beside floats."""
    if isinstance(place[0], Dual):
        return _objects([exact(x) for x in field(place)])
    return moved(field, place, [0] * len(place))[0]


def bracket(first: Field, second: Field) -> Field:
    """[g, v] = Dv·g − Dg·v."""

    def field(place: Any) -> Any:
        direction = value(first, place)
        along, turned = moved(second, place, direction)
        return turned - moved(first, place, along)[1]

    return field


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class Echelon:
    """Vectors of exact numbers modulo the prime, in reduced echelon form."""

    value = staticmethod(value)
    bracket = staticmethod(bracket)

    def __init__(self, size: int) -> None:
        self.rows = np.zeros((0, size), dtype=np.int64)
        self.pivots: list[int] = []

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def add(self, vector: Any) -> bool:
        """Whether the vector is new; it then belongs to the span."""
        left = np.array([_residue(x) for x in vector], dtype=np.int64)
        if self.pivots:
            left = (left - _product(left[self.pivots], self.rows)) % PRIME
        places = np.flatnonzero(left)
        if not len(places):
            return False
        pivot = int(places[0])
        left = left * pow(int(left[pivot]), -1, PRIME) % PRIME
        self.rows = (self.rows - self.rows[:, [pivot]] * left) % PRIME
        self.rows = np.vstack([self.rows, left])
        self.pivots.append(pivot)
        return True


def _residue(number: Any) -> int:
    if isinstance(number, Fraction):
        return number.numerator * pow(number.denominator, -1, PRIME) % PRIME
    return int(number) % PRIME


def _product(left: Any, rows: Any) -> Any:
    high, low = left >> HALF_BITS, left & ((1 << HALF_BITS) - 1)
    return (((high @ rows) % PRIME << HALF_BITS) + low @ rows) % PRIME


class _FloatBracket:
    """[g, v] = Dv·g − Dg·v by JAX."""

    def __init__(self, first: Field, second: Field) -> None:
        self.first, self.second = first, second

    def __call__(self, place: Any) -> Any:
        turned, back = self._parts(place)
        return turned - back

    def terms(self, place: Any) -> list[float]:
        """The lengths of both terms."""
        return [float(np.linalg.norm(np.asarray(part))) for part in self._parts(place)]

    def _parts(self, place: Any) -> tuple[Any, Any]:
        import jax

        along, turned = jax.jvp(self.second, (place,), (self.first(place),))
        return turned, jax.jvp(self.first, (place,), (along,))[1]


def _float_value(field: Field, place: Any) -> Any:
    """v(θ); zero where a bracket is the rounding of two terms that are equal."""
    found = np.asarray(field(place))
    terms = getattr(field, "terms", None)
    if terms is not None and np.linalg.norm(found) <= NEGLIGIBLE * np.max(terms(place)):
        return np.zeros_like(found)
    return found


class FloatSpan:
    """Vectors in floats, orthonormal. worst_kept and best_dropped: the smallest part outside the
    span, relative to its vector, that counted as new, and the largest that did not."""

    value = staticmethod(_float_value)
    bracket = _FloatBracket

    def __init__(self, size: int) -> None:
        self.rows: Array = np.zeros((0, size))
        self.worst_kept = 1.0
        self.best_dropped = 0.0

    @property
    def rank(self) -> int:
        return len(self.rows)

    def add(self, vector: Any) -> bool:
        """Whether the vector is new; it then belongs to the span."""
        given = np.asarray(vector, float)
        size = float(np.linalg.norm(given))
        if size == 0:
            return False
        left = given / size
        for _ in range(2):  # twice is enough (Kahan)
            left = left - self.rows.T @ (self.rows @ left)
        outside = float(np.linalg.norm(left))
        if outside <= NEGLIGIBLE:
            self.best_dropped = max(self.best_dropped, outside)
            return False
        self.worst_kept = min(self.worst_kept, outside)
        self.rows = np.vstack([self.rows, left / outside])
        return True


@dataclass(frozen=True)
class LieSpan:
    """What fields and brackets span. rank: how many directions; generators: how many of them the
    fields span themselves; closed: whether further brackets add none; depth: fields in the longest
    bracket that added one; tests: how many vectors were looked at."""

    rank: int
    generators: int
    closed: bool
    depth: int
    tests: int


Span = Echelon | FloatSpan


def generators_at(
    draws: Iterable[Field], place: Any, span: Span, over: Callable[[], bool], patience: float
) -> tuple[list[Field], list[Any]]:
    """Fields that are independent at the point, and their values there; drawn until so many in a
    row as there is patience add nothing. The others lie in their span at generic points, and so do
    brackets with the others in the span of theirs."""
    fields: list[Field] = []
    values: list[Any] = []
    fruitless = 0
    for field in draws:
        if fruitless > patience or span.rank == len(place) or over():
            break
        found = span.value(field, place)
        if span.add(found):
            fields.append(field)
            values.append(found)
            fruitless = 0
        else:
            fruitless += 1
    return fields, values


def grown_span(
    generators: list[Field],
    place: Any,
    span: Span,
    most: int,
    over: Callable[[], bool],
    patience: float = np.inf,
) -> LieSpan:
    """Brackets are added, from the shortest on, until they add nothing, `most` directions are
    found, the time is over, or so many brackets in a row as there is patience were fruitless.

    Brackets [g, v] with generators g are enough: a span that they do not leave holds [[g, h], v] =
    [g, [h, v]] − [h, [g, v]], too.
    """
    found = [(field, 1) for field in generators]
    depth, tests, fruitless = min(1, len(found)), len(generators), 0
    for k, (field, length) in enumerate(found):  # grows on the way
        for g in generators[k + 1 :] if length == 1 else generators:
            if span.rank >= most or fruitless > patience or over():
                return LieSpan(span.rank, len(generators), False, depth, tests)
            candidate = span.bracket(g, field)
            tests, fruitless = tests + 1, fruitless + 1
            if span.add(span.value(candidate, place)):
                found.append((candidate, length + 1))
                depth, fruitless = length + 1, 0
    return LieSpan(span.rank, len(generators), not over(), depth, tests)
