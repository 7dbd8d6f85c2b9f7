"""Pages whose code runs: what is in a page, what running it prints, and whether the page says so.

A page is run from top to bottom in an empty folder.

- ```python blocks run in one namespace. One with a main guard is a script: it runs as a file, with
  the page's first block in front of it.
- A block after a line that is a file's name and a colon, such as `flats.csv`:, is that file.
- ```console blocks have commands after $. `pip install` puts packages of the page beside it, for
  what runs after it.
- ```text blocks say what was printed since the last one; a line with … alone stands for any lines.
  After the comment <!-- numbers vary --> their numbers are not compared.
- Blocks in other languages, and ```bash, are not run.

    python tests/docs/pages.py docs/start/ten_minutes.md …

runs pages, writes what they print into them where it is not what they say, and puts the pictures
that they show into docs/images.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("start", "tutorials", "howto", "explanations")
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/seven_questions.md",
    ROOT / "docs/command_line.md",
    *sorted(
        page
        for folder in FOLDERS
        for page in (ROOT / "docs" / folder).glob("*.md")
        if page.stem != "index"
    ),
)
OPTIONAL = ("torch", "IPython")
"""Packages that the development tools do not bring: blocks that import one are skipped without
it."""

NUMBER = re.compile(r"(?<![\w/])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
NEGLIGIBLE = 1e-7
"""Numbers below it are rounding and integration errors: only their smallness is claimed."""
SMALL = 1e-4
"""Numbers below it in the notation 3e-05 are error estimates: they agree within a factor of ten."""
FEW_DIGITS = 2e-3
"""Other numbers agree to this share, or to two units of their last printed digit."""

STEPS = re.compile(r"^ *time: .* states.*$", re.MULTILINE)
"""A trajectory's count of its own steps, and when the last of them ended: not compared."""

