"""Drawings as PNG bytes and animations as GIF bytes, without a screen, kept where data and code are
the same."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..experiments.experiment import Experiment
from ..pictures.movies import gif
from ..sweeps import Store
from ..sweeps.versions import installed_version, roots_of

if TYPE_CHECKING:
    import xarray

DPI = 150


def file_name(id: str) -> str:
    """W/fig1 → W-fig1.png."""
    return f"{id.replace('/', '-')}.png"


def movie_name(path: Path) -> Path:
    """Where the animation lies beside a picture: W-fig1.png → W-fig1.gif."""
    return path.with_suffix(".gif")


def headless() -> None:
    """Choose the Agg backend, unless the caller already draws with pyplot."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")


def png(figure: Any) -> bytes:
    """The figure as PNG; it is closed if pyplot holds it."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": "biasflow"}
    )
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return buffer.getvalue()


def pictures(
    experiment: Experiment, summary: xarray.Dataset, store: Store | None = None
) -> tuple[bytes, bytes]:
    """A figure's drawing and its animation, empty where it has none; from the store where that has
    them for the same data, drawn by the same code."""
    address = _address(experiment, summary)
    if store is None or address is None:
        return _drawn(experiment, summary)
    found = stored_pictures(experiment, summary, store)
    if found is None:
        found = _drawn(experiment, summary)
        store.write_record([base64.b64encode(part).decode() for part in found], **address)
    return found


def stored_pictures(
    experiment: Experiment, summary: xarray.Dataset, store: Store
) -> tuple[bytes, bytes] | None:
    """Them, where the store has them."""
    address = _address(experiment, summary)
    record = None if address is None else store.read_record(**address)
    if record is None:
        return None
    image, movie = (base64.b64decode(part) for part in record)
    return image, movie


def _address(experiment: Experiment, summary: xarray.Dataset) -> dict[str, Any] | None:
    """Where a store has them; nowhere where the code that draws them is in no module."""
    makers = [make for make in (experiment.draw, experiment.animate) if make is not None]
    if not all(map(roots_of, makers)):
        return None
    return {
        "kind": "pictures",
        "roots": [*(root for make in makers for root in roots_of(make)), __name__],
        "figure": experiment.id,
        "data": digest(summary),
        "matplotlib": installed_version("matplotlib"),
    }


def _drawn(experiment: Experiment, summary: xarray.Dataset) -> tuple[bytes, bytes]:
    movie = b"" if experiment.animate is None else gif(experiment.animate(summary))
    return png(experiment.draw(summary)), movie


def digest(data: xarray.Dataset) -> str:
    """A hash of every number and word in a dataset."""
    found = hashlib.sha256()
    for name, variable in sorted(data.variables.items(), key=lambda item: str(item[0])):
        values = np.asarray(variable.values)
        content = repr(values.tolist()).encode() if values.dtype.hasobject else values.tobytes()
        words = (name, variable.dims, values.dtype.str, values.shape, _plain(variable.attrs))
        found.update(repr(words).encode() + content)
    found.update(repr(_plain(data.attrs)).encode())
    return found.hexdigest()


def _plain(attributes: Any) -> list[tuple[str, Any]]:
    """Attributes as lists, which are written out whole."""
    return sorted((str(name), np.asarray(value).tolist()) for name, value in attributes.items())
