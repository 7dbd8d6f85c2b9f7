"""S: since then, later work on the same questions."""

from ..experiment import Experiment
from .averages_figure import lasso
from .certified_figure import certified
from .conservation_figure import laws_figure
from .line_figure import line
from .parametrisation_figure import parametrisation
from .relu_saddles_figure import relu_saddles
from .separable_figure import separable_figure
from .vanishing_figure import saddles

EXPERIMENTS: tuple[Experiment, ...] = (
    lasso,
    saddles,
    laws_figure,
    line,
    certified,
    relu_saddles,
    parametrisation,
    separable_figure,
)
