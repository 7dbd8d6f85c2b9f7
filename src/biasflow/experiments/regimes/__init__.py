"""W: kernel and rich regimes."""

from ...records import Experiment
from .completion import fig3, fig5
from .deep import fig4ab, fig4cd
from .depth import fig2
from .finite_steps import descent
from .images import fig4e, fig4f, fig6
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
)
