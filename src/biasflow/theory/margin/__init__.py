"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, rates, softmin, training, transport, variation, widths

CLAIMS = (
    assumptions.CLAIMS
    + variation.CLAIMS
    + margins.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + generalisation.CLAIMS
)
