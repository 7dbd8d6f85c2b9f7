import numpy as np
import pytest

from biasflow import SquareLoss
from biasflow.errors import InputError

FACTORS = {"half": 0.5, "sum": 1.0, "half-mean": 1 / 8}


@pytest.mark.parametrize("name, factor", FACTORS.items())
def test_normalisations(name, factor):
    predictions, labels = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 2.0, 5.0, 3.0])
    loss = SquareLoss(name)
    assert loss.factor(4) == factor
    assert loss(predictions, labels) == factor * 6.0
    assert np.array_equal(loss.gradient(predictions, labels), 2 * factor * (predictions - labels))
    assert loss(labels, labels) == 0.0


@pytest.mark.parametrize("name", FACTORS)
def test_gradient_is_the_derivative(name):
    rng = np.random.default_rng(0)
    f, y, v, h = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(4), 1e-3
    loss = SquareLoss(name)
    # exact for a quadratic, up to rounding eps/h
    slope = (loss(f + h * v, y) - loss(f - h * v, y)) / (2 * h)
    assert loss.gradient(f, y) @ v == pytest.approx(slope, rel=1e-11)


@pytest.mark.parametrize("name", FACTORS)
def test_leading_axes_are_kept(name):
    rng = np.random.default_rng(1)
    path, y = rng.standard_normal((5, 4)), rng.standard_normal(4)
    loss = SquareLoss(name)
    np.testing.assert_allclose(loss(path, y), [loss(row, y) for row in path], rtol=1e-15)
    assert loss.gradient(path, y).shape == (5, 4)


def test_the_default_is_half():
    assert SquareLoss() == SquareLoss("half")


@pytest.mark.parametrize("name", ["mean", "", None, 0.5])
def test_unknown_normalisation(name):
    with pytest.raises(
        InputError, match="normalisation: expected one of 'half', 'sum', 'half-mean'"
    ):
        SquareLoss(name)
