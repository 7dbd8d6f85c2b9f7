"""Flows of matrix factorisations: closed forms, the plain weights as a witness, invariants, any
scale and width."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows import factored
from biasflow.flows.factored import compress

SUM = bf.SquareLoss("sum")


def random_start(model, seed=0, scale=0.3):
    rng = np.random.default_rng(seed)
    return bf.models.FactorParams(
        *(scale * rng.standard_normal((size, model.rank)) for size in model.shape)
    )


def sensing(seed=0, shape=(3, 4), n=5):
    rng = np.random.default_rng(seed)
    return bf.Dataset(rng.standard_normal((n, shape[0] * shape[1])), rng.standard_normal(n))


def start_of(kind, model):
    return random_start(model) if kind == "biased" else model.init(0.2, law=kind)


@pytest.mark.parametrize("normalisation", ["half", "sum", "half-mean"])
@pytest.mark.parametrize("kind", ["identity", "gaussian", "biased"])
def test_agrees_with_the_weights(kind, normalisation):
    model, ds, loss = bf.MatrixFactorisation((3, 4), 8), sensing(), bf.SquareLoss(normalisation)
    times = [0.01, 0.1, 0.5, 2.0]
    ours, plain = (
        bf.gradient_flow(model, ds, loss, start_of(kind, model), times=times, rtol=1e-10, method=m)
        for m in (None, "weights")
    )
    assert ours.stats["method"] == "factored" and plain.stats["method"] == "weights"
    for mine, theirs in zip(ours.states, plain.states, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)
    np.testing.assert_allclose(ours.loss, plain.loss, rtol=1e-6)
    assert np.all(ours.predictor_error <= 1e-8)


def test_a_fully_observed_direction_has_a_closed_form():
    """One entry of a 1×1 matrix, U = V = w: ẇ = −2w(w² − y), so w²(t) = y/(1 + (y/w₀² −
    1)e^{−4yt})."""
    model, ds = bf.MatrixFactorisation((1, 1), 1), bf.Dataset([[1.0]], [2.0])
    start, times = bf.models.FactorParams([[1e-3]], [[1e-3]]), np.linspace(0.2, 4, 12)
    flow = bf.gradient_flow(model, ds, SUM, start, times=times)
    exact = 2 / (1 + (2 / 1e-6 - 1) * np.exp(-8 * times))
    found = model.effective(flow.states)[:, 0, 0]
    assert (
        np.all(np.abs(found - exact) <= flow.predictor_error + 1e-15)
        and np.max(flow.predictor_error) < 1e-5
    )


def test_dense_output_is_as_accurate_as_the_steps():
    model, ds = bf.MatrixFactorisation((3, 4), 8), sensing()
    start, between = model.init(0.05), np.linspace(0.05, 3, 30)
    sampled = bf.gradient_flow(model, ds, SUM, start, times=between, rtol=1e-7)
    reference = bf.gradient_flow(model, ds, SUM, start, times=between, rtol=1e-10)
    away = np.max(
        np.abs(model.effective(sampled.states) - model.effective(reference.states)), axis=(1, 2)
    )
    assert np.all(away <= 2 * sampled.predictor_error + 1e-9) and np.max(away) < 1e-5
    np.testing.assert_allclose(
        model.effective(sampled.at(between[7])), model.effective(sampled.states)[7], atol=1e-15
    )


@pytest.mark.parametrize("kind", ["identity", "biased"])
def test_invariants(kind):
    """UᵀU − VᵀV is conserved and the loss falls."""
    model, ds = bf.MatrixFactorisation((3, 4), 8), sensing()
    start = start_of(kind, model)
    flow = bf.gradient_flow(model, ds, SUM, start)
    assert flow.result is bf.Result.CONVERGED
    U, V = flow.states
    balance = U.swapaxes(1, 2) @ U - V.swapaxes(1, 2) @ V
    np.testing.assert_allclose(balance, np.broadcast_to(balance[0], balance.shape), atol=1e-7)
    assert np.all(np.diff(flow.loss) <= 1e-12 * flow.loss[0])


def test_only_the_gram_matrix_of_the_start_matters():
    """Rotating the columns, or padding them with zeros, rotates and pads the weights and leaves M
    alone."""
    ds = sensing(1)
    narrow, wide = bf.MatrixFactorisation((3, 4), 8), bf.MatrixFactorisation((3, 4), 30)
    start = random_start(narrow)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((30, 30)))[0][:8]
    flows = [
        bf.gradient_flow(model, ds, SUM, params, times=[0.3, 3.0], rtol=1e-10)
        for model, params in (
            (narrow, start),
            (wide, bf.models.FactorParams(start.U @ turn, start.V @ turn)),
        )
    ]
    np.testing.assert_allclose(flows[0].states.U @ turn, flows[1].states.U, atol=1e-8)
    assert flows[0].stats["unknowns"] == flows[1].stats["unknowns"] == 7 * 7


@pytest.mark.parametrize("kind, columns", [("identity", 7), ("gaussian", 7), ("biased", 7)])
def test_compression(kind, columns):
    model = bf.MatrixFactorisation((3, 4), 12)
    start = start_of(kind, model)
    Y, Q = compress(start)
    assert Y.shape == (7, columns)
    np.testing.assert_allclose(Y @ Q.T, np.vstack(start), atol=1e-14)
    np.testing.assert_allclose(Q.T @ Q, np.eye(columns), atol=1e-12)
    assert (kind == "biased") == bool(np.any(Y[:3, 3:]))


@pytest.mark.parametrize("alpha", [1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
def test_any_scale(alpha):
    """Error estimates hold at every scale, and small starts end at the planted matrix."""
    ds, model = bf.data.completion((6, 6), 1, 24, key=1), bf.MatrixFactorisation((6, 6), 12)
    flow, sharp = (
        bf.gradient_flow(model, ds, SUM, model.init(alpha), rtol=rtol) for rtol in (1e-6, 1e-9)
    )
    assert flow.result in (bf.Result.CONVERGED, bf.Result.FLOOR)
    size = float(np.max(np.abs(ds.y)))
    # a loss of 1e-20 leaves residuals of 1e-10, more where the entries barely determine the rest
    left = 1e-7 * size
    assert (
        np.max(np.abs(model.effective(flow.final) - model.effective(sharp.final)))
        <= flow.predictor_error[-1] + left
    )
    assert flow.stats["steps"] < 400
    if alpha <= 1e-9:
        np.testing.assert_allclose(model.effective(flow.final).ravel(), ds.truth, atol=1e-4 * size)


def test_the_small_scale_limit_is_the_planted_matrix_and_not_the_least_nuclear_norm():
    ds, model = bf.data.completion(key=2), bf.MatrixFactorisation((10, 10), 20)
    least = bf.limits.min_nuclear_norm((10, 10), *bf.data.observed_entries(ds, (10, 10)))
    M = model.effective(bf.gradient_flow(model, ds, SUM, model.init(1e-8)).final)
    assert np.linalg.norm(M.ravel() - ds.truth) < 1e-4
    assert (
        np.linalg.norm(M, "nuc") > least.certificate.primal + 0.3 and least.certificate.gap < 1e-10
    )


def test_large_scales_leave_unobserved_entries_at_zero():
    ds, model = bf.data.completion(key=0), bf.MatrixFactorisation((10, 10), 20)
    entries = bf.data.observed_entries(ds, (10, 10))
    M = model.effective(bf.gradient_flow(model, ds, SUM, model.init(100.0)).final)
    np.testing.assert_allclose(M, bf.limits.min_frobenius_norm((10, 10), *entries).value, atol=1e-7)


def test_contradictory_observations_end_stationary():
    ds = bf.Dataset([[1.0, 0, 0, 0], [1.0, 0, 0, 0]], [1.0, 2.0])
    model = bf.MatrixFactorisation((2, 2), 4)
    flow = bf.gradient_flow(model, ds, SUM, model.init(0.1))
    assert flow.result is bf.Result.STATIONARY
    assert model.effective(flow.final)[0, 0] == pytest.approx(1.5, abs=1e-8)
    assert flow.loss[-1] == pytest.approx(0.5, rel=1e-12)


def test_rank_one_factors_that_cannot_fit_end_stationary():
    """One column fits no identity matrix: the flow ends at its best rank-one approximation."""
    model, ds = bf.MatrixFactorisation((2, 2), 1), bf.Dataset(np.eye(4), [2.0, 0.0, 0.0, 1.0])
    flow = bf.gradient_flow(model, ds, SUM, bf.models.FactorParams([[0.1], [0.1]], [[0.1], [0.1]]))
    assert flow.result is bf.Result.STATIONARY
    np.testing.assert_allclose(model.effective(flow.final), [[2, 0], [0, 0]], atol=1e-6)


def test_already_fitted_or_nothing_moves():
    model = bf.MatrixFactorisation((2, 2), 4)
    zero = bf.gradient_flow(model, bf.Dataset([[1.0, 0, 0, 0]], [0.0]), SUM, model.init(0.1))
    assert (
        zero.result is bf.Result.CONVERGED
        and zero.times.tolist() == [0.0]
        and zero.error[0] < 1e-15
    )
    one, nothing = bf.Dataset([[1.0, 0, 0, 0]], [1.0]), (np.zeros((2, 4)), np.zeros((2, 4)))
    assert bf.gradient_flow(model, one, SUM, nothing).result is bf.Result.STATIONARY
    assert not np.any(bf.gradient_flow(model, one, SUM, nothing, times=[3.0]).final.U)


def test_descent_follows_the_flow():
    ds, model = sensing(), bf.MatrixFactorisation((3, 4), 8)
    start = model.init(0.3)
    descent = bf.training.gradient_descent(model, ds, SUM, start, step=1e-4, steps=5000)
    flow = bf.gradient_flow(model, ds, SUM, start, times=[0.5])
    np.testing.assert_allclose(
        model.effective(descent.final), model.effective(flow.final), atol=1e-2
    )


class TestBadInput:
    def test_a_start_below_rounding(self):
        ds, model = bf.data.completion((3, 3), 1, 5), bf.MatrixFactorisation((3, 3), 6)
        with pytest.raises(
            bf.errors.ScaleError, match=r"start: weights up to 1e-20 drown in the rounding.*needs"
        ):
            bf.gradient_flow(model, ds, SUM, model.init(1e-20))

    def test_a_start_whose_loss_overflows(self):
        ds, model = bf.data.completion((3, 3), 1, 5), bf.MatrixFactorisation((3, 3), 2)
        far = np.full((3, 2), 1e100)
        with pytest.raises(
            bf.errors.ScaleError, match=r"start: weights up to 1e\+100 make a loss that overflows"
        ):
            bf.gradient_flow(model, ds, SUM, bf.models.FactorParams(far, far))

    def test_other_models_are_refused(self):
        network = bf.DiagonalNetwork(2)
        with pytest.raises(
            bf.errors.RefusedError,
            match=r"factored flow is for MatrixFactorisation, found DiagonalNetwork",
        ):
            bf.gradient_flow(network, sensing(), SUM, network.init(0.1, dim=12), method="factored")

    @pytest.mark.parametrize(
        "given, words",
        [({"t1": -1.0}, "t1"), ({"rtol": 0.0}, "rtol"), ({"times": [2.0, 1.0]}, "times")],
    )
    def test_arguments(self, given, words):
        model = bf.MatrixFactorisation((3, 4), 8)
        with pytest.raises(bf.errors.InputError, match=words):
            bf.gradient_flow(model, sensing(), SUM, model.init(0.1), **given)


def test_entries_are_a_design_like_any(monkeypatch):
    """Designs that see one entry each are looked up; as matrices they give the same flow."""
    rows, columns, values = [0, 0, 1, 2, 2], [0, 1, 2, 0, 2], [2.0, 1.0, -1.0, 0.5, 1.5]
    data = bf.data.from_entries((3, 3), rows, columns, values)
    data = bf.Dataset(data.X * np.array([1.0, -2.0, 0.5, 3.0, 1.0])[:, None], data.y)
    model, loss = bf.MatrixFactorisation((3, 3), rank=4), bf.SquareLoss("half")
    problem = bf.Problem(model, data, loss, random_start(model))
    assert factored._Field.of(problem).pairs is not None
    listed = bf.gradient_flow(problem, times=[1.0, 5.0])
    monkeypatch.setattr(factored, "MOST_ENTRIES", 0)
    assert factored._Field.of(problem).pairs is None
    general = bf.gradient_flow(problem, times=[1.0, 5.0])
    assert listed.stats["steps"] == general.stats["steps"]
    assert np.allclose(listed.states.U, general.states.U, rtol=1e-12, atol=1e-13)
