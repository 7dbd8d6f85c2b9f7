"""C, Lemma 25: on a population with a density the force on neurons is Lipschitz, in their direction
and in the measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...losses import ExponentialLoss, SmoothMargin
from ...models import TwoLayer, TwoLayerParams
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_interval_problem, interval_problem
from .margin_hypotheses import INTERVALS, RELU, SEPARABLE, SIGNS
from .margin_setting import inputs_of
from .populations import PIECES, ROUNDING, Spread, bias_of, library_gradient, resolved

TURNS = np.geomspace(0.3, 1e-6, 12)
"""Angles between neurons whose gradients are compared."""
CIRCLE_PLACES = 400
"""Places of neurons on the circle."""
MOST_PIECES = 200
"""Pieces up to which gradients of neurons at all their ends are a matter of tenths of seconds."""


class Turning:
    """J' on the circle S_+ of balanced neurons, J'(u) = ½∫y(u·(x, 1))₊dλ, and its gradient in u,
    for λ = ∇S[f]."""

    def __init__(self, found: Spread) -> None:
        self.found = found
        self.whole = found.below(np.array([np.inf]))[0]

    def gradient(self, angles: Array) -> Array:
        """½∫y(x, 1) over {u·(x, 1) > 0}dλ, (k, 2)."""
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        with np.errstate(divide="ignore"):
            edge = np.where(
                u[:, 0] != 0,
                -u[:, 1] / np.where(u[:, 0] != 0, u[:, 0], 1.0),
                np.where(u[:, 1] > 0, -np.inf, np.inf),
            )
        under = self.found.below(np.clip(edge, -1e300, 1e300))
        positive = (u[:, 0] > 0) | ((u[:, 0] == 0) & (u[:, 1] > 0))
        return np.asarray(np.where(positive[:, None], self.whole - under, under) / 2)

    def value(self, angles: Array) -> Array:
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray(np.sum(self.gradient(angles) * u, axis=1))


def _lem25(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    found = resolved(problem)
    if found.left.size > MOST_PIECES:
        why = (
            f"f changes by {found.most - found.least:.2g}, over {found.left.size} straight "
            "pieces: too many"
        )
        return (unknown_check("largest ‖∇J'(u) − ∇J'(u')‖ over its Lipschitz bound", why),)
    turning = Turning(found)
    x, y = inputs_of(problem).X[:, 0], problem.data.y
    inside = np.concatenate([found.left, found.right, (found.left + found.right) / 2, x])
    kinks = np.arctan2(-inside, 1.0)  # u·(x, 1) = 0 at these places
    angles = np.concatenate(
        [np.linspace(0, 2 * np.pi, CIRCLE_PLACES, endpoint=False), kinks, kinks + np.pi]
    )
    bound = found.longest**3 * found.densest / 2
    atoms = _atoms(problem, x, y)
    largest, jumping, noise = 0.0, 0.0, 0.0
    for turn in TURNS:
        pairs = (angles - turn / 2, angles + turn / 2)
        apart = np.linalg.norm(np.subtract(*(turning.gradient(each) for each in pairs)), axis=1)
        largest = max(largest, float(np.max(apart)) / (bound * turn))
        rough = np.linalg.norm(np.subtract(*(atoms(each) for each in pairs)), axis=1)
        jumping = max(jumping, float(np.max(rough)) / (bound * turn))
        noise = ROUNDING * found.longest / (bound * turn)
    return (
        *_same_gradient(problem, found, turning),
        Check(
            "largest ‖∇J'(u) − ∇J'(u')‖ over its Lipschitz bound ½·max‖(x, 1)‖³·max dλ/dx·angle",
            largest,
            "<=",
            1.0,
            noise,
            witness=PIECES,
            null=jumping,
        ),
        _in_the_measure(problem, found, turning),
    )


def _atoms(problem: Problem, x: Array, y: Array) -> Any:
    """∇J' of the inputs themselves, which are atoms: it jumps."""
    rows = np.column_stack([x, np.ones(x.size)])
    p = np.asarray(
        SmoothMargin(ExponentialLoss()).weights(
            problem.model(problem.start, problem.data.X), problem.data.y
        )
    )

    def gradient(angles: Array) -> Array:
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray((u @ rows.T > 0) * (p * y) @ rows / 2)

    return gradient


def _same_gradient(problem: Problem, found: Spread, turning: Turning) -> tuple[Check, ...]:
    """The library's gradient of balanced neurons on nodes of the population; their kinks lie
    between pieces, where no node is."""
    places, shares, values, piece = found.nodes
    weights = library_gradient(values, shares)[1]
    kinks = np.arctan2(-np.append(found.left, found.right), 1.0)
    angles = np.concatenate([kinks, kinks + np.pi])
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    params = TwoLayerParams(np.full(angles.size, 0.5**0.5), u * 0.5**0.5)
    model = TwoLayer(angles.size, 2)
    rows = np.column_stack([places, np.ones(places.size)])
    slopes = model.gradient(params, rows, found.label[piece] * weights).W * 0.5**0.5
    off = float(np.max(np.linalg.norm(slopes - turning.gradient(angles), axis=1)))
    size = float(np.max(np.linalg.norm(turning.gradient(angles), axis=1)))
    return (
        Check(
            "∇J' by the gradient of a network on nodes, off integrals over pieces, relative",
            off / size,
            "==",
            0.0,
            ROUNDING * found.longest * (1 + abs(found.most) + abs(found.least)) / size,
            witness=PIECES,
        ),
    )


def _in_the_measure(problem: Problem, found: Spread, turning: Turning) -> Check:
    """J' and ∇J' of networks near this one: at most ½·max‖(x, 1)‖ times the distance of their f."""
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, CIRCLE_PLACES, endpoint=False)
    mine, slope = turning.value(angles), turning.gradient(angles)
    a, W = problem.start
    largest, noise = 0.0, 0.0
    for size in (1e-3, 1e-2, 0.1, 1.0):
        da, dW = (
            size * np.std(a) * rng.standard_normal(a.shape),
            size * np.std(W) * rng.standard_normal(W.shape),
        )
        nearby = problem.start._replace(a=a + da, W=W + dW)
        other = resolved(problem, nearby)
        ends = np.concatenate([found.left, found.right, other.left, other.right])
        apart = float(
            np.max(
                np.abs(_predictor(problem, nearby, ends) - _predictor(problem, problem.start, ends))
            )
        )
        if apart == 0:
            continue
        near = Turning(other)
        moved = max(
            float(np.max(np.abs(near.value(angles) - mine))),
            float(np.max(np.linalg.norm(near.gradient(angles) - slope, axis=1))),
        )
        largest = max(largest, moved / (found.longest / 2 * apart))
        noise = max(noise, ROUNDING / apart)
    quantity = "largest change of J' and ∇J' over ½·max‖(x, 1)‖·‖ĥ(μ) − ĥ(μ')‖_∞"
    return Check(quantity, largest, "<=", 1.0, noise, witness=PIECES)


def _predictor(problem: Problem, params: Any, x: Array) -> Array:
    column = bias_of(problem)
    rows = np.insert(x[:, None], column, 1.0, axis=1)
    return np.asarray(problem.model(params, rows))


lem25 = Claim(
    "C/lem25",
    "On inputs with a bounded density J' has a Lipschitz gradient on S_±, and depends Lipschitz on "
    "the measure; on atoms its gradient jumps.",
    "C, Lemma 25",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _lem25,
    Kind.STATIC,
    PIECES,
    "atoms for a density",
    any_interval_problem,
)
CLAIMS = (lem25,)
