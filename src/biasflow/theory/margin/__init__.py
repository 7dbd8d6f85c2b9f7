"""C: logistic loss and max margins."""

from . import assumptions, generalisation, margins, softmin

CLAIMS = assumptions.CLAIMS + margins.CLAIMS + softmin.CLAIMS + generalisation.CLAIMS
