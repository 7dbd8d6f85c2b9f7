"""Flows: integrated accurately at any scale, or followed in the limit of vanishing
initialisation."""

from .._numerics.flow_frame import FlowRequest
from .endpoints import limit
from .methods import (
    METHODS,
    Dual,
    Events,
    Factored,
    FlowMethod,
    Margin,
    RoundedKinks,
    Separable,
    Weights,
    gradient_flow,
)
from .mirror.dual_flow import mirror_flow
from .relu import (
    Alignment,
    Branch,
    GateEvent,
    ReluSaddle,
    ReluSaddlePath,
    early_alignment,
    relu_saddle_path,
    saddle_limit,
)
from .saddle_paths import saddle_path
from .separable import DirectionPath, direction_path

__all__ = [
    "METHODS",
    "Alignment",
    "Branch",
    "DirectionPath",
    "Dual",
    "Events",
    "Factored",
    "FlowMethod",
    "FlowRequest",
    "GateEvent",
    "Margin",
    "ReluSaddle",
    "ReluSaddlePath",
    "RoundedKinks",
    "Separable",
    "Weights",
    "direction_path",
    "early_alignment",
    "gradient_flow",
    "limit",
    "mirror_flow",
    "relu_saddle_path",
    "saddle_limit",
    "saddle_path",
]
