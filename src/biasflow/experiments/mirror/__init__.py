"""R: mirror flow for least squares."""

from .cone import fig4, fig5
from .hypentropies import fig1

EXPERIMENTS = (fig1, fig4, fig5)
