"""Exact kernel classifiers: the kernel against sampled networks, the blocked factorisation against
one solve."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.images.wide_kernels import WideKernel, kernel_classifier


def tangent_gram(W, a, x):
    """Both parts of the tangent kernel of one output of a sampled network."""
    h = np.maximum(x @ W.T, 0)
    gates = (h > 0) * a
    return h @ h.T, (gates @ gates.T) * (x @ x.T)


def test_the_kernel_is_the_expected_tangent_kernel():
    rng, d, m = np.random.default_rng(0), 4, 200_000
    x = rng.normal(size=(3, d))
    W, a = rng.normal(size=(m, d)) * np.sqrt(2 / d), rng.normal(size=m) * np.sqrt(2 / m)
    output, hidden = tangent_gram(W, a, x)
    width = 7
    # several standard errors of means over m neurons, entries of order ‖x‖² ≈ d
    error = 20 / np.sqrt(m)
    expected = np.asarray(WideKernel(width, "output")(x, x))
    assert expected == pytest.approx(output * width / m, abs=error * width * 4)
    assert np.asarray(WideKernel(width)(x, x)) - expected == pytest.approx(hidden, abs=error * 4)


def problem(n=50, tests=25):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(n + tests, 8)), rng.integers(10, size=n + tests)
    return (x[:n], y[:n]), (x[n:], y[n:])


@pytest.mark.parametrize("block", [25, 100])
@pytest.mark.parametrize("layers", ["all", "output"])
def test_blocks_solve_the_whole(block, layers):
    (x, y), (t, ty) = problem()
    kernel = WideKernel(50, layers)
    target = np.eye(10)[y] - 0.1
    K = np.asarray(kernel(x, x))
    guesses = np.asarray(kernel(t, x)) @ np.linalg.solve(K, target)
    found = kernel_classifier(kernel, (x, y), (t, ty), block)
    assert found.test_error == np.mean(np.argmax(guesses, axis=1) != ty) and found.train_error == 0
    assert found.residual <= 100 * np.finfo(float).eps * np.linalg.cond(K)


def test_bad_input():
    (x, y), test = problem()
    with pytest.raises(bf.errors.ConvergenceError, match="not positive definite"):
        kernel_classifier(lambda a, b: -(a @ b.T), (x, y), test)
    for bad in ({"width": 0}, {"width": 5, "layers": "hidden"}):
        with pytest.raises(bf.errors.InputError):
            WideKernel(**bad)
    with pytest.raises(bf.errors.InputError, match="block"):
        kernel_classifier(WideKernel(5), (x, y), test, block=0)


def test_inputs_that_cannot_be_interpolated():
    """Twice the same input with two classes; a blank input, on which every function of the kernel's
    is zero."""
    rng = np.random.default_rng(3)
    x, y = rng.random((120, 20)), rng.integers(0, 10, 120)
    kernel = WideKernel(50)
    repeated, blank = x.copy(), x.copy()
    repeated[5], blank[5] = repeated[6], 0
    y[5] = (y[6] + 1) % 10
    for spoiled in (repeated, blank):
        with pytest.raises(bf.errors.ConvergenceError, match="repeated"):
            kernel_classifier(kernel, (spoiled, y), (x, y))
    assert not np.any(np.isnan(np.asarray(kernel(blank, x)))) and not np.any(
        np.asarray(kernel(blank, x))[5]
    )


def test_classes_that_do_not_fit():
    x = np.eye(3)
    for name, train, test in (
        ("train", (x, [0, 1, 10]), (x, [0, 1, 2])),
        ("test", (x, [0, 1, 2]), (x, [0, 1])),
    ):
        with pytest.raises(bf.errors.InputError, match=f"{name}: expected a class"):
            kernel_classifier(WideKernel(50), train, test)
