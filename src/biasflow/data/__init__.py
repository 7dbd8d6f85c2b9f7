"""Data sets: what the papers draw at random, and what a user brings."""

from ..records import Dataset
from .regression import hypercube, sparse_regression, with_bias

__all__ = ["Dataset", "hypercube", "sparse_regression", "with_bias"]
