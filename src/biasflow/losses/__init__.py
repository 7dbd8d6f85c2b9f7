"""Losses, each paper's normalisation made explicit."""

from .classes import CrossEntropyLoss
from .loss import Loss
from .margin_losses import ExponentialLoss, LogisticLoss, MarginLoss, SmoothMargin
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
