"""Fixed features of a problem with their margins and ascents, each computed once, and what C's
rates ask of them."""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.results import Limit
from ..._numerics.deadlines import RECORDED_S
from ...limits import l1_max_margin, l2_max_margin
from ...training import FeatureAscent, feature_ascent
from ..evidence import Evidence
from ..verdicts import Hypothesis
from .margin_setting import STEPS, output_features, signed_features
from .plain import PlainAscent, agreed, plain_ascent

ROUNDING_DIFFERENCE = 1e-12
"""Relative difference of margins up to which rounding has not grown: the ascents amplify it
exponentially, then by ten in some ten steps. Half as many steps are compared."""
SMALL_FROM = 40
"""t from which on a step's growth is its logarithm to one per cent, `rates.SMALL_STEP`."""


class FixedFeatures:
    """Signed features Z (n, m) of one kind of training."""

    def __init__(self, problem: Any, output: bool) -> None:
        self.output = output
        self.Z: Array = output_features(problem) if output else signed_features(problem)

    @property
    def training(self) -> str:
        return "output" if self.output else "directions"

    @cached_property
    def best(self) -> Limit[Array]:
        """γ₁^(m) or γ₂^(m) by the library."""
        solve = l2_max_margin if self.output else l1_max_margin
        return solve(self.Z, time_s=RECORDED_S)

    @cached_property
    def bracket(self) -> tuple[float, float]:
        """What the library's a and p prove of the margin, by weak duality alone."""
        a, p, m = self.best.value, self.best.stats["weights"], self.Z.shape[1]
        p = np.maximum(p, 0) / np.sum(np.maximum(p, 0))
        if self.output:
            a = a / max(float(np.sqrt(m) * np.linalg.norm(a)), np.finfo(float).tiny)
            return float(np.min(self.Z @ a)), float(np.linalg.norm(p @ self.Z) / np.sqrt(m))
        a = np.maximum(a, 0) / np.sum(np.maximum(a, 0))
        return float(np.min(self.Z @ a)), float(np.max(p @ self.Z))

    @cached_property
    def run(self) -> FeatureAscent:
        """The library's ascent."""
        return feature_ascent(self.Z, STEPS, self.training)

    @cached_property
    def plain(self) -> PlainAscent:
        """The ascent as C writes it, in extended precision."""
        return plain_ascent(self.Z, self.output)

    @cached_property
    def rough(self) -> PlainAscent:
        """The same in float64 with every feature moved by its rounding: their distance is what
        rounding does."""
        moved = 1 + np.finfo(float).eps * np.random.default_rng(0).choice([-4.0, 4.0], self.Z.shape)
        return plain_ascent(self.Z * moved, self.output, kind=np.float64)

    @cached_property
    def compared(self) -> int:
        """Steps over which two implementations must agree."""
        return max(agreed(self.plain, self.rough, ROUNDING_DIFFERENCE) // 2, 2)


class Fixed:
    """Both kinds."""

    def __init__(self, problem: Any) -> None:
        self.directions, self.layer = FixedFeatures(problem, False), FixedFeatures(problem, True)


_found: weakref.WeakKeyDictionary[Evidence, Fixed] = weakref.WeakKeyDictionary()


def fixed(evidence: Evidence) -> Fixed:
    """The features of the evidence's network, once."""
    if evidence not in _found:
        _found[evidence] = Fixed(evidence.problem)
    return _found[evidence]


def _separates(evidence: Evidence) -> str | None:
    problem = evidence.problem
    still = np.flatnonzero(np.all(problem.start.W == 0, axis=1))
    if still.size:
        return f"the input weights of neuron {int(still[0])} are zero: it has no direction"
    both = fixed(evidence)
    for name, features in (("directions", both.directions), ("first layer", both.layer)):
        if not features.best.stats["separable"]:
            return (
                f"the {problem.model.width} fixed {name} do not separate the samples: the "
                "margin is not positive"
            )
    return None


def _long(evidence: Evidence) -> str | None:
    features = fixed(evidence).directions
    early, best = features.plain.length // 10, features.best.objective
    if early < SMALL_FROM:
        return f"{features.plain.length} steps could be followed, needs {10 * SMALL_FROM}"
    least = float(np.min(features.plain.margin[early:]))
    return (
        None
        if least >= best / 2
        else f"after {early} steps the margin is {least:.3g}, less than half of {best:.3g}"
    )


SEPARATES = Hypothesis(
    "separates", "the fixed neurons of the start separate the samples", _separates
)
LONG = Hypothesis(
    "long", "t is large: the margin after a tenth of the steps is at least half of γ₁^(m)", _long
)
