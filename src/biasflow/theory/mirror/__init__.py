"""R: mirror flow for least squares."""

from . import ablations, bias, boundary, hypentropic, local, networks, operator_norm, rates, twins, widths

CLAIMS = (
    *bias.CLAIMS,
    *boundary.CLAIMS,
    *rates.CLAIMS,
    *local.CLAIMS,
    *hypentropic.CLAIMS,
    *networks.CLAIMS,
    *ablations.CLAIMS,
    *operator_norm.CLAIMS,
    *twins.CLAIMS,
    *widths.CLAIMS,
)
