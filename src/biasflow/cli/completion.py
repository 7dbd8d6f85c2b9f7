"""What shells complete. Ids are kept beside the code (`ids.txt`, one per line, a test compares them
with the registries): a key press must not wait for NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ASKED = "_BIASFLOW_COMPLETE"
"""The variable by which a shell's script asks for completions."""


def _ids(kind: str) -> Iterator[str]:
    lines = Path(__file__).with_name("ids.txt").read_text(encoding="utf-8").splitlines()
    return (id for found, id in map(str.split, lines) if found == kind)


def claims_from(incomplete: str) -> list[str]:
    """Ids of claims that begin so."""
    return [id for id in _ids("claim") if id.startswith(incomplete)]


def figures_from(incomplete: str) -> list[str]:
    return [id for id in _ids("figure") if id.startswith(incomplete)]


def ids_from(incomplete: str) -> list[str]:
    return [*claims_from(incomplete), *figures_from(incomplete)]


def script(shell: str) -> str:
    """What a shell runs to complete `biasflow`."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name="biasflow", complete_var=ASKED, shell=shell)
