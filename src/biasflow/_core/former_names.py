"""Names of 0.1 that moved and words that changed: they work until 1.0, and say what they are
now."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_BY_ROOM = {
    "diagnostics": """
        Arrival Cluster CommutingDefect ConvergenceBounds Kink LocalBounds MarginBound Phase
        clusters commuting_defect convergence_bounds interclass_distance inverse_norm kinks
        local_bounds margin_bound margin_certificates phases time_to transport_distance
    """,
    "errors": """
        AssumptionError BiasflowError ConvergenceError DataFileError DomainError
        InconsistentError InfeasibleError InputError RefusedError ScaleError UnknownNameError
    """,
    "experiments": "Experiment Reading Reported",
    "flows": "Alignment Branch GateEvent early_alignment saddle_limit",
    "limits": """
        FeatureClassifier Homogeneity KernelClassifier KktPoint LinearisedFlow MarginCertificate
        MarginKkt SmoothedMargin TangentPredictor arc_cosine_kernel f1_max_margin f2_max_margin
        homogeneity kernel_interpolator kernel_max_margin kkt_point kkt_residual l1_max_margin
        l2_max_margin linearised_flow margin_certificate margin_kkt min_frobenius_norm min_l1
        min_l2 min_norm_interpolator min_nuclear_norm mirror_limit polish smoothed_margin
        tangent_interpolator tangent_kernel_limit tangent_max_margin variation_norm
    """,
    "losses": "Loss MarginLoss",
    "models": """
        DeepParams DiagonalParams FactorParams FixedDirectionsParams MergedProblem Particles
        ProductParams SignedTwoLayerParams SphereMeasure TransportGrowth TwoLayerParams
        as_particles merge_directions mirror random_network sphere_measure split_network
        transport_growth
    """,
    "potentials": "DepthPotential Entropy Euclidean Hypentropy Potential ScaledPotential bregman",
    "regime": "Estimate Probe TransitionScale gradient_distance kernel_distance transition_scale",
    "sweeps": "Batched Composed Dask Grid Processes Serial Store SweepError",
    "theory": """
        Alternating Check Checkpoints Claim Comparison Evidence Falsification Hypothesis Kind
        LegendreProblem PowerProblem Scores Status
    """,
    "training": """
        ConstantStep FeatureAscent InverseRootStep Proposition6Step Proposition7Step StepRule
        TrainedBatch TrainedRun effective_limit feature_ascent gradient_descent margin_ascent
        margin_ascents train_batch
    """,
}
FORMER_NAMES = {room: tuple(names.split()) for room, names in _BY_ROOM.items()}
"""Flat names of 0.1 by the room they live in."""
FORMER_ROOMS = {"run": "sweeps", "offers": "_core.offers"}
"""Rooms of 0.1 under their new names."""


def find_former(name: str, package: str) -> Any:
    """What a flat name of 0.1 stood for, with a warning that names the new one; AttributeError
    where there never was one."""
    if name in FORMER_ROOMS:
        warn_of(f"{package}.{name}", f"{package}.{FORMER_ROOMS[name]}", 4)
        return importlib.import_module(f"{package}.{FORMER_ROOMS[name]}")
    for room, names in FORMER_NAMES.items():
        if name in names:
            warn_of(f"{package}.{name}", f"{package}.{room}.{name}", 4)
            return getattr(importlib.import_module(f"{package}.{room}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def renamed(**former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose parameters had other names in 0.1, `renamed(ds="data")`: the old words work
    until 1.0, with a warning that names the new one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__

        @functools.wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            for old in [word for word in former if word in named]:
                new = former[old]
                if new in named:
                    raise TypeError(f"{name}: {old} is the old name of {new}; give one")
                warn_of(f"{name}({old}=…)", f"{name}({new}=…)")
                named[new] = named.pop(old)
            return function(*args, **named)

        return call

    return decorate


def keyword_only(*words: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose last parameters, these, could be given by position in 0.1: such calls work
    until 1.0, with a warning that names the words."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__qualname__.removesuffix(".__init__")
        parameters = inspect.signature(function).parameters.values()
        places = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)

        @functools.wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            given = dict(zip(words, args[places:], strict=False))
            if not given or len(args) > places + len(words) or given.keys() & named.keys():
                return function(*args, **named)  # which says what is wrong
            written = ", ".join(f"{word}=…" for word in given)
            warn_of(f"{name} with {', '.join(given)} by position", f"{name}({written})")
            named.update(given)
            return function(*args[:places], **named)  # type: ignore[arg-type]

        return call

    return decorate


def warn_of(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that a word goes; stacklevel: how many calls above this one the user's line is."""
    message = f"{old} is now {new}; the old one goes with version 1.0"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
