"""Print every public name with its signature: `python tests/print_signatures.py >
tests/signatures.txt`.

One line each, sorted: functions, classes with what makes them, their public methods and properties,
and the members of enumerations. A class is written out in its room; a flat name that stands for it
says only where.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import biasflow as bf

DEFAULT = re.compile(r"<(?:function |class '|)([\w.]+)(?:'| at 0x[0-9a-f]+|: [^>]*)>")
"""How Python writes a function, a class or a member of an enumeration that is a default."""


class _Written:
    """An annotation as it is written, without the quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def lines() -> list[str]:
    """Every public name of every room, a line each."""
    rooms = {name: getattr(bf, name) for name in bf.__all__ if inspect.ismodule(getattr(bf, name))}
    found = {}
    for room, module in rooms.items():
        for name in public_names(module):
            found[f"{room}.{name}"] = getattr(module, name)
    written = [line for path, value in found.items() for line in _of(path, value)]
    homes = {id(value): path for path, value in found.items()}
    for name in bf.__all__:
        value = getattr(bf, name)
        if name not in rooms:
            home = homes.get(id(value))
            written += [f"{name} = {home}"] if home else _of(name, value)
    return sorted(written)


def public_names(module: ModuleType) -> list[str]:
    named = getattr(module, "__all__", None)
    if named is not None:
        return list(named)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _of(path: str, value: Any) -> Iterator[str]:
    if inspect.ismodule(value):
        for name in public_names(value):
            yield from _of(f"{path}.{name}", getattr(value, name))
    elif isinstance(value, enum.EnumType):
        for member in value:
            yield f"{path}.{member.name} = {member.value!r}"
        yield from _members(path, value)
    elif inspect.isclass(value):
        is_error = issubclass(value, BaseException)
        yield f"{path}({value.__bases__[0].__name__})" if is_error else path + signature_of(value)
        if not is_error:
            yield from _members(path, value)
    elif callable(value):
        yield path + signature_of(value)
    else:
        yield f"{path}: {type(value).__name__}"


def _members(path: str, owner: type) -> Iterator[str]:
    """What a class itself defines; what it inherits is written where it comes from."""
    for name, value in vars(owner).items():
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, property | cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            returns = inspect.signature(getter).return_annotation
            yield f"{path}.{name}: {'' if returns is inspect.Signature.empty else returns}".rstrip()
        elif inspect.isfunction(value):
            yield f"{path}.{name}{signature_of(value)}"
        elif isinstance(value, classmethod | staticmethod):
            yield f"{path}.{name}{signature_of(getattr(owner, name))}"


def signature_of(value: Any) -> str:
    """As Python writes it, but for protocols and enumerations: versions differ on those."""
    if isinstance(value, enum.EnumType):
        return "(value)"
    if getattr(value, "_is_protocol", False):
        return "(…)"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    parameters = [
        parameter.replace(annotation=_plain(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    plain = signature.replace(
        parameters=parameters, return_annotation=_plain(signature.return_annotation)
    )
    return DEFAULT.sub(r"\1", str(plain))


def _plain(annotation: Any) -> Any:
    text = getattr(annotation, "__forward_arg__", annotation)
    return _Written(text) if isinstance(text, str) else annotation


if __name__ == "__main__":
    print("\n".join(lines()))
