"""What a store holds, for people: how a sweep stands, what earlier code left, what can go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .encoding import unsealed_json
from .files import UNFINISHED_SUFFIX, StoreError, remove_file
from .locks import live_locks
from .shards import ABOUT_FILE, DAMAGED, FAILURES, LOCKS, Index, Shelf
from .store import RESTS_ON, SWEEPS, Store
from .versions import code_version


@dataclass(frozen=True)
class Survey:
    """A shelf, or the records beside it. current: made by the code that is running.

    A function from a user's file is current whatever its own version, as that file is not at hand.
    """

    folder: Path
    function: str
    version: str
    current: bool
    points: int
    failed: int
    running: int
    abandoned: int
    leftovers: int
    bytes: int


def survey(store: Store) -> list[Survey]:
    """Every shelf of the store, those of the present code first."""
    try:
        if store.folder.exists() and not store.folder.is_dir():
            raise StoreError(f"store: {store.folder} is not a folder; BIASFLOW_CACHE names another")
    except OSError as reason:
        if isinstance(reason, StoreError):
            raise
        raise StoreError(
            f"store: cannot look at {store.folder}: {reason.strerror}; BIASFLOW_CACHE names another"
        ) from None
    found = [
        _surveyed(about.parent) for about in sorted(store.folder.glob(f"*/{SWEEPS}/*/{ABOUT_FILE}"))
    ]
    return sorted(found, key=lambda one: (not one.current, one.function, one.version))


def _surveyed(folder: Path) -> Survey:
    try:
        about = unsealed_json((folder / ABOUT_FILE).read_bytes())
    except (OSError, ValueError):
        about = {}
    shelf = Shelf(folder, str(about.get("token", "")))
    index = Index(shelf)
    index.refresh()
    running, abandoned = live_locks(folder / LOCKS)
    leftovers = sum(
        1 for place in (folder, folder / FAILURES) for path in place.glob("*") if _is_rubbish(path)
    )
    size = sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
    return Survey(
        folder,
        str(about.get("function", "unknown")),
        str(about.get("version", "unknown")),
        is_current(folder.parents[1]),
        len(index.where),
        sum(key not in index for key in shelf.failures()),
        running,
        abandoned,
        leftovers,
        size,
    )


def stale_folders(store: Store) -> list[Path]:
    """Folders of other code versions: sweeps and records that the present code never reads."""
    return [path for path in all_folders(store) if not is_current(path)]


def is_current(folder: Path) -> bool:
    """Whether the modules that the results in this folder rest on are still what they were."""
    try:
        roots = unsealed_json((folder / RESTS_ON).read_bytes())["roots"]
        return code_version(*roots) == folder.name
    except (OSError, ValueError, KeyError, TypeError):  # earlier biasflows wrote none
        return False


def all_folders(store: Store) -> list[Path]:
    return [
        path for path in sorted(store.folder.glob("*")) if path.is_dir() and _is_version(path.name)
    ]


def remove(folders: Iterable[Path]) -> None:
    """Delete folders; StoreError where a driver is at work in one, before anything is deleted."""
    folders = list(folders)
    for folder in folders:
        for locks in [*folder.glob(f"{SWEEPS}/*/{LOCKS}"), folder / LOCKS]:
            if live_locks(locks)[0]:
                raise StoreError(f"store: a sweep is running in {locks.parent}; stop it first")
    for folder in folders:
        try:
            shutil.rmtree(folder)
        except OSError as reason:
            raise StoreError(f"store: cannot delete {folder}: {reason.strerror}") from None


def tidy(store: Store) -> int:
    """Delete what killed writers left, and shards set aside as damaged, on shelves where nobody is
    at work; how many files."""
    count = 0
    for one in survey(store):
        if not one.running:
            for place in (one.folder, one.folder / FAILURES, one.folder / LOCKS):
                for path in place.glob("*"):
                    if _is_rubbish(path) or path.suffix == ".lock":
                        remove_file(path)
                        count += 1
    return count


def _is_rubbish(path: Path) -> bool:
    return path.name.endswith((UNFINISHED_SUFFIX, DAMAGED))


def _is_version(name: str) -> bool:
    return len(name) == len(code_version()) and all(letter in "0123456789abcdef" for letter in name)
