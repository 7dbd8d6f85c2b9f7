"""Data sets: what the papers draw at random, and what a user brings."""

from ..records import Dataset
from .clusters import cluster_classes, clusters
from .completion import Entries, completion, from_entries, observed_entries
from .image_sets import Images, images
from .regression import hypercube, sparse_regression, with_bias
from .relu import circle_teacher, five_points, gaussian_teacher, orthonormal, two_points

__all__ = [
    "Dataset",
    "Entries",
    "Images",
    "circle_teacher",
    "cluster_classes",
    "clusters",
    "completion",
    "five_points",
    "from_entries",
    "gaussian_teacher",
    "hypercube",
    "images",
    "observed_entries",
    "orthonormal",
    "sparse_regression",
    "two_points",
    "with_bias",
]
