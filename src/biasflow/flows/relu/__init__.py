"""Two-layer ReLU networks: the event-driven flow, early alignment, and the limit of vanishing
initialisation."""

from .alignment import Alignment, early_alignment
from .branches import Branch
from .event_flow import GateEvent, integrate_events
from .orthogonal_limit import saddle_limit

__all__ = [
    "Alignment",
    "Branch",
    "GateEvent",
    "early_alignment",
    "integrate_events",
    "saddle_limit",
]
