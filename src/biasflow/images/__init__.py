"""MNIST, Fashion-MNIST and CIFAR-10 from files that lie here; nothing is downloaded unless `fetch`
is called."""

from .._core.locations import data_folder
from .downloads import fetch
from .image_records import Images, ImageSet, Source
from .known_sets import SETS, image_set
from .reader import images, read

__all__ = [
    "SETS",
    "ImageSet",
    "Images",
    "Source",
    "data_folder",
    "fetch",
    "image_set",
    "images",
    "read",
]
