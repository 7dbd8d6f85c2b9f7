"""W: kernel and rich regimes."""

from .deep import fig4ab, fig4cd
from .depth import fig2
from .finite_steps import descent
from .sparse import fig1

EXPERIMENTS = (fig1, fig2, fig4ab, fig4cd, descent)
