"""C: logistic loss and max margins."""

from . import (
    assumptions,
    directions,
    energy,
    generalisation,
    margins,
    points,
    populations,
    projections,
    rates,
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
    + margins.CLAIMS
    + sparsity.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + points.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + energy.CLAIMS
    + populations.CLAIMS
    + directions.CLAIMS
    + projections.CLAIMS
    + generalisation.CLAIMS
    + unseen.CLAIMS
)
