"""What a long training needs to go on after it was killed: arrays in parts, and one record that
says what they are.

checkpoint.json      whose it is, its state, its parts; a SHA-256 (see `encoding`)
<save>-<part>.npy    arrays, in pieces of at most 15 MB, each with its SHA-256 in the record

Parts of a new save have new names; the record is replaced when they are on disk, and the old parts
go after that. Whenever a writer is killed or the disk is full, a whole checkpoint is there: the new
one or the last. Nothing is pickled.
"""

from __future__ import annotations

import contextvars
import hashlib
import io
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array
from ..errors import BiasflowError
from .encoding import canonical_json, sealed_json, unsealed_json
from .files import UNFINISHED_SUFFIX, StoreError, read_whole, write_whole

RECORD, PART = "checkpoint.json", ".npy"
FORMAT = 1
MOST_PART_BYTES = 15_000_000
SAVE_EVERY_S = 20.0
"""Seconds between saves: what a kill costs at most."""


class CheckpointError(BiasflowError, ValueError):
    """A checkpoint that is whole and of something else: another network, data set or version."""


@dataclass(frozen=True, eq=False)
class Saved:
    """What was saved: arrays by name, and a state as JSON gives it."""

    arrays: dict[str, Array]
    state: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which one training keeps its last state. every_s: seconds between saves."""

    folder: Path
    every_s: float = SAVE_EVERY_S

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def part(self, name: str) -> Checkpoint:
        """That of one of several trainings."""
        return Checkpoint(self.folder / name, self.every_s)

    def save(
        self, arrays: Mapping[str, Any], state: Mapping[str, Any], of: Mapping[str, Any]
    ) -> None:
        """Replace what is here. of: what identifies the training, compared when it is loaded.

        Raises StoreError where it cannot be written, a full disk for one; what was saved before is
        then still here.
        """
        mark, held = secrets.token_hex(4), []
        try:
            for name, array in arrays.items():
                held.append(self._written(name, np.asarray(array), mark))
            record = {"format": FORMAT, "of": dict(of), "state": dict(state), "arrays": held}
            write_whole(self.folder / RECORD, sealed_json("checkpoint", record))
        except BaseException:
            self._delete(lambda name: name.startswith(mark))
            raise
        self._delete(lambda name: not name.startswith(mark))

    def keep(
        self, arrays: Mapping[str, Any], state: Mapping[str, Any], of: Mapping[str, Any]
    ) -> None:
        """Save, or warn: a disk that is full costs the checkpoint, not the training."""
        try:
            self.save(arrays, state, of)
        except StoreError as reason:
            warnings.warn(
                f"checkpoint: not written, the last one stays and the training goes on ({reason})",
                RuntimeWarning,
                stacklevel=2,
            )

    def _written(self, name: str, array: Array, mark: str) -> dict[str, Any]:
        """One array in parts; how to put it together."""
        flat = np.ascontiguousarray(array).reshape(-1)
        rows = max(1, (MOST_PART_BYTES - 256) // flat.itemsize)
        parts = []
        for start in range(0, flat.size, rows):
            buffer = io.BytesIO()
            np.save(buffer, flat[start : start + rows], allow_pickle=False)
            data, file = buffer.getvalue(), f"{mark}-{secrets.token_hex(4)}{PART}"
            write_whole(self.folder / file, data, prefix=f"{mark}-")
            parts.append([file, hashlib.sha256(data).hexdigest()])
        return {"name": name, "dtype": flat.dtype.str, "shape": list(array.shape), "parts": parts}

    def load(self, of: Mapping[str, Any]) -> Saved | None:
        """What was saved; None where nothing is, or, with a warning, where it is damaged.

        Raises CheckpointError where it is whole and of another training.
        """
        record = read_whole(self.folder / RECORD, unsealed_json)
        if record is None:
            return None
        self._refuse_another(record, of)
        try:
            arrays = {held["name"]: self._read(held) for held in record["arrays"]}
        except (OSError, ValueError, KeyError) as reason:
            warnings.warn(
                f"checkpoint: {self.folder} is damaged ({reason}); this training begins anew",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
        return Saved(arrays, record["state"])

    def _read(self, held: Mapping[str, Any]) -> Array:
        pieces = [np.zeros(0, held["dtype"])]
        for file, sha in held["parts"]:
            data = (self.folder / Path(file).name).read_bytes()
            if hashlib.sha256(data).hexdigest() != sha:
                raise ValueError(f"{file}: checksum differs")
            pieces.append(np.load(io.BytesIO(data), allow_pickle=False))
        return np.concatenate(pieces).reshape(held["shape"])

    def _refuse_another(self, record: Mapping[str, Any], of: Mapping[str, Any]) -> None:
        expected = {"format": FORMAT, **of}
        found = {"format": record.get("format"), **record.get("of", {})}
        for name in expected:
            ours, theirs = (canonical_json(name, one.get(name)) for one in (expected, found))
            if ours != theirs:
                raise CheckpointError(
                    f"checkpoint: {self.folder} is of another {name}: {theirs}, where {ours} is "
                    "asked for; name another folder, or delete this one to begin anew"
                )

    def forget(self) -> None:
        """Delete it: its result is stored."""
        with suppress(OSError):
            shutil.rmtree(self.folder)

    def _delete(self, unwanted: Callable[[str], bool]) -> None:
        for path in [*self.folder.glob(f"*{PART}"), *self.folder.glob(f".*{UNFINISHED_SUFFIX}")]:
            if unwanted(path.name.removeprefix(".")):
                with suppress(OSError):
                    path.unlink()


_CURRENT: contextvars.ContextVar[Checkpoint | None] = contextvars.ContextVar(
    "checkpoint", default=None
)


def current_checkpoint() -> Checkpoint | None:
    """That of the point which is being computed; None where there is no store."""
    return _CURRENT.get()


@contextmanager
def checkpointing(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Let what is computed inside keep its state there."""
    token = _CURRENT.set(checkpoint)
    try:
        yield
    finally:
        _CURRENT.reset(token)
