"""Where data sets lie."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """`BIASFLOW_DATA`, else `biasflow` in the user's data home (`XDG_DATA_HOME`, by default
    ~/.local/share)."""
    named = os.environ.get("BIASFLOW_DATA")
    if named:
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "biasflow"
