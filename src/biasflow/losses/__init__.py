"""Losses, each paper's normalisation made explicit."""

from .classes import CrossEntropyLoss
from .loss import Loss
from .margin_losses import (
    ExponentialLoss,
    LogisticLoss,
    MarginLoss,
    SmoothMargin,
    SoftMinimum,
    margin_loss,
    soft_minimum,
)
from .square import SquareLoss, needs_square

__all__ = [
    "CrossEntropyLoss",
    "ExponentialLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "SmoothMargin",
    "SoftMinimum",
    "SquareLoss",
    "margin_loss",
    "needs_square",
    "soft_minimum",
]
