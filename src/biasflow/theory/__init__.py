"""Claims: the papers' statements, executable."""

from .comparison import Comparison, compare
from .evidence import Evidence
from .falsification import Falsification, falsify, problem_at, tightest_known
from .margin.margin_setting import Alternating, Clusters, Scores
from .mirror.ablations import PowerProblem
from .mirror.legendre import LegendreProblem
from .verdicts import Check, Claim, Hypothesis, Kind, Status, Verdict
from .verification import REGISTER, claim, claims, verify
from .witness import Checkpoints

__all__ = [
    "REGISTER",
    "Alternating",
    "Check",
    "Checkpoints",
    "Claim",
    "Clusters",
    "Comparison",
    "Evidence",
    "Falsification",
    "Hypothesis",
    "Kind",
    "LegendreProblem",
    "PowerProblem",
    "Scores",
    "Status",
    "Verdict",
    "claim",
    "claims",
    "compare",
    "falsify",
    "problem_at",
    "tightest_known",
    "verify",
]
