"""Weights in files. Files of which a pickle could run code are not opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError

SAFE = ".safetensors"
PICKLED = (".pt", ".pth", ".bin", ".ckpt")
LEAST_TORCH = (2, 6)
"""PyTorch from which `weights_only` keeps its promise (CVE-2025-32434)."""
NESTED = ("state_dict", "model_state_dict", "model")
"""Under which key training loops keep the weights among other things."""
HALVES = {"float16": 11, "bfloat16": 8}
"""Significant bits."""


def is_path(params: Any) -> bool:
    return isinstance(params, (str, os.PathLike))


def half_note(dtype: str) -> str:
    return (
        f"Weights are kept in {dtype}: changes below 2^-{HALVES[dtype]} of a weight are lost "
        "there, and count as no change here."
    )


def read_weights(name: str, path: Any) -> Mapping[str, Any]:
    """Tensors by name, from a file; errors call it `name`."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{name}: no file {str(file)!r}")
    if file.suffix == SAFE:
        return _safetensors(name, file)
    if file.suffix in PICKLED:
        return _torch_file(name, file)
    raise InputError(
        f"{name}: a file of type {file.suffix!r}; expected {SAFE}, or {', '.join(PICKLED)} of "
        "PyTorch. Load it with the library that wrote it, and give what that returns"
    )


def _safetensors(name: str, file: Path) -> Mapping[str, Any]:
    try:
        import safetensors
    except ImportError:
        raise InputError(
            f"{name}: reading {file.name} needs safetensors: pip install safetensors"
        ) from None
    try:
        import torch  # reads bfloat16, which NumPy has not
    except ImportError:
        framework = "numpy"
    else:
        framework = "pt" if torch else "numpy"
    try:
        with safetensors.safe_open(str(file), framework=framework) as opened:
            found = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{name}: {file.name} is no safetensors file: {error}") from None
    return found


def _torch_file(name: str, file: Path) -> Mapping[str, Any]:
    try:
        import torch
    except ImportError:
        raise InputError(f"{name}: reading {file.name} needs PyTorch") from None
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < LEAST_TORCH:
        raise InputError(
            f"{name}: PyTorch {torch.__version__} may run code from {file.name}; use PyTorch 2.6 "
            "or later, or a .safetensors file"
        )
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # the unpickler raises what it likes
        raise InputError(
            f"{name}: {file.name} holds more than weights, or is damaged, and is not opened "
            f"({str(error).splitlines()[0]}); save the state_dict() alone"
        ) from None
    for key in NESTED:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            return found[key]
    if not isinstance(found, Mapping):
        raise InputError(f"{name}: {file.name} holds a {type(found).__name__}, no state_dict()")
    return found
