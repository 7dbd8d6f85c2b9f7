"""What a flow did, and what it could do: bounds on its speed, phases, arrival, clusters, and
whether it is a mirror flow."""

from .arrival import Arrival, time_to
from .bounds import ConvergenceBounds, LocalBounds, convergence_bounds, local_bounds
from .certifying import margin_certificates
from .clusters import Cluster, Kink, clusters, kinks
from .commuting import CommutingDefect, commuting_defect
from .generalisation import MarginBound, margin_bound
from .interclass import interclass_distance
from .operator import inverse_norm
from .phases import Phase, phases
from .probing import Estimate, Probe, gradient_distance, kernel_distance, probe
from .transport import transport_distance

__all__ = [
    "Arrival",
    "Cluster",
    "CommutingDefect",
    "ConvergenceBounds",
    "Estimate",
    "Kink",
    "LocalBounds",
    "MarginBound",
    "Phase",
    "Probe",
    "clusters",
    "commuting_defect",
    "convergence_bounds",
    "gradient_distance",
    "interclass_distance",
    "inverse_norm",
    "kernel_distance",
    "kinks",
    "local_bounds",
    "margin_bound",
    "margin_certificates",
    "phases",
    "probe",
    "time_to",
    "transport_distance",
]
