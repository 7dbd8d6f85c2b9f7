"""Transport distances against closed forms and against each other."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.diagnostics.transport_distances import _programmed

RNG = np.random.default_rng(0)


def test_on_a_line_it_is_the_distance_of_quantiles():
    a, b = RNG.standard_normal((50, 1)), 3 + RNG.standard_normal((50, 1))
    assert bf.diagnostics.transport_distance(a, b) == pytest.approx(
        np.sqrt(np.mean((np.sort(a[:, 0]) - np.sort(b[:, 0])) ** 2)), rel=1e-12
    )
    assert bf.diagnostics.transport_distance(a, a[::-1]) == 0.0


def test_translations_and_scales():
    a = RNG.standard_normal((20, 3))
    assert bf.diagnostics.transport_distance(a, a + np.array([1.0, 2.0, 2.0])) == pytest.approx(
        3.0, rel=1e-12
    )
    assert bf.diagnostics.transport_distance(1e200 * a, 3e200 * a) == pytest.approx(
        2e200 * np.sqrt(np.mean(np.sum(a**2, axis=1))), rel=1e-9
    )


def test_unequal_sizes():
    a, b = RNG.standard_normal((6, 2)), RNG.standard_normal((12, 2))
    both = bf.diagnostics.transport_distance(a, b)
    assert both == bf.diagnostics.transport_distance(b, a)
    cost = np.sum((b[:, None] - a) ** 2, axis=2)
    # assignment against linear program
    assert both == pytest.approx(np.sqrt(_programmed(cost)), rel=1e-9)
    assert bf.diagnostics.transport_distance(np.repeat(a, 3, axis=0), a) == pytest.approx(
        0.0, abs=1e-12
    )
    doubled = bf.diagnostics.transport_distance(
        np.repeat(a, 2, axis=0), np.repeat(b[:9], 2, axis=0)
    )
    assert bf.diagnostics.transport_distance(a, b[:9]) == pytest.approx(doubled, rel=1e-7)


def test_bad_input():
    with pytest.raises(
        bf.errors.InputError, match="other: expected points of dimension 2, found 3"
    ):
        bf.diagnostics.transport_distance(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(bf.errors.InputError, match="takes too long"):
        bf.diagnostics.transport_distance(np.ones((5000, 1)), np.ones((5000, 1)))
    with pytest.raises(bf.errors.InputError, match="one is a multiple of the other"):
        bf.diagnostics.transport_distance(np.ones((1000, 1)), np.ones((999, 1)))
    with pytest.raises(bf.errors.InputError, match="finite"):
        bf.diagnostics.transport_distance([[np.nan]], [[1.0]])
