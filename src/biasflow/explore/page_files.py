"""What the page is made of: the files that are served, and no others."""

from __future__ import annotations

HTML = "text/html; charset=utf-8"
STYLE = "text/css; charset=utf-8"
SCRIPT = "text/javascript; charset=utf-8"
PICTURE = "image/svg+xml"

MODULES = (
    "main.js",
    "connection.js",
    "links.js",
    "neurons.js",
    "controls.js",
    "player.js",
    "plot.js",
    "tables.js",
    "scenes/boundary.js",
    "scenes/claims.js",
    "scenes/completion.js",
    "scenes/line.js",
    "scenes/plane.js",
    "scenes/sparse.js",
)
"""Of the page's code, in no order: each imports what it needs."""
PAGE_FILES = {
    "index.html": HTML,
    "style.css": STYLE,
    "icon.svg": PICTURE,
    **{name: SCRIPT for name in MODULES},
}
