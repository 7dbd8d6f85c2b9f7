"""Gradient ascent on the smooth margin: against plain loops, padded and not, compiled and in
JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.double_precision import jax_in_double
from biasflow.losses import margin_loss, soft_minimum
from biasflow.training import gpu_kernels
from biasflow.training.ascent_batches import Batch
from biasflow.training.trainables import BothLayers

STEPS = 150
METHODS = ("compiled", "jax")
CLOSE = 1e-11
"""Rounding of 150 steps in float64: 1e-15 a step, and growth of differences by β, here below 50."""


def network(n=24, d=4, m=20, key=0):
    ds = bf.data.with_bias(bf.data.clusters(n, d, 3, key=key))
    return ds, bf.TwoLayer(m, ds.d).init(1 / np.sqrt(m), key=key, balanced=False)


def signed(params):
    return bf.models.TwoLayerParams(np.sign(params.a), params.W)


def mean_loss(loss, u):
    """ℓ(−u) and ℓ'(−u)."""
    return (
        (np.exp(-u), np.exp(-u))
        if loss == "exponential"
        else (np.log1p(np.exp(-u)), 1 / (1 + np.exp(u)))
    )


def plain(ds, params, steps, rate, training, loss, squared):
    """C's recursion in C's own coordinates w = √m·v, h = (1/m)Σφ(w_j, x), w ← w + η·m∇F_m; returns
    v and the best margin.

    rate(t, β) = η(t). For the output layer r = m·a and the norm is C's β(t).
    """
    X, y, m = ds.X, ds.y, params.a.size
    root = np.sqrt(m)
    a, W = (
        (params.a * m, params.W.copy())
        if training == "output"
        else (params.a * root, params.W * root)
    )
    if squared:
        a = params.a.copy()
    theta = np.column_stack([np.zeros(m) if squared else a, W])
    r0 = np.linalg.norm(theta, axis=1)
    theta, r, best, most = theta / r0[:, None], r0.copy(), -np.inf, 1.0
    for t in range(steps + 1):
        if training == "directions":
            a, W = (a if squared else r * theta[:, 0]), r[:, None] * theta[:, 1:]
        active = np.maximum(X @ W.T, 0.0)
        features = active**2 if squared else active
        u = y * (features @ a) / m
        most = max(most, np.linalg.norm(a) / root)
        beta = (
            most
            if training == "output"
            else (np.sum(W**2) + (0.0 if squared else np.sum(a**2))) / m
        )
        best = max(best, np.min(u) / beta)
        if t == steps:
            break
        value, slope = mean_loss(loss, u)
        q, eta = y * slope / np.sum(value), rate(t, beta)
        pulls = a[:, None] * (((2 * active if squared else active > 0) * q[:, None]).T @ X)
        if training == "directions":
            r = r + eta * (
                np.sum(theta[:, 1:] * pulls, axis=1)
                + (0.0 if squared else theta[:, 0] * (active.T @ q))
            )
        elif training == "output":
            a = a + eta * (active.T @ q)
        else:
            a, W = (a if squared else a + eta * (active.T @ q)), W + eta * pulls
    if training == "output":
        return bf.models.TwoLayerParams(a / m, W), best
    return bf.models.TwoLayerParams(a if squared else a / root, W / root), best


