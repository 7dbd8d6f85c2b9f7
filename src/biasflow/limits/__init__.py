"""Where flows go, computed without integrating, each with its certificate."""

from typing import Any

from .by_norm import max_margin, min_norm
from .hard_margins import kernel_max_margin, l2_max_margin
from .homogeneous import (
    Homogeneity,
    MarginKkt,
    SmoothedMargin,
    homogeneity,
    margin_kkt,
    smoothed_margin,
)
from .kernel_interpolation import kernel_interpolator
from .line import Bend, LineInterpolants, PiecewiseLinear, line_interpolants
from .matrix_games import l1_max_margin
from .matrix_norms import min_frobenius_norm, min_nuclear_norm
from .minimisers import mirror_limit
from .neurons import (
    ExtremalVectors,
    FeatureClassifier,
    KernelClassifier,
    KktPoint,
    MarginCertificate,
    arc_cosine_kernel,
    extremal_vectors,
    f1_max_margin,
    f2_max_margin,
    kkt_point,
    kkt_residual,
    margin_certificate,
    min_norm_interpolator,
    polish,
    variation_norm,
)
from .norms import min_l1, min_l2
from .projection import bregman_projection
from .tangent import (
    LinearisedFlow,
    TangentPredictor,
    linearised_flow,
    tangent_interpolator,
    tangent_kernel,
    tangent_kernel_limit,
    tangent_max_margin,
)

__all__ = [
    "Bend",
    "ExtremalVectors",
    "FeatureClassifier",
    "Homogeneity",
    "KernelClassifier",
    "KktPoint",
    "LineInterpolants",
    "LinearisedFlow",
    "MarginCertificate",
    "MarginKkt",
    "PiecewiseLinear",
    "SmoothedMargin",
    "TangentPredictor",
    "arc_cosine_kernel",
    "bregman_projection",
    "extremal_vectors",
    "f1_max_margin",
    "f2_max_margin",
    "homogeneity",
    "kernel_interpolator",
    "kernel_max_margin",
    "kkt_point",
    "kkt_residual",
    "l1_max_margin",
    "l2_max_margin",
    "line_interpolants",
    "linearised_flow",
    "margin_certificate",
    "margin_kkt",
    "max_margin",
    "min_frobenius_norm",
    "min_l1",
    "min_l2",
    "min_norm",
    "min_norm_interpolator",
    "min_nuclear_norm",
    "mirror_limit",
    "polish",
    "smoothed_margin",
    "tangent_interpolator",
    "tangent_kernel",
    "tangent_kernel_limit",
    "tangent_max_margin",
    "variation_norm",
]


def __getattr__(name: str) -> Any:
    if name != "limit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import limit
    from .._core.former_names import warn_of

    warn_of("biasflow.limits.limit", "biasflow.limit")
    return limit
