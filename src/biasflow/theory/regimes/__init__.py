"""W: kernel and rich regimes."""

from . import completion, deeper, depth_two, finite_steps, kernel, lemmas, vanishing

CLAIMS = (
    kernel.CLAIMS + depth_two.CLAIMS + lemmas.CLAIMS + deeper.CLAIMS + vanishing.CLAIMS + finite_steps.CLAIMS + completion.CLAIMS
)
