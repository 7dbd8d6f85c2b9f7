"""What C's statements ask of data, networks and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.problems import Dataset, Problem
from ...limits import f1_max_margin
from ...limits.neurons.labelled_inputs import read_labelled
from ...losses import ExponentialLoss, SmoothMargin
from ...models import SignedTwoLayer, TwoLayer
from ..evidence import Evidence
from ..unmeasured import need
from ..verdicts import Hypothesis, on_problem
from .margin_setting import (
    EARLY_NORM,
    LOOSE_GAP,
    Alternating,
    Scores,
    bias_column,
    inputs_of,
    remembered,
)

BALANCE_TOLERANCE = 1e-9
"""Relative difference of |a_j| and ‖w_j‖ that rounding leaves."""

TIE_TOLERANCE = 1e-9
"""Relative distance from the least score at which another is as small."""
NEAR = np.radians(45.0)
"""Angle within which every direction must have a neuron of either sign, for finitely many to count
as full support."""
PROBES = 500
TAIL = np.array([30.0, 100.0, 700.0])
"""−u at which a loss is compared with e^u."""
TAIL_OFF = 1e-9
"""Distance of log ℓ(u) from u there that rounding leaves, and e^(−30) of the logistic loss."""


def _named(problem: Any) -> str:
    return type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__


def _network(problem: Any) -> str | None:
    if not isinstance(problem, Problem) or not isinstance(
        problem.model, (TwoLayer, SignedTwoLayer)
    ):
        return f"found {_named(problem)}, needs a TwoLayer or SignedTwoLayer network"
    if isinstance(problem.model, TwoLayer) and problem.model.activation != "relu":
        return f"the activation is {problem.model.activation}, needs relu"
    if not isinstance(problem.loss, SmoothMargin):
        return f"found {type(problem.loss).__name__}, needs a SmoothMargin: C's objective and clock"
    return _biased(problem)


def _biased(problem: Problem) -> str | None:
    if bias_column(problem.data.X) is not None:
        return None
    return "no column of the inputs is constant one; append it with bf.data.with_bias"


def _relu(problem: Any) -> str | None:
    return _network(problem) or (
        None
        if isinstance(problem.model, TwoLayer)
        else f"found {_named(problem)}, needs a TwoLayer ReLU network"
    )


def _smooth(problem: Any) -> str | None:
    return _network(problem) or (
        None
        if isinstance(problem.model, SignedTwoLayer)
        else (
            "a ReLU's gradient jumps (C covers it by Theorem 5 alone), needs a SignedTwoLayer "
            "(squared ReLU)"
        )
    )


def _data(problem: Any) -> str | None:
    if isinstance(problem, Dataset):
        return None
    return (
        f"found {_named(problem)}, needs a Dataset, or a network's Problem"
        if _network(problem)
        else None
    )


def _signs(problem: Any) -> str | None:
    y = problem.y if isinstance(problem, Dataset) else problem.data.y
    wrong = np.flatnonzero(np.abs(y) != 1)
    return f"label {int(wrong[0])} is {y[wrong[0]]:g}, needs ±1" if wrong.size else None


def _separable(problem: Any) -> str | None:
    data = inputs_of(problem)
    return read_labelled(data.X, data.y).note or None


def _two_classes(problem: Any) -> str | None:
    return None if np.unique(inputs_of(problem).y).size > 1 else "there is one class only"


def _planar(problem: Any) -> str | None:
    d = inputs_of(problem).d
    return (
        None
        if d <= 2
        else f"inputs have dimension {d}: γ₁ is exact up to dimension 2, a bracket beyond"
    )


def _with_margin(evidence: Evidence) -> str | None:
    data = inputs_of(evidence.problem)
    found = remembered(
        evidence,
        "loose γ₁",
        lambda: f1_max_margin(data.X, data.y, gap=LOOSE_GAP, time_s=evidence.time_left / 2),
    )
    if found.objective > 0:
        return None
    need(found, LOOSE_GAP)
    return "the margin is zero to rounding: there is no bound"


def _on_a_line(problem: Any) -> str | None:
    d = inputs_of(problem).d
    return (
        None
        if d == 1
        else f"inputs have dimension {d}: the density is piecewise constant on a line only"
    )


def _full_support(problem: Any) -> str | None:
    """Random directions of the sphere, each near a neuron of either sign."""
    W = problem.start.W
    signs = (
        problem.start.a if isinstance(problem.model, TwoLayer) else np.asarray(problem.model.signs)
    )
    probes = np.random.default_rng(0).standard_normal((PROBES, W.shape[1]))
    probes /= np.linalg.norm(probes, axis=1)[:, None]
    lengths = np.linalg.norm(W, axis=1)
    for sign in (1.0, -1.0):
        some = (signs * sign > 0) & (lengths > 0)
        mine = W[some] / lengths[some, None]
        cosine = float(np.min(np.max(probes @ mine.T, axis=1))) if len(mine) else -1.0
        if cosine < np.cos(NEAR):
            return (
                f"a direction is {np.degrees(np.arccos(cosine)):.0f}° from every neuron of "
                f"sign {sign:+g}: too few neurons"
            )
    return None


def _small(problem: Any) -> str | None:
    with np.errstate(divide="ignore"):
        log_norm = float(np.log(sum(np.sum(leaf**2) for leaf in problem.start)))
    if np.isfinite(log_norm) and log_norm < EARLY_NORM:
        return None
    return (
        f"the start has log β = {log_norm:.3g}, needs a finite one below {EARLY_NORM:g}, from "
        "where it can be seen to train"
    )


def _exponential(problem: Any) -> str | None:
    if isinstance(problem.loss.loss, ExponentialLoss):
        return None
    return f"the smooth margin is that of {type(problem.loss.loss).__name__}, needs ExponentialLoss"


def _tail(problem: Any) -> str | None:
    """ℓ(u) ~ ℓ'(u) ~ e^u as u → −∞, and an increasing ℓ whose slope does not vanish for u ≥ 0."""
    loss = problem.loss.loss
    for name, logs in (("ℓ", loss.log_loss), ("ℓ'", loss.log_slope)):
        off = float(np.max(np.abs(np.asarray(logs(TAIL)) + TAIL)))
        if not off <= TAIL_OFF:
            return (
                f"the tail of {type(loss).__name__} is not exponential: log {name}(−u) + u "
                f"reaches {off:.3g} for u up to 700"
            )
    slopes = np.asarray(loss.log_slope(-np.linspace(0.0, 700.0, 71)))
    if not np.all(slopes >= np.asarray(loss.log_slope(np.zeros(1))) - TAIL_OFF):
        return f"the slope of {type(loss).__name__} falls for u ≥ 0"
    return None


