"""Claims: the papers' statements, executable."""

from .comparing import Comparison, compare
from .evidence import Evidence
from .margin.setting import Alternating, Scores
from .mirror.ablations import PowerProblem
from .verifying import claim, claims, verify

__all__ = ["Alternating", "Comparison", "Evidence", "PowerProblem", "Scores", "claim", "claims", "compare", "verify"]
