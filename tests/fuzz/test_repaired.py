"""Cases that the fuzzer found, one or two of each kind of defect, each of which was foreign, wrong
or endless once."""

import numpy as np
import pytest
from fuzz_bases import entries
from fuzz_cases import CLEAR, RIGHT, outcome_of
from fuzz_mutations import mutations

import biasflow as bf

EITHER = f"{RIGHT} or {CLEAR}"
REPAIRED = {
    # steps too short for the clock: 'ConstantDenseOutput' object has no attribute 'h'
    "mirror_flow | alpha | 1e12": EITHER,  # rounding decides: an end that is right, or a refusal
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
    "f1_max_margin | X | times 2^530": RIGHT,
    "f1_max_margin | X | times 2^1000": RIGHT,
    "margin_certificate | X | times 2^530": RIGHT,
    "min_norm_interpolator | y | one huge entry": RIGHT,
    # 'exact' where labels drown in the rounding of larger terms, so that no float solves Xβ = y
    "bregman_projection | X | rows from 1e-12 to 1e12": RIGHT,
    "bregman_projection | beta0 | times 2^100": RIGHT,
    "bregman_projection | beta0 | one huge entry": RIGHT,
    "limit depth 3 | X | rows from 1e-12 to 1e12": RIGHT,
    "projection below floats | X | rows from 1e-12 to 1e12": RIGHT,
    "min_norm_interpolator | X | one huge entry": RIGHT,
    "min_norm_interpolator | X | rows from 1e-12 to 1e12": RIGHT,
    # 'exact' where a game has no value but rounding
    "polish | X | zeros": RIGHT,
    "polish | X | times 2^-530": RIGHT,
    # brackets that were open
    "mirror_limit | X | rank one": RIGHT,
    "mirror_limit | X | a row almost twice": RIGHT,
    "tangent_kernel_limit | X | offset 1e9": RIGHT,
    "tangent_kernel_limit | X | columns from 1e-12 to 1e12": RIGHT,
    # arguments that were not looked at
    "smoothed_margin | checkpoints | None": CLEAR,
    "smoothed_margin | checkpoints | a number": CLEAR,
    "feature_ascent | keep | 10**20": CLEAR,
    "train_batch | batch | int8": RIGHT,
    "train_batch | starts | a number": CLEAR,
    "train_batch | step | ragged": CLEAR,
}


@pytest.mark.parametrize("case", REPAIRED)
def test_a_case_that_was_found(case):
    outcome, detail = outcome_of(case)
    assert outcome in REPAIRED[case].split(" or "), detail


def limit_of(case):
    """What the call of a case returns."""
    name, argument, change = case.split(" | ")
    entry = entries()[name]
    mutation = next(one for one in mutations(entry.kinds[argument]) if one.name == change)
    value = entry.arguments.get(argument, np.full(6, 0.1))
    return entry.call(**{**entry.arguments, argument: mutation.change(value)})


@pytest.mark.parametrize(
    "case",
    [
        "bregman_projection | X | offset 1e9",
        "limit diagonal | X | offset 1e9",
        "limit depth 3 | X | offset 1e9",
        "limit fixed directions | X | offset 1e9",
        "projection below floats | X | offset 1e9",
        "projection of depth | X | offset 1e9",
        "mirror_limit | X | offset 1e9",
        "mirror_limit | X | one column",
        "projection by entropy | beta0 | a zero row",
        "projection below floats | y | zeros",
    ],
)
def test_brackets_that_were_open_from_above(case):
    found = limit_of(case)
    certificate = found.certificate
    assert (
        certificate.dual <= found.objective * (1 + 1e-12)
        and found.objective * (1 - 1e-12) <= certificate.primal
    )
    # a condition of 1e9 leaves 1e-7 of the slopes open; below floats η = 800 is known to 800·eps,
    # β to as much of itself, Xβ to 1e9·‖β‖₁ = 2e9 times that, and ν times so much is 1e-3 of all
    width = 1e-3 if case.startswith("projection below floats | X") else 1e-4
    assert certificate.primal - certificate.dual <= width * certificate.primal


def test_zero_labels_have_the_divergence_zero():
    found = limit_of("projection below floats | y | zeros")
    assert (found.objective, found.certificate.primal, found.certificate.dual) == (0.0, 0.0, 0.0)
    assert found.certificate.kind == "exact"


def test_what_does_not_interpolate_is_no_unique_minimum():
    found = limit_of("min_norm_interpolator | X | rows from 1e-12 to 1e12")
    assert (
        found.certificate.residual > 1e-6
        and found.certificate.kind == "bound"
        and found.stats["unique"] is None
    )


def test_more_features_than_fit():
    with pytest.raises(bf.errors.InputError, match="features"):
        bf.limits.f2_max_margin(np.eye(4)[:, :3], [1.0, -1.0, 1.0, -1.0], features=10**9)


@pytest.mark.parametrize("method", [None, "compiled", "weights"])
def test_tolerances_of_one_or_more_are_refused(method):
    model = bf.DiagonalNetwork(2)
    for rtol in (1.0, 1e300):
        with pytest.raises(bf.errors.InputError, match="rtol: expected a relative error below one"):
            bf.gradient_flow(
                model,
                bf.Dataset([[1.0, 2.0]], [1.0]),
                bf.SquareLoss("half"),
                model.init(0.1, dim=2),
                rtol=rtol,
                method=method,
            )
