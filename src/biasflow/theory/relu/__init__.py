"""B: shallow ReLU networks on orthogonal data."""

from . import (
    assumptions,
    convergence,
    early_equations,
    early_lemmas,
    ending,
    fitting,
    landscape,
    lazy,
    minimal,
    nearly,
    phases,
    relaxations,
    remarks,
    robustness,
    scale,
    timeline,
)

CLAIMS = (
    assumptions.CLAIMS
    + timeline.CLAIMS
    + phases.CLAIMS
    + fitting.CLAIMS
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
    + lazy.CLAIMS
)
