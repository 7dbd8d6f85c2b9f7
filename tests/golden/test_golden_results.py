"""Flows and limits are where they were, up to their errors."""

import copy
import gzip
import json

import pytest
from golden_results import FILE, PROBLEMS, chosen, differences, result

KEPT = json.loads(gzip.decompress(FILE.read_bytes()))


def test_every_flow_and_limit_is_kept():
    assert set(KEPT) == set(chosen()) and all(len(results) == PROBLEMS for results in KEPT.values())


@pytest.mark.parametrize(
    "problem", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, PROBLEMS))]
)
@pytest.mark.parametrize("name", KEPT)
def test_results_are_where_they_were(name, problem):
    assert differences(KEPT[name][problem], result(name, problem)) == []


def test_what_moved_is_noticed():
    flow, limit = KEPT["flow diagonal"][1], KEPT["min_l1"][1]
    assert differences(flow, flow) == differences(limit, limit) == []
    moved = copy.deepcopy(flow)
    moved["states"][1][0] += 1e-4
    assert "off by" in differences(flow, moved)[0]
    assert "ended" in differences(flow, {**flow, "result": "TIME_LIMIT"})[0]
    assert (
        len(
            differences(
                limit,
                {
                    **limit,
                    "objective": 1.001 * limit["objective"],
                    "bounds": [9.0, 9.0],
                    "kind": "bound",
                },
            )
        )
        == 3
    )
    assert differences(flow, {"error": "InputError"})
