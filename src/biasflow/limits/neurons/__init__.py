"""Two-layer networks as sums of neurons: the interpolator of least norm, F1 and F2 max margins, KKT
conditions (B, C)."""

from .extremal import ExtremalVectors, extremal_vectors
from .f1_margin import f1_max_margin
from .f2_margin import f2_max_margin
from .kernel_classifiers import FeatureClassifier, KernelClassifier, arc_cosine_kernel
from .kkt import KktPoint, kkt_point, kkt_residual
from .least_norm import min_norm_interpolator
from .margin_certificates import MarginCertificate, margin_certificate, polish
from .variation_norms import variation_norm

__all__ = [
    "ExtremalVectors",
    "FeatureClassifier",
    "KernelClassifier",
    "KktPoint",
    "MarginCertificate",
    "arc_cosine_kernel",
    "extremal_vectors",
    "f1_max_margin",
    "f2_max_margin",
    "kkt_point",
    "kkt_residual",
    "margin_certificate",
    "min_norm_interpolator",
    "polish",
    "variation_norm",
]
