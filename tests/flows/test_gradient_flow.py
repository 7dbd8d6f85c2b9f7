"""Gradient flow on diagonal networks: the dual and the weights agree, invariants are kept, methods
refuse with a reason."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf

LOSSES = ("half", "sum", "half-mean")
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def small():
    return bf.data.sparse_regression(n=5, d=12, sparsity=2, noise_var=0.01, key=3)


def start_of(kind, depth, d):
    rng = np.random.default_rng(7)
    if kind == "uniform":
        return bf.DiagonalNetwork(depth).init(0.4, dim=d)
    if kind == "per coordinate":
        return bf.DiagonalNetwork(depth).init(np.exp(rng.normal(-1, 0.5, d)), dim=d)
    plus, minus = rng.uniform(0.2, 0.7, d), rng.uniform(0.2, 0.7, d)
    if kind == "biased":
        return bf.models.DiagonalParams(plus, minus)
    one_sided = np.arange(d) % 4 == 0  # some coordinates can only be positive
    return bf.models.DiagonalParams(plus, np.where(one_sided, 0.0, minus))


def both_ways(model, ds, loss, start, times):
    return [
        bf.gradient_flow(model, ds, loss, start, times=times, method=method)
        for method in ("dual", "weights")
    ]


@pytest.mark.parametrize("normalisation", LOSSES)
@pytest.mark.parametrize(
    ("depth", "kind"),
    [
        (2, "uniform"),
        (2, "per coordinate"),
        (2, "biased"),
        (2, "one-sided"),
        (3, "uniform"),
        (3, "biased"),
        (4, "uniform"),
        (4, "biased"),
    ],
)
def test_dual_and_weights_agree(small, depth, kind, normalisation):
    model, loss = bf.DiagonalNetwork(depth), bf.SquareLoss(normalisation)
    times = np.array([0.05, 0.3, 1.0, 3.0]) / (2 * loss.factor(small.n))
    dual, weights = both_ways(model, small, loss, start_of(kind, depth, small.d), times)
    assert np.array_equal(dual.times, weights.times)
    distance = np.max(
        np.abs(model.effective(dual.states) - model.effective(weights.states)), axis=1
    )
    assert np.all(
        distance <= 3 * (np.max(dual.predictor_error) + np.max(weights.predictor_error)) + ROUNDING
    )
    assert np.max(dual.predictor_error) < 1e-5
    assert np.max(np.abs(dual.states.plus - weights.states.plus)) < 1e-4
    assert np.max(np.abs(dual.states.minus - weights.states.minus)) < 1e-4
    assert np.allclose(dual.loss, weights.loss, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("kind", ["uniform", "biased"])
def test_both_end_at_the_limit(small, depth, kind):
    model, start = bf.DiagonalNetwork(depth), start_of(kind, depth, small.d)
    predicted = bf.limit(model, small, start=start).value
    for method in ("dual", "weights"):
        flow = bf.gradient_flow(model, small, bf.SquareLoss("half"), start, method=method)
        assert flow.result is bf.Result.CONVERGED
        assert (
            np.max(np.abs(model.effective(flow.final) - predicted))
            <= 3 * np.max(flow.predictor_error) + 1e-8
        )


def test_the_limit_does_not_depend_on_the_normalisation(small):
    model, start = bf.DiagonalNetwork(2), start_of("biased", 2, small.d)
    limits = [bf.limit(model, small, bf.SquareLoss(kind), start=start).value for kind in LOSSES]
    assert np.allclose(limits[0], limits[1], atol=ROUNDING)
    assert np.allclose(limits[0], limits[2], atol=ROUNDING)


@pytest.mark.parametrize("kind", ["uniform", "biased"])
def test_depth_two_conserves_the_product_of_the_weights(small, kind):
    start = start_of(kind, 2, small.d)
    for flow in both_ways(
        bf.DiagonalNetwork(2), small, bf.SquareLoss("sum"), start, [0.1, 1.0, 5.0]
    ):
        products = flow.states.plus * flow.states.minus
        assert np.max(np.abs(products / (start.plus * start.minus) - 1)) < (
            1e-12 if flow.stats["method"] == "dual" else 1e-5
        )


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("kind", ["uniform", "biased"])
def test_deeper_conserves_the_sum_of_negative_powers(small, depth, kind):
    start = start_of(kind, depth, small.d)

    def invariant(params):
        return params.plus ** (2.0 - depth) + params.minus ** (2.0 - depth)

    for flow in both_ways(
        bf.DiagonalNetwork(depth), small, bf.SquareLoss("sum"), start, [0.1, 1.0, 5.0]
    ):
        drift = np.max(np.abs(invariant(flow.states) / invariant(start) - 1))
        assert drift < (1e-12 if flow.stats["method"] == "dual" else 1e-5)


def test_signs_of_the_weights_are_kept(small):
    start = bf.models.DiagonalParams(
        np.where(np.arange(small.d) % 2, -0.4, 0.4), np.full(small.d, -0.4)
    )
    dual, weights = both_ways(
        bf.DiagonalNetwork(2), small, bf.SquareLoss("half"), start, [0.5, 2.0]
    )
    assert np.all(np.sign(dual.states.plus) == np.sign(start.plus))
    assert np.max(np.abs(dual.states.plus - weights.states.plus)) < 1e-5


def test_states_have_the_type_of_the_start(small):
    model = bf.DiagonalNetwork(2)
    flow = bf.gradient_flow(
        model, small, bf.SquareLoss("sum"), model.init(0.1, dim=small.d), times=[0.1, 0.4]
    )
    assert isinstance(flow.states, bf.models.DiagonalParams) and flow.states.plus.shape == (
        2,
        small.d,
    )
    assert isinstance(flow.final, bf.models.DiagonalParams) and flow.final.minus.shape == (small.d,)
    assert np.array_equal(flow.at(0.1).plus, flow.states.plus[0])
    assert flow.problem.model is model


def test_an_unknown_method_is_named_with_the_known_ones(small):
    model = bf.DiagonalNetwork(2)
    with pytest.raises(bf.errors.UnknownNameError, match="dual"):
        bf.gradient_flow(model, small, bf.SquareLoss(), model.init(0.1, dim=small.d), method="duel")


def test_a_method_that_does_not_fit_says_why(small):
    dead = bf.models.DiagonalParams(np.zeros(small.d), np.zeros(small.d))
    with pytest.raises(bf.errors.RefusedError, match="never moves"):
        bf.gradient_flow(bf.DiagonalNetwork(2), small, bf.SquareLoss(), dead, method="dual")
    negative = bf.models.DiagonalParams(np.full(small.d, -0.1), np.full(small.d, 0.1))
    with pytest.raises(bf.errors.RefusedError, match="positive weights"):
        bf.gradient_flow(bf.DiagonalNetwork(3), small, bf.SquareLoss(), negative, method="dual")


def test_without_a_method_named_the_next_that_fits_is_taken(small):
    negative = bf.models.DiagonalParams(np.full(small.d, -0.1), np.full(small.d, 0.1))
    flow = bf.gradient_flow(bf.DiagonalNetwork(3), small, bf.SquareLoss(), negative, t1=0.1)
    assert flow.stats["method"] == "weights"


def test_giving_up_raises_or_returns_what_there_is(small, monkeypatch):
    import biasflow.flows.mirror.dual_flow as dual

    monkeypatch.setattr(dual, "DUAL", dataclasses.replace(dual.DUAL, most_steps=10))
    model = bf.DiagonalNetwork(2)
    start = model.init(1e-3, dim=small.d)
    with pytest.raises(bf.errors.ConvergenceError, match="step limit") as raised:
        bf.gradient_flow(model, small, bf.SquareLoss(), start)
    assert raised.value.partial.result is bf.Result.STEP_LIMIT
    partial = bf.gradient_flow(model, small, bf.SquareLoss(), start, throw=False)
    assert partial.result is bf.Result.STEP_LIMIT
    assert not partial.result.success
    assert len(partial.times) > 1


@pytest.mark.parametrize(
    "wrong", [np.ones(3), (np.ones(3), np.ones(3)), (np.full(12, np.nan), np.ones(12))]
)
def test_bad_starts_are_named(small, wrong):
    with pytest.raises(bf.errors.InputError, match="start"):
        bf.gradient_flow(bf.DiagonalNetwork(2), small, bf.SquareLoss(), wrong)


def test_the_smallest_float_scales(small):
    model = bf.DiagonalNetwork(2)
    flow = bf.gradient_flow(model, small, bf.SquareLoss("half"), model.init(1e-100, dim=small.d))
    predicted = bf.limit(model, small, scale=1e-100).value
    assert (
        np.max(np.abs(model.effective(flow.final) - predicted))
        <= 3 * np.max(flow.predictor_error) + 1e-6
    )
