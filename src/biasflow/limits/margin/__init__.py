"""Max margins of wide networks and of kernels, with certificates (C)."""

from .certificate import MarginCertificate, margin_certificate
from .classifiers import FeatureClassifier, KernelClassifier, arc_cosine_kernel
from .f1 import f1_max_margin
from .f2 import f2_max_margin
from .games import l1_max_margin
from .nearest import kernel_max_margin, l2_max_margin
from .polishing import polish

__all__ = [
    "FeatureClassifier",
    "KernelClassifier",
    "MarginCertificate",
    "arc_cosine_kernel",
    "f1_max_margin",
    "f2_max_margin",
    "kernel_max_margin",
    "l1_max_margin",
    "l2_max_margin",
    "margin_certificate",
    "polish",
]
