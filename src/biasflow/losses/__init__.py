"""Losses, each paper's normalisation made explicit."""

from .square import SquareLoss

__all__ = ["SquareLoss"]
