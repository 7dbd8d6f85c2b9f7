"""w ← w − γg: gradient descent and SGD, batches of runs, ascent on the smooth margin, and the
recursions of C's Propositions 6 and 7."""

from .ascent import margin_ascent, margin_ascents
from .batches import TrainedBatch, TrainedRun, train_batch
from .descent import effective_limit, gradient_descent
from .feature_ascents import FeatureAscent, feature_ascent
from .step_rules import ConstantStep, InverseRootStep, Proposition6Step, Proposition7Step, StepRule

__all__ = [
    "ConstantStep",
    "FeatureAscent",
    "InverseRootStep",
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
    "train_batch",
]
