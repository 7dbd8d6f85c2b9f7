"""What a flow says is so: losses of the user's own, neurons that are dead, classes never separated,
memory never taken."""

import tracemalloc

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map
from biasflow.flows.margin import refusal
from biasflow.flows.relu.geometry import network

RNG = np.random.default_rng(5)
X = np.c_[RNG.standard_normal((8, 2)), np.ones(8)]
CLASSES = np.where(X[:, 0] + 0.1 > 0, 1.0, -1.0)


class Doubled(bf.ExponentialLoss):
    """ℓ(u) = e^{2u}, which inherits from the exponential and is another loss."""

    def log_loss(self, margins):
        return -2 * margins

    def log_slope(self, margins):
        return np.log(2.0) - 2 * margins

    def log_curvature(self, margins):
        return np.log(4.0) - 2 * margins


@pytest.mark.parametrize("model", [bf.TwoLayer(6, 3), bf.SignedTwoLayer(6, 3)])
def test_a_loss_of_the_users_own_is_followed_as_it_is(model):
    """−S of e^{2u} at f is that of e^u at 2f: gradient descent with a small step says where its
    flow is."""
    start, loss = model.init(0.7), bf.SmoothMargin(Doubled())
    flow = bf.gradient_flow(model, bf.Dataset(X, CLASSES), loss, start, t1=1.0, rtol=1e-6)
    plain = bf.gradient_flow(
        model, bf.Dataset(X, CLASSES), bf.SmoothMargin(), start, t1=1.0, rtol=1e-6
    )
    down = bf.training.gradient_descent(model, bf.Dataset(X, CLASSES), loss, start, 2e-4, 5000)
    apart = max(np.max(np.abs(a - b)) for a, b in zip(flow.final, down.final, strict=True))
    others = max(np.max(np.abs(a - b)) for a, b in zip(plain.final, down.final, strict=True))
    assert apart < 5e-3 < 0.1 < others


def test_a_loss_without_the_exponentials_tail_is_not_refused():
    flow = bf.gradient_flow(
        bf.TwoLayer(6, 3), bf.Dataset(X, CLASSES), Doubled(), bf.TwoLayer(6, 3).init(0.7), t1=1.0
    )
    assert flow.result is bf.Result.REACHED_T1 and flow.loss[-1] < flow.loss[0]


def test_asking_a_method_takes_no_memory():
    """Whether the margin flow fits was found by forming two n × n arrays: 6.4 GB at n = 20 000, for
    flows without it too."""
    ds = bf.Dataset(RNG.standard_normal((20_000, 3)), np.sign(RNG.standard_normal(20_000)))
    model = bf.TwoLayer(4, 3)
    tracemalloc.start()
    try:
        assert "square" not in (
            refusal(bf.Problem(model, ds, bf.SmoothMargin(), model.init(0.1))) or ""
        )
        assert "needs an exponential" in refusal(
            bf.Problem(model, ds, bf.SquareLoss("half"), model.init(0.1))
        )
        with pytest.raises(
            bf.errors.RefusedError, match=r"20000 × 20000 systems, .* GiB; margin_ascent"
        ):
            bf.gradient_flow(model, ds, bf.SmoothMargin(), model.init(0.1), t1=1.0)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()


def test_relu_flows_hold_no_square_arrays_of_samples():
    """Cosines of all pairs of inputs took 8n² bytes, twice, for the few that are ever asked for."""
    ds, model = (
        bf.Dataset(RNG.standard_normal((3000, 3)), RNG.standard_normal(3000)),
        bf.TwoLayer(4, 3),
    )
    tracemalloc.start()
    try:
        network(bf.Problem(model, ds, bf.SquareLoss("half"), model.init(0.1)))
        assert tracemalloc.get_traced_memory()[1] < 8 * 3000**2 / 10
    finally:
        tracemalloc.stop()


def test_dead_neurons_are_named():
    model, data = bf.TwoLayer(4, 3), bf.Dataset(np.abs(X), CLASSES)
    start = model.init(0.5)
    start.W[:] = np.abs(start.W) * np.array([[1.0], [-1.0], [1.0], [-1.0]])
    start.a[:] = np.abs(start.a)
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), start, t1=1.0)
    assert {1, 3} <= set(flow.stats["dead"])
    assert {1, 3} <= set(
        bf.gradient_flow(model, data, bf.SmoothMargin(), start, t1=1.0).stats["dead"]
    )
    none = leaf_map(lambda leaf: -np.abs(leaf), start)
    assert bf.gradient_flow(model, data, bf.SquareLoss("half"), none).stats["dead"] == (0, 1, 2, 3)
    tiny = bf.gradient_flow(model, data, bf.SquareLoss("half"), start, log_scale=-1e4, times=[1.0])
    assert tiny.stats["dead"] == (1, 3)


