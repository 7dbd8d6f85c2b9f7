"""What is fuzzed: a call that works for everything public, and what is left out."""

from __future__ import annotations

import functools

from fuzz_flows import flow_entries
from fuzz_limits import limit_entries
from fuzz_material import Entry
from fuzz_others import diagnostic_entries, other_entries


@functools.cache
def entries() -> dict[str, Entry]:
    """By name, in the order of `biasflow.__all__`, more or less."""
    return {**flow_entries(), **limit_entries(), **diagnostic_entries(), **other_entries()}


RECORDS = {
    "Bracket",
    "LegendreProblem",
    "Batched",
    "Composed",
    "Experiment",
    "CrossEntropyLoss",
    "Reading",
    "Reported",
    "Result",
    "Loss",
    "MarginLoss",
    "Potential",
    "StepRule",
    "Branch",
    "GateEvent",
    "Proposition6Step",
    "Proposition7Step",
    "Alternating",
    "Check",
    "Checkpoints",
    "Claim",
    "Evidence",
    "Falsification",
    "Hypothesis",
    "Kind",
    "PowerProblem",
    "Scores",
    "Status",
    "SweepError",
    "TransitionScale",
    "Store",
    "Dask",
    "Processes",
    "__version__",
}
"""Public names without a call of their own to fuzz: records and abstract classes, the loss of image
classifiers, engines that start processes, stores."""
NOT_FUZZED = {"falsify", "progress", "transition_scale"}
"""Searches that start processes, and the switch of the progress line: their own tests look at
them."""
