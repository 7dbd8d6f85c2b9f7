"""Where results and downloads live."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`BIASFLOW_CACHE`, else `.biasflow` under the current folder."""
    return Path(os.environ.get("BIASFLOW_CACHE") or ".biasflow")


def data_folder() -> Path:
    """`BIASFLOW_DATA`, else `data` in the cache."""
    named = os.environ.get("BIASFLOW_DATA")
    return Path(named) if named else cache_folder() / "data"
