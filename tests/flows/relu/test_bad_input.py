"""What cannot flow, or flows nowhere, says so."""

import numpy as np
import pytest

import biasflow as bf

B = bf.SquareLoss("half-mean")


def test_a_dead_network_is_stationary_at_the_start():
    ds, model = bf.Dataset([[1.0, 1.0], [2.0, 1.0]], [1.0, -1.0]), bf.TwoLayer(2, 2)
    start = bf.models.TwoLayerParams(np.array([1.0, -1.0]), -np.ones((2, 2)) / np.sqrt(2))
    flow = bf.gradient_flow(model, ds, B, start)
    assert flow.result is bf.Result.DEAD and "no neuron is active" in flow.result.value
    np.testing.assert_array_equal(flow.final.W, start.W)
    np.testing.assert_array_equal(flow.at(0.0).W, start.W)
    leaky = bf.TwoLayer(2, 2, "leaky_relu")
    assert bf.gradient_flow(leaky, ds, B, start, t1=1.0).result is bf.Result.REACHED_T1


def test_zero_labels_are_fitted_by_shrinking():
    ds, model = bf.Dataset(np.eye(2), [0.0, 0.0]), bf.TwoLayer(6, 2)
    flow = bf.gradient_flow(model, ds, B, model.init(1.0, key=1, balanced=False))
    assert flow.result is bf.Result.CONVERGED


def test_one_zero_label_among_others():
    ds, model = bf.Dataset(np.eye(3), [1.0, 0.0, -1.0]), bf.TwoLayer(20, 3)
    flow = bf.gradient_flow(model, ds, B, model.init(1e-6, key=1))
    assert flow.result is bf.Result.CONVERGED


def test_contradicting_duplicates_end_at_their_mean():
    ds, model = (
        bf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 2.0, -1.0]),
        bf.TwoLayer(20, 2),
    )
    flow = bf.gradient_flow(model, ds, B, model.init(1e-3, key=0))
    assert flow.result is bf.Result.STATIONARY
    np.testing.assert_allclose(model(flow.final, ds.X), [1.5, 1.5, -1.0], atol=1e-8)


def test_an_interpolating_start_has_converged():
    start = bf.models.TwoLayerParams(np.array([1.0]), np.array([[1.0, 0.0]]))
    flow = bf.gradient_flow(bf.TwoLayer(1, 2), bf.Dataset([[1.0, 0.0]], [1.0]), B, start)
    assert flow.result is bf.Result.CONVERGED and flow.times.tolist() == [0.0]


def test_an_input_that_is_zero_has_its_loss_for_ever():
    ds, model = bf.Dataset([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0]), bf.TwoLayer(8, 2)
    flow = bf.gradient_flow(model, ds, B, model.init(0.1, key=0))
    assert flow.result is bf.Result.STATIONARY and flow.loss[-1] == pytest.approx(0.25, abs=1e-9)


def test_the_zero_network_is_refused():
    with pytest.raises(bf.errors.ScaleError, match="every weight is zero"):
        bf.gradient_flow(
            bf.TwoLayer(2, 2),
            bf.data.two_points(),
            B,
            bf.models.TwoLayerParams(np.zeros(2), np.zeros((2, 2))),
        )


def test_zero_neurons_among_others_stay_zero():
    ds, model = bf.data.two_points(), bf.TwoLayer(3, 2)
    start = bf.models.TwoLayerParams(
        np.array([1.0, 0.0, -1.0]), np.array([[1.0, 0.0], [0.0, 0.0], [-0.6, 0.8]])
    )
    flow = bf.gradient_flow(model, ds, B, start, t1=5.0)
    assert flow.final.a[1] == 0 and np.all(flow.final.W[1] == 0) and flow.final.a[0] != 1.0


@pytest.mark.parametrize("width", [1, 2])
def test_narrow_networks_run(width):
    model = bf.TwoLayer(width, 2)
    flow = bf.gradient_flow(model, bf.data.five_points(), B, model.init(0.5, key=3))
    assert flow.result in (bf.Result.STATIONARY, bf.Result.CONVERGED, bf.Result.DEAD)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, d, p: bf.gradient_flow(m, d, B, bf.models.TwoLayerParams(p.a * np.nan, p.W)),
        lambda m, d, p: bf.gradient_flow(m, d, B, p.W),
        lambda m, d, p: bf.gradient_flow(m, d, B, p, t1=-1.0),
        lambda m, d, p: bf.gradient_flow(m, d, B, p, rtol=0.0),
        lambda m, d, p: bf.gradient_flow(m, d, B, p, times=[1.0, 0.5]),
        lambda m, d, p: bf.gradient_flow(m, d, B, p, t1=1.0, times=[0.5, 2.0]),
        lambda m, d, p: bf.gradient_flow(bf.TwoLayer(4, 3), d, B, p),
        lambda m, d, p: bf.gradient_flow(m, d, "square", p),
        lambda m, d, p: bf.training.gradient_descent(m, d, B, p, step=-1.0, steps=5),
        lambda m, d, p: bf.training.gradient_descent(m, d, B, p, step=1.0, steps=0),
        lambda m, d, p: bf.flows.early_alignment(d, 3),
        lambda m, d, p: bf.flows.early_alignment("data", p),
        lambda m, d, p: bf.flows.saddle_limit(d, bf.models.TwoLayerParams(p.a, p.W[:2])),
    ],
)
def test_bad_arguments_are_named(call):
    model = bf.TwoLayer(4, 2)
    with pytest.raises(bf.errors.InputError, match=r"^\w+(\.\w+)?: "):
        call(model, bf.data.two_points(), model.init(0.1))


def test_smooth_methods_refuse_and_say_which_serves():
    model, ds = bf.TwoLayer(4, 2), bf.data.two_points()
    with pytest.raises(bf.errors.RefusedError, match="events"):
        bf.gradient_flow(model, ds, B, model.init(0.1), method="weights")
    diagonal = bf.DiagonalNetwork(2)
    with pytest.raises(bf.errors.RefusedError, match="TwoLayer"):
        bf.gradient_flow(diagonal, ds, B, diagonal.init(0.1, dim=2), method="events")


def test_a_step_limit_is_reported(monkeypatch):
    from biasflow.flows.relu import event_runs as driver

    monkeypatch.setattr(driver, "MAX_STEPS", 5)
    model, ds = bf.TwoLayer(4, 2), bf.data.two_points()
    with pytest.raises(bf.errors.ConvergenceError, match="step limit"):
        bf.gradient_flow(model, ds, B, model.init(0.1))
    flow = bf.gradient_flow(model, ds, B, model.init(0.1), throw=False)
    assert flow.result is bf.Result.STEP_LIMIT and flow.stats["steps"] <= 5


def test_data_generators():
    ds = bf.data.orthonormal(4, 6, key=1)
    np.testing.assert_allclose(ds.X @ ds.X.T, np.eye(4), atol=1e-14)
    assert np.all(np.abs(ds.y) >= 0.5)
    with pytest.raises(bf.errors.InputError, match="n: 5"):
        bf.data.orthonormal(5, 4)
    teacher = bf.data.gaussian_teacher(key=3)
    assert teacher.X.shape == (75, 150) and np.array_equal(
        teacher.y, bf.data.gaussian_teacher(key=3).y
    )
    assert bf.data.two_points().X[0] @ bf.data.two_points().X[1] == 0
    assert bf.data.five_points().n == 5
