"""R: mirror flow for least squares."""

from . import bias, rates

CLAIMS = bias.CLAIMS + rates.CLAIMS
