"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, rates, softmin, training, transport, widths

CLAIMS = (
    assumptions.CLAIMS
    + margins.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + widths.CLAIMS
    + transport.CLAIMS
    + generalisation.CLAIMS
)
