"""Where flows go, computed without integrating, each with its certificate."""

from .boundary import mirror_limit
from .kernels import kernel_interpolator, tangent_kernel, tangent_kernel_limit
from .norms import min_l1, min_l2
from .predicted import limit
from .projection import bregman_projection

__all__ = [
    "bregman_projection",
    "kernel_interpolator",
    "limit",
    "min_l1",
    "min_l2",
    "mirror_limit",
    "tangent_kernel",
    "tangent_kernel_limit",
]
