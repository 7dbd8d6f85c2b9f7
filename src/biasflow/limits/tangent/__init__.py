"""Tangent kernels of any function, and the linearised networks they describe."""

from .predictors import (
    LinearisedFlow,
    TangentPredictor,
    linearised_flow,
    tangent_interpolator,
    tangent_kernel_limit,
    tangent_max_margin,
)
from .tangent_kernels import tangent_kernel

__all__ = [
    "LinearisedFlow",
    "TangentPredictor",
    "linearised_flow",
    "tangent_interpolator",
    "tangent_kernel",
    "tangent_kernel_limit",
    "tangent_max_margin",
]
