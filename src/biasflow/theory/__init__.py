"""Claims: the papers' statements, executable."""

from .comparing import Comparison, compare
from .evidence import Evidence
from .mirror.ablations import PowerProblem
from .verifying import claim, claims, verify

__all__ = ["Comparison", "Evidence", "PowerProblem", "claim", "claims", "compare", "verify"]
