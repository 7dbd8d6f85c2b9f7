"""The scale at which a network leaves the kernel regime, over trainings swept over scales and
seeds."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.regime.transition import _crossing, _falling

SCALES = np.geomspace(0.03, 1.0, 6)


def diagonal(scale, seed, n=8):
    """A diagonal network of depth two on sparse regression, by its exact limit: the weights from β
    and w₊w₋ = α²."""
    ds = bf.data.sparse_regression(n=n, d=20, sparsity=2, noise_var=0.0, key=seed)
    model = bf.DiagonalNetwork(2)
    beta = bf.limit(model, ds, scale=scale).value
    root = np.sqrt(beta**2 / 4 + scale**4)
    end = bf.models.DiagonalParams(np.sqrt(root + beta / 2), np.sqrt(root - beta / 2))
    return model, [model.init(scale, dim=20), end], ds.X, ds.y


def diverging(scale, seed):
    model, (start, end), X, y = diagonal(scale, seed)
    return (
        model,
        [start, bf.models.DiagonalParams(end.plus * np.nan, end.minus) if scale > 0.9 else end],
        X,
        y,
    )


@pytest.fixture(scope="module")
def found():
    return bf.regime.transition_scale(diagonal, SCALES, 3)


def test_the_transition_lies_between_its_bounds_and_the_measure_crosses_there(found):
    assert SCALES[0] < found.low < found.scale < found.high < SCALES[-1]
    assert found.values.shape == (6, 3)
    k = int(np.searchsorted(SCALES, found.scale))
    means = found.values.mean(axis=1)
    assert means[k - 1] >= 0.5 >= means[k]
    # no finer than the scales tried
    assert found.high / found.low >= found.resolution * (1 - 1e-12)
    assert found.resolution == pytest.approx(SCALES[1] / SCALES[0])
    assert "Transition at scale" in str(found) and len(found.plot().axes) == 1


def single(scale, seed):
    """One coordinate, β = 1."""
    X = np.random.default_rng(seed).standard_normal((6, 1))
    root = np.sqrt(1 / 4 + scale**4)
    end = bf.models.DiagonalParams(np.array([np.sqrt(root + 0.5)]), np.array([np.sqrt(root - 0.5)]))
    return bf.DiagonalNetwork(2), [bf.DiagonalNetwork(2).init(scale, dim=1), end], X, X[:, 0]


def test_one_coordinate_crosses_where_theory_says():
    """w± = αe^{±η/2} with β = 2α²sinh η: the linearised network has 2α(w₊ − w₋), so that the gap is
    1 − 1/cosh(η/2), a half where cosh(η/2) = 2, at β = 8√3·α²."""
    scales = np.geomspace(0.1, 1.0, 41)
    found = bf.regime.transition_scale(single, scales, 1)
    np.testing.assert_allclose(
        found.values[:, 0], 1 - 1 / np.cosh(np.arcsinh(1 / (2 * scales**2)) / 2), rtol=1e-9
    )
    # linear between scales 6% apart
    assert found.scale == pytest.approx((8 * np.sqrt(3)) ** -0.5, rel=1e-3)
    assert found.low < (8 * np.sqrt(3)) ** -0.5 < found.high


def test_the_store_remembers_trainings_and_a_setting_makes_others(tmp_path):
    store = bf.sweeps.Store(tmp_path)
    seen = []
    arguments = {"store": store, "progress": lambda done, total, label: seen.append(label)}
    first = bf.regime.transition_scale(diagonal, SCALES, 2, **arguments)
    again = bf.regime.transition_scale(diagonal, SCALES, 2, **arguments)
    assert np.array_equal(first.values, again.values) and first.scale == again.scale
    assert set(seen) == {"diagonal"}
    other = bf.regime.transition_scale(diagonal, SCALES, 2, settings={"n": 5}, **arguments)
    assert not np.array_equal(other.values, first.values)


def test_a_training_that_diverges_is_masked_and_counted():
    with pytest.warns(RuntimeWarning, match="diverged"):
        found = bf.regime.transition_scale(diverging, SCALES, 2)
    assert np.all(np.isnan(found.values[-1])) and np.isfinite(found.scale)
    assert "2 of 12 trainings failed" in found.describe()
    found.plot()


def test_scales_on_one_side_say_so():
    found = bf.regime.transition_scale(diagonal, [3.0, 10.0], 2)
    assert (
        np.isnan(found.scale)
        and "kernel side" in found.describe()
        and "below 3" in found.describe()
    )
    found.plot()


def test_the_interval_covers_what_seeds_do():
    """Curves that cross at e^z with z normal of deviation 0.3: the interval over 20 seeds has about
    2·1.96·0.3/√20 of width."""
    rng, logs = np.random.default_rng(0), np.linspace(-3, 3, 61)
    values = 1 / (1 + np.exp(2 * (logs[:, None] - 0.3 * rng.standard_normal(20))))
    scale, low, high, _ = _crossing(logs, values, 0.5)
    assert low < 1 < high and np.log(high / low) == pytest.approx(
        2 * 1.96 * 0.3 / np.sqrt(20), rel=0.4
    )
    assert abs(np.log(scale)) < 0.3


def test_pooling_is_isotonic_regression():
    from sklearn.isotonic import IsotonicRegression

    values = np.random.default_rng(1).standard_normal(30)
    expected = IsotonicRegression(increasing=False).fit_transform(np.arange(30), values)
    np.testing.assert_allclose(_falling(values), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((diagonal, [1.0]), {}, "scales"),
        ((diagonal, [1.0, 0.5]), {}, "scales.*increasing"),
        ((diagonal, [-1.0, 0.5]), {}, "scales.*positive"),
        ((diagonal, [0.1, 1.0], 0), {}, "keys"),
        ((diagonal, [0.1, 1.0]), {"measure": "loss"}, "measure.*linear_gap"),
        ((diagonal, [0.1, 1.0]), {"level": -1.0}, "level"),
        ((lambda scale, seed: 3, [0.1, 1.0]), {}, "train.*network, checkpoints, X, y"),
    ],
)
def test_bad_input(arguments, options, words):
    with pytest.raises(bf.errors.InputError, match=words):
        bf.regime.transition_scale(*arguments, **options)
