"""Compilation of Numba kernels: once, cached on disk, and announced while it happens.

Only entry points are cached. Numba's cache of a function looks at that function's own file and at
the variables it closes over, so an entry point closes over a stamp of all sources its kernels come
from: a change in any of them compiles anew. No process compiles what another is compiling: each
entry point has a lock beside its machine code, and whoever comes second waits, says so, and loads.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from .._core.progress import say
from .deadlines import Deadline
from .interrupts import apart, interrupted

apart(importlib.import_module, "numba")  # which, once cut short, cannot be imported again

import numba  # noqa: E402
from numba.core import caching, event  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
REORDERED = {"reassoc", "contract"}
"""Sums may be reordered, as vectorised loops need; infinities and NaN keep their meaning."""

KNOWN = "0.68."
"""Releases of Numba whose inner workings `linked_kernels` rests on. With others kernels are
compiled as Numba does it: the same results, after twice the time."""
LOOK_S = 0.1
"""Between two looks at a lock: short beside any compilation."""
PATIENCE_S = 600.0
"""Longer than anything here compiles on a busy machine: whoever holds a lock then is stopped or
stuck, and code is compiled without it."""
_Cache: Any = caching.FunctionCache  # without types
_Listener: Any = event.Listener
_events: Any = event


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
    return cast(Kernel, _linked(kernel, REORDERED))


def borrowing(kernel: Kernel) -> Kernel:
    """The same for a function that only works on arrays it is given and gives none back: whoever
    calls holds them, and no references are counted. To count takes an atomic addition for every
    array of every named tuple that is passed on: a quarter of the time of a small ReLU flow."""
    return cast(Kernel, _linked(kernel, REORDERED, counted=False))


def seldom(kernel: Kernel) -> Kernel:
    """`inner` for a function that seldom runs, or that leaves its work to others: quick to compile,
    and called where others are copied into their callers."""
    return cast(Kernel, _linked(kernel, REORDERED, seldom=True))


def seldom_borrowing(kernel: Kernel) -> Kernel:
    """`borrowing` for such a function."""
    return cast(Kernel, _linked(kernel, REORDERED, counted=False, seldom=True))


def ordered(kernel: Kernel) -> Kernel:
    """The same without reordering, where the order of operations carries the accuracy."""
    return cast(Kernel, _linked(kernel, {"contract"}))


def _linked(kernel: Kernel, fastmath: Any, **how: bool) -> Any:
    if numba.__version__.startswith(KNOWN):
        from .linked_kernels import linked

        return linked(kernel, fastmath, **how)
    compiled: Any = numba.njit
    return compiled(error_model="numpy", fastmath=fastmath)(kernel)


def _entry_options(drives: bool) -> dict[str, Any]:
    if not numba.__version__.startswith(KNOWN):
        return {}
    from .linked_kernels import ApartEntryCompiler, EntryCompiler

    chosen = ApartEntryCompiler if drives else EntryCompiler
    return {"pipeline_class": chosen, "no_cfunc_wrapper": True}


def entry(kernel: Kernel, drives: bool = False) -> Kernel:
    """Compile an entry point, cached on disk, by one process at a time; without the interpreter's
    lock, so that a clock can be watched meanwhile, and never in the main thread (`interrupts`).

    drives: whether it leaves its work to others, as `seldom`.
    """
    compiled: Any = numba.njit
    made = compiled(nogil=True, error_model="numpy", fastmath=REORDERED, **_entry_options(drives))(
        kernel
    )
    if hasattr(made, "compile"):  # else Numba is told to leave functions as they are
        _share(made)

    @functools.wraps(made)
    def call(*arguments: Any) -> Any:
        return apart(made, *arguments)

    return cast(Kernel, call)


def _share(made: Any) -> None:
    """Have a kernel cached on disk, and compiled under its lock."""
    made._cache = cache = SharedCache(made.py_func)
    compile_signature = made.compile

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock:  # threads take turns, as in Numba
            around = cache.turn  # of a compilation that this one is part of
            try:
                return compile_signature(signature)
            finally:
                if around is None:
                    cache.give_way()

    made.compile = compile_in_turn


class SharedCache(_Cache):
    """Machine code on disk: where it is missing, this process takes the turn to compile it, or
    waits for the one that does."""

    turn: IO[str] | None = None

    @property
    def lock(self) -> Path:
        """The file that is locked, as long as a process compiles."""
        return Path(self.cache_path, f"{self._impl.filename_base}.lock")

    def load_overload(self, signature: Any, target: Any) -> Any:
        found = super().load_overload(signature, target)
        if found is None and self.turn is None:
            with suppress(OSError):  # no place for it: each process compiles for itself
                self._impl.locator.ensure_cache_path()
                self.turn = _locked(self.lock)
            found = super().load_overload(signature, target)
        return found

    def give_way(self) -> None:
        """Let the next process go on."""
        if self.turn is not None:
            import fcntl

            fcntl.flock(self.turn, fcntl.LOCK_UN)  # a forked child has the file open too
            self.turn.close()
        self.turn = None


def _locked(path: Path) -> IO[str] | None:
    """The file, locked until it is closed or this process ends; None where files have no locks, or
    after long waiting."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    file = open(path, "a+", encoding="ascii")  # noqa: SIM115
    last, said = time.monotonic() + PATIENCE_S, False
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if not said:
                file.seek(0)
                holder, asked = file.read().strip(), _asked.get()
                kernels = path.name.partition("-")[0] if asked is None else asked.kernels
                say(f"waiting for process {holder}, which is compiling the {kernels} kernels")
            said = True
            if time.monotonic() > last:
                file.close()
                return None
            time.sleep(LOOK_S)
        file.truncate(0)
        file.write(f"{os.getpid()}")
        file.flush()
    except BaseException:
        file.close()
        raise
    return file


