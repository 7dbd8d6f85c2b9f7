"""Parametrisations: maps from weights to predictors."""

from .base import MirrorForm, Model
from .diagonal import DiagonalNetwork, DiagonalParams
from .mirror import mirror
from .two_layer import TwoLayer, TwoLayerParams

__all__ = ["DiagonalNetwork", "DiagonalParams", "MirrorForm", "Model", "TwoLayer", "TwoLayerParams", "mirror"]
