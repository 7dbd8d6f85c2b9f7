"""Where a long call stands: one line on stderr while it runs.

Functions say what they do, and how far they are, by `doing`; what they say is asked for only when
the line is drawn. A thread draws it, so that it also moves while compiled code runs: the calls
themselves pay a microsecond each, and nothing in their loops. Threads that work for the main one
in a copy of its context (`_numerics.interrupts`) speak for it; others say nothing.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Words = str | Callable[[], str]
"""What is being done, or what to ask for it."""

PATIENCE_S = 2.0
"""Seconds before the line appears: shorter calls need none."""
REDRAW_S = 0.2
"""Seconds between two drawings."""
PLAIN_S = 10.0
"""Seconds between two lines of the command line in a pipe."""
USUAL_COLUMNS = 80
"""Of a terminal that does not say how wide it is."""
IDLE_S = 5.0
"""Seconds without a call after which the thread that draws ends."""
MOST_SHARE = 0.01
"""Of the time, what may be spent on asking and drawing."""


def progress(on: bool) -> bool:
    """Turn on or off the line that shows where a long call stands.

    From two seconds on, flows, limits, trainings, claims and certificates called in a terminal or
    a notebook show on stderr what they do and how far they are; the line is erased when the call
    ends. Other threads, other processes and pipes have none. `BIASFLOW_PROGRESS=0` in the
    environment turns it off, too, and so it does the bars of sweeps without `progress=True`.

    Parameters
    ----------
    on : bool

    Returns
    -------
    bool
        Whether it was on before.

    Examples
    --------
    >>> before = bf.progress(False)
    >>> bf.progress(before)
    False
    """
    from .arguments import instance  # loads NumPy, which the command line may not need

    before, _line.on = _line.on, instance("on", on, bool)
    _line.look_again()
    if not on:
        _line.erase()
    return before


def in_notebook() -> bool:
    """Whether what is displayed lands below a cell."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "ipykernel" in sys.modules


def on_terminal() -> bool:
    """Whether errors go to a terminal."""
    with suppress(AttributeError, OSError, ValueError):  # none, closed, or no file
        return bool(sys.stderr.isatty())
    return False


def is_seen() -> bool:
    """Whether somebody looks, and wants to: in a notebook, or in a terminal."""
    return _line.wanted and (in_notebook() or on_terminal())


def plain_lines() -> None:
    """In a pipe, write a line every ten seconds: what the command line does."""
    _line.plain = True
    _line.look_again()


def say(news: str) -> None:
    """Write a line of its own on stderr; the other comes back later."""
    _line.erase()
    _line.write(f"biasflow: {news}\n")


def display_below_cell() -> Callable[[Any], None]:
    """A display below the cell of a notebook that is updated in place, by text or markup."""
    from IPython.display import HTML, display

    from .markup import escaped

    handle: Any = display(HTML(""), display_id=True)
    return lambda content: handle.update(HTML(escaped(content)))


@contextmanager
def hidden() -> Iterator[None]:
    """No line while the block runs: it draws something of its own on stderr."""
    _line.hidden += 1
    _line.erase()
    try:
        yield
    finally:
        _line.hidden -= 1


_call: ContextVar[int] = ContextVar("call", default=0)
"""Number of the outermost call that code is part of."""


class doing:
    """While a block or a function runs, the line says these words, after those around it:
    `with doing(lambda: f"step {done}"):`, or `@doing("certify")`."""

    __slots__ = ("call", "depth", "words")

    def __init__(self, words: Words) -> None:
        self.words = words

    def __enter__(self) -> None:
        self.depth = _line.begin(self.words)
        self.call = _line.call

    def __exit__(self, *error: object) -> None:
        if self.depth >= 0:
            _line.end(self.call, self.depth)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            with doing(self.words):
                return function(*args, **named)

        return call


