"""The clock of the mean risk leaves float range long before the norm does: said so, not marched on
with a clock that is NaN."""

import pytest

import biasflow as bf
from biasflow.errors import ConvergenceError


def test_a_norm_beyond_the_clock_of_the_risk_is_refused():
    data = bf.data.with_bias(bf.data.clusters(16, 2, 2, key=3))
    model = bf.TwoLayer(60, 3)
    with pytest.raises(ConvergenceError, match="left float range"):
        bf.gradient_flow(
            model, data, bf.ExponentialLoss(), model.init(0.1, key=1), rtol=1e-3, log_norm=30.0
        )
