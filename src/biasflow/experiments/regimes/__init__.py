"""W: kernel and rich regimes."""

from ..experiment import Experiment
from .completion_figure import fig3, fig5
from .deep_figure import fig4ab, fig4cd
from .depth_figure import fig2
from .finite_step_figure import descent
from .image_figures import fig4e, fig4f, fig6
from .scale_figure import scales
from .sparse import fig1

EXPERIMENTS: tuple[Experiment, ...] = (
    fig1,
    fig2,
    fig3,
    fig4ab,
    fig4cd,
    fig4e,
    fig4f,
    fig5,
    fig6,
    descent,
    scales,
)
