import jax.numpy as jnp
import numpy as np
import pytest

from biasflow import CrossEntropyLoss, LogisticLoss
from biasflow.errors import InputError

EPS = float(np.finfo(np.float32).eps)
LOSS = CrossEntropyLoss()


def test_two_classes_are_logistic():
    f, y = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 1, 1, 0, 1, 0])
    assert LOSS(f, y) == pytest.approx(LogisticLoss()(f[:, 1] - f[:, 0], 2.0 * y - 1), rel=1e-14)


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize(
    ("gap", "expected"), [(60.0, 2 * np.exp(-60.0)), (-300.0, 300 + np.log(2)), (0.0, np.log(3))]
)
def test_rows_are_accurate_at_both_ends(xp, gap, expected):
    logits = xp.asarray([[gap, 0.0, 0.0]], dtype=xp.float32)
    assert float(LOSS.rows(logits, xp.asarray([0]))[0]) == pytest.approx(expected, rel=30 * EPS)


def test_gradient_is_the_derivative_and_keeps_its_digits():
    rng = np.random.default_rng(1)
    f, v, y, h = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), np.array([0, 2, 1, 1, 0]), 1e-5
    slope = (LOSS(f + h * v, y) - LOSS(f - h * v, y)) / (2 * h)
    assert np.sum(LOSS.gradient(f, y) * v) == pytest.approx(slope, rel=1e-8)
    far = LOSS.gradient(np.array([[60.0, 0.0]]), np.array([0]))
    np.testing.assert_allclose(far, [[-np.exp(-60.0), np.exp(-60.0)]], rtol=1e-14)


def test_leading_axes_are_kept():
    path, y = np.random.default_rng(2).normal(size=(4, 5, 3)), np.array([0, 2, 1, 1, 0])
    np.testing.assert_allclose(LOSS(path, y), [LOSS(f, y) for f in path], rtol=1e-15)
    assert LOSS.gradient(path, y).shape == path.shape


def test_what_is_no_class_is_refused():
    with pytest.raises(InputError, match="whole numbers"):
        LOSS.checked(np.array([0.5, 1.0]))
    with pytest.raises(InputError, match="logits"):
        LOSS(np.zeros(3), np.zeros(3, dtype=int))


def test_classes_beyond_the_logits_are_refused():
    with pytest.raises(InputError, match="classes"):
        LOSS(np.zeros((1, 3)), np.array([3]))
