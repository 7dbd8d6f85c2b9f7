"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, rates, softmin, transport

CLAIMS = assumptions.CLAIMS + margins.CLAIMS + softmin.CLAIMS + rates.CLAIMS + transport.CLAIMS + generalisation.CLAIMS
