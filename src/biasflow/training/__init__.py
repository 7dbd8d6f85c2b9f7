"""w ← w − γg: one verb, `train`, in front of the engines; batches of runs, ascent on the smooth
margin, and the recursions of C's Propositions 6 and 7."""

from .ascent import AscentEngine, margin_ascent, margin_ascents
from .batches import JaxEngine, TrainedBatch, TrainedRun, train_batch
from .descent import NumbaEngine, NumPyEngine, effective_limit
from .feature_ascents import FeatureAscent, feature_ascent
from .jobs import Engine
from .step_rules import ConstantStep, InverseRootStep, Proposition6Step, Proposition7Step, StepRule
from .trainings import gradient_descent, train

__all__ = [
    "AscentEngine",
    "ConstantStep",
    "Engine",
    "FeatureAscent",
    "InverseRootStep",
    "JaxEngine",
    "NumPyEngine",
    "NumbaEngine",
    "Proposition6Step",
    "Proposition7Step",
    "StepRule",
    "TrainedBatch",
    "TrainedRun",
    "effective_limit",
    "feature_ascent",
    "gradient_descent",
    "margin_ascent",
    "margin_ascents",
    "train",
    "train_batch",
]
