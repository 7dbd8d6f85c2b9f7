"""Datasets as bytes: netCDF by SciPy, a JSON trailer, a checksum; every supported value comes back as it went in.

netCDF 3 has no booleans and no 64-bit integers, and its attributes lose their types, so the original types, attributes and
order travel as JSON in one attribute. Readers of netCDF ignore what follows the body:

    netCDF body | trailer (JSON) | length of the trailer (8 bytes, big-endian) | SHA-256 of all before
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    import xarray

ABOUT = "biasflow"
CHECKSUM_BYTES = hashlib.sha256().digest_size
LENGTH_BYTES = 8
EXACT_INTEGER = 2**53  # integers up to here are floats without loss


def canonical_json(name: str, value: Any) -> str:
    """Sorted, compact JSON; NumPy scalars and arrays as numbers and lists."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    except TypeError as reason:
        raise InputError(f"{name}: expected numbers, strings, None, lists and mappings of them; {reason}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"found {type(value).__name__} {value!r}")


def encode(dataset: xarray.Dataset, trailer: Mapping[str, Any] | None = None) -> bytes:
    import xarray

    about: dict[str, Any] = {"attrs": dict(dataset.attrs), "coords": list(dataset.coords), "variables": []}
    packed = {}
    for name, variable in dataset.variables.items():
        values = as_written(variable.values)
        written = _packed(name, values)
        if values.size:
            packed[name] = (variable.dims, written)
        empty = None if values.size else [variable.dims, values.shape]  # netCDF 3 takes a length of zero for a growing dimension
        about["variables"].append([name, values.dtype.str, dict(variable.attrs), empty])
    named = xarray.Dataset(packed, attrs={ABOUT: canonical_json("attrs", about)})
    body = bytes(named.to_netcdf(None, engine="scipy"))
    tail = canonical_json("attrs", dict(trailer or {})).encode()
    whole = body + tail + len(tail).to_bytes(LENGTH_BYTES, "big")
    return whole + hashlib.sha256(whole).digest()


def decode(data: bytes) -> xarray.Dataset:
    """The dataset, or ValueError where the bytes are not what was written."""
    import xarray

    body, _ = _parts(data)
    with xarray.open_dataset(io.BytesIO(body), engine="scipy") as raw:
        about = json.loads(raw.attrs[ABOUT])
        variables: dict[str, Any] = {}
        for name, dtype, attrs, empty in about["variables"]:
            if empty is None:
                variables[name] = (raw[name].dims, raw[name].values.astype(dtype), attrs)
            else:
                variables[name] = (empty[0], np.zeros(empty[1], dtype), attrs)
    return xarray.Dataset(variables, attrs=about["attrs"]).set_coords(about["coords"])


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


def _packed(name: Any, values: Any) -> Any:
    """Values in a type that netCDF 3 holds without loss."""
    if not isinstance(name, str) or not name.isascii():
        raise InputError(f"dataset: the name {name!r} cannot be stored; names are ASCII strings")
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "b":
        return values.astype(np.int8)
    if kind in "iu" and np.all(np.abs(values.astype(np.float64)) <= EXACT_INTEGER):
        return values.astype(np.float64)
    if kind == "U" or (kind == "f" and size in (4, 8)):
        return values
    found = "integers beyond 2^53" if kind in "iu" else f"entries of type {values.dtype}"
    raise InputError(f"dataset: variable {name!r} has {found}; the store holds booleans, integers, float32, float64 and strings")
