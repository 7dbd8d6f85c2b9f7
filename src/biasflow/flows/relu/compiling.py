"""Compilation of the kernels: once, cached on disk, and announced while it happens.

Only the entry points are cached. Numba's cache of a function looks at that function's own file, so each entry point closes over a
stamp of all kernel sources: a change in any of them compiles anew.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
KERNELS = ("algebra", "aside", "crossing", "descending", "early", "field", "layout", "marching", "sliding", "tableau")
_SOURCES = b"".join((Path(__file__).parent / f"{name}.py").read_bytes() for name in KERNELS)
STAMP = int(hashlib.sha256(_SOURCES).hexdigest()[:12], 16)
"""A number that changes with any module of kernels."""


REORDER = {"reassoc", "contract"}
"""Freedoms of the compiler: sums in any order, so that they vectorise; NaN and infinity keep their meaning."""


def inner(kernel: Kernel) -> Kernel:
    """Compile a function that entry points call."""
    return cast(Kernel, numba.njit(error_model="numpy", fastmath=REORDER)(kernel))


def entry(kernel: Kernel) -> Kernel:
    """Compile an entry point, cached on disk."""
    return cast(Kernel, numba.njit(cache=True, error_model="numpy", fastmath=REORDER)(kernel))


def announced(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call, and say so on stderr if something has to be compiled first."""
    from numba.core import event

    class Announce(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                print("biasflow: compiling the ReLU kernels; this happens once and is cached", file=sys.stderr, flush=True)
            self.said = True

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Announce()):
        return call(*arguments)
