"""Pages that are made from the code, written beside the others before Sphinx reads them."""

from pathlib import Path

ORPHAN = "---\norphan: true\n---\n\n"
"""Before pages of which there are hundreds: an index leads to them, not the bar at the side, which
every page carries."""


def write_pages(folder, pages):
    """Write those that changed, and remove those that are no more: the rest are not read again."""
    folder = Path(folder)
    wanted = {folder / name: text for name, text in pages.items()}
    for path in folder.rglob("*.*"):
        if path.suffix in (".md", ".rst") and path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def table(heads, rows):
    """A table of Markdown; bars within formulas and words do not end a cell."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = (cell.replace("\\|", "|").replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
