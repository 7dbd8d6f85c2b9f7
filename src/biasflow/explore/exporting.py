"""A scene as a page of its own: everything inside, playable without a server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from importlib.resources import files

from .page_files import MODULES
from .scene import Scene, State

IMPORT = re.compile(r'(from |import )"\./([a-z_/]+\.js)"|(from |import )"\.\./([a-z_/]+\.js)"')
"""How one module of the page names another."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


def export_page(scene: Scene, state: State, parts: Sequence[tuple[str, str]]) -> str:
    """The page with the parts of one state, each a name and its JSON; modules become data: URLs in
    an import map, and what was computed is data in a script that nobody runs."""
    page = _text("index.html")
    imports = {f"biasflow/{name}": _as_url(_renamed(name, _text(name))) for name in MODULES}
    recorded = ",".join(f"[{json.dumps(name)},{data}]" for name, data in parts)
    recording = (
        f'{{"scene":{json.dumps(scene.described())},"state":{json.dumps(state)},'
        f'"parts":[{recorded}]}}'
    )
    inside = "\n".join(
        [
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<style>\n{_text('style.css')}\n</style>",
            f'<script type="importmap">{json.dumps({"imports": imports})}</script>',
            f'<script type="application/json" id="recording">{_in_script(recording)}</script>',
            '<script type="module">import "biasflow/main.js";</script>',
        ]
    )
    head, tail = page.split("<!-- served -->")[0], page.split("<!-- /served -->")[1]
    return head + inside + tail


def _text(name: str) -> str:
    return files(__package__).joinpath("page", *name.split("/")).read_text(encoding="utf-8")


def _renamed(name: str, code: str) -> str:
    """Relative names of modules mean nothing inside a data: URL: the import map has full ones."""
    folder = name.rpartition("/")[0]

    def full(found: re.Match[str]) -> str:
        beside, above = found.group(2), found.group(4)
        if above is not None:
            return f'{found.group(3)}"biasflow/{above}"'
        return f'{found.group(1)}"biasflow/{folder + "/" if folder else ""}{beside}"'

    return IMPORT.sub(full, code)


def _as_url(code: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(code.encode()).decode()


def _in_script(text: str) -> str:
    """JSON that cannot end the script around it."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
