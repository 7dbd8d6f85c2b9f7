"""C: logistic loss, wide two-layer networks."""

from .performance import fig2

EXPERIMENTS = (fig2,)
