"""R: mirror flow for least squares."""

from . import (
    ablations,
    bias,
    boundary_limits as boundary,
    cones as cone,
    fixed_direction_flows as networks,
    flow_rates as rates,
    growing_widths as widths,
    hypentropic,
    legendre,
    local,
    operator_norm,
    twins,
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
