"""Claims: the papers' statements, executable."""

from .comparing import Comparison, compare
from .evidence import Evidence
from .margin.setting import Alternating, Scores
from .mirror.ablations import PowerProblem
from .verdicts import Check, Claim, Hypothesis, Kind, Status, Verdict
from .verifying import claim, claims, verify
from .witness import Checkpoints

__all__ = [
    "Alternating",
    "Check",
    "Checkpoints",
    "Claim",
    "Comparison",
    "Evidence",
    "Hypothesis",
    "Kind",
    "PowerProblem",
    "Scores",
    "Status",
    "Verdict",
    "claim",
    "claims",
    "compare",
    "verify",
]
