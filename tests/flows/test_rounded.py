"""Gradient flow of small deep networks: rounded kinks against the event-driven flow, descent and
the exact smooth flow."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.models import DeepNetwork

LOSS = bf.SquareLoss("sum")


@pytest.fixture(scope="module")
def circle():
    return bf.data.circle_teacher(n=5, key=0)


def test_depth_two_agrees_with_the_event_driven_flow(circle):
    deep, plain = DeepNetwork((2, 12)), bf.TwoLayer(12, 2)
    start = deep.init(1.0, key=0)
    rounded = bf.gradient_flow(deep, circle, LOSS, start, t1=1.0, rtol=1e-6)
    assert rounded.stats["method"] == "general" and rounded.stats["rounding"] > 0
    exact = bf.gradient_flow(
        plain,
        circle,
        LOSS,
        bf.models.TwoLayerParams(start.weights[1][0], start.weights[0]),
        t1=1.0,
        rtol=1e-9,
    )
    assert exact.events  # gates do change
    off = max(
        np.max(np.abs(rounded.final.weights[0] - exact.final.W)),
        np.max(np.abs(rounded.final.weights[1][0] - exact.final.a)),
    )
    assert 0 < off <= rounded.error[-1] + exact.error[-1]
    assert rounded.error[-1] < 0.01


def test_depth_three_agrees_with_descent_at_a_small_step(circle):
    model = DeepNetwork((2, 6, 6))
    start = model.init(1.0, key=0)
    flow = bf.gradient_flow(model, circle, LOSS, start, times=[0.25, 0.5], rtol=1e-6)
    assert flow.times.tolist() == [0.25, 0.5]
    coarse, fine = (
        model.effective(
            bf.training.gradient_descent(model, circle, LOSS, start, 0.5 / steps, steps).final
        )
        for steps in (4000, 8000)
    )
    descent_error = 2 * float(np.max(np.abs(fine - coarse)))
    assert np.max(np.abs(model.effective(flow.final) - fine)) <= flow.error[-1] + descent_error
    assert flow.error[-1] < 0.05
    assert flow.loss[-1] == pytest.approx(
        float(LOSS(model(flow.final, circle.X), circle.y)), rel=1e-12
    )


def test_the_error_estimate_falls_with_the_tolerance(circle):
    model = DeepNetwork((2, 12))
    errors = [
        bf.gradient_flow(model, circle, LOSS, model.init(1.0), t1=0.5, rtol=rtol).error[-1]
        for rtol in (1e-5, 1e-7)
    ]
    assert errors[1] < 0.05 * errors[0]


def test_linear_networks_are_smooth_and_keep_their_balance(circle):
    model = DeepNetwork((2, 4, 3), activation="linear")
    flow = bf.gradient_flow(model, circle, LOSS, model.init(0.8, key=3), t1=1.0, rtol=1e-9)
    assert flow.stats["method"] == "weights"

    def balance(params):
        first, second, _ = params.weights
        return second.T @ second - first @ first.T

    np.testing.assert_allclose(
        balance(flow.final), balance(flow.at(0.0)), atol=10 * flow.error[-1] + 1e-10
    )


def test_weights_refuses_kinks_and_general_refuses_the_rest(circle):
    model = DeepNetwork((2, 6))
    with pytest.raises(bf.errors.RefusedError, match="general"):
        bf.gradient_flow(model, circle, LOSS, model.init(1.0), t1=1.0, method="weights")
    with pytest.raises(bf.errors.RefusedError, match="DeepNetwork"):
        bf.gradient_flow(
            bf.TwoLayer(3, 2), circle, LOSS, bf.TwoLayer(3, 2).init(1.0), t1=1.0, method="general"
        )
    large = DeepNetwork((2, 30, 30))
    with pytest.raises(bf.errors.RefusedError, match=r"400 weights.*train_batch"):
        bf.gradient_flow(large, circle, LOSS, large.init(1.0), t1=1.0, method="general")


def test_descent_diverges_by_name_on_deep_networks(circle):
    model = DeepNetwork((2, 6, 6), activation="leaky_relu")  # a ReLU network may die instead
    run = bf.training.gradient_descent(model, circle, LOSS, model.init(1.0), 30.0, 100)
    assert run.result is bf.Result.DIVERGED
    assert run.states.weights[0].shape[1:] == (6, 2)


def test_a_network_that_is_dead_between_its_kinks_has_an_error():
    """Rounded kinks let in what lies beside them: the flow creeps, the true one stands."""
    model = DeepNetwork((1, 1))
    start = model.init(1.0, key=0)
    start = type(start)(
        tuple(np.full_like(w, v) for w, v in zip(start.weights, (-0.05, 1.0), strict=True))
    )
    data = bf.Dataset([[0.01], [0.02]], [1.0, 2.0])
    flow = bf.gradient_flow(model, data, LOSS, start, times=[1.0, 5.0], rtol=1e-3)
    moved = np.abs(flow.states.weights[0] - start.weights[0]).max(axis=(1, 2))
    assert flow.result.success and np.all(moved > 0)
    assert np.all(flow.error >= moved)
