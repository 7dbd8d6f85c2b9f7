"""B: shallow ReLU networks on orthogonal data."""

from . import assumptions, convergence, minimal, phases, remarks

CLAIMS = assumptions.CLAIMS + phases.CLAIMS + convergence.CLAIMS + minimal.CLAIMS + remarks.CLAIMS
