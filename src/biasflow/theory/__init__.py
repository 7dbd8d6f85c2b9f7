"""Claims: the papers' statements, executable."""

from .comparing import Comparison, compare
from .evidence import Evidence
from .verifying import claim, claims, verify

__all__ = ["Comparison", "Evidence", "claim", "claims", "compare", "verify"]
