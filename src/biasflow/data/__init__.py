"""Data sets: what the papers draw at random, and what a user brings."""

import importlib
from typing import Any

from .._core.problems import Dataset
from .labelled_clusters import cluster_classes, clusters
from .matrix_entries import Entries, completion, from_entries, observed_entries
from .regression import hypercube, sparse_regression, with_bias
from .relu_data import circle_teacher, five_points, gaussian_teacher, orthonormal, two_points

__all__ = [
    "Dataset",
    "Entries",
    "circle_teacher",
    "cluster_classes",
    "clusters",
    "completion",
    "five_points",
    "from_entries",
    "gaussian_teacher",
    "hypercube",
    "observed_entries",
    "orthonormal",
    "sparse_regression",
    "two_points",
    "with_bias",
]


def __getattr__(name: str) -> Any:
    """`images` and `Images` live in a room of their own, further up, and answer here too."""
    if name in ("images", "Images"):
        return getattr(importlib.import_module("biasflow.images"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
