"""S: since then, later work on the same questions."""

from . import (
    averages,
    commuting_gradients,
    damped,
    deep_separable,
    global_margins,
    kept_quantities,
    least_norms_on_a_line,
    relu_saddles,
    separable_directions,
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
    + separable_directions.CLAIMS
    + deep_separable.CLAIMS
)
