"""ReLU networks from saddle to saddle on any data."""

import numpy as np
import pytest

import biasflow as bf

HALF = bf.SquareLoss("half-mean")


@pytest.mark.parametrize("key", (0, 8, 24))
def test_flows_from_tiny_starts_stand_where_the_path_says(key):
    rng = np.random.default_rng((131, key))
    model = bf.TwoLayer(8, 3)
    data = bf.Dataset(rng.standard_normal((2, 3)), rng.standard_normal(2))
    start = model.init(1.0, key=key)
    path = bf.flows.relu_saddle_path(data, start)
    middles = (path.times + np.append(path.times[1:], 1.3 * path.times[-1])) / 2
    problem = bf.Problem(model, data, HALF, start, -1000.0)
    flow = bf.gradient_flow(problem, times=1000 * middles)
    np.testing.assert_allclose(flow.loss, path.losses, atol=1e-8 * path.losses[0])


def test_orthogonal_inputs_agree_with_the_limit_of_theorem_1():
    data, model = bf.data.two_points(), bf.TwoLayer(30, 2)
    start = model.init(1.0, key=0)
    path, limit = bf.flows.relu_saddle_path(data, start), bf.flows.saddle_limit(data, start)
    np.testing.assert_allclose(path.times[1:], 1 / np.array(limit.stats["rate"]), rtol=1e-9)
    assert path.kinds == ("saddle", "saddle", "minimum")
    assert 2 * np.sum(path.final.a**2) == pytest.approx(limit.objective, rel=1e-7)


def test_three_points_end_at_least_squares_which_is_a_local_minimum():
    data = bf.Dataset(np.column_stack([[-0.75, -0.5, 0.125], np.ones(3)]), [1.1, 0.1, 0.8])
    model = bf.TwoLayer(40, 2)
    path = bf.flows.relu_saddle_path(data, model.init(1.0, key=0))
    fit = data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    assert path.kinds[-1] == "spurious" and path.saddles[-1].growth.lower > 0.01
    assert path.losses[-1] == pytest.approx(float(HALF(fit, data.y)), rel=1e-9)
    end = bf.gradient_flow(model, data, HALF, model.init(1e-4, key=0)).final
    cosines = end.W @ data.X.T / np.linalg.norm(end.W, axis=1)[:, None]
    stopped = (np.abs(cosines) < 1e-9) & (end.a < 0)[:, None]
    assert np.any(stopped) and not np.any(stopped[:, fit > data.y])


def test_ties_and_unbalanced_starts_are_refused():
    data = bf.Dataset(np.eye(2), [1.0, -1.0])
    model = bf.TwoLayer(10, 2)
    with pytest.raises(bf.errors.RefusedError, match="at the same time"):
        bf.flows.relu_saddle_path(data, model.init(1.0, key=0))
    with pytest.raises(bf.errors.RefusedError, match="not balanced"):
        bf.flows.relu_saddle_path(data, model.init(1.0, key=0, balanced=False))


def test_it_draws_and_prints():
    path = bf.flows.relu_saddle_path(bf.data.two_points(), bf.TwoLayer(30, 2).init(1.0, key=0))
    assert "2 jumps of a ReLU network" in repr(path) and "minimum" in repr(path.saddles[-1])
    assert path.plot() is not None and path.at(0.0) is path.saddles[0]


@pytest.mark.parametrize(
    ("inputs", "labels"),
    (
        ([[1e6, 0], [-0.3, 1]], [1.0, 1.0]),
        ([[1, 0], [-0.3, 1]], [1.0, 1e-6]),
        ([[1, 0], [-1e6, 1e6]], [1.0, 1e-13]),
    ),
)
def test_a_sample_of_another_scale_that_nobody_fits_makes_no_minimum(inputs, labels):
    start = bf.models.TwoLayerParams([1.0], [[0.8, -0.6]])
    path = bf.flows.relu_saddle_path(bf.Dataset(inputs, labels), start)
    assert path.saddles[-1].growth.lower > 0 and path.kinds[-1] == "undecided"
    seeing = bf.models.TwoLayerParams([1.0, 1.0], [[0.8, -0.6], [-0.8, 0.6]])
    same = bf.Dataset(inputs, [1.0, 0.0])
    assert bf.flows.relu_saddle_path(same, seeing).kinds[-1] == "minimum"
