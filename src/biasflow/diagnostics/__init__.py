"""What a flow did, and what it could do: bounds on its speed, phases, arrival, clusters,
whether it is a mirror flow, what it conserves, and how far its margin is from the largest."""

from .arrival import Arrival, time_to
from .bounds import ConvergenceBounds, LocalBounds, convergence_bounds, local_bounds
from .certificates_in_training import margin_certificates
from .commuting import CommutingDefect, commuting_defect
from .conservation import ConservationLaws, LawDrift, conservation_laws
from .interclass import interclass_distance
from .lasso_gaps import LassoGap, lasso_gap
from .law_formulas import Law
from .loss_phases import Phase, phases
from .margin_bounds import MarginBound, margin_bound
from .margin_ladder import Polish
from .network_certificates import NetworkCertificate, certify
from .neuron_clusters import Cluster, Kink, clusters, kinks
from .operator import inverse_norm
from .transport_distances import transport_distance

__all__ = [
    "Arrival",
    "Cluster",
    "CommutingDefect",
    "ConservationLaws",
    "ConvergenceBounds",
    "Kink",
    "LassoGap",
    "Law",
    "LawDrift",
    "LocalBounds",
    "MarginBound",
    "NetworkCertificate",
    "Phase",
    "Polish",
    "certify",
    "clusters",
    "commuting_defect",
    "conservation_laws",
    "convergence_bounds",
    "interclass_distance",
    "inverse_norm",
    "kinks",
    "lasso_gap",
    "local_bounds",
    "margin_bound",
    "margin_certificates",
    "phases",
    "time_to",
    "transport_distance",
]
