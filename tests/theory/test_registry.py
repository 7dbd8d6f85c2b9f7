"""What the registries promise."""

from pathlib import Path

import pytest

import biasflow as bf

BUILT_CLAIMS = {
    "W/sec3", "W/thm1", "W/thm2", "W/lem1", "W/lem2", "W/lem3", "W/lem4", "W/thm3", "W/limit", "W/descent",
}  # fmt: skip
BUILT_FIGURES = {"W/fig1", "W/fig2", "W/fig4e", "W/fig4f", "W/fig6", "W/descent"}
COMPLETE = ("R", "B")
"""Papers all of whose statements and figures are here."""
IDS = {
    "R": (
        "lemA1 thm2.2 thm2.3 eq3 lem2.4 lem2.5 thm2.6 thm2.7 lem3.3 lemA3 thm3.4 lem3.5 lemA2 lem3.6 lem3.7 sec5.1 lem5.1 sec5.3"
        " sec5.4 sharp",
        "fig1 fig2 fig3 fig4 fig5 fig6",
    ),
    "B": (
        "lem1 assumption-1 assumption-2 assumption-3 lem2 lem3 lem4 lem5 lem6 u-plus fact1 thm1 prop1 prop2 eq8 kkt limit lem12"
        " remarks timeline",
        "fig1 fig2 fig3 fig4 fig5 fig6 fig7",
    ),
}


def complete(kind):
    return {f"{paper}/{name}" for paper in COMPLETE for name in IDS[paper][kind].split()}


def test_claims_and_figures_that_were_built():
    assert set(bf.claims()) == BUILT_CLAIMS | complete(0)
    assert set(bf.figures()) == BUILT_FIGURES | complete(1)


def test_every_public_name_resolves():
    for name in bf.__all__:
        assert getattr(bf, name) is not None


@pytest.mark.parametrize("page", ["docs/errata.md", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"])
def test_pages_exist(page):
    assert (Path(__file__).parents[2] / page).stat().st_size > 200
