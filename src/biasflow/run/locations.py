"""Where results and downloads live."""

from __future__ import annotations

import os
from pathlib import Path

from ..data.image_sets import data_folder

__all__ = ["cache_folder", "data_folder"]


def cache_folder() -> Path:
    """`BIASFLOW_CACHE`, else `.biasflow` under the current folder."""
    return Path(os.environ.get("BIASFLOW_CACHE") or ".biasflow")
