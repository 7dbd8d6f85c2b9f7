"""Arguments and options that several commands share."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from .completion import claims_from, figures_from, ids_from


class Preset(enum.StrEnum):
    quick = "quick"
    paper = "paper"


class Shell(enum.StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


class FigurePreset(enum.StrEnum):
    quick = "quick"
    reduced = "reduced"
    paper = "paper"
    code = "code"


ClaimArgument = Annotated[
    str, typer.Argument(metavar="ID", help="such as W/thm1", autocompletion=claims_from)
]
OptionalClaimArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]", help="such as W/thm1; by default every claim", autocompletion=claims_from
    ),
]
FigureArgument = Annotated[
    str, typer.Argument(metavar="ID", help="such as W/fig1", autocompletion=figures_from)
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        help="one figure, claim or paper, such as W/fig1, W/thm1 or W", autocompletion=ids_from
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="processes for the points; by default one per core")
]
PresetOption = Annotated[
    Preset,
    typer.Option(
        help=(
            "quick: up to a minute and a half a figure on two cores, more on a busy machine; "
            "paper: the size of the paper, minutes to hours"
        )
    ),
]
FigurePresetOption = Annotated[
    FigurePreset,
    typer.Option(
        help=(
            "quick: up to a minute and a half on two cores, more on a busy machine; paper: its "
            "size, minutes to hours; code: as in the authors' code; reduced: real images on a CPU"
        )
    ),
]
