"""What the registries promise."""

from pathlib import Path

import pytest

import biasflow as bf
from biasflow.theory.papers import LETTERS, papers_of

IDS = {
    "R": (
        "lemA1 thm2.2 thm2.3 eq2 eq3 lem2.4 lem2.5 thm2.6 thm2.7 lem3.3 lemA3 thm3.4 lem3.5 lemA2 "
        "lem3.6 lem3.7 sec5.1 lem5.1"
        " sec5.3 sec5.4 sharp sec4 pair legendre twins cone",
        "fig1 fig2 fig3 fig4 fig5 fig6",
    ),
    "B": (
        "lem1 assumption-1 assumption-2 assumption-3 lem2 lem3 lem4 lem5 lem6 u-plus fact1 thm1 "
        "prop1 prop2 eq8 kkt limit lem12"
        " remarks timeline lem7 lem9 lem13 lem14 lem15 lem16 thm2 rem1 width saddles unbalanced "
        "leaky nearly scale"
        " lazy kkt-only"
        " eq9 eq19 eq28",
        "fig1 fig2 fig3 fig4 fig5 fig6 fig7",
    ),
    "C": (
        "A1 A2 A3 pi2 prop9 gamma1 gamma2 thm2 thm3 cor4 thm5 prop6 prop7 mirror eq10 eq11 eq12 "
        "lem13 lem14 lem15 lem17 lem18"
        " lem26 lem20 thm8 thm22 energy cor11 clock lem23 lem24 lem25 lem28 sec4 dirac sparse "
        "sec6 weight-decay interchange A4"
        " eq6 prop29 thm10 growth appC2 sec7",
        "fig1 fig2 fig3 fig4",
    ),
    "W": (
        "sec3 sec3-bias fn1 fn2 hilbert thm1 appA thm2 lem1 lem2 lem3 thm3 lem4 sec5 unique eq58 "
        "explicit saddle escape samples"
        " limit sec6 sec6-rich sec8 descent",
        "fig1 fig2 fig3 fig4ab fig4cd fig4e fig4f fig5 fig6 descent scales",
    ),
    "S": (
        "lasso lasso-path saddles laws laws-decay line certify extremal relu-saddles spurious "
        "parametrisation separable separable-deep",
        "lasso saddles laws line certify relu-saddles parametrisation separable",
    ),
}
"""All statements and figures of four papers, and what is here of later ones."""


def complete(kind):
    return {f"{tag}/{name}" for tag, kinds in IDS.items() for name in kinds[kind].split()}


def test_letters_are_those_of_the_registers():
    assert set(LETTERS) == set(IDS)


def test_every_claim_and_figure_of_later_work_names_its_paper():
    for id in complete(0) | complete(1):
        papers = papers_of(id)
        assert papers and all(paper.authors and paper.bibtex for paper in papers), id
        if id.startswith("S/"):
            assert all(id in paper.ids for paper in papers)


def test_claims_and_figures_that_were_built():
    assert set(bf.claims()) == complete(0)
    assert set(bf.figures()) == complete(1)


def test_every_public_name_resolves():
    for name in bf.__all__:
        assert getattr(bf, name) is not None


@pytest.mark.parametrize("page", ["docs/errata.md", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"])
def test_pages_exist(page):
    assert (Path(__file__).parents[2] / page).stat().st_size > 200
