"""`biasflow explore`: the page served, or written down."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import typer

from ..errors import InputError, unknown
from .writing import file_to_write

LINK = re.compile(r"^(?:https?://[^#]*)?#(?P<scene>[a-z]+)(?:/(?P<state>.*))?$", re.DOTALL)
"""What `Copy link` copies: the state is behind the #."""


def serve_page(scene: str | None, state: str | None, port: int, browser: bool) -> None:
    """Serve until interrupted, beginning with a scene where one is named."""
    from ..explore import serve

    named = scene is not None or state is not None
    fragment = ""
    if named:
        name, read = read_state(scene, state)
        fragment = f"#{name}/{quote(json.dumps(read, separators=(',', ':')), safe='')}"

    def opened(address: str) -> None:
        typer.echo(f"the explorer is at {address}{fragment}\nCtrl-C stops it")
        if browser:  # beside the server, which it must not keep waiting
            threading.Thread(target=_open, args=(f"{address}{fragment}",), daemon=True).start()

    serve(port, opened)
    typer.echo("stopped")


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        typer.echo("no browser could be opened here; open the address yourself")


def write_page(path: Path, scene: str | None, state: str | None) -> None:
    """A page of one scene, computed now."""
    from ..explore import export

    if path.suffix not in (".html", ".htm"):
        raise InputError(f"--export: expected a file that ends in .html, found {path}")
    file_to_write("--export", path)
    name, read = read_state(scene, state)
    begun = time.perf_counter()
    text = export(name, read)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"written to {path} ({len(text) // 1000} kB, {time.perf_counter() - begun:.1f} s)")


def read_state(scene: str | None, state: str | None) -> tuple[str, dict[str, Any]]:
    """The scene and its state, from a link or JSON; every field in range, or an error."""
    from ..explore import SCENES

    text = "" if state is None else state.strip()
    link = LINK.match(text)
    if link is not None:
        if scene not in (None, link["scene"]):
            raise InputError(f"--scene: {scene!r}, but the link is of {link['scene']!r}")
        scene, text = link["scene"], unquote(link["state"] or "{}")
    name = next(iter(SCENES)) if scene is None else scene
    if name not in SCENES:
        raise unknown("scene", name, list(SCENES))
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise InputError(f"--state: expected a copied link or JSON, found {text[:60]!r}") from None
    return name, SCENES[name].read(given)
