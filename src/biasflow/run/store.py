"""What was computed once: the dataset of each point, and small records, by the hash of what made them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BiasflowError
from .encoding import canonical_json, decode, encode
from .locations import cache_folder
from .versions import code_version, function_name, function_version

if TYPE_CHECKING:
    import xarray


class StoreError(BiasflowError, OSError):
    """The store cannot be read or written: read-only, full, not a folder."""


@dataclass(frozen=True)
class Store:
    """A folder of results, one file a result, in a subfolder per code version.

    A file is written under a temporary name, synced and renamed: an interrupted run leaves whole files only.
    A damaged file counts as missing, with a warning.
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def key(self, function: Callable[..., Any], setting: Mapping[str, Any]) -> str:
        """The address of `function(**setting)`."""
        return _hash("point", function_name(function), function_version(function), canonical_json("setting", setting))

    def record_key(self, kind: str, **fields: Any) -> str:
        """The address of a record, such as a verdict."""
        return _hash("record", kind, code_version(), canonical_json("record", fields))

    def read(self, key: str) -> xarray.Dataset | None:
        return self._read(self._path(key, "nc"), decode)

    def write(self, key: str, dataset: xarray.Dataset) -> None:
        self._write(self._path(key, "nc"), encode(dataset))

    def read_record(self, key: str) -> Any:
        """The record as JSON gives it, or None."""
        return self._read(self._path(key, "json"), json.loads)

    def write_record(self, key: str, record: Any) -> None:
        self._write(self._path(key, "json"), canonical_json("record", record).encode())

    def _path(self, key: str, suffix: str) -> Path:
        return self.folder / code_version() / f"{key}.{suffix}"

    def _read(self, path: Path, parse: Callable[[bytes], Any]) -> Any:
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as reason:
            raise StoreError(f"store: cannot read {path}: {reason.strerror}; BIASFLOW_CACHE names another folder") from None
        try:
            return parse(data)
        except (ValueError, KeyError, TypeError) as reason:
            warnings.warn(f"store: {path} is damaged ({reason}); computing it again", RuntimeWarning, stacklevel=4)
            return None

    def _write(self, path: Path, data: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, data)
        except OSError as reason:
            raise StoreError(
                f"store: cannot write to {self.folder}: {reason.strerror}; BIASFLOW_CACHE names another folder"
            ) from None


def default_store() -> Store:
    return Store(cache_folder())


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _write_whole(path: Path, data: bytes) -> None:
    """All of `data` under `path`, or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened, and a rename is durable by itself
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