class _Asked:
    """Who may have to wait for kernels, and for which; `outer` asked for the call that this one is
    part of."""

    __slots__ = ("deadline", "kernels", "outer", "said")

    def __init__(self, kernels: str, deadline: Deadline | None, outer: _Asked | None) -> None:
        self.kernels, self.deadline, self.outer, self.said = kernels, deadline, outer, False

    @property
    def clocks(self) -> list[Deadline]:
        rest = [] if self.outer is None else self.outer.clocks
        return rest if self.deadline is None else [self.deadline, *rest]


_asked: ContextVar[_Asked | None] = ContextVar("asked", default=None)


class _Announcer(_Listener):
    """Says once that kernels are being compiled, where this thread has asked for them."""

    def on_start(self, event: Any) -> None:
        asked = _asked.get()
        if asked is not None and not asked.said:
            asked.said = True
            say(f"compiling the {asked.kernels} kernels; this takes up to a minute of a core, once")

    def on_end(self, event: Any) -> None:
        pass


class _ClockStop(_Listener):
    """Stops the clocks of the thread that it is told in. Numba takes its lock to load a kernel as
    well as to compile one."""

    def on_start(self, event: Any) -> None:
        asked = _asked.get()
        for clock in [] if asked is None else asked.clocks:
            clock.pause()

    def on_end(self, event: Any) -> None:
        asked = _asked.get()
        for clock in [] if asked is None else asked.clocks:
            clock.resume()


class _Interrupted(_Listener):
    """Ends a compilation between two of its passes after Ctrl-C."""

    def on_start(self, event: Any) -> None:
        if interrupted():
            raise KeyboardInterrupt

    def on_end(self, event: Any) -> None:
        pass


_events.register("numba:compile", _Announcer())
_events.register("numba:run_pass", _Interrupted())
_events.register("numba:compiler_lock", _ClockStop())


def announced(
    kernels: str, call: Callable[..., Any], *arguments: Any, deadline: Deadline | None = None
) -> Any:
    """Call, and say so on stderr if something has to be compiled first; `kernels` says what, as in
    'dual flow'.

    deadline: a clock that stands still while this thread compiles kernels, loads them from disk, or
    waits for its turn to.
    """
    token = _asked.set(_Asked(kernels, deadline, _asked.get()))
    try:
        return call(*arguments)
    finally:
        _asked.reset(token)
