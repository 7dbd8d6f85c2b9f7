"""Options of the commands that read a user's file."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer


class NetworkKind(enum.StrEnum):
    diagonal = "diagonal"
    directions = "directions"
    margin = "margin"
    relu = "relu"


DataOption = Annotated[
    Path | None,
    typer.Option(help="your data: CSV, a header allowed, or NPZ with arrays X and y"),
]
TargetOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="with --data: the column of y; by default the last"),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="with --data: columns to leave out"),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="with --data: labels that stand for −1 and +1: 0,1 or no=-1,yes=+1"
    ),
]
NetworkOption = Annotated[
    NetworkKind,
    typer.Option(
        help=(
            "with --data: diagonal (regression, W), directions (fixed ones, R), relu (B), or "
            "margin (a classifier of labels ±1, C)"
        )
    ),
]
ScaleOption = Annotated[
    float, typer.Option(help="with --data: initialisation scale α of the network")
]
DepthOption = Annotated[int, typer.Option(help="with --data: depth of the diagonal network")]
WidthOption = Annotated[
    int, typer.Option(min=1, help="with --data: neurons of a network that is not diagonal")
]
