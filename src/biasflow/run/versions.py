"""Which code made a result: versions for people, hashes for the store."""

from __future__ import annotations

import functools
import hashlib
import inspect
import operator
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..records import Batched, Composed

PACKAGE = Path(__file__).resolve().parents[1]
PRESENTATION = ("cli", "report")  # the layers above every result: no number depends on them
COMPUTING = ("numpy", "scipy", "numba", "jax", "jaxlib")  # results of one version are never taken for those of another
LIBRARIES = ("biasflow", "numpy", "scipy", "numba", "jax", "jaxlib", "xarray", "matplotlib")


def installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def environment() -> dict[str, str]:
    """Versions of Python and of the libraries that results rest on, and the hash of our own code."""
    libraries = {name: installed_version(name) or "not installed" for name in LIBRARIES}
    return {
        **libraries,
        "code": code_version(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


@functools.cache
def code_version() -> str:
    """A hash of the source files that results depend on, and of the versions of the libraries below them."""
    libraries = [f"{name} {installed_version(name)}" for name in COMPUTING]
    digest = hashlib.sha256("\0".join([platform.python_version(), *libraries]).encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] not in PRESENTATION:
            digest.update(relative.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def parts_of(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The plain functions that a point function is made of."""
    return function.parts if isinstance(function, (Batched, Composed)) else (function,)


def short_name(function: Callable[..., Any]) -> str:
    """What progress calls it."""
    return getattr(parts_of(function)[-1 if isinstance(function, Composed) else 0], "__name__", "sweep")


def function_name(function: Callable[..., Any]) -> str:
    """module:qualname of an importable function, or an error: a lambda or a closure has no name to remember it by."""
    return "+".join(_name(part) for part in parts_of(function))


def function_version(function: Callable[..., Any]) -> str:
    """The code version and, for a function from elsewhere, a hash of the file (or cell) that defines it."""
    foreign = [part for part in parts_of(function) if part.__module__.partition(".")[0] != __name__.partition(".")[0]]
    sources = [hashlib.sha256(_source(part)).hexdigest()[:16] for part in foreign]
    return "+".join([code_version(), *sources])


def _name(function: Callable[..., Any]) -> str:
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__qualname__", None) or ""
    try:
        importable = operator.attrgetter(name)(sys.modules[module]) is function
    except (AttributeError, KeyError):
        importable = False
    if not importable:
        raise InputError(f"function: a store needs a function defined at the top of a module, found {name or function!r}")
    return f"{module}:{name}"


_FIRST_SEEN: dict[Any, bytes] = {}
"""The source of each code object when first asked for: what was imported, as long as the file had not changed by then."""


def _source(function: Callable[..., Any]) -> bytes:
    try:
        source = Path(inspect.getsourcefile(function) or "").read_bytes()
        if _FIRST_SEEN.setdefault(getattr(function, "__code__", function), source) != source:
            raise InputError(
                f"function: the file of {_name(function)} has changed since it was imported; reload it, or start again, so that"
                " results are stored under the code that made them"
            )
        return source
    except OSError:
        pass
    try:
        return inspect.getsource(function).encode()
    except OSError:
        raise InputError(
            f"function: the source of {_name(function)} cannot be read, so the store could not tell its versions apart; "
            "define it in a file"
        ) from None
