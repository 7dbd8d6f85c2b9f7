"""One word for the bias: a column that is added, or the last one of the inputs."""

import numpy as np
import pytest

import biasflow as bf

RNG = np.random.default_rng(2)
X, Y = RNG.standard_normal((8, 2)), np.array([1.0, -1, 1, 1, -1, -1, 1, -1])
WITH = np.hstack([X, np.ones((8, 1))])


@pytest.mark.parametrize("norm", ["f1", "f2"])
def test_margins_with_the_column_given(norm):
    added, given = bf.max_margin(X, Y, norm=norm), bf.max_margin(WITH, Y, norm=norm, bias="column")
    assert given.objective == added.objective and given.certificate == added.certificate


def test_random_features_with_the_column_given():
    added = bf.limits.f2_max_margin(X, Y, features=20)
    given = bf.limits.f2_max_margin(WITH, Y, features=20, bias="column")
    assert given.objective == added.objective and np.array_equal(given.value(X), added.value(X))


def test_certificates_with_the_column_given():
    network = bf.limits.f1_max_margin(X, Y).value
    added = bf.limits.margin_certificate(network, X, Y)
    given = bf.limits.margin_certificate(network, WITH, Y, bias="column")
    assert (given.margin, given.upper) == (added.margin, added.upper)


def test_interpolators_with_the_column_added():
    as_given, added, column = (
        bf.min_norm(inputs, Y, norm="relu", bias=bias)
        for inputs, bias in ((WITH, "none"), (X, "append"), (WITH, "column"))
    )
    assert as_given.objective == added.objective == column.objective
    assert as_given.objective != bf.min_norm(X, Y, norm="relu").objective


@pytest.mark.parametrize("inputs", [X, np.ones((8, 1))])
def test_a_column_that_is_no_bias(inputs):
    for solve in (
        bf.limits.f1_max_margin,
        bf.limits.f2_max_margin,
        bf.limits.min_norm_interpolator,
    ):
        with pytest.raises(bf.errors.InputError, match="last column of ones"):
            solve(inputs, Y, bias="column")
    with pytest.raises(bf.errors.InputError, match="functions of \\(x, 1\\)"):
        bf.limits.f1_max_margin(X, Y, bias="none")
    with pytest.raises(bf.errors.InputError, match="bias: expected one of 'column', 'append'"):
        bf.limits.f1_max_margin(X, Y, bias="both")


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_linear_functions_know_the_same_words(norm):
    for solve, labels in ((bf.min_norm, Y[:3]), (bf.max_margin, np.array([1.0, -1.0, 1.0]))):
        plain, with_column = X[:3], WITH[:3]
        expected = solve(with_column, labels, norm=norm)
        for found in (
            solve(plain, labels, norm=norm, bias="append"),
            solve(with_column, labels, norm=norm, bias="column"),
            solve(with_column, labels, norm=norm, bias="none"),
        ):
            np.testing.assert_array_equal(found.value, expected.value)
        with pytest.raises(bf.errors.InputError, match="last column of ones"):
            solve(plain, labels, norm=norm, bias="column")