def _distinct(problem: Any) -> str | None:
    rows, first = np.unique(problem.data.X, axis=0, return_index=True)
    if len(rows) == problem.data.n:
        return None
    again = int(np.setdiff1d(np.arange(problem.data.n), first)[0])
    return f"input {again} occurs twice: the functions φ(·, x_i) are not independent"


def _balanced(problem: Any) -> str | None:
    a, W = problem.start
    lengths = np.linalg.norm(W, axis=1)
    off = np.abs(np.abs(a) - lengths) > BALANCE_TOLERANCE * np.maximum(np.abs(a), lengths)
    return (
        f"neuron {int(np.flatnonzero(off)[0])} starts off the set ‖a‖ = |b|"
        if np.any(off)
        else None
    )


def _scores(problem: Any) -> str | None:
    return (
        None
        if isinstance(problem, Scores)
        else f"found {_named(problem)}, needs Scores(margins, loss)"
    )


def _positive(problem: Any) -> str | None:
    least = float(np.min(problem.margins))
    return None if least > 0 else f"the least score is {least:g}, needs positive ones"


def _unequal(problem: Any) -> str | None:
    least = float(np.min(problem.margins))
    return (
        None
        if np.any(problem.margins > least * (1 + TIE_TOLERANCE))
        else "all scores are equal: none lies off the margin"
    )


def _alternating(problem: Any) -> str | None:
    return (
        None
        if isinstance(problem, Alternating)
        else f"found {_named(problem)}, needs Alternating(rank, sizes)"
    )


NETWORK = Hypothesis(
    "network",
    "a two-layer network with a bias column, trained on the smooth margin",
    on_problem(_network),
    structural=True,
)
RELU = Hypothesis(
    "relu",
    "a two-layer ReLU network with a bias column, trained on the smooth margin",
    on_problem(_relu),
    structural=True,
)
SMOOTH = Hypothesis(
    "A3",
    "φ is differentiable with a Lipschitz gradient: the squared ReLU",
    on_problem(_smooth),
    structural=True,
)
DATA = Hypothesis("data", "labelled inputs", on_problem(_data), structural=True)
SIGNS = Hypothesis("signs", "labels are ±1", on_problem(_signs))
SEPARABLE = Hypothesis("distinct", "no input carries both labels", on_problem(_separable))
TWO_CLASSES = Hypothesis("classes", "there are two classes", on_problem(_two_classes))
PLANAR = Hypothesis(
    "planar", "γ₁ can be computed exactly: inputs of dimension one or two", on_problem(_planar)
)
MARGIN = Hypothesis("margin", "the classes have a margin that floats resolve", _with_margin)
INTERVALS = Hypothesis(
    "A4", "inputs on a line, spread over intervals: a bounded density", on_problem(_on_a_line)
)
FULL_SUPPORT = Hypothesis(
    "support",
    "Π₂(μ₀) has full support: neurons of both signs near every direction",
    on_problem(_full_support),
)
SMALL_START = Hypothesis(
    "start", f"the start is not zero and has log β < {EARLY_NORM:g}", on_problem(_small)
)
EXPONENTIAL_TAIL = Hypothesis("A2", "ℓ increases and has the tail e^u", on_problem(_tail))
DISTINCT = Hypothesis(
    "independent",
    "the functions φ(·, x_i) are independent: inputs are distinct",
    on_problem(_distinct),
)
EXPONENTIAL = Hypothesis("exponential", "ℓ = exp", on_problem(_exponential))
ON_D = Hypothesis("D", "the start lies on D = {‖a‖ = |b|}", on_problem(_balanced))
SCORES = Hypothesis(
    "scores", "scores and the loss they are judged by", on_problem(_scores), structural=True
)
POSITIVE = Hypothesis("positive", "scores are positive", on_problem(_positive))
UNEQUAL = Hypothesis("unequal", "some score is above the least", on_problem(_unequal))
ALTERNATING = Hypothesis(
    "family", "a family of finer and finer classes", on_problem(_alternating), structural=True
)
