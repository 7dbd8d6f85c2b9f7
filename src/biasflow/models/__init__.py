"""Parametrisations: maps from weights to predictors."""

from .deep_networks import DeepNetwork, DeepParams
from .diagonal import DiagonalNetwork, DiagonalParams
from .factorisation import FactorParams, MatrixFactorisation
from .fixed_directions import (
    FixedDirections,
    FixedDirectionsParams,
    MergedProblem,
    merge_directions,
    nonsmooth,
    random_network,
    split_network,
)
from .mirror import mirror, mirror_form, no_mirror_form
from .model import MirrorForm, MirrorModel, Model, PredictorModel
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
    "MirrorModel",
    "Model",
    "Particles",
    "PredictorModel",
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
    "mirror_form",
    "no_mirror_form",
    "nonsmooth",
    "random_network",
    "sphere_measure",
    "split_network",
    "transport_growth",
]
