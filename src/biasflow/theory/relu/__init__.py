"""B: shallow ReLU networks on orthogonal data."""

from . import assumptions, convergence, phases

CLAIMS = assumptions.CLAIMS + phases.CLAIMS + convergence.CLAIMS
