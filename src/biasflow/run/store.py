"""What was computed once: the shards of each sweep, and small records, by the hash of what made them."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .encoding import canonical_json, sealed_json, unsealed_json
from .files import StoreError, read_whole, write_whole
from .locations import cache_folder
from .shards import ABOUT_FILE, Shelf
from .versions import code_version, function_name, function_version

SWEEPS = "sweeps"
KEY_DIGITS = 40  # of SHA-256, in hexadecimal: 160 bits


@dataclass(frozen=True)
class Store:
    """A folder of results, with a subfolder per code version.

    A file is written under a temporary name, synced and renamed: an interrupted run leaves whole files only.
    A damaged file counts as missing, with a warning.

        <code version>/<key>.json                   records, such as verdicts, with their checksums
        <code version>/sweeps/<function>-<version>/ the shelf of one function: see `shards`
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def key(self, function: Callable[..., Any], setting: Mapping[str, Any]) -> str:
        """The address of `function(**setting)`."""
        return self.addresses(function)(setting)

    def addresses(self, function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], str]:
        """From settings to addresses, for many settings of one function."""
        start = hashlib.sha256("\0".join(("point", function_name(function), function_version(function), "")).encode())

        def address(setting: Mapping[str, Any]) -> str:
            digest = start.copy()
            digest.update(canonical_json("setting", setting).encode())
            return digest.hexdigest()[:KEY_DIGITS]

        return address

    def shelf(self, function: Callable[..., Any], make: bool = True) -> Shelf:
        """Where the points of this function in its present version are; without `make` nothing is written for it."""
        name, version = function_name(function), function_version(function)
        safe = re.sub(r"[^A-Za-z0-9_.]+", "-", name.replace("biasflow.", ""))[-60:]
        tag = hashlib.sha256(f"{name}\0{version}".encode()).hexdigest()[:12]
        folder = self.folder.absolute() / code_version() / SWEEPS / f"{safe}-{tag}"
        about = folder / ABOUT_FILE
        found = read_whole(about, unsealed_json)
        if found is None:
            found = {"function": name, "version": version, "code": code_version(), "token": secrets.token_hex(8)}
            if make:
                write_whole(about, sealed_json("about", found))
                found = read_whole(about, unsealed_json) or found
        return Shelf(folder, str(found["token"]))

    def record_key(self, kind: str, **fields: Any) -> str:
        """The address of a record, such as a verdict."""
        parts = ("record", kind, code_version(), canonical_json("record", fields))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def read_record(self, key: str) -> Any:
        """The record as JSON gives it, or None."""
        return read_whole(self._record(key), unsealed_json)

    def write_record(self, key: str, record: Any) -> None:
        write_whole(self._record(key), sealed_json("record", record))

    def _record(self, key: str) -> Path:
        return self.folder / code_version() / f"{key}.json"


def default_store() -> Store:
    return Store(cache_folder())


__all__ = ["SWEEPS", "Store", "StoreError", "default_store"]
