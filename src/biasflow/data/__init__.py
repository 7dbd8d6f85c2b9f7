"""Data sets: what the papers draw at random, and what a user brings."""

from ..records import Dataset
from .clusters import cluster_classes, clusters
from .regression import hypercube, sparse_regression, with_bias

__all__ = ["Dataset", "cluster_classes", "clusters", "hypercube", "sparse_regression", "with_bias"]
