"""Gradient ascent on C's smooth margin: batches of trainings, and the recursions of Propositions 6
and 7."""

from .ascending import margin_ascent, margin_ascents
from .features import FeatureAscent, feature_ascent
from .steps import ConstantStep, InverseRootStep, Proposition6Step, Proposition7Step, StepRule

__all__ = [
    "ConstantStep",
    "FeatureAscent",
    "InverseRootStep",
    "Proposition6Step",
    "Proposition7Step",
    "StepRule",
    "feature_ascent",
    "margin_ascent",
    "margin_ascents",
]
