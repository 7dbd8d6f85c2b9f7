"""MNIST, Fashion-MNIST and CIFAR-10 from files that lie here; nothing is downloaded unless `fetch`
is called."""

from .fetching import fetch
from .locations import data_folder
from .reading import images, read
from .records import Images, ImageSet, Source
from .sets import SETS, image_set

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