BLOCK = re.compile(
    r"^(?:`(?P<file>[\w./-]+)`:\n\n)?"
    r"(?P<varied><!-- numbers vary -->\n\n)?"
    r"^```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SITE = Path("installed")
"""Where a page's own packages are installed, in the folder it is run in."""
PICTURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A code block of a page, with the span of its body in the text."""

    language: str
    file: str | None
    body: str
    span: tuple[int, int]
    varied: bool = False


@dataclass(frozen=True)
class Saying:
    """What a page says is printed, what was printed, and where in the text it says so."""

    said: str
    found: str
    span: tuple[int, int]
    varied: bool = False

    @property
    def agrees(self) -> bool:
        said, found = (STEPS.sub("steps", text) for text in (self.said, self.found))
        parts = re.split(r"^…\n", said, flags=re.MULTILINE)
        masked = [re.escape(NUMBER.sub("#", part)) for part in parts]
        pattern = r"(?:.*\n)*?".join(masked)
        if re.fullmatch(pattern, NUMBER.sub("#", found)) is None:
            return False
        if self.varied:
            return True
        ours, theirs = NUMBER.findall(said), NUMBER.findall(found)
        if len(parts) > 1:  # numbers of lines that are left out are not compared
            return _in_order(ours, theirs)
        return all(_same(one, other) for one, other in zip(ours, theirs, strict=True))

    @property
    def difference(self) -> str:
        lines = difflib.unified_diff(
            self.said.splitlines(), self.found.splitlines(), "said", "printed", lineterm=""
        )
        return "\n".join(lines)


def _in_order(said: list[str], found: list[str]) -> bool:
    """Whether the numbers that are said are among those found, in their order."""
    remaining = iter(found)
    return all(any(_same(one, other) for other in remaining) for one in said)


def _same(said: str, found: str) -> bool:
    a, b = float(said), float(found)
    largest, least = max(abs(a), abs(b)), min(abs(a), abs(b))
    if largest < NEGLIGIBLE:
        return True
    if "e-" in said and largest < SMALL:
        return largest <= 10 * max(least, NEGLIGIBLE)
    mantissa, _, exponent = said.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    if mantissa.lstrip("-").isdigit() and not exponent:
        return a == b  # a count
    return abs(a - b) <= max(FEW_DIGITS * largest, 2.001 * unit)


def blocks(text: str) -> list[Block]:
    return [
        Block(
            found["language"],
            found["file"],
            found["body"],
            found.span("body"),
            found["varied"] is not None,
        )
        for found in BLOCK.finditer(text)
    ]


def pictures(page: Path) -> list[tuple[str, str]]:
    """(alternative text, file) of the pictures that a page shows."""
    text = page.read_text(encoding="utf-8")
    return [(found["alt"], found["target"]) for found in PICTURE.finditer(text)]


def run(page: Path, folder: Path) -> list[Saying]:
    """What a page says and what its code prints, run in a folder."""
    text = page.read_text(encoding="utf-8")
    sayings: list[Saying] = []
    with _place(folder):
        namespace: dict[str, Any] = {"__name__": "__main__"}
        printed, first = "", ""
        for block in blocks(text):
            if block.file is not None:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.body, encoding="utf-8")
            elif block.language == "python":
                first = first or block.body
                if not _installed(block.body):
                    continue
                line = text.count("\n", 0, block.span[0])
                printed += _python(block.body, first, namespace, f"{page.name}", line)
            elif block.language == "console":
                sayings += _console(block)
            elif block.language == "text":
                if printed:
                    sayings.append(Saying(block.body, printed, block.span, block.varied))
                printed = ""
    return sayings


@contextlib.contextmanager
def _place(folder: Path) -> Iterator[None]:
    """An empty folder, a store of its own, pictures without a screen."""
    import matplotlib

    kept = {name: os.environ.get(name) for name in ("BIASFLOW_CACHE", "MPLBACKEND", "COLUMNS")}
    os.environ.update(BIASFLOW_CACHE=str(folder / "cache"), MPLBACKEND="agg", COLUMNS="100")
    matplotlib.use("agg")
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        from matplotlib import pyplot

        pyplot.close("all")


def _installed(code: str) -> bool:
    return all(
        re.search(rf"^(?:import|from) {name}\b", code, re.MULTILINE) is None
        or importlib.util.find_spec(name) is not None
        for name in OPTIONAL
    )


def _python(code: str, first: str, namespace: dict[str, Any], name: str, line: int) -> str:
    if 'if __name__ == "__main__":' in code:
        Path("script.py").write_text(first + "\n\n" + code, encoding="utf-8")
        return _process([sys.executable, "script.py"])
    tree = ast.increment_lineno(ast.parse(code, name), line)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, name, "exec"), namespace)
    return out.getvalue()


def _console(block: Block) -> Iterator[Saying]:
    """A saying for each command of a block."""
    for found in re.finditer(
        r"^\$ (?P<command>.*)\n(?P<said>(?:(?!\$ ).*\n)*)", block.body, re.MULTILINE
    ):
        start = block.span[0]
        span = (start + found.start("said"), start + found.end("said"))
        words = shlex.split(found["command"], comments=True)
        yield Saying(found["said"], _command(words), span)


def _command(words: list[str]) -> str:
    if words[:2] == ["pip", "install"]:
        return _installed_beside(words[2:])
    if words[0] == "biasflow" and SITE.exists():  # entry points are read once in a process
        return _process([sys.executable, "-m", *words])
    if words[0] == "biasflow":
        return _biasflow(words[1:])
    return _process([sys.executable if words[0] == "python" else words[0], *words[1:]])


def _installed_beside(packages: list[str]) -> str:
    """Install packages of the page, from their folders, without looking for anything elsewhere."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(SITE)]
    return _process([*pip, *alone, *packages])


def _biasflow(arguments: list[str]) -> str:
    from biasflow.cli import main

    kept, sys.argv = sys.argv, ["biasflow", *arguments]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit:
        pass
    finally:
        sys.argv = kept
    return err.getvalue() if err.getvalue().startswith("error:") else out.getvalue()


def _process(command: list[str]) -> str:
    paths = [str(SITE.absolute()), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment
    )
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)} ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def rewrite(page: Path) -> None:
    """Put what a page prints, and the pictures it shows, where they belong."""
    with tempfile.TemporaryDirectory() as place:
        sayings = run(page, Path(place))
        text = page.read_text(encoding="utf-8")
        for saying in reversed(sayings):
            if not saying.agrees:
                print(f"{page.name}\n{saying.difference}\n")
                text = text[: saying.span[0]] + saying.found + text[saying.span[1] :]
        page.write_text(text, encoding="utf-8")
        for _, target in pictures(page):
            made = Path(place) / Path(target).name
            if made.exists():
                shutil.copy(made, page.parent / target)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
