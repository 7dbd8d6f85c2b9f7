"""Claims: the papers' statements, executable."""

from .comparison import Comparison, compare
from .equations import Place, find
from .evidence import Evidence
from .explanation import Explanation, explain
from .falsification import Falsification, falsify, tightest_known
from .handed_in_flows import Checkpoints
from .margin.margin_setting import Alternating, Clusters, Scores
from .mirror.ablations import PowerProblem
from .mirror.legendre import LegendreProblem
from .problem_moves import problem_at
from .verdicts import Check, Claim, Hypothesis, Kind, Status, Verdict
from .verification import REGISTER, claim, claims, verify

__all__ = [
    "REGISTER",
    "Alternating",
    "Check",
    "Checkpoints",
    "Claim",
    "Clusters",
    "Comparison",
    "Evidence",
    "Explanation",
    "Falsification",
    "Hypothesis",
    "Kind",
    "LegendreProblem",
    "Place",
    "PowerProblem",
    "Scores",
    "Status",
    "Verdict",
    "claim",
    "claims",
    "compare",
    "explain",
    "falsify",
    "find",
    "problem_at",
    "tightest_known",
    "verify",
]
