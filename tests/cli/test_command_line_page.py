"""docs/command_line.md names every command; that it prints what it says is tested with all pages
(tests/docs)."""

from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/command_line.md").read_text(encoding="utf-8")


def test_every_command_is_on_the_page():
    from biasflow.cli.commands import app

    names = {info.name or info.callback.__name__ for info in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    assert names and all(f"`{name}" in PAGE for name in names)
