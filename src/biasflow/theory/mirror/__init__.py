"""R: mirror flow for least squares."""

from . import ablations, bias, hypentropic, local, networks, rates

CLAIMS = bias.CLAIMS + rates.CLAIMS + local.CLAIMS + hypentropic.CLAIMS + networks.CLAIMS + ablations.CLAIMS
