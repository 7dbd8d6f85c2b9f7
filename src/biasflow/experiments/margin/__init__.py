"""C: logistic loss, wide two-layer networks."""

from ..experiment import Experiment
from .boundaries import fig1
from .performance import fig2
from .slices import fig4
from .two_biases import fig3

EXPERIMENTS: tuple[Experiment, ...] = (fig1, fig2, fig3, fig4)
