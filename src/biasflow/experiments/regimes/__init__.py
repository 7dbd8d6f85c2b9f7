"""W: kernel and rich regimes."""

from .depth import fig2
from .finite_steps import descent
from .images import fig4e, fig4f, fig6
from .sparse import fig1

EXPERIMENTS = (fig1, fig2, fig4e, fig4f, fig6, descent)