class _Line:
    """The words of the calls that run on the main thread, the outermost first, and the thread that
    draws them."""

    def __init__(self) -> None:
        self.on, self.plain, self.hidden = True, False, 0
        self.call = 0
        self._words: list[Words] = []
        self._begun, self._frame = 0.0, None
        self._lock, self._thread = threading.Lock(), None
        self._shown, self._below = 0, None
        self._stream, self._place = None, False

    call: int
    """Number of the outermost call."""
    _frame: FrameType | None
    """Of the outermost call."""
    _thread: threading.Thread | None
    _shown: int
    """Characters of the line on the terminal."""
    _below: Callable[[Any], None] | None
    """The display below a cell."""
    _stream: Any
    """That of errors when `_place` was looked up: whether there is where to draw."""

    @property
    def wanted(self) -> bool:
        """Whether nothing has turned the line off."""
        return self.on and os.environ.get("BIASFLOW_PROGRESS", "") != "0"

    def look_again(self) -> None:
        """Look anew for a place to draw at the next call."""
        self._stream = None

    def begin(self, words: Words) -> int:
        """Add words; the place where they are, or −1 where there is no line."""
        depth = len(self._words)
        if depth == 0:
            if threading.get_ident() != threading.main_thread().ident:
                return -1
            if self._stream is not sys.stderr:
                self._stream, self._place = sys.stderr, self._has_a_place()
            if self.hidden or not (self._place and self.on) or _in_doctest():
                return -1
            self._begun, self._frame = time.monotonic(), _owner(sys._getframe(2))
            self.call += 1
            _call.set(self.call)
            with self._lock:
                self._words.append(words)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._draw_on, daemon=True)
                    self._thread.start()
        elif _call.get() != self.call:
            return -1
        else:
            self._words.append(words)
        return depth

    def end(self, call: int, depth: int) -> None:
        """Take back the words of a call from this place on."""
        if call != self.call:  # a call that was left to end by itself
            return
        del self._words[depth:]
        if depth == 0:
            _call.set(0)
            self._frame = None
            self.erase()

    def erase(self) -> None:
        if self._shown or self._below:
            with self._lock:
                self._wipe()

    def _has_a_place(self) -> bool:
        """Whether there is where to draw; not in a worker process."""
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            return False
        return self.wanted and (self.plain or in_notebook() or on_terminal())

    def _draw_on(self) -> None:
        """Draw until no call has run for a while."""
        idle, call, then = 0.0, 0, 0.0
        while True:
            time.sleep(REDRAW_S)
            now = time.monotonic()
            if not self._words:
                idle += REDRAW_S
                with self._lock:
                    if idle > IDLE_S and not self._words:
                        self._thread = None
                        return
                continue
            idle = 0.0
            over_itself = in_notebook() or on_terminal()
            if self.call != call:
                call, then = self.call, self._begun + (PATIENCE_S if over_itself else PLAIN_S)
            if now < then or self.hidden or not self.wanted:
                continue
            spent = time.thread_time()
            text = self._text(now - self._begun)
            with self._lock:
                if not self._words or self.call != call or self.hidden:
                    continue
                if self._left():  # an exception came between
                    self._words.clear()
                    self._wipe()
                    continue
                self._draw(text)
            spent = time.thread_time() - spent
            then = now + max(0.0 if over_itself else PLAIN_S, spent / MOST_SHARE)

    def _left(self) -> bool:
        """Whether the outermost call is over, though nobody said so: an interrupt can come at any
        moment."""
        main = threading.main_thread().ident
        frame = sys._current_frames().get(main) if main is not None else None
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is None

    def _text(self, seconds: float) -> str:
        parts = []
        for words in list(self._words):
            try:
                said = words if isinstance(words, str) else words()
            except Exception:  # what it looks at may be changing under its hands
                continue
            if said and said not in parts:
                parts.append(said)
        minutes, rest = divmod(int(seconds), 60)
        took = f"{minutes} min {rest} s" if minutes else f"{rest} s"
        return f"biasflow: {' · '.join(parts)} ({took})"

    def _draw(self, text: str) -> None:
        if in_notebook():
            if self._below is None:
                self._below = display_below_cell()
            self._below(text)
        elif on_terminal():
            text = _printable(_shortened(text, _columns() - 1))
            # the cursor stays at the left: what others print there goes over the line
            self.write(f"\r{text}{' ' * (self._shown - len(text))}\r")
            self._shown = len(text)
        else:
            self.write(f"{text}\n")

    def _wipe(self) -> None:
        if self._shown:
            self.write(f"\r{' ' * self._shown}\r")
        if self._below is not None:
            self._below("")
        self._shown, self._below = 0, None

    @staticmethod
    def write(text: str) -> None:
        with suppress(AttributeError, OSError, ValueError):  # none, closed, or nobody reads it
            sys.stderr.write(text)
            sys.stderr.flush()


def _owner(frame: FrameType | None) -> FrameType | None:
    """The function whose block it is, where a context manager entered it."""
    while frame is not None and (
        frame.f_code.co_flags & CO_GENERATOR or frame.f_globals.get("__name__") == "contextlib"
    ):
        frame = frame.f_back
    return frame


def _in_doctest() -> bool:
    return type(sys.stdout).__module__ == "doctest"


def _columns() -> int:
    """Of the terminal that errors go to."""
    with suppress(AttributeError, OSError, ValueError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    return USUAL_COLUMNS


def _printable(text: str) -> str:
    """The text as errors' encoding has it, of as many characters."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _shortened(text: str, most: int) -> str:
    """The text without its middle where it is too long: its end changes."""
    if len(text) <= most:
        return text
    first = max(most // 4, 0)
    return f"{text[:first]}…{text[len(text) - max(most - first - 1, 0) :]}"


_line = _Line()
