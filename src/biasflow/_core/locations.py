"""Where results and data files lie."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`BIASFLOW_CACHE`, else `.biasflow` under the current folder."""
    return Path(os.environ.get("BIASFLOW_CACHE") or ".biasflow")


def data_folder() -> Path:
    """`BIASFLOW_DATA`, else `biasflow` in the user's data home (on Linux `XDG_DATA_HOME`, by
    default ~/.local/share)."""
    named = os.environ.get("BIASFLOW_DATA")
    return Path(named) if named else platformdirs.user_data_path("biasflow", appauthor=False)
