"""Compilation of Numba kernels: once, cached on disk, and announced while it happens.

Only entry points are cached. Numba's cache of a function looks at that function's own file and at
the variables it closes over,
so an entry point closes over a stamp of all sources its kernels come from: a change in any of them
compiles anew.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from .deadlines import Deadline
from .linked_kernels import linked

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
REORDERED = {"reassoc", "contract"}
"""Sums may be reordered, as vectorised loops need; infinities and NaN keep their meaning."""


def stamp(*sources: str) -> int:
    """A number that changes with any of the source files, and with how they are compiled, which is
    said here."""
    here = Path(__file__)
    said = (here, here.with_name("linked_kernels.py"), *map(Path, sources))
    contents = b"".join(source.read_bytes() for source in said)
    return int(hashlib.sha256(contents).hexdigest()[:12], 16)


def stamp_of_folder(file: str) -> int:
    """The stamp of all modules beside a file that have compiled code."""
    beside = sorted(Path(file).parent.glob("*.py"))
    return stamp(*(str(path) for path in beside if "compilation import" in path.read_text("utf-8")))


def inner(kernel: Kernel) -> Kernel:
    """Compile a function that entry points call, and only they can."""
    return cast(Kernel, linked(kernel, REORDERED))


def ordered(kernel: Kernel) -> Kernel:
    """The same without reordering, where the order of operations carries the accuracy."""
    return cast(Kernel, linked(kernel, {"contract"}))


def finite(kernel: Kernel) -> Kernel:
    """The same for finite numbers only, as the vectorised maximum needs."""
    return cast(Kernel, linked(kernel, True))


def entry(kernel: Kernel) -> Kernel:
    """Compile an entry point, cached on disk; without the interpreter's lock, so that a clock can
    be watched meanwhile."""
    return cast(
        Kernel, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDERED)(kernel)
    )


def announced(
    kernels: str, call: Callable[..., Any], *arguments: Any, deadline: Deadline | None = None
) -> Any:
    """Call, and say so on stderr if something has to be compiled first; `kernels` says what, as in
    'dual flow'.

    deadline: a clock that stands still while this thread compiles kernels, loads them from disk, or
    waits for its turn to.
    """
    from numba.core import event

    caller = threading.get_ident()

    class Announce(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                print(
                    f"biasflow: compiling the {kernels} kernels; this happens once and is cached",
                    file=sys.stderr,
                    flush=True,
                )
            self.said = True

        def on_end(self, event: Any) -> None:
            pass

    class Clock(event.Listener):
        """Numba takes its lock to load a kernel as well as to compile one, and tells all
        threads."""

        def on_start(self, event: Any) -> None:
            if deadline is not None and threading.get_ident() == caller:
                deadline.pause()

        def on_end(self, event: Any) -> None:
            if deadline is not None and threading.get_ident() == caller:
                deadline.resume()

    with (
        event.install_listener("numba:compile", Announce()),
        event.install_listener("numba:compiler_lock", Clock()),
    ):
        return call(*arguments)
