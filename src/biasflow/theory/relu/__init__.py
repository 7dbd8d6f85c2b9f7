"""B: shallow ReLU networks on orthogonal data."""

from . import (
    early_equations,
    early_lemmas,
    ending,
    fitting,
    flow_convergence as convergence,
    landscape,
    lazy,
    minimal,
    nearly,
    phase_times as timeline,
    polyak_inequality,
    relaxations,
    relu_assumptions as assumptions,
    remarks,
    robustness,
    scale,
    three_phases as phases,
)

CLAIMS = (
    assumptions.CLAIMS
    + timeline.CLAIMS
    + phases.CLAIMS
    + fitting.CLAIMS
    + early_equations.CLAIMS
    + early_lemmas.CLAIMS
    + convergence.CLAIMS
    + polyak_inequality.CLAIMS
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
