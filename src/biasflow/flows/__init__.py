"""Flows: integrated accurately at any scale, descended, or followed in the limit of vanishing initialisation."""

from .batches import TrainedBatch, TrainedRun, train_batch
from .descent import effective_limit, gradient_descent
from .dual import mirror_flow
from .methods import METHODS, FlowMethod, gradient_flow
from .relu import Alignment, GateEvent, early_alignment, saddle_limit
from .saddles import saddle_path

__all__ = [
    "METHODS",
    "Alignment",
    "FlowMethod",
    "GateEvent",
    "TrainedBatch",
    "TrainedRun",
    "early_alignment",
    "effective_limit",
    "gradient_descent",
    "gradient_flow",
    "mirror_flow",
    "saddle_limit",
    "saddle_path",
    "train_batch",
]
