"""Extremal vectors: arcs against all sign vectors, against early alignment, and on ugly data."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.neurons import exact_faces, extremal


def by_every_pattern(data, patch, **more):
    patch.setattr(
        extremal, "list_faces", lambda pieces: (True, exact_faces.every_pattern(len(pieces)))
    )
    return bf.limits.extremal_vectors(data, **more)


def drawn(n, d, key):
    rng = np.random.default_rng((n, d, key))
    return bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))


@pytest.mark.parametrize("n", (1, 3, 6))
def test_arcs_find_what_all_sign_vectors_do(n, monkeypatch):
    for key in range(4):
        data = drawn(n, 2, key)
        found, every = bf.limits.extremal_vectors(data), by_every_pattern(data, monkeypatch)
        monkeypatch.undo()
        np.testing.assert_array_equal(found.directions, every.directions)
        np.testing.assert_array_equal(found.attracts, every.attracts)
        assert found.complete and np.all(found.defects < 1e-15)


def test_floats_find_the_faces_that_all_sign_vectors_do(monkeypatch):
    data = drawn(6, 3, 0)
    every = bf.limits.extremal_vectors(data)
    monkeypatch.setattr(exact_faces, "LISTED", 3)
    found = bf.limits.extremal_vectors(data)
    assert every.complete and not found.complete
    np.testing.assert_array_equal(found.directions, every.directions)


@pytest.mark.parametrize("loss", (None, bf.LogisticLoss(), bf.ExponentialLoss()))
def test_small_neurons_end_where_the_list_says(loss):
    data = drawn(5, 3, 1)
    data = bf.Dataset(data.X, np.sign(data.y))
    found = bf.limits.extremal_vectors(data, loss).attracting
    aligned = bf.flows.early_alignment(data, bf.TwoLayer(20, 3).init(1.0, key=2), loss)
    grows = np.flatnonzero(aligned.rates > 0)
    assert grows.size
    for j in grows:
        off = np.linalg.norm(found.directions - aligned.directions[j], axis=1)
        near = int(np.argmin(off))
        assert off[near] < 1e-10 and found.attracts[near] == aligned.signs[j]
        assert found.rates[near] == pytest.approx(aligned.rates[j], rel=1e-10)


def test_the_logistic_loss_halves_the_clock():
    data = bf.Dataset(drawn(4, 2, 3).X, [1.0, -1.0, 1.0, 1.0])
    start = bf.TwoLayer(6, 2).init(1.0, key=0)
    slow = bf.flows.early_alignment(data, start, bf.LogisticLoss())
    fast = bf.flows.early_alignment(data, start, bf.ExponentialLoss())
    np.testing.assert_allclose(2 * slow.rates, fast.rates, rtol=1e-12)


def test_orthogonal_inputs_attract_on_the_kink_of_the_other():
    found = bf.limits.extremal_vectors(bf.data.two_points())
    np.testing.assert_array_equal(found.attracts, [1, -1])


def test_columns_of_mixed_units_and_duplicates(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 2)) * [1e8, 1e-8] + [1e6, 0.0]
    X = np.vstack([X, X[0], 2 * X[1], -X[2], np.zeros(2)])
    data = bf.Dataset(X, rng.standard_normal(9))
    found, every = bf.limits.extremal_vectors(data), by_every_pattern(data, monkeypatch)
    np.testing.assert_array_equal(found.directions, every.directions)
    assert len(found) and np.all(found.defects < 1e-14)


def test_leaky_gates_and_a_network_that_is_there():
    data, model = drawn(4, 2, 5), bf.TwoLayer(3, 2, "leaky_relu", slope=0.25)
    found = bf.limits.extremal_vectors(data, model=model)
    assert len(found) and np.all((found.gates >= 0.25) & (found.gates <= 1))
    assert np.all(found.defects < 1e-15)
    params = bf.models.TwoLayerParams(np.ones(1), np.array([[0.3, -0.2]]))
    there = bf.limits.extremal_vectors(data, params=params)
    left = data.y - bf.TwoLayer(1, 2)(params, data.X)
    other = bf.limits.extremal_vectors(bf.Dataset(data.X, left))
    np.testing.assert_allclose(there.growth, other.growth, rtol=1e-12)


def test_too_many_faces_are_refused():
    with pytest.raises(bf.errors.RefusedError, match="too many faces"):
        bf.limits.extremal_vectors(drawn(60, 5, 0))


def test_it_draws_and_prints():
    found = bf.limits.extremal_vectors(drawn(5, 2, 0))
    assert "extremal vectors of 5 samples" in repr(found) and "extremal" in found._repr_html_()
    assert found.plot() is not None
    assert bf.limits.extremal_vectors(drawn(4, 3, 0)).plot() is not None


def test_hyperplanes_that_depend_on_each_other_attract_where_one_bends_up():
    inputs = [[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    data = bf.Dataset(inputs, [-4.0, -4.0, 0.4, 4.0])
    found = bf.limits.extremal_vectors(data)
    up = int(np.flatnonzero(found.directions[:, 2] == 1)[0])
    assert found.complete and found.attracts[up] == 1
    rng = np.random.default_rng(0)
    for row in np.flatnonzero(found.attracts):
        near = found.directions[row] + 1e-3 * rng.standard_normal((2000, 3))
        near /= np.linalg.norm(near, axis=1)[:, None]
        G = np.maximum(near @ data.X.T, 0) @ found.weights
        assert np.all(found.attracts[row] * (G - found.growth[row]) < 0)


def test_bends_of_opposite_inputs_cancel():
    data = bf.Dataset([[1.0, 0], [-1, 0], [0, 1]], [1.0, -1.0, 1.0])
    found = bf.limits.extremal_vectors(data)
    assert found.complete and not np.any(found.directions[:, 0] == 0)
