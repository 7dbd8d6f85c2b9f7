"""Datasets as bytes: netCDF by SciPy, a JSON trailer, a checksum; every supported value comes back
as it went in.

netCDF 3 has no booleans and no 64-bit integers, and its attributes lose their types, so the
original types, attributes and order travel as JSON in one attribute. Readers of netCDF ignore what
follows the body:

    netCDF body | trailer (JSON) | length of the trailer (8 bytes, big-endian) | SHA-256 of all
    before
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .files import write_whole

if TYPE_CHECKING:
    import xarray

ABOUT = "biasflow"
CHECKSUM_BYTES = hashlib.sha256().digest_size
LENGTH_BYTES = 8
SEALED_FORMAT = b'{"sha256":"%b","content":%b}'
EXACT_INTEGER = 2**53  # integers up to here are floats without loss


def canonical_json(name: str, value: Any) -> str:
    """Sorted, compact JSON; NumPy scalars and arrays as numbers and lists."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    except TypeError as reason:
        raise InputError(
            f"{name}: expected numbers, strings, None, lists and mappings of them; {reason}"
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"found {type(value).__name__} {value!r}")


def sealed_json(name: str, value: Any) -> bytes:
    """`value` as JSON together with the SHA-256 of its text: {"sha256":"…","content":…}."""
    text = canonical_json(name, value).encode()
    return SEALED_FORMAT % (hashlib.sha256(text).hexdigest().encode(), text)


def unsealed_json(data: bytes) -> Any:
    """The value, or ValueError where the bytes are not what was written."""
    text = data[len(SEALED_FORMAT % (bytes(2 * CHECKSUM_BYTES), b"")) - 1 : -1]
    if data != SEALED_FORMAT % (hashlib.sha256(text).hexdigest().encode(), text):
        raise ValueError("checksum differs")
    return json.loads(text)


def encode(dataset: xarray.Dataset, trailer: Mapping[str, Any] | None = None) -> bytes:
    variables = {
        name: (v.dims, as_written(v.values), dict(v.attrs)) for name, v in dataset.variables.items()
    }
    return encode_variables(
        variables, {"attrs": dict(dataset.attrs), "coords": list(dataset.coords)}, trailer or {}
    )


def encode_variables(
    variables: Mapping[Any, tuple[Sequence[Any], Any, dict[str, Any]]],
    about: dict[str, Any],
    trailer: Mapping[str, Any],
) -> bytes:
    """Names with dimensions, values and attributes as bytes. By SciPy directly: a shard of one
    point would wait for xarray."""
    from scipy.io import netcdf_file

    described, buffer = [], _Buffer()
    with netcdf_file(buffer, "w", mmap=False) as file:
        for name, (dims, values, attrs) in variables.items():
            written = _packed(name, values)
            described.append(
                [name, values.dtype.str, attrs, None if values.size else [list(dims), values.shape]]
            )
            if values.size:  # netCDF 3 takes a length of zero for a growing dimension
                _put(file, name, dims, written)
        setattr(file, ABOUT, canonical_json("attrs", {**about, "variables": described}).encode())
    tail = canonical_json("attrs", dict(trailer)).encode()
    whole = buffer.content + tail + len(tail).to_bytes(LENGTH_BYTES, "big")
    return whole + hashlib.sha256(whole).digest()


class _Buffer(io.BytesIO):
    """Keeps its content when SciPy closes it."""

    content = b""

    def close(self) -> None:
        if not self.closed:
            self.content = self.getvalue()
        super().close()


def _put(file: Any, name: str, dims: Sequence[Any], values: Any) -> None:
    """One variable; strings as characters, the way xarray reads them."""
    encoding = values.dtype.kind == "U"
    if encoding:
        fixed = np.char.encode(values, "utf-8")
        fixed = fixed.astype(f"S{max(1, fixed.dtype.itemsize)}")
        values = (
            np.ascontiguousarray(fixed).view("S1").reshape((*values.shape, fixed.dtype.itemsize))
        )
        dims = (*dims, f"string{fixed.dtype.itemsize}")
    for dimension, length in zip(dims, values.shape, strict=True):
        if dimension not in file.dimensions:
            file.createDimension(dimension, length)
    variable = file.createVariable(name, values.dtype.newbyteorder("="), tuple(dims))
    variable[...] = values
    if encoding:
        variable._Encoding = b"utf-8"


