"""The best masses on a network's directions."""

import numpy as np
import pytest

import biasflow as bf

DATA = bf.data.clusters(n=30, k=2, key=1)


def test_polish_is_between_the_network_and_the_max_margin():
    network = bf.TwoLayer(300, 3).init(1.0, key=1)
    polished, gamma = (
        bf.limits.polish(network, DATA.X, DATA.y),
        bf.limits.f1_max_margin(DATA.X, DATA.y),
    )
    own = bf.models.as_particles(network).margin(DATA.X, DATA.y)
    assert own == polished.stats["margin"] < polished.objective <= gamma.certificate.dual
    assert polished.value.norm == pytest.approx(1.0, rel=1e-12)
    assert polished.value.margin(DATA.X, DATA.y) == pytest.approx(polished.objective, rel=1e-12)
    assert polished.certificate.kind == "exact" and polished.certificate.gap < 1e-9
    again = bf.limits.polish(
        gamma.value, DATA.X, DATA.y
    )  # the best directions cannot be improved on
    assert again.objective == pytest.approx(gamma.objective, rel=1e-9)


def test_bad_input():
    with pytest.raises(bf.errors.InputError, match="every neuron is zero"):
        bf.limits.polish((np.zeros(2), np.zeros((2, 3))), DATA.X, DATA.y)
    with pytest.raises(bf.errors.InputError, match="y: expected labels of ±1"):
        bf.limits.polish(bf.TwoLayer(4, 3).init(1.0), DATA.X, 3 * DATA.y)
    with pytest.raises(bf.errors.InputError, match="without the bias column"):
        bf.limits.polish(bf.TwoLayer(4, 3).init(1.0), bf.data.with_bias(DATA).X, DATA.y)