def test_stationary_says_no_more_than_is_known():
    """A flow that stops short of interpolation was said to have found a positive infimum, at a loss
    of 2.7e-19 too."""
    assert "infimum" not in bf.Result.STATIONARY.value


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
@pytest.mark.parametrize("j", [-20, 6])
def test_the_default_step_of_an_ascent_follows_the_inputs(activation, j):
    """Inputs 2^j and weights 2^{−j/2}, for squared ReLUs 2^{−j}: the same margins at every step."""
    start = bf.TwoLayer(6, 3).init(0.5)
    squared = activation == "squared_relu"
    if squared:
        start = start._replace(a=np.sign(start.a))
    k = -j if squared else -j // 2
    scaled = start._replace(a=start.a if squared else np.ldexp(start.a, k), W=np.ldexp(start.W, k))
    base = bf.training.margin_ascent(bf.Dataset(X, CLASSES), start, 200, activation=activation)
    run = bf.training.margin_ascent(
        bf.Dataset(np.ldexp(X, j), CLASSES), scaled, 200, activation=activation
    )
    assert run.loss == pytest.approx(base.loss, rel=1e-9)
    assert pytest.approx(np.ldexp(base.final.W, k), rel=1e-9) == run.final.W


def test_an_ascent_that_never_separated_says_so():
    same = bf.Dataset(X[[0, 0, 1, 2]], [1.0, -1.0, 1.0, -1.0])
    run = bf.training.margin_ascent(same, bf.TwoLayer(6, 3).init(0.5), 100)
    assert (
        run.result is bf.Result.UNSEPARATED
        and "no step separated" in run.result.value
        and not run.result.success
    )
    apart = bf.training.margin_ascent(bf.Dataset(X, CLASSES), bf.TwoLayer(6, 3).init(0.5), 2000)
    assert apart.result is bf.Result.REACHED_T1 and apart.stats["best_margin"][-1] > 0


def test_a_second_bias_column_is_noticed():
    """γ came out as 0.04144 instead of 0.04123, without a word."""
    ds = bf.Dataset(X[:, :2], CLASSES)
    biased = bf.data.with_bias(ds)
    with pytest.raises(bf.errors.InputError, match="a second bias"):
        bf.data.with_bias(biased)
    for solve in (bf.limits.f1_max_margin, bf.limits.f2_max_margin):
        with pytest.raises(bf.errors.InputError, match="give the inputs without a bias column"):
            solve(biased.X, biased.y)


def test_flows_of_every_model_are_compared():
    x, y = RNG.standard_normal((3, 5)), RNG.standard_normal(3)
    half = bf.SquareLoss("half")
    relu = bf.TwoLayer(40, 5)
    flow = bf.gradient_flow(relu, bf.Dataset(x, y), half, relu.init(1e-3))
    found = bf.compare(flow, bf.limits.min_norm_interpolator(x, y))
    assert found.distance < 1e-6 and "of the predictions" in str(found)  # both interpolate
    matrices = bf.MatrixFactorisation((2, 2), 4)
    entries = bf.Dataset(np.eye(4)[:3], y)
    completed = bf.gradient_flow(matrices, entries, half, matrices.init(1e-3))
    least = bf.limits.min_nuclear_norm((2, 2), [0, 0, 1], [0, 1, 0], y)
    assert np.isfinite(bf.compare(completed, least).relative)
    deep = bf.DeepNetwork((5, 3), activation="linear", symmetric=True)
    start = deep.init(3.0)
    lazy = bf.gradient_flow(deep, bf.Dataset(x, y), half, start)
    assert (
        bf.compare(lazy, bf.limits.tangent_kernel_limit(deep, bf.Dataset(x, y), start)).distance
        < 1e-6
    )
    classifier = bf.TwoLayer(30, 3)
    grown = bf.gradient_flow(
        classifier, bf.Dataset(X, CLASSES), bf.SmoothMargin(), classifier.init(0.5), log_norm=8.0
    )
    best = bf.limits.f1_max_margin(X[:, :2], CLASSES)
    assert bf.compare(grown, best).relative < 1.0
