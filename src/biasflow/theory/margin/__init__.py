"""C: logistic loss and max margins."""

from . import (
    assumptions,
    directions,
    energy,
    generalisation,
    margins,
    populations,
    rates,
    softmin,
    training,
    transport,
    variation,
    widths,
)

CLAIMS = (
    assumptions.CLAIMS
    + variation.CLAIMS
    + margins.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + energy.CLAIMS
    + populations.CLAIMS
    + directions.CLAIMS
    + generalisation.CLAIMS
)
