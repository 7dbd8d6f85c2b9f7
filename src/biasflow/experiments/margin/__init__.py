"""C: logistic loss, wide two-layer networks."""

from .slices import fig4

EXPERIMENTS = (fig4,)
