"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, softmin, transport

CLAIMS = assumptions.CLAIMS + margins.CLAIMS + softmin.CLAIMS + transport.CLAIMS + generalisation.CLAIMS
