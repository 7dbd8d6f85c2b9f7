"""What the registries promise."""

from pathlib import Path

import pytest

import biasflow as bf

BUILT_CLAIMS = {
    "W/sec3", "W/thm1", "W/thm2", "W/lem1", "W/lem2", "W/lem3", "W/lem4", "W/thm3", "W/limit", "W/descent",
    "R/thm2.2", "R/eq3", "R/sharp",
}  # fmt: skip
BUILT_FIGURES = {"W/fig1", "W/fig2", "W/descent"}


def test_claims_and_figures_that_were_built():
    assert set(bf.claims()) == BUILT_CLAIMS
    assert set(bf.figures()) == BUILT_FIGURES


def test_every_public_name_resolves():
    for name in bf.__all__:
        assert getattr(bf, name) is not None


@pytest.mark.parametrize("page", ["docs/errata.md", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"])
def test_pages_exist(page):
    assert (Path(__file__).parents[2] / page).stat().st_size > 200
