"""R: mirror flow for least squares."""

from . import (
    ablations,
    bias,
    boundary,
    cone,
    hypentropic,
    legendre,
    local,
    networks,
    operator_norm,
    rates,
    twins,
    widths,
)

CLAIMS = (
    *bias.CLAIMS,
    *boundary.CLAIMS,
    *legendre.CLAIMS,
    *rates.CLAIMS,
    *local.CLAIMS,
    *hypentropic.CLAIMS,
    *networks.CLAIMS,
    *cone.CLAIMS,
    *ablations.CLAIMS,
    *operator_norm.CLAIMS,
    *twins.CLAIMS,
    *widths.CLAIMS,
)
