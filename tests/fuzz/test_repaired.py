"""Cases that the fuzzer found, one or two of each kind of defect, each of which was foreign, wrong or endless once."""

import numpy as np
import pytest
from fuzz_cases import CLEAR, RIGHT, outcome_of

import biasflow as bf

REPAIRED = {
    # steps too short for the clock: 'ConstantDenseOutput' object has no attribute 'h'
    "mirror_flow | alpha | 1e12": CLEAR,
    "flow depth 3 | X | times 2^-530": CLEAR,
    # a tolerance that is none
    "flow deep | rtol | 1e300": CLEAR,
    "flow margin | rtol | 1e300": CLEAR,
    # a move of the weights that their tolerance hides
    "flow diagonal weights | y | times 2^-40": RIGHT,
    # units
    "saddle_limit | X | times 2^-530": RIGHT,
    "saddle_limit | y | times 2^530": RIGHT,
    "saddle_limit | y | times 2^-1000": RIGHT,
    "saddle_limit | y | one huge entry": CLEAR,
    "saddle_limit | y | subnormal": CLEAR,
    "saddle_limit | X | rows from 1e-12 to 1e12": RIGHT,
    "bregman_projection | alpha | 1e300": RIGHT,
    "projection of depth | factor | 1e-300": RIGHT,
    "limit diagonal | y | times 2^-530": RIGHT,
    "arc_cosine_kernel | other | times 2^1000": RIGHT,
    "arc_cosine_kernel | X | times 2^1000": CLEAR,
    "tangent_kernel | X | one huge entry": CLEAR,
    "linearised_flow | X | times 2^530": CLEAR,
    "kernel_interpolator | K | subnormal": CLEAR,
    "kkt_point | X | subnormal": CLEAR,
    "feature_ascent | Z | subnormal": CLEAR,
    # arguments that were not looked at
    "feature_ascent | keep | 10**20": CLEAR,
    "train_batch | batch | int8": RIGHT,
    "train_batch | starts | a number": CLEAR,
    "train_batch | stepsizes | ragged": CLEAR,
}


@pytest.mark.parametrize("case", REPAIRED)
def test_a_case_that_was_found(case):
    outcome, detail = outcome_of(case)
    assert outcome == REPAIRED[case], detail


def test_more_features_than_fit():
    with pytest.raises(bf.InputError, match="features"):
        bf.f2_max_margin(np.eye(4)[:, :3], [1.0, -1.0, 1.0, -1.0], features=10**9)


@pytest.mark.parametrize("method", [None, "compiled", "weights"])
def test_tolerances_of_one_or_more_are_refused(method):
    model = bf.DiagonalNetwork(2)
    for rtol in (1.0, 1e300):
        with pytest.raises(bf.InputError, match="rtol: expected a relative error below one"):
            bf.gradient_flow(
                model, bf.Dataset([[1.0, 2.0]], [1.0]), bf.SquareLoss("half"), model.init(0.1, dim=2), rtol=rtol, method=method
            )
