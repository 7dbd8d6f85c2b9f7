"""W: kernel and rich regimes."""

from . import completion, deeper, depth_two, finite_steps, kernel, vanishing

CLAIMS = kernel.CLAIMS + depth_two.CLAIMS + deeper.CLAIMS + vanishing.CLAIMS + finite_steps.CLAIMS + completion.CLAIMS
