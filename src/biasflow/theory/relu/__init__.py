"""B: shallow ReLU networks on orthogonal data."""

from . import (
    assumptions,
    convergence,
    early_equations,
    early_lemmas,
    ending,
    landscape,
    minimal,
    nearly,
    phases,
    relaxations,
    remarks,
    robustness,
    scale,
)

CLAIMS = (
    assumptions.CLAIMS
    + phases.CLAIMS
    + early_equations.CLAIMS
    + early_lemmas.CLAIMS
    + convergence.CLAIMS
    + landscape.CLAIMS
    + ending.CLAIMS
    + minimal.CLAIMS
    + remarks.CLAIMS
    + relaxations.CLAIMS
    + robustness.CLAIMS
    + nearly.CLAIMS
    + scale.CLAIMS
)
