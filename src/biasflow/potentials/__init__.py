"""Legendre potentials: what gradient flow on a parametrisation minimises."""

from .base import MirrorPoint, Potential, bregman
from .depth import DepthPotential
from .entropy import Entropy
from .euclidean import Euclidean
from .hypentropy import Hypentropy
from .scaled import ScaledPotential

__all__ = [
    "DepthPotential",
    "Entropy",
    "Euclidean",
    "Hypentropy",
    "MirrorPoint",
    "Potential",
    "ScaledPotential",
    "bregman",
]
