"""Sweeps over grids of settings, the engines that compute them, and the store that remembers their
points."""

from .._core.locations import cache_folder, data_folder
from .._numerics.cores import available_cores
from .dask_clusters import Dask
from .driver import Tally, Watch
from .engines import Engine, EngineError, Serial
from .files import StoreError
from .grids import Batched, Composed, Grid
from .processes import Processes
from .resumable import MOST_POINTS, Progress, SweepError, sweep
from .store import Store, default_store
from .versions import code_version, environment

__all__ = [
    "MOST_POINTS",
    "Batched",
    "Composed",
    "Dask",
    "Engine",
    "EngineError",
    "Grid",
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
