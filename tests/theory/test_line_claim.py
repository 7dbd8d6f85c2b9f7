"""S/line where what is free is most of the labels: its linear programs have to see the rest."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.since.line_programs import PROGRAM_ERROR, least_on_grid

X = np.array([-1.0, -0.3, 0.2, 0.9, 1.7, 2.5])
BENT = np.random.default_rng(3).standard_normal(6)


@pytest.mark.parametrize(
    "y",
    [1 + 2 * X + 1e-6 * BENT, 1 + 2 * X + 1e-7 * BENT, 1e6 + BENT],
    ids=["nearly affine", "more nearly", "an offset"],
)
def test_programs_see_what_is_not_free(y):
    for skip in (True, False):
        found = bf.limits.line_interpolants(X, y, penalise_bias=False, skip=skip)
        assert least_on_grid(X, y, False, skip) == pytest.approx(found.objective, rel=PROGRAM_ERROR)


def test_holds_on_labels_with_an_offset():
    assert bf.verify("S/line", bf.Dataset(X[:, None], 1e6 + BENT)).status.value == "holds"
