import numpy as np
import pytest

import biasflow as bf


def particles(seed=0, k=7, d=2):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((k, d + 1))
    return bf.models.Particles(
        u / np.linalg.norm(u, axis=1)[:, None], rng.choice([-1.0, 1.0], k), rng.standard_normal(k)
    )


def test_values_by_hand():
    one = bf.models.Particles(
        np.array([[0.6, 0.8], [-1.0, 0.0]]), np.array([1.0, -1.0]), np.log([2.0, 3.0])
    )
    np.testing.assert_allclose(one([[1.0], [-2.0]]), [0.5 * 2 * 1.4, -0.5 * 3 * 2.0], rtol=1e-14)
    assert one.norm == pytest.approx(5) and one.margin([[1.0], [-2.0]], [1, -1]) == pytest.approx(
        1.4 / 5
    )


def test_masses_beyond_float_range_have_margins():
    p, X, y = (
        particles(),
        np.random.default_rng(1).standard_normal((5, 2)),
        np.array([1.0, -1, 1, 1, -1]),
    )
    huge = p._replace(log_masses=p.log_masses + 5000)
    assert huge.margin(X, y) == pytest.approx(
        p.margin(X, y), rel=1e-12
    ) and huge.log_norm == pytest.approx(p.log_norm + 5000)


def test_support_is_the_same_measure():
    p, X = particles(), np.random.default_rng(1).standard_normal((5, 2))
    twice = bf.models.Particles(*(np.concatenate([leaf, leaf]) for leaf in p))
    some = twice._replace(log_masses=np.where(np.arange(14) == 3, -np.inf, twice.log_masses))
    assert len(twice.support.signs) == 7
    np.testing.assert_allclose(twice.support(X), 2 * p(X), rtol=1e-12)
    np.testing.assert_allclose(some.support(X), some(X), rtol=1e-12)
    none = p._replace(log_masses=np.full(7, -np.inf))
    assert none.norm == 0 and none.support.signs.size == 0 and not np.any(none(X))


def test_balanced_neurons_keep_their_mass():
    """C, Π₂: mass a² + ‖w‖² where |a| = ‖w‖; less elsewhere (Proposition 9). Neurons without a
    function have none."""
    a, W = (
        np.array([0.5, -2.0, 0.0, 1.0]),
        np.array([[0.3, 0.4], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]]),
    )
    p = bf.models.as_particles((a, W))
    np.testing.assert_allclose(p.masses, [0.5, 8.0], rtol=1e-14)
    assert bf.models.as_particles(
        (np.array([1e-200]), np.array([[1e-200, 0.0]]))
    ).log_norm == pytest.approx(np.log(2) - 400 * np.log(10))
    assert bf.models.as_particles(p).signs is not None and np.array_equal(
        bf.models.as_particles(p).directions, p.directions
    )


def test_inputs_come_without_the_bias_column():
    with pytest.raises(bf.errors.InputError, match="without the bias column"):
        particles()(np.zeros((2, 3)))
