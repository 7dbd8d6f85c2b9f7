"""W: kernel and rich regimes."""

from . import (
    biased,
    deeper,
    depth_two,
    equivalences,
    escape,
    explicit,
    finite_steps,
    hilbert,
    kernel,
    lemmas,
    matrix_completion as completion,
    recipe,
    recovery,
    saddle_at_zero as saddle,
    sample_counts as samples,
    thresholds,
    vanishing,
    wide,
)

CLAIMS = (
    kernel.CLAIMS
    + biased.CLAIMS
    + equivalences.CLAIMS
    + hilbert.CLAIMS
    + depth_two.CLAIMS
    + recipe.CLAIMS
    + lemmas.CLAIMS
    + deeper.CLAIMS
    + thresholds.CLAIMS
    + explicit.CLAIMS
    + saddle.CLAIMS
    + escape.CLAIMS
    + samples.CLAIMS
    + vanishing.CLAIMS
    + finite_steps.CLAIMS
    + completion.CLAIMS
    + recovery.CLAIMS
    + wide.CLAIMS
)
