"""Linearised networks: where they go, how they get there, and the classifiers they tend to."""

import jax
import numpy as np
import pytest

import biasflow as bf

RNG = np.random.default_rng(1)
X, Y, PLACES = RNG.standard_normal((7, 4)), RNG.standard_normal(7), RNG.standard_normal((5, 4))


def network(params, X):
    return jax.nn.tanh(X @ params["W"]) @ params["a"]


MODEL, WEIGHTS = bf.TwoLayer(20, 4), bf.TwoLayer(20, 4).init(0.7, key=2)
PARAMS = {"W": RNG.standard_normal((4, 12)), "a": RNG.standard_normal(12) / 3}


def test_the_interpolator_fits_the_data_with_the_least_norm():
    found = bf.limits.tangent_interpolator(network, PARAMS, X, Y)
    K, cross = bf.tangent_kernel(network, PARAMS, X), bf.tangent_kernel(network, PARAMS, PLACES, X)
    start, elsewhere = (np.asarray(network(PARAMS, inputs)) for inputs in (X, PLACES))
    a = np.linalg.solve(K, Y - start)
    # predictions above in single precision
    np.testing.assert_allclose(found.value(PLACES), elsewhere + cross @ a, atol=1e-6)
    np.testing.assert_allclose(found.value(X), Y, atol=1e-11)
    assert found.objective == pytest.approx(np.sqrt(a @ K @ a), rel=1e-5)
    assert found.certificate.residual <= 1e-11 and found.certificate.gap <= 1e-9


def test_its_weights_are_the_shortest_step_that_fits_the_linearised_data():
    found = bf.limits.tangent_interpolator(MODEL, WEIGHTS, X, Y).value
    step = [end - start for start, end in zip(WEIGHTS, found.params, strict=True)]
    assert np.sqrt(sum(np.sum(s**2) for s in step)) == pytest.approx(
        bf.limits.tangent_interpolator(MODEL, WEIGHTS, X, Y).objective
    )


def test_two_layer_networks_get_a_predictor_and_diagonal_ones_their_beta():
    model = bf.TwoLayer(20, 4)
    found = bf.limits.tangent_kernel_limit(model, bf.Dataset(X, Y), model.init(1.0))
    np.testing.assert_allclose(found.value(X), Y, atol=1e-10)
    diagonal = bf.DiagonalNetwork(2)
    wide = bf.data.sparse_regression(n=4, d=9, sparsity=2, noise_var=0.1, key=0)
    beta = bf.limits.tangent_kernel_limit(diagonal, wide, diagonal.init(0.3, dim=9)).value
    predictor = bf.limits.tangent_interpolator(
        diagonal, diagonal.init(0.3, dim=9), wide.X, wide.y
    ).value
    places = RNG.standard_normal((5, 9))
    np.testing.assert_allclose(predictor(places), places @ beta, atol=1e-12)


@pytest.mark.parametrize("normalisation", ["half", "sum", "half-mean"])
def test_linearised_training_is_the_kernel_flow(normalisation):
    """Against an integrated ḟ = −K∇L, and for a network that is linear against the exact flow of
    its weights."""
    from scipy.integrate import solve_ivp

    loss = bf.SquareLoss(normalisation)
    flow = bf.limits.linearised_flow(MODEL, WEIGHTS, X, Y, loss)
    K, t = bf.tangent_kernel(MODEL, WEIGHTS, X), 0.3
    solved = solve_ivp(
        lambda _, f: -K @ loss.gradient(f, Y),
        (0, t),
        flow.predictions(0),
        rtol=1e-10,
        atol=1e-12,
        method="LSODA",
    )
    np.testing.assert_allclose(flow.predictions(t), solved.y[:, -1], atol=1e-8)
    np.testing.assert_allclose(flow.at(t)(X), flow.predictions(t), atol=1e-10)
    assert flow.loss(t) == pytest.approx(loss(solved.y[:, -1], Y), rel=1e-7)
    limit = bf.limits.tangent_interpolator(MODEL, WEIGHTS, X, Y).value
    np.testing.assert_allclose(flow.at(np.inf)(PLACES), limit(PLACES), atol=1e-9)
    np.testing.assert_allclose(flow.at(0.0)(PLACES), MODEL(WEIGHTS, PLACES), atol=1e-12)


def test_modes_out_of_the_kernels_reach_do_not_move():
    inputs = np.vstack([X[:3], X[:1]])  # the same input with two labels
    flow = bf.limits.linearised_flow(MODEL, WEIGHTS, inputs, [1.0, 0.0, 0.0, -1.0])
    assert (
        flow.predictions(np.inf)[0]
        == pytest.approx(flow.predictions(np.inf)[3], abs=1e-9)
        == pytest.approx(0.0, abs=1e-9)
    )
    with pytest.raises(bf.errors.InconsistentError):
        bf.limits.tangent_interpolator(MODEL, WEIGHTS, inputs, [1.0, 0.0, 0.0, -1.0])


def test_the_max_margin_of_the_tangent_kernel():
    labels = np.where(Y > 0, 1.0, -1.0)
    found = bf.limits.tangent_max_margin(MODEL, WEIGHTS, X, labels)
    by_matrix = bf.limits.kernel_max_margin(bf.tangent_kernel(MODEL, WEIGHTS, X), labels)
    assert (
        found.objective == pytest.approx(by_matrix.objective, rel=1e-10)
        and found.objective <= by_matrix.objective
    )
    assert np.min(labels * found.value(X)) == pytest.approx(found.objective, rel=1e-9)
    size = np.sqrt(sum(np.sum(leaf**2) for leaf in found.value.direction))
    assert size == pytest.approx(1.0, rel=1e-9)  # ‖f‖ = 1 in the RKHS


def test_bad_input():
    with pytest.raises(bf.errors.InputError, match="y: expected labels"):
        bf.limits.tangent_max_margin(MODEL, WEIGHTS, X, Y)
    with pytest.raises(bf.errors.InputError, match="y: expected length 7"):
        bf.limits.tangent_interpolator(MODEL, WEIGHTS, X, Y[:3])
    with pytest.raises(bf.errors.InputError, match="t: expected a time"):
        bf.limits.linearised_flow(MODEL, WEIGHTS, X, Y).at(-1.0)
    with pytest.raises(bf.errors.InputError, match="loss"):
        bf.limits.linearised_flow(MODEL, WEIGHTS, X, Y, "square")
