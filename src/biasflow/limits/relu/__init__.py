"""Two-layer ReLU networks: the interpolator of least norm, variation norm, KKT conditions."""

from .kkt import KktPoint, kkt_point, kkt_residual
from .min_norm import min_norm_interpolator
from .variation import variation_norm

__all__ = ["KktPoint", "kkt_point", "kkt_residual", "min_norm_interpolator", "variation_norm"]
