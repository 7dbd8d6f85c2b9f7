"""C: logistic loss and max margins."""

from . import (
    assumptions,
    decay,
    directions,
    discs,
    energy,
    generalisation,
    growth,
    injectivity,
    interchange,
    margins,
    optimality,
    points,
    populations,
    projected,
    projections,
    rates,
    regularity,
    softmin,
    sparsity,
    training,
    transport,
    unseen,
    variation,
    widths,
)

CLAIMS = (
    assumptions.CLAIMS
    + variation.CLAIMS
    + decay.CLAIMS
    + margins.CLAIMS
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
