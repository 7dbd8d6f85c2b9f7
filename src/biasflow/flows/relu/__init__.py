"""Two-layer ReLU networks: the event-driven flow, early alignment, and the limit of vanishing
initialisation."""

from .alignment import Alignment, early_alignment
from .branches import Branch
from .event_flow import GateEvent, integrate_events
from .orthogonal_limit import saddle_limit
from .saddle_sequence import ReluSaddle, ReluSaddlePath, relu_saddle_path

__all__ = [
    "Alignment",
    "Branch",
    "GateEvent",
    "ReluSaddle",
    "ReluSaddlePath",
    "early_alignment",
    "integrate_events",
    "relu_saddle_path",
    "saddle_limit",
]
