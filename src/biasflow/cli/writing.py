"""Where a command may write, asked before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError


def file_to_write(option: str, path: Path) -> Path:
    """The file behind `path`, links followed; InputError where a file cannot be written there.

    Files are written under another name and renamed, which would replace a link or a device node
    instead of writing to it.
    """
    try:
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise InputError(f"{option}: the folder {path.parent} does not exist")
        if target.is_dir():
            raise InputError(f"{option}: {path} is a folder, not a file")
        if target.exists() and not target.is_file():
            raise InputError(f"{option}: {path} is a device or a pipe; give the name of a file")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise InputError(f"{option}: {path} cannot be written: permission denied")
    except OSError as reason:
        raise InputError(f"{option}: {path} cannot be written: {reason.strerror}") from None
    return target
