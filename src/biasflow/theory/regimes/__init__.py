"""W: kernel and rich regimes."""

from . import completion, deeper, depth_two, equivalences, escape, finite_steps, kernel, lemmas, thresholds, vanishing

CLAIMS = (
    kernel.CLAIMS
    + equivalences.CLAIMS
    + depth_two.CLAIMS
    + lemmas.CLAIMS
    + deeper.CLAIMS
    + thresholds.CLAIMS
    + escape.CLAIMS
    + vanishing.CLAIMS
    + finite_steps.CLAIMS
    + completion.CLAIMS
)
