"""A rotation through `tests/search/edges.py`, whose whole tables are committed beside it."""

import pytest

import biasflow as bf
from biasflow.errors import InputError
from search.edges import KEYS, edges

SECONDS = (0.3, 1.0, 3.0)
FALSE_THERE = {
    ("C/A3", "duplicated samples"): "features of equal inputs are dependent",
    ("B/assumption-1", "inputs × 1000"): "inputs of length 1000 are not orthonormal",
}
"""Where a statement is false at an edge, and why."""
CLAIMS = [id for papers in ("CS", "RW", "B") for id in bf.claims() if id[0] in papers]


@pytest.mark.parametrize(("turn", "id"), list(enumerate(CLAIMS)))
def test_a_true_statement_is_not_violated_at_an_edge(turn, id):
    """One edge, one key and one time limit for each claim, the same every time."""
    variants = list(edges(bf.theory.claim(id).example(KEYS[turn % len(KEYS)])))
    if not variants:
        pytest.skip("it is about grids or discs, which have no edges")
    name, make = variants[turn % len(variants)]
    try:
        problem = make()
    except InputError:
        pytest.skip(f"the model does not take {name}")
    verdict = bf.verify(id, problem, time_s=SECONDS[turn % len(SECONDS)])
    assert (verdict.status == "violated") == ((id, name) in FALSE_THERE), f"{name}: {verdict}"
    assert "Error:" not in verdict.reason, f"{name}: {verdict.reason}"
