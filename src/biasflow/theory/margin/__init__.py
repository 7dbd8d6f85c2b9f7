"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, rates, softmin, training, transport

CLAIMS = (
    assumptions.CLAIMS
    + margins.CLAIMS
    + softmin.CLAIMS
    + rates.CLAIMS
    + training.CLAIMS
    + transport.CLAIMS
    + generalisation.CLAIMS
)
