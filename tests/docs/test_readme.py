"""What the README shows and names; its example is run with the other pages (`test_pages.py`)."""

import re
from pathlib import Path

import biasflow as bf
from biasflow.cli.commands import app

README_FOLDER = Path(__file__).parents[2]
README = (README_FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_film_is_one_and_small():
    film = README_FOLDER / re.search(r"\]\((docs/images/\w+\.gif)\)", README).group(1)
    assert film.read_bytes().startswith(b"GIF8") and film.stat().st_size < 2_000_000
    assert (README_FOLDER / re.search(r"python (gallery/\w+\.py)", README).group(1)).is_file()


def test_the_four_papers_are_named_as_in_the_references():
    references = (README_FOLDER / "references.bib").read_text(encoding="utf-8")
    for tag in "WRBC":
        entry = re.search(rf"^@\w+{{{tag},.*?^}}", references, re.M | re.S).group(0)
        field = dict(re.findall(r"(\w+)\s+= {(.*)},?$", entry, re.M))
        line = re.search(rf"^- \*\*{tag}\*\* (.*)$", README, re.M).group(1)
        assert field["title"].replace("{", "").replace("}", "") in line
        assert line.endswith(f"({field['year']})")
        for author in field["author"].split(" and "):
            assert author.partition(",")[0] in line


def test_what_to_call_exists():
    table = README.partition("## What do I call?")[2].partition("## ")[0]
    calls = re.findall(r"`bf\.([\w.]+)", table)
    assert len(calls) >= 12
    for call in calls:
        found = bf
        for name in call.split("."):
            found = getattr(found, name)
    commands = {name for name in re.findall(r"`biasflow (\w+)", table)}
    names = {one.name or one.callback.__name__.rstrip("_") for one in app.registered_commands}
    assert commands and commands <= names


def test_it_is_short():
    assert len(README.splitlines()) <= 110
