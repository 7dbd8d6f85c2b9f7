"""W: kernel and rich regimes."""

from .completion import fig3, fig5
from .deep import fig4ab, fig4cd
from .depth import fig2
from .finite_steps import descent
from .sparse import fig1

EXPERIMENTS = (fig1, fig2, fig3, fig4ab, fig4cd, fig5, descent)
