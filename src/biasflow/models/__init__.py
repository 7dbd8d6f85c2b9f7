"""Parametrisations: maps from weights to predictors."""

from .deep_networks import DeepNetwork, DeepParams
from .diagonal import DiagonalNetwork, DiagonalParams
from .factorisation import FactorParams, MatrixFactorisation
from .fixed_directions import (
    FixedDirections,
    FixedDirectionsParams,
    MergedProblem,
    merge_directions,
    random_network,
    split_network,
)
from .mirror import mirror
from .model import MirrorForm, Model
from .particles import Particles, as_particles, augmented
from .product import ProductNetwork, ProductParams
from .signed import SignedTwoLayer, SignedTwoLayerParams
from .sphere import SphereMeasure, TransportGrowth, sphere_measure, transport_growth
from .two_layer import TwoLayer, TwoLayerParams

__all__ = [
    "DeepNetwork",
    "DeepParams",
    "DiagonalNetwork",
    "DiagonalParams",
    "FactorParams",
    "FixedDirections",
    "FixedDirectionsParams",
    "MatrixFactorisation",
    "MergedProblem",
    "MirrorForm",
    "Model",
    "Particles",
    "ProductNetwork",
    "ProductParams",
    "SignedTwoLayer",
    "SignedTwoLayerParams",
    "SphereMeasure",
    "TransportGrowth",
    "TwoLayer",
    "TwoLayerParams",
    "as_particles",
    "augmented",
    "merge_directions",
    "mirror",
    "random_network",
    "sphere_measure",
    "split_network",
    "transport_growth",
]
