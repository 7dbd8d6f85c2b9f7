"""B: shallow ReLU networks on orthogonal data."""

from . import assumptions, convergence, early_lemmas, ending, landscape, minimal, phases, relaxations, remarks, robustness

CLAIMS = (
    assumptions.CLAIMS
    + phases.CLAIMS
    + early_lemmas.CLAIMS
    + convergence.CLAIMS
    + landscape.CLAIMS
    + ending.CLAIMS
    + minimal.CLAIMS
    + remarks.CLAIMS
    + relaxations.CLAIMS
    + robustness.CLAIMS
)
