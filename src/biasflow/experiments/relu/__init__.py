"""B: shallow ReLU networks, square loss."""

from ..experiment import Experiment
from .lines import fig2, fig3, fig4, fig5
from .teacher import fig6, fig7
from .timeline_figure import fig1

EXPERIMENTS: tuple[Experiment, ...] = (fig1, fig2, fig3, fig4, fig5, fig6, fig7)
