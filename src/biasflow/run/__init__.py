"""Sweeps over grids of settings, and the store that remembers their points."""

from .locations import cache_folder, data_folder
from .store import Store, StoreError, default_store
from .sweeping import Progress, sweep
from .versions import code_version, environment

__all__ = [
    "Progress",
    "Store",
    "StoreError",
    "cache_folder",
    "code_version",
    "data_folder",
    "default_store",
    "environment",
    "sweep",
]
