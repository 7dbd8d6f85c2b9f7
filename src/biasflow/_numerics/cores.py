"""The cores of this machine, and work on all of them by threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


def available_cores() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(function: Callable[[Given], Found], items: Iterable[Given]) -> list[Found]:
    """The function of each item, in order, on all cores at once where it runs without the
    interpreter's lock, as compiled code does; linear algebra then has one thread in each."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), ThreadPoolExecutor(available_cores()) as pool:
        jobs = [pool.submit(copy_context().run, function, item) for item in items]
        return [job.result() for job in jobs]
