"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, rates, softmin

CLAIMS = assumptions.CLAIMS + margins.CLAIMS + softmin.CLAIMS + rates.CLAIMS + generalisation.CLAIMS
