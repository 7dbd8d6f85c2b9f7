"""Losses, each paper's normalisation made explicit."""

from .base import Loss
from .classes import CrossEntropyLoss
from .margin import ExponentialLoss, LogisticLoss, MarginLoss, SmoothMargin
from .square import SquareLoss, needs_square

__all__ = [
    "CrossEntropyLoss",
    "ExponentialLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "SmoothMargin",
    "SquareLoss",
    "needs_square",
]
