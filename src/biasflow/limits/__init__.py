"""Where flows go, computed without integrating, each with its certificate."""

from .boundary import mirror_limit
from .by_norm import max_margin, min_norm
from .completion import min_frobenius_norm, min_nuclear_norm
from .homogeneous import (
    Homogeneity,
    MarginKkt,
    SmoothedMargin,
    homogeneity,
    margin_kkt,
    smoothed_margin,
)
from .kernels import kernel_interpolator
from .margin import (
    FeatureClassifier,
    KernelClassifier,
    MarginCertificate,
    arc_cosine_kernel,
    f1_max_margin,
    f2_max_margin,
    kernel_max_margin,
    l1_max_margin,
    l2_max_margin,
    margin_certificate,
    polish,
)
from .norms import min_l1, min_l2
from .predicted import limit
from .projection import bregman_projection
from .relu import KktPoint, kkt_point, kkt_residual, min_norm_interpolator, variation_norm
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
    "FeatureClassifier",
    "Homogeneity",
    "KernelClassifier",
    "KktPoint",
    "LinearisedFlow",
    "MarginCertificate",
    "MarginKkt",
    "SmoothedMargin",
    "TangentPredictor",
    "arc_cosine_kernel",
    "bregman_projection",
    "f1_max_margin",
    "f2_max_margin",
    "homogeneity",
    "kernel_interpolator",
    "kernel_max_margin",
    "kkt_point",
    "kkt_residual",
    "l1_max_margin",
    "l2_max_margin",
    "limit",
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
