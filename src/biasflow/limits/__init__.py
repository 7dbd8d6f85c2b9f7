"""Where flows go, computed without integrating, each with its certificate."""

from .boundary import mirror_limit
from .kernels import kernel_interpolator, tangent_kernel, tangent_kernel_limit
from .norms import min_l1, min_l2
from .predicted import limit
from .projection import bregman_projection
from .relu import KktPoint, kkt_point, kkt_residual, min_norm_interpolator, variation_norm

__all__ = [
    "KktPoint",
    "bregman_projection",
    "kernel_interpolator",
    "kkt_point",
    "kkt_residual",
    "limit",
    "min_l1",
    "min_l2",
    "min_norm_interpolator",
    "mirror_limit",
    "tangent_kernel",
    "tangent_kernel_limit",
    "variation_norm",
]
