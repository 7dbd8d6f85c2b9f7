"""W: kernel and rich regimes."""

from . import (
    completion,
    deeper,
    depth_two,
    equivalences,
    escape,
    finite_steps,
    kernel,
    lemmas,
    recovery,
    samples,
    thresholds,
    vanishing,
)

CLAIMS = (
    kernel.CLAIMS
    + equivalences.CLAIMS
    + depth_two.CLAIMS
    + lemmas.CLAIMS
    + deeper.CLAIMS
    + thresholds.CLAIMS
    + escape.CLAIMS
    + samples.CLAIMS
    + vanishing.CLAIMS
    + finite_steps.CLAIMS
    + completion.CLAIMS
    + recovery.CLAIMS
)
