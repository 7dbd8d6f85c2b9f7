"""Properties of every flow, whatever its method: the loss falls, no order of samples, coordinates
or neurons matters, units only rename, and states between saved times continue those saved.

A seeded family for each model; every method that fits a model follows it. Two flows that should be
one may differ by their error estimates and rounding, no more.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map, leaves
from biasflow.flows import METHODS

SEEDS = (0, 1)
TIMES = np.array([0.0, 0.05, 0.2, 0.5, 1.0, 2.0])
"""From the start, over the fall of the loss, to where most of it is gone."""
ROUNDING = 1e-12
"""Of the largest weight: thousands of operations in double precision, none of which cancels."""
STEPS_ANEW = ("events", "margin")
"""Methods whose states in between are a step of their own from the last one taken, each with the
error of the flow."""
N, D, HIDDEN = 4, 6, 6


class Setting(NamedTuple):
    model: Any
    data: bf.Dataset
    loss: Any
    start: Any


class Symmetry(NamedTuple):
    """The same flow in another order: the setting, and a state back in the order it was."""

    setting: Setting
    undo: Callable[[Any], Any]


def _coordinates(setting, order):
    """Diagonal networks: another order of the coordinates of inputs and weights alike."""
    X = setting.data.X[:, order]
    start = leaf_map(lambda leaf: leaf[order], setting.start)
    moved = setting._replace(data=bf.Dataset(X, setting.data.y), start=start)
    return Symmetry(moved, lambda state: leaf_map(lambda leaf: leaf[..., np.argsort(order)], state))


def _neurons(setting, order):
    """Two-layer networks: another order of the neurons, with what of them is fixed."""
    start = leaf_map(lambda leaf: leaf[order], setting.start)
    model = setting.model
    if isinstance(model, bf.FixedDirections):
        model = dataclasses.replace(model, directions=model.directions[order])
    if isinstance(model, bf.SignedTwoLayer):
        model = dataclasses.replace(model, signs=model.signs[order])
    back = np.argsort(order)
    return Symmetry(
        setting._replace(model=model, start=start),
        lambda state: leaf_map(lambda leaf: np.take(leaf, back, axis=1), state),
    )


def _columns(setting, order):
    """Factorisations: another order of the columns of both factors."""
    start = leaf_map(lambda leaf: leaf[:, order], setting.start)
    return Symmetry(
        setting._replace(start=start),
        lambda state: leaf_map(lambda leaf: leaf[..., np.argsort(order)], state),
    )


def _layers(setting, order):
    """Deep networks: another order of the neurons of the first hidden layer."""

    def ordered(params, order):
        first, second, *rest = params.weights
        weights = (np.take(first, order, axis=-2), np.take(second, order, axis=-1), *rest)
        return params._replace(weights=weights)

    back = np.argsort(order)
    return Symmetry(
        setting._replace(start=ordered(setting.start, order)), lambda state: ordered(state, back)
    )


def _models() -> dict[str, tuple[Any, Callable[[int], Any], Callable[..., Symmetry], int]]:
    """For each: the model, its start by key, its symmetry, and how many things this permutes."""
    directions = np.random.default_rng(9).standard_normal((9, D))
    fixed = bf.FixedDirections(directions, normalise=True)
    product, factors = bf.ProductNetwork(), bf.MatrixFactorisation((2, 3), HIDDEN)
    relu = bf.TwoLayer(HIDDEN, D)
    leaky = bf.TwoLayer(HIDDEN, D, activation="leaky_relu", slope=0.2)
    signed, deep = bf.SignedTwoLayer(HIDDEN, D), bf.DeepNetwork((D, 3))
    linear = bf.DeepNetwork((D, 3, 2), activation="linear")

    def jittered(start, key):
        rng = np.random.default_rng([key, 7])
        return leaf_map(lambda leaf: leaf * np.exp(0.2 * rng.standard_normal(leaf.shape)), start)

    return {
        **{
            f"diagonal {depth}": (
                model,
                lambda key, model=model: jittered(model.init(0.4, dim=D), key),
                _coordinates,
                D,
            )
            for depth in (2, 3)
            for model in [bf.DiagonalNetwork(depth)]
        },
        "product": (
            product,
            lambda key: jittered(product.init(0.4, dim=D), key),
            _coordinates,
            D,
        ),
        "fixed": (fixed, lambda key: fixed.init(0.4, key=key), _neurons, 9),
        "relu": (relu, lambda key: relu.init(0.3, key=key), _neurons, HIDDEN),
        "leaky": (leaky, lambda key: leaky.init(0.3, key=key), _neurons, HIDDEN),
        "signed": (signed, lambda key: signed.init(0.3, key=key), _neurons, HIDDEN),
        "factors": (
            factors,
            lambda key: factors.init(0.5, key=key, law="gaussian"),
            _columns,
            HIDDEN,
        ),
        "deep": (deep, lambda key: deep.init(1.0, key=key), _layers, 3),
        "linear": (linear, lambda key: linear.init(1.0, key=key), _layers, 3),
    }


MODELS = _models()
LOSSES = {
    "square": bf.SquareLoss("half"),
    "exponential": bf.ExponentialLoss(),
    "logistic": bf.LogisticLoss(),
    "smooth margin": bf.SmoothMargin(),
}


MADE_FOR_MARGINS = ("diagonal 2", "relu", "leaky", "signed")
"""Models that one method is made for under losses without a minimiser."""


@functools.cache
def setting_of(model: str, loss: str, seed: int) -> Setting:
    rng = np.random.default_rng([seed, len(model)])
    X, y = rng.standard_normal((N, D)), rng.standard_normal(N)
    data = bf.Dataset(X, y if loss == "square" else np.sign(y))
    return Setting(MODELS[model][0], data, LOSSES[loss], MODELS[model][1](seed))


def _fitting() -> list[tuple[str, str, str]]:
    """Every model, loss and method that go together; the unbounded losses where one method is made
    for them."""
    found = []
    for model in MODELS:
        for loss in LOSSES if model in MADE_FOR_MARGINS else ("square",):
            setting = setting_of(model, loss, 0)
            problem = bf.Problem(*setting)
            names = [m.name for m in METHODS if m.cannot(problem) is None]
            found += [(model, loss, name) for name in names]
    return found


FITTING = _fitting()
SQUARE = [case for case in FITTING if case[1] == "square"]
every_flow = pytest.mark.parametrize("model, loss, method", FITTING)
every_square_flow = pytest.mark.parametrize("model, loss, method", SQUARE)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def follow(setting: Setting, method: str, times=TIMES) -> bf.Trajectory:
    return bf.gradient_flow(*setting, times=times, method=method)


@functools.cache
def base(model: str, loss: str, method: str, seed: int) -> bf.Trajectory:
    return follow(setting_of(model, loss, seed), method)


def assert_one_flow(flow: bf.Trajectory, other: bf.Trajectory, undo=lambda state: state) -> None:
    """The same states at the same saved times, up to both errors."""
    size = max(float(np.max(np.abs(leaf))) for leaf in leaves(flow.states))
    off = np.zeros(len(TIMES))
    for one, two in zip(leaves(flow.states), leaves(undo(other.states)), strict=True):
        off = np.maximum(off, np.max(np.abs(one - two).reshape(len(TIMES), -1), axis=1))
    assert np.all(off <= flow.error + other.error + ROUNDING * size), off / (
        flow.error + other.error
    )


def test_every_method_is_here():
    assert {method for _, _, method in FITTING} == {method.name for method in METHODS}


@every_seed
@every_flow
def test_the_loss_falls(model, loss, method, seed):
    """By more than the error of the states can hide, first order: ‖∇L‖₁ times it, at both ends."""
    flow, (network, data, objective, _) = (
        base(model, loss, method, seed),
        setting_of(model, loss, seed),
    )
    doubts = []
    for k, error in enumerate(flow.error):
        state = leaf_map(lambda leaf, k=k: leaf[k], flow.states)
        slope = objective.gradient(network(state, data.X), data.y)
        gradient = leaves(network.gradient(state, data.X, slope))
        doubts.append(error * sum(float(np.sum(np.abs(leaf))) for leaf in gradient))
    room = 2 * (np.array(doubts)[1:] + np.array(doubts)[:-1]) + ROUNDING * abs(flow.loss[0])
    assert np.all(np.diff(flow.loss) <= room)
    assert flow.loss[-1] < flow.loss[0]


@every_seed
@every_flow
def test_between_saved_times_it_goes_on_from_them(model, loss, method, seed):
    flow = base(model, loss, method, seed)
    assert flow.times == pytest.approx(TIMES, rel=ROUNDING)
    size = max(float(np.max(np.abs(leaf))) for leaf in leaves(flow.states))
    for k, t in enumerate(flow.times):
        for one, other in zip(leaves(flow.at(t)), leaves(flow.states), strict=True):
            room = ROUNDING * size + (2 * flow.error[k] if method in STEPS_ANEW else 0.0)
            assert np.max(np.abs(one - other[k])) <= room, t


@every_flow
def test_samples_have_no_order(model, loss, method):
    setting = setting_of(model, loss, 0)
    order = np.array([2, 0, 3, 1])
    moved = setting._replace(data=bf.Dataset(setting.data.X[order], setting.data.y[order]))
    assert_one_flow(base(model, loss, method, 0), follow(moved, method))


@every_flow
def test_coordinates_and_neurons_have_no_order(model, loss, method):
    setting = setting_of(model, loss, 0)
    _, _, symmetry, size = MODELS[model]
    moved = symmetry(setting, np.random.default_rng(3).permutation(size))
    assert_one_flow(base(model, loss, method, 0), follow(moved.setting, method), moved.undo)


@every_square_flow
@pytest.mark.parametrize("normalisation", ["sum", "half-mean"])
def test_the_factor_of_the_loss_is_a_clock(model, loss, method, normalisation):
    setting = setting_of(model, loss, 0)
    other = bf.SquareLoss(normalisation)
    times = TIMES * setting.loss.factor(N) / other.factor(N)
    flow = follow(setting._replace(loss=other), method, times)
    assert_one_flow(base(model, loss, method, 0), flow)


@every_square_flow
def test_labels_in_other_units(model, loss, method):
    """Weights 2^k and labels 2^{Dk}: the same bits, in the time 2^{2k − 2Dk} (test_units.py has the
    whole range)."""
    setting, k = setting_of(model, loss, 0), 3
    labels = int(setting.model.homogeneity) * k
    scaled = setting._replace(
        data=bf.Dataset(setting.data.X, np.ldexp(setting.data.y, labels)),
        start=leaf_map(lambda leaf: np.ldexp(leaf, k), setting.start),
    )
    flow = follow(scaled, method, np.ldexp(TIMES, 2 * k - 2 * labels))
    for one, two in zip(
        leaves(base(model, loss, method, 0).states), leaves(flow.states), strict=True
    ):
        assert np.array_equal(np.ldexp(one, k), two)
