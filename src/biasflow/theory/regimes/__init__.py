"""W: kernel and rich regimes."""

from . import completion, deeper, depth_two, escape, finite_steps, kernel, lemmas, thresholds, vanishing

CLAIMS = (
    kernel.CLAIMS
    + depth_two.CLAIMS
    + lemmas.CLAIMS
    + deeper.CLAIMS
    + thresholds.CLAIMS
    + escape.CLAIMS
    + vanishing.CLAIMS
    + finite_steps.CLAIMS
    + completion.CLAIMS
)
