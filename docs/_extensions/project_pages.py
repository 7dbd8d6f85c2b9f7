"""Files beside docs/ as pages of the site: their links lead to pages, or are plain words."""

import re
from pathlib import Path

from written_pages import write_pages

ROOT = Path(__file__).parents[2]
FILES = ("CONTRIBUTING", "CHANGELOG", "SUPPORT", "SECURITY")


def linked(found):
    words, target = found[1], found[2]
    path, _, anchor = target.partition("#")
    if re.match(r"\w+:", target):
        return found[0]
    if path == "docs/":
        return f"[{words}](../index.md)"
    if path.startswith("docs/"):
        return f"[{words}](../{target.removeprefix('docs/')})"
    if path.removesuffix(".md") in FILES:
        return f"[{words}]({path.lower()}{f'#{anchor}' if anchor else ''})"
    return words


def write(app):
    folder = Path(app.srcdir) / "project"
    texts = {f"{name.lower()}.md": (ROOT / f"{name}.md").read_text("utf-8") for name in FILES}
    pages = {name: re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", linked, s) for name, s in texts.items()}
    pages["index.md"] = (folder / "index.md").read_text("utf-8")
    write_pages(folder, pages)


def setup(app):
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
