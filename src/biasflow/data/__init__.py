"""Data sets: what the papers draw at random, and what a user brings."""

from ..records import Dataset
from .clusters import cluster_classes, clusters
from .image_sets import Images, images
from .regression import hypercube, sparse_regression, with_bias
from .relu import five_points, gaussian_teacher, orthonormal, two_points

__all__ = [
    "Dataset",
    "Images",
    "cluster_classes",
    "clusters",
    "five_points",
    "gaussian_teacher",
    "hypercube",
    "images",
    "orthonormal",
    "sparse_regression",
    "two_points",
    "with_bias",
]
