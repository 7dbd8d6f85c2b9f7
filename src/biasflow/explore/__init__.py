"""The explorer: a page on this machine that shows flows, limits and theorems while data are
dragged. Needs the extra `explore`; see docs/explorer.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .scenes import SCENES

MISSING = "biasflow explore needs Starlette and uvicorn: pip install 'biasflow[explore]'"


def serve(port: int = 0, opened: Callable[[str], None] = lambda address: None) -> None:
    """Serve the page on 127.0.0.1 until interrupted; `opened` is told the address, token
    included."""
    from ..errors import MissingExtraError

    try:
        from .server import serve as run
    except ImportError as error:
        raise MissingExtraError(MISSING) from error
    run(port, opened)


def export(scene: str, state: dict[str, Any]) -> str:
    """A page of one scene that plays without a server, computed here."""
    import json

    from ..errors import unknown
    from .exporting import export_page

    if scene not in SCENES:
        raise unknown("scene", scene, list(SCENES))
    chosen = SCENES[scene]
    read = chosen.read(state)
    parts = [(name, json.dumps(data, allow_nan=False)) for name, data in chosen.parts(read)]
    return export_page(chosen, read, parts)


__all__ = ["SCENES", "export", "serve"]
