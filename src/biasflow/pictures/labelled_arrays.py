"""Flows and limits as xarray datasets with named dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.facts import brief
from .._core.problems import MirrorProblem, Problem
from .._core.results import SERIES, Limit, Trajectory
from .._core.trees import leaves
from ..models import Particles
from ..models.deep_networks import DeepParams
from ..models.diagonal import DiagonalParams
from ..models.factorisation import FactorParams
from ..models.fixed_directions import FixedDirectionsParams
from ..models.product import ProductParams
from ..models.signed import SignedTwoLayerParams
from ..models.two_layer import TwoLayerParams
from .moments import nth_state

if TYPE_CHECKING:
    import xarray

DIMENSIONS: dict[type, dict[str, tuple[str, ...]]] = {
    DiagonalParams: {"plus": ("coordinate",), "minus": ("coordinate",)},
    ProductParams: {"u": ("coordinate",), "v": ("coordinate",)},
    FixedDirectionsParams: {"a": ("neuron",), "b": ("neuron",)},
    TwoLayerParams: {"a": ("neuron",), "W": ("neuron", "coordinate")},
    SignedTwoLayerParams: {"W": ("neuron", "coordinate")},
    FactorParams: {"U": ("row", "factor"), "V": ("column", "factor")},
    Particles: {
        "directions": ("neuron", "coordinate"),
        "signs": ("neuron",),
        "log_masses": ("neuron",),
    },
}
"""What the axes of each parameter are."""
OF_SAMPLES = ("dual", "sample_weights")
OF_NEURONS = ("log_norms",)
"""Series with an axis beside time."""

Variables = dict[str, tuple[tuple[str, ...], Any]]


def flow_table(flow: Trajectory) -> xarray.Dataset:
    """States, predictor and predictions over time, loss, errors, and whatever else the method
    tells."""
    import xarray

    variables: Variables = {
        "loss": (("time",), flow.loss),
        "error": (("time",), flow.error),
        "predictor_error": (("time",), flow.predictor_error),
    }
    variables |= _named(flow.states, ("time",), "beta")
    problem = flow.problem
    if isinstance(problem, Problem):
        inputs, labels = problem.data.X, problem.data.y
        predictor = np.asarray(problem.model.effective(flow.states))
        axes = _predictor_axes(flow.states, predictor.ndim - 1)
        variables["predictor"] = (("time", *axes), predictor)
        states = [nth_state(flow.states, k) for k in range(len(flow.times))]
        predictions = np.stack([np.asarray(problem.model(state, inputs)) for state in states])
    else:
        inputs, labels = problem.X, problem.y
        predictions = np.asarray(flow.states) @ inputs.T
    variables["predictions"] = (("time", "sample"), predictions)
    variables["label"] = (("sample",), labels)
    for name in SERIES:
        values = getattr(flow, name)
        if values is not None:
            beside = ("sample",) if name in OF_SAMPLES else ("neuron",)
            kept = beside if name in OF_SAMPLES + OF_NEURONS else ()
            variables[name] = (("time", *kept), np.asarray(values))
    return xarray.Dataset(variables, {"time": flow.times}, _flow_attributes(flow))


def limit_table(limit: Limit[Any]) -> xarray.Dataset:
    """The value, and as attributes what is proven of it."""
    import xarray

    proof = limit.certificate
    attributes = {
        "objective": float(limit.objective),
        "lower": float(proof.lower),
        "upper": float(proof.upper),
        "gap": float(proof.gap),
        "residual": float(proof.residual),
        "kind": proof.kind,
        "source": limit.source,
    }
    value = limit.value
    if not isinstance(value, np.ndarray | tuple):  # a function: its numbers
        parts = {
            name: part
            for name, part in vars(value).items()
            if isinstance(part, np.ndarray) and part.ndim
        }
        variables: Variables = {
            name: (tuple(f"{name}_{k}" for k in range(part.ndim)), part)
            for name, part in parts.items()
        }
        return xarray.Dataset(variables, attrs={**attributes, "value": type(value).__name__})
    return xarray.Dataset(_named(value, (), "value"), attrs=attributes)


def _flow_attributes(flow: Trajectory) -> dict[str, Any]:
    problem, worst = flow.problem, np.max(flow.error) if np.size(flow.error) else np.nan
    found = {
        "result": flow.result.value,
        "success": int(flow.result.success),
        "error": float(worst),
    }
    found |= {name: flow.stats[name] for name in ("method", "engine", "rtol") if name in flow.stats}
    if isinstance(problem, MirrorProblem):
        return found | {"potential": brief(problem.potential)}
    return found | {
        "model": brief(problem.model),
        "loss": brief(problem.loss),
        "data": problem.data.name,
    }


def _named(state: Any, lead: tuple[str, ...], name: str) -> Variables:
    """Every array of a state with the names of its axes."""
    if not isinstance(state, tuple):
        own = ("coordinate",) if np.ndim(state) - len(lead) == 1 else ("row", "column")
        return {name: ((*lead, *own), np.asarray(state))}
    known = DIMENSIONS.get(type(state), {})
    fields = getattr(state, "_fields", [f"part{k}" for k in range(len(state))])
    variables: Variables = {}
    for field, part in zip(fields, state, strict=True):
        for k, leaf in enumerate(leaves(part)):
            label = f"{field}{k}" if isinstance(part, tuple) else field
            count = np.ndim(leaf) - len(lead)
            axes = known.get(field) or _layer_axes(state, k, label, count)
            variables[label] = ((*lead, *axes), np.asarray(leaf))
    return variables


def _layer_axes(state: Any, k: int, label: str, count: int) -> tuple[str, ...]:
    """The units of a deep network's layers; names of its own for an array of another kind."""
    if isinstance(state, DeepParams):
        units = (f"unit{k + 1}", f"unit{k}")
        return ("copy", *units)[-count:] if count == 3 else _deep_axes(label, units, count)
    return tuple(f"{label}_{axis}" for axis in range(count))


def _deep_axes(label: str, units: tuple[str, str], count: int) -> tuple[str, ...]:
    if label.startswith("biases"):
        return (units[0],) if count == 1 else ("copy", units[0])
    return units


def _predictor_axes(states: Any, count: int) -> tuple[str, ...]:
    if isinstance(states, FactorParams):
        return ("row", "column")
    if isinstance(states, FixedDirectionsParams):
        return ("neuron",)
    if isinstance(states, TwoLayerParams | SignedTwoLayerParams):
        return ("neuron", "coordinate")
    if isinstance(states, DiagonalParams | ProductParams):
        return ("coordinate",)
    return tuple(f"predictor_{axis}" for axis in range(count))
