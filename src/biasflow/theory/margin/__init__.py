"""C: logistic loss and max margins."""

from . import (
    ascent_rates as rates,
    both_layers as training,
    class_distances,
    decay,
    directions,
    discs,
    energy,
    injectivity,
    interchange,
    margin_assumptions as assumptions,
    margin_generalisation as generalisation,
    margins,
    measure_transport as transport,
    more_neurons as widths,
    norm_growth as growth,
    optimality,
    points,
    populations,
    projected,
    projections,
    regularity,
    smooth_margins as softmin,
    sparsity,
    unseen,
    variation_norm as variation,
)

CLAIMS = (
    assumptions.CLAIMS
    + variation.CLAIMS
    + decay.CLAIMS
    + margins.CLAIMS
    + class_distances.CLAIMS
    + sparsity.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + growth.CLAIMS
    + points.CLAIMS
    + interchange.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + projected.CLAIMS
    + energy.CLAIMS
    + populations.CLAIMS
    + regularity.CLAIMS
    + injectivity.CLAIMS
    + optimality.CLAIMS
    + directions.CLAIMS
    + projections.CLAIMS
    + generalisation.CLAIMS
    + unseen.CLAIMS
    + discs.CLAIMS
)
