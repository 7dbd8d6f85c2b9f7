"""`biasflow explain`: a claim in words and symbols, and on a user's data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..errors import unknown

if TYPE_CHECKING:
    from .verify_command import UserFile


def explain_claim(id: str, file: UserFile | None, markdown: bool) -> None:
    """Print the explanation of a claim, with the user's file what it says about that."""
    from .. import theory

    if id not in theory.claims():
        raise unknown("claim", id, list(theory.claims()))
    if file is None:
        explained = theory.explain(id)
    else:
        from .data_numbers import numbers_of

        data, problem = file.load()
        if not markdown:
            typer.echo(f"{file.path}, --network {file.network}")
            for number in numbers_of(problem, data, file.network):
                typer.echo(f"  {number}")
            typer.echo("")
        explained = theory.explain(id, problem)
    typer.echo(explained.markdown if markdown else explained.text)
