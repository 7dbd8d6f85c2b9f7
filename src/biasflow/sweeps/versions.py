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
from .closures import all_modules, closure, tree_hash
from .grids import Batched, Composed

PRESENTATION = ("cli", "report")  # the layers above every result: no number depends on them
# results of one version are never taken for those of another
COMPUTING = ("numpy", "scipy", "numba", "jax", "jaxlib")
LIBRARIES = ("biasflow", "numpy", "scipy", "numba", "jax", "jaxlib", "xarray", "matplotlib")


@functools.cache
def installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def environment() -> dict[str, str]:
    """Versions of Python and of the libraries that results rest on, and the hash of our own
    code."""
    libraries = {name: installed_version(name) or "not installed" for name in LIBRARIES}
    return {
        **libraries,
        "code": code_version(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


@functools.cache
def code_version(*roots: str) -> str:
    """A hash of the modules that these ones rest on, without their comments, and of the versions of
    the libraries below them.

    Without roots: of every module below the command line and the report, on which no number
    depends.
    """
    libraries = [f"{name} {installed_version(name)}" for name in COMPUTING]
    digest = hashlib.sha256("\0".join([platform.python_version(), *libraries]).encode())
    below = [
        name
        for name in all_modules()
        if name.split(".")[1:2] not in ([room] for room in PRESENTATION)
    ]
    for name, code in closure(roots or below).items():
        digest.update(f"{name}\0{code}\0".encode())
    return digest.hexdigest()[:16]


def parts_of(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The plain functions that a point function is made of."""
    return function.parts if isinstance(function, (Batched, Composed)) else (function,)


def short_name(function: Callable[..., Any]) -> str:
    """What progress calls it."""
    return getattr(
        parts_of(function)[-1 if isinstance(function, Composed) else 0], "__name__", "sweep"
    )


def function_name(function: Callable[..., Any]) -> str:
    """module:qualname of an importable function, or an error: a lambda or a closure has no name to
    remember it by."""
    return "+".join(_name(part) for part in parts_of(function))


def roots_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The modules of ours that define a point function; none, which stands for all, where it is
    from elsewhere."""
    parts = parts_of(function)
    return (
        () if any(map(_foreign, parts)) else tuple(dict.fromkeys(part.__module__ for part in parts))
    )


def function_version(function: Callable[..., Any]) -> str:
    """The version of the code it rests on and, for a function from elsewhere, a hash of the file
    (or cell) that defines it."""
    sources = [tree_hash(_source(part))[:16] for part in parts_of(function) if _foreign(part)]
    return "+".join([code_version(*roots_of(function)), *sources])


def from_cell(function: Callable[..., Any]) -> bool:
    """Whether some part was written in a notebook or at a prompt: no file can be imported for
    it."""
    main = sys.modules.get("__main__")
    return getattr(main, "__file__", None) is None and any(
        getattr(part, "__module__", "") == "__main__" for part in parts_of(function)
    )


def _foreign(function: Callable[..., Any]) -> bool:
    return function.__module__.partition(".")[0] != __name__.partition(".")[0]


def _name(function: Callable[..., Any]) -> str:
    module, name = (
        getattr(function, "__module__", None) or "",
        getattr(function, "__qualname__", None) or "",
    )
    try:
        importable = operator.attrgetter(name)(sys.modules[module]) is function
    except (AttributeError, KeyError):
        importable = False
    if not importable:
        raise InputError(
            "function: a store needs a function defined at the top of a module, found "
            f"{name or function!r}"
        )
    return f"{module}:{name}"


_FIRST_SEEN: dict[Any, bytes] = {}
"""The source of each code object when first asked for: what was imported, as long as the file had
not changed by then."""


def _source(function: Callable[..., Any]) -> bytes:
    try:
        source = Path(inspect.getsourcefile(function) or "").read_bytes()
        if _FIRST_SEEN.setdefault(getattr(function, "__code__", function), source) != source:
            raise InputError(
                f"function: the file of {_name(function)} has changed since it was imported; "
                "reload it, or start again, so that"
                " results are stored under the code that made them"
            )
        return source
    except OSError:
        pass
    try:
        return inspect.getsource(function).encode()
    except OSError:
        raise InputError(
            f"function: the source of {_name(function)} cannot be read, so the store could not "
            "tell its versions apart; define it in a file"
        ) from None
