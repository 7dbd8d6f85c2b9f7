"""Flows: integrated accurately at any scale, descended, or followed in the limit of vanishing
initialisation."""

from .ascent import (
    ConstantStep,
    FeatureAscent,
    InverseRootStep,
    Proposition6Step,
    Proposition7Step,
    StepRule,
    feature_ascent,
    margin_ascent,
    margin_ascents,
)
from .batches import TrainedBatch, TrainedRun, train_batch
from .descent import effective_limit, gradient_descent
from .dual import mirror_flow
from .endpoints import limit
from .methods import METHODS, FlowMethod, gradient_flow
from .relu import Alignment, Branch, GateEvent, early_alignment, saddle_limit
from .saddles import saddle_path

__all__ = [
    "METHODS",
    "Alignment",
    "Branch",
    "ConstantStep",
    "FeatureAscent",
    "FlowMethod",
    "GateEvent",
    "InverseRootStep",
    "Proposition6Step",
    "Proposition7Step",
    "StepRule",
    "TrainedBatch",
    "TrainedRun",
    "early_alignment",
    "effective_limit",
    "feature_ascent",
    "gradient_descent",
    "gradient_flow",
    "limit",
    "margin_ascent",
    "margin_ascents",
    "mirror_flow",
    "saddle_limit",
    "saddle_path",
    "train_batch",
]
