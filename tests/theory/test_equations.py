"""Every numbered equation and statement of the papers is found in the code."""

import pytest
from typer.testing import CliRunner

from biasflow import theory
from biasflow.cli.commands import app
from biasflow.errors import InputError
from biasflow.theory.equations import EQUATIONS, STATEMENTS, entry_of

LAST_EQUATION = {"R": 6, "B": 40, "C": 17, "W": 111}
"""The largest number at the right of a displayed formula in each paper's full text; all below it
are there too, but W's (33), which numbers an empty line after (32). W's (5) is in both copies of
Theorem 1."""

FOLDERS = {"R": "mirror", "B": "relu", "C": "margin", "W": "regimes", "S": "since"}

NUMBERED = (
    [f"R, Definition {n}" for n in ("2.1", "3.1", "3.2")]
    + [f"R, Theorem {n}" for n in ("2.2", "2.3", "2.6", "2.7", "3.4")]
    + [f"R, Lemma {n}" for n in (2.4, 2.5, 3.3, 3.5, 3.6, 3.7, 5.1, "A.1", "A.2", "A.3")]
    + [f"B, Assumption {n}" for n in (1, 2, 3)]
    + [f"B, Lemma {n}" for n in range(1, 17)]
    + ["B, Theorem 1", "B, Theorem 2", "B, Fact 1", "B, Remark 1"]
    + ["B, Proposition 1", "B, Proposition 2", "C, Definition 1"]
    + [f"C, Theorem {n}" for n in (2, 3, 5, 8, 10, 21, 22, 27)]
    + [f"C, Corollary {n}" for n in (4, 11)]
    + [f"C, Proposition {n}" for n in (6, 7, 9, 12, 16, 19, 29)]
    + [f"C, Lemma {n}" for n in (13, 14, 15, 17, 18, 20, 23, 24, 25, 26, 28)]
    + [f"W, Theorem {n}" for n in (1, 2, 3)]
    + [f"W, Lemma {n}" for n in (1, 2, 3, 4)]
)
"""The lines of the full texts that begin with such a word and a number; C counts them in one row, 1
to 29."""


@pytest.mark.parametrize("paper", LAST_EQUATION)
def test_every_equation_is_in_one_entry(paper):
    rows = [numbers.split("–") for numbers in EQUATIONS[paper]]
    covered = [n for row in rows for n in range(int(row[0]), int(row[-1]) + 1)]
    assert covered == list(range(1, LAST_EQUATION[paper] + 1))


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_equation_leads_to_a_line_of_a_file(paper):
    for n in range(1, LAST_EQUATION[paper] + 1):
        places = theory.find(f"{paper} ({n})")
        numbers, entry = entry_of(paper, n)
        assert len(places) == len(entry.at) > 0, numbers
        for place in places:
            file, line = place.where.split(":")
            assert file.startswith("biasflow/") and int(line) > 0, place
            assert place.statement and place.asked.startswith(f"{paper} ({n})")


def test_every_claim_of_the_papers_leads_to_its_check():
    for id in theory.claims():
        if id[0] in FOLDERS and id[1] == "/":
            (place,) = theory.find(id)
            assert place.where.startswith(f"biasflow/theory/{FOLDERS[id[0]]}/"), place


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_statement_leads_to_a_claim(name):
    places = theory.find(name)
    assert places and places[0].name.startswith(f"{name[0]}/")


def test_statements_of_the_index_are_those_without_a_claim_of_their_own():
    references = [theory.claim(id).reference for id in theory.claims()]
    for name, entry in STATEMENTS.items():
        assert name in NUMBERED and not any(name in reference for reference in references)
        assert len(theory.find(name)) == len(entry.at)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("W 27", "W/lem1"),
        ("W (27)", "W/lem1"),
        ("w eq. (58)", "W/eq58"),
        ("C eq 6", "C/eq6"),
        ("B, equation (26)", "B/eq19"),
        ("B/thm1", "B/thm1"),
        ("B, Lemma 15", "B/lem15"),
        ("B/lem10", "B/lem3"),
        ("R lemA3", "R/lemA3"),
        ("R def 3.1", "R/lemA3"),
        ("C Prop. 16", "C/prop6"),
        ("C (A2)", "C/A2"),
        ("strict saddle", "W/saddle"),
        ("W, Figure 2", "W/fig2"),
    ],
)
def test_the_command_answers(query, name):
    answer = CliRunner().invoke(app, ["list", query])
    assert answer.exit_code == 0, answer.output
    firsts = [line.split()[0] for line in answer.output.splitlines() if line[0] != " "]
    assert name in firsts


def test_an_equation_is_shown_with_what_it_says_its_claim_and_its_line():
    lines = CliRunner().invoke(app, ["list", "W (27)"]).output.splitlines()
    assert lines[0].startswith("W (27), in (24–27): ") and "step of the proof" in lines[0]
    assert lines[1].startswith("W/lem1  biasflow/theory/regimes/lemmas.py:")
    assert lines[2].strip().startswith("W, Lemma 1: ")


@pytest.mark.parametrize("query", ["W 112", "R (7)", "", 3])
def test_what_is_not_there_is_refused(query):
    with pytest.raises(InputError):
        theory.find(query)


def test_the_letter_of_a_paper_asks_for_that_paper_alone():
    found = [place.name for place in theory.find("W, saddle")]
    assert "W/escape" in found and all(name.startswith("W/") for name in found)
    assert "B/fact1" in [place.name for place in theory.find("saddle")]
    assert len(theory.find("R")) == sum(id.startswith("R/") for id in theory.claims())


def test_words_that_nothing_has_are_answered_with_what_to_ask():
    answer = CliRunner().invoke(app, ["list", "no such words anywhere"])
    assert isinstance(answer.exception, InputError) and "fewer words" in str(answer.exception)
