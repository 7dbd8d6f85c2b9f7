"""The recursions of C's Propositions 6 and 7: what they promise, and that faster code makes the
same iterates."""

import numpy as np
import pytest

import biasflow as bf

MARGIN = {"directions": bf.limits.l1_max_margin, "output": bf.limits.l2_max_margin}


def features(n=30, m=60, key=0):
    """Signed ReLU features on clusters."""
    ds = bf.data.clusters(n, 2, 2, key=key)
    rng = np.random.default_rng(key)
    u = rng.standard_normal((m, 3))
    phi = np.maximum(
        np.column_stack([ds.X, np.ones(n)]) @ (u / np.linalg.norm(u, axis=1)[:, None]).T, 0.0
    )
    return ds.y[:, None] * phi * rng.choice([-1.0, 1.0], m)


@pytest.mark.parametrize("training", ["directions", "output"])
@pytest.mark.parametrize("key", [0, 1, 3])
def test_the_propositions_bounds_hold_at_every_step(training, key):
    Z = features(key=key)
    gamma = MARGIN[training](Z).objective
    assert gamma > 0
    run = bf.training.feature_ascent(Z, 3000, training)
    assert np.all(run.best[:-1] >= run.guarantee(gamma))
    assert run.best[-1] <= gamma * (1 + 1e-9)
    assert run.log_beta[-1] > run.log_beta[0]  # β → ∞ (C, Lemma 17)
    assert np.all(np.diff(run.partial_sums) > 0)


@pytest.mark.parametrize("training", ["directions", "output"])
def test_the_bounds_say_something_on_easy_features(training):
    """All features positive and few: the promise is most of the margin, is kept, and half the
    margin would break it."""
    Z = np.random.default_rng(0).uniform(0.5, 1.0, (4, 3))
    gamma = MARGIN[training](Z).objective
    run = bf.training.feature_ascent(Z, 20_000, training)
    promised = run.guarantee(gamma)
    assert np.all(run.best[:-1] >= promised)
    assert promised[-1] > 0.5 * gamma
    assert 0.5 * run.best[-1] < promised[-1]


def test_step_sizes_are_the_propositions():
    Z = features()
    largest = np.max(np.abs(Z))
    run = bf.training.feature_ascent(Z, 50, "directions")
    assert run.step == pytest.approx(1 / (16 * largest * np.sqrt(np.arange(50) + 1)))
    run = bf.training.feature_ascent(Z, 50, "output")
    assert run.step == pytest.approx(
        run.beta[:-1] * np.sqrt(2) / (largest * np.sqrt(np.arange(50) + 1))
    )
    with pytest.warns(DeprecationWarning, match="is now FeatureAscent.step"):
        assert run.step_sizes is run.step


@pytest.mark.parametrize("training", ["directions", "output"])
def test_against_the_weights_themselves(training):
    """r ← r + ηm∇F(r), at its own scale."""
    Z, T = features(), 200
    m = Z.shape[1]
    run = bf.training.feature_ascent(Z, T, training, keep=range(T + 1))
    r, most = (np.zeros(m), 1.0) if training == "output" else (np.ones(m), 0.0)
    for t in range(T + 1):
        a = r / m if training == "output" else r**2 / m
        most = max(most, np.sqrt(m) * np.linalg.norm(a)) if training == "output" else np.sum(a)
        assert run.iterates[t] == pytest.approx(a / most, abs=1e-12)
        assert run.beta[t] == pytest.approx(most, rel=1e-12)
        if t == T:
            break
        e = np.exp(-(Z @ a) + np.min(Z @ a))
        p = e / np.sum(e)
        assert run.weights[t] == pytest.approx(p, abs=1e-12)
        g = Z.T @ p
        r = r + run.step[t] * (g if training == "output" else 2 * r * g)


@pytest.mark.parametrize("method", ["compiled", "jax"])
@pytest.mark.parametrize("training", ["directions", "output"])
def test_networks_follow_the_same_recursion(training, method):
    """`margin_ascent` with fixed directions, or the output layer, of a network whose features are
    Z."""
    ds = bf.data.with_bias(bf.data.clusters(30, 2, 2, key=0))
    m, T = 40, 500
    rng = np.random.default_rng(0)
    W = rng.standard_normal((m, 3))
    W /= np.linalg.norm(W, axis=1)[:, None]
    signs = np.sign(rng.standard_normal(m))
    active = ds.y[:, None] * np.maximum(ds.X @ W.T, 0.0)
    if training == "directions":  # every neuron of norm r/√m = 1/√m, balanced
        start, Z = (
            bf.models.TwoLayerParams(signs / np.sqrt(2 * m), W / np.sqrt(2 * m)),
            active * signs / 2,
        )
    else:
        start, Z = bf.models.TwoLayerParams(np.zeros(m), W), active
    run = bf.training.margin_ascent(ds, start, T, training=training, method=method)
    plain = bf.training.feature_ascent(Z, T, training, keep=run.times.astype(int).tolist())
    assert run.stats["log_norm"] == pytest.approx(plain.log_beta[plain.kept], abs=1e-11)
    assert run.stats["margin"] == pytest.approx(plain.margin[plain.kept], abs=1e-11)
    assert run.stats["best_margin"] == pytest.approx(plain.best[plain.kept], abs=1e-11)
    assert run.stats["weights"] == pytest.approx(plain.weights, abs=1e-9)


def test_bad_input():
    Z = features()
    for arguments in [
        (Z[0], 10),
        (Z * np.nan, 10),
        (Z, 0),
        (Z, 10, "both"),
        (Z, 10, "output", -0.1),
    ]:
        with pytest.raises(bf.errors.InputError):
            bf.training.feature_ascent(*arguments)
    with pytest.raises(bf.errors.InputError, match="every feature vanishes"):
        bf.training.feature_ascent(0 * Z, 10)
    with pytest.raises(bf.errors.InputError, match="keep"):
        bf.training.feature_ascent(Z, 10, keep=[11])
