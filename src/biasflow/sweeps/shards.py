"""The shelf of one function in one version: a shard per chunk, its failures, its locks. The files
are the only truth.

about.json           which function, which version, and a checksum
<key>.nc             a shard: points stacked in netCDF, with their keys, settings and provenance
(see `encoding`) failures/<key>.json  points that failed: setting, traceback, and a checksum
locks/               chunks that a driver is computing now (see `locks`)
checkpoints/<key>/   how far a long point is (see `checkpoints`)
.<chunk>-*.part      a file that somebody is writing, or was when it was killed
*.damaged            a shard whose checksum was wrong, set aside
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .blocks import Stack, stack_from_bytes, stack_to_bytes
from .checkpoints import Checkpoint
from .encoding import read_trailer, sealed_json, unsealed_json
from .files import (
    UNFINISHED_SUFFIX,
    StoreError,
    read_whole,
    remove_file,
    replace_file,
    write_whole,
)

ABOUT_FILE, FAILURES, LOCKS, SHARD, DAMAGED = "about.json", "failures", "locks", ".nc", ".damaged"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Failure:
    """A point that raised, or that killed its worker. error: the exception itself, where it is at
    hand."""

    setting: Mapping[str, Any]
    kind: str
    message: str
    traceback: str
    error: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True)
class Shelf:
    """A folder of shards. token: tells this folder from one of the same name on another machine's
    disk."""

    folder: Path
    token: str

    def reachable(self) -> bool:
        """Whether this process sees the folder that the driver sees."""
        try:
            return bool(
                unsealed_json((self.folder / ABOUT_FILE).read_bytes())["token"] == self.token
            )
        except (OSError, ValueError):
            return False

    def put(
        self, chunk: str, keys: Sequence[str], settings: Sequence[Mapping[str, Any]], data: bytes
    ) -> str:
        """Write one shard that holds these points; its name."""
        name = shard_name(keys)
        write_whole(self.folder / name, data, prefix=f"{chunk}-")
        return name

    def checkpoint(self, key: str) -> Checkpoint:
        """Where the point of this key may keep how far it is."""
        return Checkpoint(self.folder / CHECKPOINTS / key)

    def put_failures(self, chunk: str, failures: Mapping[str, Failure]) -> None:
        """Record failures by the keys of their points."""
        entries = {}
        for key, failure in failures.items():
            entries[key] = {
                name: value for name, value in asdict(_bare(failure)).items() if name != "error"
            }
        path = self.folder / FAILURES / f"{_digest(failures)}.json"
        write_whole(path, sealed_json("failure", entries), prefix=f"{chunk}-")

    def read(self, name: str) -> Stack | None:
        """The points of a shard, or None, with a warning, where it is damaged; it is then set
        aside."""
        stack: Stack | None = read_whole(self.folder / name, stack_from_bytes)
        if stack is None:
            self._set_aside(name)
        return stack

    def trailer(self, name: str) -> dict[str, Any] | None:
        """Keys, settings and provenance of a shard, checksum verified."""
        trailer: dict[str, Any] | None = read_whole(self.folder / name, read_trailer)
        if trailer is None:
            self._set_aside(name)
        return trailer

    def shards(self) -> list[str]:
        try:
            return sorted(
                entry.name for entry in os.scandir(self.folder) if entry.name.endswith(SHARD)
            )
        except FileNotFoundError:
            return []
        except OSError as reason:
            raise StoreError(
                f"store: cannot read {self.folder}: {reason.strerror}; BIASFLOW_CACHE names "
                "another folder"
            ) from None

    def failures(self) -> dict[str, Failure]:
        """Recorded failures by key, the latest where there are several."""
        found: dict[str, Failure] = {}
        for path in self._failure_files():
            for key, entry in (read_whole(path, unsealed_json) or {}).items():
                found[key] = Failure(**entry)
        return found

    def forget_failures(self, done: Iterable[str]) -> None:
        """Delete records all of whose points have since been computed."""
        done = set(done)
        for path in self._failure_files():
            if set(read_whole(path, unsealed_json) or {}) <= done:
                remove_file(path)

    def sweep_up(self, chunk: str) -> None:
        """Delete what a killed writer left of this chunk; for the holder of its lock."""
        for folder in (self.folder, self.folder / FAILURES):
            for path in folder.glob(f".{chunk}-*{UNFINISHED_SUFFIX}"):
                remove_file(path)

    def _failure_files(self) -> list[Path]:
        dated = []
        for path in (self.folder / FAILURES).glob("*.json"):
            with contextlib.suppress(FileNotFoundError):  # another driver forgot it meanwhile
                dated.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(dated)]

    def _set_aside(self, name: str) -> None:
        path = self.folder / name
        try:
            replace_file(path, path.with_suffix(DAMAGED))
        except FileNotFoundError:
            pass
        except OSError as reason:
            warnings.warn(
                f"store: cannot set {path} aside: {reason.strerror}", RuntimeWarning, stacklevel=3
            )


class Index:
    """Which points are on a shelf, kept up to date by looking; built from the files alone."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.where: dict[str, str] = {}
        self.devices: set[str] = set()
        self._seen: set[str] = set()

    def refresh(self) -> None:
        """Take notice of shards that appeared or vanished."""
        present = self.shelf.shards()
        if gone := self._seen.difference(present):
            self.where = {key: name for key, name in self.where.items() if name not in gone}
            self._seen -= gone
        for name in present:
            if name not in self._seen and (trailer := self.shelf.trailer(name)) is not None:
                self._seen.add(name)
                self.devices.add(trailer["device"])
                for key in trailer["keys"]:
                    self.where[key] = min(name, self.where.get(key, name))

    def __contains__(self, key: str) -> bool:
        return key in self.where


def shard_bytes(
    keys: Sequence[str], settings: Sequence[Mapping[str, Any]], device: str, stack: Stack
) -> bytes:
    """InputError where the stack holds what cannot be stored."""
    return stack_to_bytes(
        stack, {"keys": list(keys), "settings": [dict(s) for s in settings], "device": device}
    )


def shard_name(keys: Iterable[str]) -> str:
    return f"{_digest(keys)}{SHARD}"


def _digest(keys: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(keys).encode()).hexdigest()[:40]


def _bare(failure: Failure) -> Failure:
    return Failure(dict(failure.setting), failure.kind, failure.message, failure.traceback)
