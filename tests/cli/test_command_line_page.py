"""docs/command_line.md: its commands print what it says."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from biasflow.cli import main

PAGE = (Path(__file__).parents[2] / "docs/command_line.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(\w+\.csv)`:\n\n```csv\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [
    command
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command in re.findall(
        r"^\$ biasflow (.*?)\n(.*?)(?=^\$|\Z)", block, re.DOTALL | re.MULTILINE
    )
]
FLOAT = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+")
"""Numbers of which the last digits differ from machine to machine."""


def masked(text):
    return FLOAT.sub("#", text)


def agrees(said, found):
    """Whether the output is what the page says, … alone on a line standing for any lines."""
    parts = re.split(r"^…\n", masked(said), flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, masked(found)) is not None


@pytest.mark.parametrize(("command", "said"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_print_what_the_page_says(command, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "cache"))
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["biasflow", *shlex.split(command)])
    with pytest.raises(SystemExit):
        main()
    out, err = capsys.readouterr()
    found = err if said.startswith("error:") else out
    assert agrees(said, found), found


def test_every_command_is_on_the_page():
    from biasflow.cli.commands import app

    names = {info.name or info.callback.__name__ for info in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    assert names and all(f"`{name}" in PAGE for name in names)
