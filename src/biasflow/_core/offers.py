"""What other packages offer: claims and figures, through entry points.

A package that has claims says so in its pyproject.toml, under any name:

    [project.entry-points."biasflow.claims"]
    lottery = "lottery.claims:CLAIMS"

What the entry point names is a claim, several in a sequence, or a function without arguments that
returns either; figures (`Experiment` objects) are offered under `biasflow.figures`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Generic, TypeVar

from ..errors import unknown

T = TypeVar("T")


OWN = "biasflow"
"""The source of what is ours."""


@dataclass(frozen=True)
class Offer(Generic[T]):
    """Something with an id, and the package it comes from, such as 'lottery 1.2'."""

    value: T
    source: str


class Register(Generic[T]):
    """Our own objects with an id, and after them those that other packages offer in a group, which
    are looked for on first use.

    word: what errors call one, as in 'claim'.
    """

    def __init__(self, word: str, group: str, kind: type[T], own: Sequence[T]) -> None:
        self._word, self._group, self._kind, self._own = word, group, kind, own

    @functools.cached_property
    def _held(self) -> dict[str, Offer[T]]:
        own = {str(getattr(one, "id", "")): Offer(one, OWN) for one in self._own}
        return own | {
            str(getattr(found.value, "id", "")): found
            for found in offers(self._group, self._kind, own)
        }

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._held)

    def offer(self, id: str) -> Offer[T]:
        """The object with this id and where it comes from, or an error that names those there
        are."""
        if not isinstance(id, str) or id not in self._held:
            raise unknown(self._word, id, list(self._held))
        return self._held[id]


def offers(group: str, kind: type[T], taken: Iterable[str]) -> tuple[Offer[T], ...]:
    """What installed packages offer in a group, in the order of their names; what cannot be used is
    warned of and left out."""
    found: list[Offer[T]] = []
    ids = set(taken)
    for source, name, values in _loaded(group):
        for value in values:
            if not isinstance(value, kind):
                _warn(source, name, f"holds a {type(value).__name__}, not a {kind.__name__}")
            elif (id := str(getattr(value, "id", ""))) in ids:
                _warn(source, name, f"offers {id!r}, an id that is taken")
            else:
                ids.add(id)
                found.append(Offer(value, source))
    return tuple(found)


@functools.cache
def _loaded(group: str) -> tuple[tuple[str, str, Sequence[Any]], ...]:
    """(package and version, entry point, objects) of a group; once in a process."""
    found = []
    for point in sorted(
        metadata.entry_points(group=group), key=lambda one: (_source(one), one.name)
    ):
        try:
            value = point.load()
            value = value() if callable(value) and not hasattr(value, "id") else value
            found.append(
                (
                    _source(point),
                    point.name,
                    tuple(value) if isinstance(value, list | tuple) else (value,),
                )
            )
        # somebody else's code: it may raise anything, and must not take ours with it
        except Exception as reason:
            _warn(_source(point), point.name, f"does not load ({type(reason).__name__}: {reason})")
    return tuple(found)


def _source(point: metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _warn(source: str, name: str, what: str) -> None:
    warnings.warn(
        f"{source}: its entry point {name!r} {what}; left out", RuntimeWarning, stacklevel=3
    )
