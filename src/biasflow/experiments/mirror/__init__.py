"""R: mirror flow for least squares."""

from ..experiment import Experiment
from .cone_figure import fig4, fig5
from .convergence_figure import fig2, fig3, fig6
from .hypentropies import fig1

EXPERIMENTS: tuple[Experiment, ...] = (fig1, fig2, fig3, fig4, fig5, fig6)
