"""The kernels that tests use, compiled once for all of their processes: `python
tests/warm_kernels.py [FAMILY …]`. Whoever comes second waits for the lock of an entry point."""

from __future__ import annotations

import functools
import sys

from biasflow.cli.warm_command import FAMILIES


@functools.cache
def warm(family: str) -> None:
    """Compile or load a family of kernels, in this process once."""
    FAMILIES[family].call()


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        warm(name)
