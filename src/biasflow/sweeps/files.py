"""Whole files or none: temporary name, sync, rename; and errors that say what to do."""

from __future__ import annotations

import functools
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BiasflowError

UNFINISHED_SUFFIX = ".part"
"""How the names of files end that are still being written."""


SHARES = os.name != "nt"
"""Whether files can be replaced and removed while others read them; Windows refuses."""
READ_S = 2.0
"""For how long whoever reads such a file is waited for."""
LOOK_S = 0.02


class StoreError(BiasflowError, OSError):
    """The store cannot be read or written: read-only, full, not a folder."""


def read_whole(path: Path, parse: Callable[[bytes], Any]) -> Any:
    """What `parse` makes of the file; None where there is none, or, with a warning, where it is
    damaged."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as reason:
        raise StoreError(
            f"store: cannot read {path}: {reason.strerror}; BIASFLOW_CACHE names another folder"
        ) from None
    try:
        return parse(data)
    except (ValueError, KeyError, TypeError) as reason:
        warnings.warn(
            f"store: {path} is damaged ({reason}); computing it again", RuntimeWarning, stacklevel=4
        )
        return None


def write_whole(path: Path, data: bytes, prefix: str = "") -> None:
    """All of `data` under `path`, or nothing. The name of the temporary file starts with a dot and
    `prefix`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, data, prefix)
    except OSError as reason:
        raise StoreError(
            f"store: cannot write to {path.parent}: {reason.strerror}; BIASFLOW_CACHE names "
            "another folder"
        ) from None


def _write(path: Path, data: bytes, prefix: str) -> None:
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{prefix}", suffix=UNFINISHED_SUFFIX
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # as any new file: a store may be shared by a group
        replace_file(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def replace_file(source: Path | str, target: Path) -> None:
    """Rename over a file that is there, once nobody reads it."""
    _patiently(lambda: os.replace(source, target))


def remove_file(path: Path) -> None:
    """Delete a file if it is there, once nobody reads it."""
    _patiently(lambda: path.unlink(missing_ok=True))


def _patiently(change: Callable[[], None]) -> None:
    last = time.monotonic() + READ_S
    while True:
        try:
            return change()
        except PermissionError:
            if SHARES or time.monotonic() > last:
                raise
        time.sleep(LOOK_S)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened, and a rename is durable by itself
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@functools.cache
def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