def decode(data: bytes) -> xarray.Dataset:
    """The dataset, or ValueError where the bytes are not what was written."""
    import xarray

    variables, about = decode_variables(data)
    return xarray.Dataset(variables, attrs=about["attrs"]).set_coords(about["coords"])


def decode_variables(
    data: bytes,
) -> tuple[dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]], dict[str, Any]]:
    from scipy.io import netcdf_file

    body, _ = _parts(data)
    variables: dict[str, Any] = {}
    with netcdf_file(io.BytesIO(body), "r", mmap=False) as file:
        about = json.loads(getattr(file, ABOUT))
        for name, dtype, attrs, empty in about["variables"]:
            if empty is not None:
                variables[name] = (tuple(empty[0]), np.zeros(empty[1], dtype), attrs)
                continue
            raw, kind = file.variables[name], np.dtype(dtype)
            values, dims = np.array(raw.data), tuple(raw.dimensions)
            if kind.kind == "U":
                joined = np.ascontiguousarray(values).view(f"S{values.shape[-1]}")[..., 0]
                values, dims = np.char.decode(joined, "utf-8"), dims[:-1]
            variables[name] = (dims, values.astype(kind), attrs)
    return variables, about


def read_trailer(data: bytes) -> dict[str, Any]:
    """What travels behind the dataset, or ValueError where the bytes are not what was written."""
    trailer: dict[str, Any] = json.loads(_parts(data)[1])
    return trailer


def _parts(data: bytes) -> tuple[bytes, bytes]:
    whole, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    if hashlib.sha256(whole).digest() != checksum:
        raise ValueError("checksum differs")
    end = len(whole) - LENGTH_BYTES
    start = end - int.from_bytes(whole[end:], "big")
    return whole[:start], whole[start:end]


def as_written(values: Any) -> Any:
    """Strings held as objects become NumPy strings."""
    array = np.asarray(values)
    if array.dtype.kind in "OT" and all(isinstance(entry, str) for entry in array.flat):
        return array.astype(str)
    return array


def write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    """For any tool to open: netCDF 3, whole or not at all. Integers beyond 32 bits become floats,
    booleans 0 and 1: the format has neither."""
    plain = dataset.copy()
    for name, variable in dataset.variables.items():
        values = as_written(variable.values)
        if values.dtype.kind == "b":
            values = values.astype(np.int8)
        elif values.dtype.kind in "iu":
            fits = not values.size or (values.min() >= -(2**31) and values.max() < 2**31)
            values = values.astype(np.int32 if fits else np.float64)
        plain[name] = (variable.dims, values, variable.attrs)
    plain.attrs = {
        name: value if isinstance(value, (str, int, float)) else str(value)
        for name, value in dataset.attrs.items()
    }
    write_whole(path, bytes(plain.to_netcdf(None, engine="scipy")))


def _packed(name: Any, values: Any) -> Any:
    """Values in a type that netCDF 3 holds without loss."""
    if not isinstance(name, str) or not name.isascii():
        raise InputError(f"dataset: the name {name!r} cannot be stored; names are ASCII strings")
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "b":
        return values.astype(np.int8)
    if kind in "iu" and (
        not values.size
        or (int(values.min()) >= -EXACT_INTEGER and int(values.max()) <= EXACT_INTEGER)
    ):
        return values.astype(np.float64)
    if kind == "U" or (kind == "f" and size in (4, 8)):
        return values
    found = "integers beyond 2^53" if kind in "iu" else f"entries of type {values.dtype}"
    raise InputError(
        f"dataset: variable {name!r} has {found}; the store holds booleans, integers, float32, "
        "float64 and strings"
    )
