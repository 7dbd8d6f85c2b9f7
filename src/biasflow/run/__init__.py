"""Sweeps over grids of settings, the engines that compute them, and the store that remembers their
points."""

from .clusters import Dask
from .driving import Tally, Watch
from .engines import Engine, EngineError, Serial
from .files import StoreError
from .locations import cache_folder, data_folder
from .processes import Processes, available_cores
from .store import Store, default_store
from .sweeping import MOST_POINTS, Progress, SweepError, sweep
from .versions import code_version, environment

__all__ = [
    "MOST_POINTS",
    "Dask",
    "Engine",
    "EngineError",
    "Processes",
    "Progress",
    "Serial",
    "Store",
    "StoreError",
    "SweepError",
    "Tally",
    "Watch",
    "available_cores",
    "cache_folder",
    "code_version",
    "data_folder",
    "default_store",
    "environment",
    "sweep",
]
