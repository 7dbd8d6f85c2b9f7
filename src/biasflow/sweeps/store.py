"""What was computed once: the shards of each sweep, and small records, by the hash of what made
them."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core.locations import cache_folder
from .encoding import canonical_json, sealed_json, unsealed_json
from .files import StoreError, read_whole, write_whole
from .shards import ABOUT_FILE, Shelf
from .versions import code_version, function_name, function_version, roots_of

SWEEPS, RECORDS, RESTS_ON = "sweeps", "records", "rests_on.json"
KEY_DIGITS = 40  # of SHA-256, in hexadecimal: 160 bits


@dataclass(frozen=True)
class Store:
    """A folder of results, with a subfolder for each version of each set of modules that results
    rest on.

    A file is written under a temporary name, synced and renamed: an interrupted run leaves whole
    files only. A damaged file counts as missing, with a warning.

        <code version>/rests_on.json                which modules the results here rest on
        <code version>/records/<key>.json           records, such as verdicts, with their checksums
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
        start = hashlib.sha256(
            "\0".join(("point", function_name(function), function_version(function), "")).encode()
        )

        def address(setting: Mapping[str, Any]) -> str:
            digest = start.copy()
            digest.update(canonical_json("setting", setting).encode())
            return digest.hexdigest()[:KEY_DIGITS]

        return address

    def shelf(self, function: Callable[..., Any], make: bool = True) -> Shelf:
        """Where the points of this function in its present version are; without `make` nothing is
        written for it."""
        name, version = function_name(function), function_version(function)
        safe = re.sub(r"[^A-Za-z0-9_.]+", "-", name.replace("biasflow.", ""))[-60:]
        tag = hashlib.sha256(f"{name}\0{version}".encode()).hexdigest()[:12]
        folder = self._rest_on(roots_of(function), make) / SWEEPS / f"{safe}-{tag}"
        about = folder / ABOUT_FILE
        found = read_whole(about, unsealed_json)
        if found is None:
            found = {"function": name, "version": version, "token": secrets.token_hex(8)}
            if make:
                write_whole(about, sealed_json("about", found))
                found = read_whole(about, unsealed_json) or found
        return Shelf(folder, str(found["token"]))

    def read_record(self, kind: str, roots: Iterable[str] = (), **fields: Any) -> Any:
        """A record, such as a verdict, as JSON gives it, or None; roots: modules that made it, by
        default all."""
        return read_whole(self._record(kind, roots, fields, make=False), unsealed_json)

    def write_record(
        self, record: Any, kind: str, roots: Iterable[str] = (), **fields: Any
    ) -> None:
        write_whole(self._record(kind, roots, fields, make=True), sealed_json("record", record))

    def _record(
        self, kind: str, roots: Iterable[str], fields: Mapping[str, Any], make: bool
    ) -> Path:
        text = "\0".join(("record", kind, canonical_json("record", fields)))
        key = hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]
        return self._rest_on(roots, make) / RECORDS / f"{key}.json"

    def _rest_on(self, roots: Iterable[str], make: bool) -> Path:
        """The folder of what rests on these modules as they are now."""
        chosen = sorted(set(roots))
        folder = self.folder.absolute() / code_version(*chosen)
        if make and not (folder / RESTS_ON).exists():
            write_whole(folder / RESTS_ON, sealed_json("roots", {"roots": chosen}))
        return folder


def default_store() -> Store:
    return Store(cache_folder())


__all__ = ["SWEEPS", "Store", "StoreError", "default_store"]
