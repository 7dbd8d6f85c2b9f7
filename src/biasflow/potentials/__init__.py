"""Legendre potentials: what gradient flow on a parametrisation minimises."""

from .depth_potentials import DepthPotential
from .entropy import Entropy
from .euclidean import Euclidean
from .followed_potentials import FollowedPotential
from .hypentropy import Hypentropy
from .potential import MirrorPoint, Potential, bregman
from .scaled import ScaledPotential
from .separable import Separable

__all__ = [
    "DepthPotential",
    "Entropy",
    "Euclidean",
    "FollowedPotential",
    "Hypentropy",
    "MirrorPoint",
    "Potential",
    "ScaledPotential",
    "Separable",
    "bregman",
]
