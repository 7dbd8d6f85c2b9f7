"""S: since then, later work on the same questions."""

from . import (
    averages,
    commuting_gradients,
    damped,
    global_margins,
    kept_quantities,
    least_norms_on_a_line,
    relu_saddles,
    vanishing_starts,
)

CLAIMS = (
    averages.CLAIMS
    + vanishing_starts.CLAIMS
    + kept_quantities.CLAIMS
    + damped.CLAIMS
    + least_norms_on_a_line.CLAIMS
    + global_margins.CLAIMS
    + relu_saddles.CLAIMS
    + commuting_gradients.CLAIMS
)
