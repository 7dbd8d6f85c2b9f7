"""The scale at which a network leaves the kernel regime, over trainings swept over scales and
seeds."""

import time

import numpy as np
import pytest

import biasflow as bf
from biasflow.regime import transition
from biasflow.regime.transition import _falling, crossing
from biasflow.sweeps.progress_bars import tally_line

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


def curves(rng, logs, middle, count, noise=0.1, spread=0.6):
    """Curves whose mean crosses a half at `middle`, by symmetry: each at its own place around it,
    with noise at every point."""
    places = middle + spread * rng.standard_normal(count)
    exact = 1 / (1 + np.exp(2 * (logs[:, None] - places)))
    return exact + noise * rng.standard_normal((logs.size, count))


def test_the_interval_is_as_wide_as_seeds_ask_for():
    """With 20 seeds 2·t₁₉·σ/√20 of width, σ the deviation of the places."""
    logs = np.linspace(-3, 3, 61)
    found = crossing(logs, curves(np.random.default_rng(0), logs, 0.0, 20, 0.0, 0.3), 0.5)
    assert found.low < 0 < found.high and found.uncrossed == 0
    assert found.high - found.low == pytest.approx(2 * 2.09 * 0.3 / np.sqrt(20), rel=0.4)
    assert abs(found.place) < 0.3


@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize("middle", [0.1, 2.6])
def test_the_interval_covers_the_crossing(monkeypatch, count, middle):
    """Nineteen times of twenty, also where the crossing is next to the last scale and many draws of
    seeds do not cross: 200 sets of curves; 95% less three standard deviations of 200 trials."""
    monkeypatch.setattr(transition, "RESAMPLES", 200)
    logs = np.linspace(-3, 3, 9)
    covered, opened = [], []
    for trial in range(200):
        rng = np.random.default_rng([trial, count, 31])
        found = crossing(logs, curves(rng, logs, middle, count), 0.5)
        covered.append(found.low <= middle <= found.high)
        opened.append(np.isinf(found.high))
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200), np.mean(covered)
    if middle > 2 and count <= 5:
        assert np.mean(opened) > 0.3


def test_draws_that_do_not_cross_open_the_interval():
    """Two of five curves never fall: most draws with three of these stay above the level."""
    logs = np.linspace(-1, 1, 5)
    falling, high = np.linspace(1, 0, 5), np.ones(5)
    found = crossing(logs, np.stack([falling] * 3 + [high] * 2, axis=1), 0.5)
    assert np.isfinite(found.place) and np.isinf(found.high) and 0.1 < found.uncrossed < 0.9
    above = crossing(logs, np.stack([falling] * 2 + [high] * 3, axis=1), 0.5)
    assert above.place == np.inf and above.high == np.inf and above.low < 1
    assert 0 < above.uncrossed < 1
    below = crossing(logs, np.zeros((5, 4)), 0.5)
    assert below.place == -np.inf and below.low == -np.inf and below.uncrossed == 1
    assert -1 <= below.high <= 1


def two_kinds(scale, seed):
    """Seeds 0 and 1 are kernel machines at large scales, the others nowhere."""
    return diagonal(scale if seed < 2 else 1e-4 * scale, seed)


def test_an_open_interval_is_told():
    found = bf.regime.transition_scale(two_kinds, SCALES, 4)
    assert found.uncrossed > 0 and np.isinf(found.high)
    text = found.describe()
    assert "beyond the scales tried" in text or "open to both sides" in text
    found.plot()


def test_the_time_left_is_known_before_the_first_training_ends(monkeypatch):
    lines = []

    class Bar:
        def __enter__(self):
            return lambda tally: lines.append((tally.done, tally.within, tally_line(tally)))

        def __exit__(self, *_):
            return None

    def train(scale, seed):
        time.sleep(0.02)
        assert bf.regime.tell_share(0.25)
        return single(scale, seed)

    monkeypatch.setattr(transition, "sweep_bar", lambda *_: Bar())
    bf.regime.transition_scale(train, [0.1, 1.0], 1, progress=True)
    early = [line for done, within, line in lines if done == 0 and within == 0.25]
    assert early and "ETA" in early[0]
    assert not transition._LISTENERS
    assert not bf.regime.tell_share(1.0)  # without a sweep nothing happens
    for wrong in (1.5, "half"):
        with pytest.raises(bf.errors.InputError, match="done"):
            bf.regime.tell_share(wrong)


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
