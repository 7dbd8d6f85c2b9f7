"""What a flow did, and what it could do: bounds on its speed, phases, arrival times, and whether it is a mirror flow at all."""

from .arrival import Arrival, time_to
from .bounds import ConvergenceBounds, LocalBounds, convergence_bounds, local_bounds
from .commuting import CommutingDefect, commuting_defect
from .generalisation import MarginBound, margin_bound
from .interclass import interclass_distance
from .operator import inverse_norm
from .phases import Phase, phases

__all__ = [
    "Arrival",
    "CommutingDefect",
    "ConvergenceBounds",
    "LocalBounds",
    "MarginBound",
    "Phase",
    "commuting_defect",
    "convergence_bounds",
    "interclass_distance",
    "inverse_norm",
    "local_bounds",
    "margin_bound",
    "phases",
    "time_to",
]
