"""Compilation of the kernels: once, cached on disk, and announced while it happens.

Only the entry points are cached. Numba's cache of a function looks at that function's own file, so
each entry point closes over a
stamp of all kernel sources: a change in any of them compiles anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from ..._numerics.compilation import announced as announce, stamp
from ..._numerics.deadlines import Deadline

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
KERNELS = (
    "detours",
    "dormand_prince",
    "early_phase",
    "event_march",
    "events",
    "gated_field",
    "layout",
    "sliding_modes",
    "small_algebra",
)
STAMP = stamp(__file__, *(str(Path(__file__).parent / f"{name}.py") for name in KERNELS))
"""A number that changes with any module of kernels."""


REORDER = {"reassoc", "contract"}
"""Freedoms of the compiler: sums in any order, so that they vectorise; NaN and infinity keep their
meaning."""


def inner(kernel: Kernel) -> Kernel:
    """Compile a function that entry points call."""
    return cast(Kernel, numba.njit(error_model="numpy", fastmath=REORDER)(kernel))


def entry(kernel: Kernel) -> Kernel:
    """Compile an entry point, cached on disk; without the interpreter's lock, so that a clock can
    be watched meanwhile."""
    return cast(
        Kernel, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)(kernel)
    )


def announced(call: Callable[..., Any], *arguments: Any, deadline: Deadline | None = None) -> Any:
    """Call, and say so on stderr if something has to be compiled first; the clock of a deadline
    stands still meanwhile."""
    return announce("ReLU", call, *arguments, deadline=deadline)
