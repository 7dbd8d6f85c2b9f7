"""C: logistic loss and max margins."""

from . import (
    assumptions,
    decay,
    directions,
    energy,
    generalisation,
    injectivity,
    interchange,
    margins,
    points,
    populations,
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
    + points.CLAIMS
    + interchange.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + energy.CLAIMS
    + populations.CLAIMS
    + regularity.CLAIMS
    + injectivity.CLAIMS
    + directions.CLAIMS
    + projections.CLAIMS
    + generalisation.CLAIMS
    + unseen.CLAIMS
)
