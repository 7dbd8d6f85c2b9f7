"""Parametrisations: maps from weights to predictors."""

from .base import MirrorForm, Model
from .diagonal import DiagonalNetwork, DiagonalParams
from .mirror import mirror

__all__ = ["DiagonalNetwork", "DiagonalParams", "MirrorForm", "Model", "mirror"]