CASES = [
    (
        "both",
        "relu",
        bf.training.InverseRootStep(0.5, offset=2),
        lambda t, beta: 0.5 / np.sqrt(t + 2),
    ),
    ("both", "squared_relu", bf.training.ConstantStep(0.01), lambda t, beta: 0.01),
    ("directions", "relu", bf.training.InverseRootStep(0.3), lambda t, beta: 0.3 / np.sqrt(t + 1)),
    (
        "directions",
        "squared_relu",
        bf.training.InverseRootStep(0.3),
        lambda t, beta: 0.3 / np.sqrt(t + 1),
    ),
    (
        "output",
        "relu",
        bf.training.InverseRootStep(0.5, offset=2, with_norm=True),
        lambda t, beta: 0.5 * beta / np.sqrt(t + 2),
    ),
    ("output", "relu", bf.training.ConstantStep(0.5), lambda t, beta: 0.5),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize(("training", "activation", "step", "rate"), CASES)
def test_against_a_plain_loop(training, activation, step, rate, loss, method):
    ds, params = network()
    squared = activation == "squared_relu"
    params = signed(params) if squared else params
    expected, best = plain(ds, params, STEPS, rate, training, loss, squared)
    run = bf.training.margin_ascent(
        ds, params, STEPS, step, training=training, loss=loss, activation=activation, method=method
    )
    scale = max(np.max(np.abs(expected.a)), np.max(np.abs(expected.W)))
    outputs = run.problem.model.signs if squared else run.final.a
    assert np.max(np.abs(outputs - expected.a)) <= CLOSE * scale
    assert np.max(np.abs(run.final.W - expected.W)) <= CLOSE * scale
    assert run.stats["best_margin"][-1] == pytest.approx(best, abs=CLOSE)
    value, _ = mean_loss(loss, ds.y * run.problem.model(run.final, ds.X))
    assert run.loss[-1] == pytest.approx(np.log(np.mean(value)), abs=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_records(method):
    ds, params = network()
    run = bf.training.margin_ascent(ds, params, 1000, records=20, method=method)
    assert run.times[0] == 0 and run.times[-1] == 1000 and np.all(np.diff(run.times) > 0)
    assert np.max(np.abs(run.states.a[0] - params.a)) <= 1e-15
    norms = np.sum(run.states.a**2, axis=1) + np.sum(run.states.W**2, axis=(1, 2))
    assert np.log(norms) == pytest.approx(run.stats["log_norm"], abs=1e-12)
    assert run.stats["margin"] == pytest.approx(
        [
            np.min(ds.y * run.problem.model(run.states, ds.X)[k]) / norms[k]
            for k in range(norms.size)
        ],
        abs=1e-14,
    )
    assert np.all(np.diff(run.stats["best_margin"]) >= 0) and np.all(
        run.stats["best_margin"] >= run.stats["margin"]
    )
    assert np.sum(run.stats["weights"], axis=1) == pytest.approx(1)
    assert run.result is bf.Result.REACHED_T1 and not np.any(run.error)


def test_long_runs_outgrow_floats_of_the_margin_not_the_run():
    """β beyond e^50: the soft-min is a minimum, the margin still improves and stays below γ₁."""
    ds, params = network(m=60)
    run = bf.training.margin_ascent(ds, params, 20_000, bf.training.ConstantStep(0.5))
    assert run.stats["log_norm"][-1] > 50
    assert np.all(np.isfinite(run.stats["margin"]))
    gamma = bf.limits.f1_max_margin(ds.X[:, :-1], ds.y, time_s=2)
    assert 0 < run.stats["best_margin"][-1] <= gamma.certificate.dual


def test_padding_changes_nothing():
    """Runs of different n, d and m together, as each alone."""
    runs = [network(24, 4, 20, 0), network(9, 2, 33, 1), network(40, 7, 5, 2)]
    for training in ("both", "directions", "output"):
        together = bf.training.margin_ascents(runs, STEPS, training=training, method="jax")
        for (ds, params), run in zip(runs, together, strict=True):
            alone = bf.training.margin_ascent(
                ds, params, STEPS, training=training, method="compiled"
            )
            assert run.final.W.shape == params.W.shape
            assert np.max(np.abs(run.final.a - alone.final.a)) <= CLOSE * np.max(
                np.abs(alone.final.a)
            )
            assert run.stats["margin"] == pytest.approx(alone.stats["margin"], abs=CLOSE)


@pytest.mark.parametrize("method", METHODS)
def test_float32_follows_float64(method):
    ds, params = network()
    exact = bf.training.margin_ascent(ds, params, STEPS, method=method)
    run = bf.training.margin_ascent(ds, params, STEPS, method=method, dtype="float32")
    assert np.max(np.abs(run.final.W - exact.final.W)) <= 1e-4 * np.max(np.abs(exact.final.W))
    assert np.max(np.abs(run.final.W - exact.final.W)) > 0


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("n", [24, 300])
def test_the_gpu_kernel_computes_in_float32(loss, n, monkeypatch):
    """Interpreted, one tile of samples and several, runs of different sizes: errors of float32, not
    of the bfloat16s it is made of."""
    monkeypatch.setattr(gpu_kernels, "NEURONS", 16)
    gpu_kernels.ascent.cache_clear()
    starts = [BothLayers(False).start(*reversed(network(n - 3 * k, m=20, key=k))) for k in (0, 1)]
    schedules = [bf.training.InverseRootStep(0.5).schedule(1.0)] * 2
    ends = {}
    with jax_in_double():
        for dtype, fused in (("float64", False), ("float32", False), ("float32", True)):
            batch = Batch(BothLayers(False), starts, schedules, loss, dtype, "cpu", fused)
            batch.advance(0, 5)
            batch.advance(5, 8)
            ends[dtype, fused] = batch.now()
    for run, exact in zip(ends["float32", True], ends["float64", False], strict=True):
        # eight steps of a few roundings of 6e-8 each; bfloat16 would be off by 4e-3
        for found, expected in zip(run[0], exact[0], strict=True):
            assert np.max(np.abs(found - expected)) <= 2e-6 * np.max(np.abs(expected))
        assert np.allclose(run[1:], exact[1:], rtol=2e-6, atol=2e-6)
    gpu_kernels.ascent.cache_clear()


def test_three_parts_are_the_float():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    found = [np.asarray(part).astype(np.float32) for part in gpu_kernels.parts(jnp.asarray(x))]
    assert np.all(found[0] + (found[1] + found[2]) == x)
    assert np.max(np.abs(found[1] / x)) <= 2**-8 and np.max(np.abs(found[2] / x)) <= 2**-16


def test_padded_to_the_frame_of_the_gpu_kernel():
    """The frame only adds zeros."""
    assert gpu_kernels.padded_sizes(200, 100, 11) == (256, 128, 16)
    assert gpu_kernels.padded_sizes(20, 64, 17) == (32, 128, 32)
    ds, params = network()
    starts = [BothLayers(False).start(params, ds)]
    with jax_in_double():
        batch = Batch(
            BothLayers(False),
            starts,
            [bf.training.ConstantStep(0.1).schedule(1.0)],
            "exponential",
            "float32",
            "cpu",
            True,
        )
    assert [leaf.shape for leaf in (*batch.moving, *batch.fixed)] == [
        (1, 128),
        (1, 128, 16),
        (1, 32, 16),
        (1, 32),
    ]
    assert int(np.sum(batch.mask)) == ds.n
    ((a, W), *_), *_ = batch.now()
    assert a.shape == params.a.shape and W.shape == params.W.shape


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_soft_min_at_any_margin(loss):
    """Gradient by differences at moderate margins; finite, and the minimum, at enormous ones."""
    risk, u = margin_loss(loss), np.array([-3.0, 0.2, 1.0, 40.0, 2.0])
    _, p, least = soft_minimum(risk, u)
    step, unit = 1e-6, np.eye(5)
    slopes = [
        soft_minimum(risk, u + step * e).value - soft_minimum(risk, u - step * e).value
        for e in unit
    ]
    assert p == pytest.approx(np.array(slopes) / (2 * step), abs=1e-8) and least == -3
    smooth, p, _ = soft_minimum(risk, np.array([0.3, 0.1, 0.2]), 60.0)
    assert p == pytest.approx([0, 1, 0]) and smooth == pytest.approx(0.1 * np.exp(60.0))


def test_progress_and_interruption():
    ds, params = network()
    told = []

    def tell(done, steps):
        told.append(done)
        if done > 700:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bf.training.margin_ascent(ds, params, 100_000, progress=tell)
    assert told[-1] < 2000 and told == sorted(told)


def test_bad_input():
    ds, params = network()
    wrong = {
        "labels of ±1": (bf.Dataset(ds.X, 2 * ds.y), params),
        "both classes": (bf.Dataset(ds.X, np.ones(ds.n)), params),
        "finite": (ds, bf.models.TwoLayerParams(params.a, params.W * np.nan)),
        "start.W": (ds, bf.models.TwoLayerParams(params.a, params.W[:, :-1])),
        "start.W: expected shape": (ds, bf.models.TwoLayerParams(params.a[:-1], params.W)),
        "every weight is zero": (ds, bf.models.TwoLayerParams(0 * params.a, 0 * params.W)),
        "expected TwoLayerParams": (ds, 3),
        "expected Dataset": (ds.X, params),
    }
    for message, (data, start) in wrong.items():
        with pytest.raises(bf.errors.InputError, match=message):
            bf.training.margin_ascent(data, start, 10)
    options = [
        {"training": "first"},
        {"loss": "hinge"},
        {"dtype": "float16"},
        {"activation": "gelu"},
        {"method": "torch"},
    ]
    options += [
        {"records": 1},
        {"step": -0.1},
        {"step": "fast"},
        {"activation": "squared_relu", "training": "output"},
        {"device": "abacus"},
        {"method": "compiled", "device": "cpu"},
    ]
    for option in options:
        with pytest.raises(bf.errors.InputError):
            bf.training.margin_ascent(ds, params, 10, **option)
    with pytest.raises(bf.errors.InputError, match="±1"):
        bf.training.margin_ascent(ds, params, 10, activation="squared_relu")
    with pytest.raises(bf.errors.InputError, match="at least one"):
        bf.training.margin_ascents([], 10)
    with pytest.raises(bf.errors.InputError, match="steps"):
        bf.training.margin_ascent(ds, params, 0)
    with pytest.raises(bf.errors.InputError, match="size"):
        bf.training.ConstantStep(-1.0)
