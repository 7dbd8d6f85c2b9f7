"""Every claim explains itself: words, symbols, hypotheses, what is measured, and its source."""

import dataclasses
import functools
import inspect
import re
import unicodedata
from pathlib import Path

import golden_claims
import numpy as np
import pytest

import biasflow as bf
from biasflow import theory
from biasflow.theory.claim_words import WORDS
from biasflow.theory.explanation import EXAMPLES_SHOWN, reading, texts_of
from biasflow.theory.glossary import (
    CLAIM_SYMBOLS,
    PAPER_SYMBOLS,
    PLAIN,
    SIGNS,
    define,
    glossary_page,
)
from biasflow.theory.hypothesis_words import MEANINGS, meaning_of
from biasflow.theory.papers import PAPERS, SINCE
from biasflow.theory.printed_pages import errata_of, sharpness_of
from biasflow.theory.recorded_checks import recorded_checks
from biasflow.theory.symbols import symbols_in

ROOT = Path(__file__).parents[2]
OURS = tuple(id for id in bf.claims() if id[:1] in PAPER_SYMBOLS)
TITLE_WIDTH = 100


def used_by(claim):
    """The symbols of a claim, and those by which they are defined."""
    texts, found = list(texts_of(claim)), []
    for text in texts:  # which grow
        for symbol in symbols_in(text):
            if symbol not in found:
                found.append(symbol)
                texts.append(define(claim.id, symbol) or "")
    return found


def undefined(claim):
    return [symbol for symbol in used_by(claim) if define(claim.id, symbol) is None]


@pytest.mark.parametrize("id", OURS)
def test_every_symbol_is_defined(id):
    claim = theory.claim(id)
    assert undefined(claim) == []
    shown = [symbol for symbol, _ in theory.explain(id).symbols]
    assert shown[: len(used_by(claim))] == used_by(claim)


def test_a_symbol_that_nobody_defined_is_noticed():
    claim = theory.claim("W/thm1")
    new = dataclasses.replace(claim, statement="For D = 2 the flow has ω_{3} ≤ ξ·α and aζ > 0.")
    assert undefined(new) == ["ω_{3}", "ξ", "a", "ζ"]


def test_every_sign_is_known():
    for id in OURS:
        for text in texts_of(theory.claim(id)):
            strange = {
                sign
                for sign in text
                if ord(sign) > 127 and not sign.isalpha() and not unicodedata.combining(sign)
            }
            known = PLAIN | set("".join(SIGNS))
            assert strange <= known, f"{id}: {strange - known}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Xβ = y has a solution", ["X", "β", "y"]),
        ("a_jb_j over ‖w_j‖², s.t. d ≥ 3", ["a", "b", "w", "d"]),
        ("W's weight, R's start and (iv) of `B/lem4`, λ ≤ 1e-6 (R/lemA2)", ["λ"]),
        ("log‖ν_t‖ ~ 4γ₁t at t_{+1}, S_{−,1}", ["ν", "γ₁", "t", "t_{+1}", "S_{−,1}"]),
        ("‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁ as β̄ → β*", ["β̂_α", "ε", "β_L1", "β̄", "β*"]),
        ("γ₁^(m) and A of its own; A network", ["γ₁^(m)", "A"]),
        ("an end of the flow that no one can see", []),
    ],
)
def test_symbols_are_told_from_words(text, found):
    assert list(symbols_in(text)) == found


def test_no_definition_is_idle():
    used = {id: set(used_by(theory.claim(id))) for id in OURS}
    for tag, table in PAPER_SYMBOLS.items():
        of_paper = set().union(*(used[id] for id in OURS if id[0] == tag))
        assert set(table) <= of_paper, f"{tag}: {set(table) - of_paper}"
    for id, table in CLAIM_SYMBOLS.items():
        assert set(table) <= used[id], f"{id}: {set(table) - used[id]}"


def test_every_claim_has_words_and_no_other():
    assert set(WORDS) == set(OURS)
    for id, words in WORDS.items():
        assert len(words.title) <= TITLE_WIDTH and not words.title.endswith("."), id
        assert all(text.endswith((".", ")")) for text in words[1:]), id


def test_every_hypothesis_has_a_meaning_and_no_other():
    needed = set()
    for id in OURS:
        for hypothesis in theory.claim(id).hypotheses:
            assert meaning_of(id, hypothesis), f"{id}: {hypothesis.id}"
            names = (f"{id} {hypothesis.id}", f"{id[0]} {hypothesis.id}", hypothesis.id)
            needed.add(next(name for name in names if name in MEANINGS))
    assert set(MEANINGS) == needed


def test_names_in_words_are_there():
    texts = [*(text for words in WORDS.values() for text in words), *MEANINGS.values()]
    names = {name for text in texts for name in re.findall(r"`bf\.([\w.]+)", text)}
    assert names
    for name in names:
        assert not inspect.ismodule(functools.reduce(getattr, name.split("."), bf)), name
    ids = {id for text in texts for id in re.findall(r"`([A-Z]/[^`]+)`", text)}
    assert ids <= set(bf.claims())


def test_what_is_measured_is_what_verdicts_measure():
    """The recorded checks are those of the golden verdicts, which are tested against the claims:
    `python tests/print_recorded_checks.py` writes them anew."""
    golden = golden_claims.kept()
    for id in OURS:
        words = [
            golden_claims.NUMBER.sub("#", check.quantity)
            for key, check in recorded_checks(id)
            if key == golden_claims.KEY
        ]
        kept = [golden_claims.NUMBER.sub("#", check["quantity"]) for check in golden[id]["checks"]]
        assert words == kept, id


def test_citations_are_those_of_the_bibliography():
    bibliography = (ROOT / "references.bib").read_text(encoding="utf-8")
    assert all(paper.bibtex in bibliography for paper in (*PAPERS, *SINCE))


def test_the_glossary_page_is_up_to_date():
    assert (ROOT / "docs/glossary.md").read_text(encoding="utf-8") == glossary_page()


def test_errata_and_sharpness_are_found():
    assert any(erratum.where.startswith("Lemma 4") for erratum in errata_of("W/lem4"))
    assert errata_of("W/eq58") == ()
    assert sharpness_of("W/thm2") is not None and sharpness_of("X/none") is None
    assert sum(bool(errata_of(id)) for id in OURS) > 30


@pytest.mark.parametrize("id", OURS)
def test_an_explanation_says_it_all(id):
    explained = theory.explain(id)
    headings = [section.heading for section in explained.sections]
    for heading in ("In words", "In symbols", "Symbols", "Hypotheses", "What is measured"):
        assert heading in headings
    assert "What it means for you" in headings and headings[-1] == "Source"
    text = str(explained)
    assert text.startswith(f"{id}: ") and repr(explained) == text
    assert max(len(line) for line in text.splitlines() if "author" not in line) <= 240
    shown = min(len(recorded_checks(id)), EXAMPLES_SHOWN)
    assert " ".join(text.split()).count(": example ") == shown > 0
    assert explained.markdown.startswith(f"# `{id}`") and "```bibtex" in explained.markdown
    page = explained._repr_html_()
    assert page.count("<h4>") == len(headings) == page.count("</h4>")


def test_an_explanation_on_a_problem_has_hypotheses_and_the_verdict():
    data = bf.data.sparse_regression(n=5, d=12, sparsity=2, noise_var=0.0, key=0)
    model = bf.DiagonalNetwork(2)
    problem = bf.Problem(model, data, bf.SquareLoss("sum"), model.init(10.0, dim=12))
    explained = theory.explain("W/thm2", problem)
    assert [name for name, _ in explained.tested] == [
        hypothesis.id for hypothesis in theory.claim("W/thm2").hypotheses
    ]
    assert all(failure is None for _, failure in explained.tested)
    assert explained.verdict.status == "holds" and "verdict: holds" in explained.text
    between = bf.Problem(model, data, bf.SquareLoss("sum"), model.init(0.5, dim=12))
    failed = theory.explain("W/thm2", between)
    assert failed.verdict.status == "hypotheses fail"
    assert "threshold: fails: α = 0.5 lies between the thresholds" in failed.text
    other = theory.explain("B/thm1", problem)
    assert other.verdict.status == "does not apply" and len(other.tested) == 1


def test_numbers_are_read_in_words():
    check = theory.Check("gap", 0.5, "<=", 1.0, 0.01, witness="a second route", null=2.0)
    assert reading(check) == (
        "0.5 (known to ±0.01), must be at most 1; the bound could be 2 times tighter here; the "
        "null model has 2 and fails: holds"
    )
    assert reading(theory.Check("gap", 0.0, "==", 0.0)) == "0, must be 0: consistent"
    unknown = theory.Check("gap", np.nan, "==", 0.0, reason="no time")
    assert reading(unknown) == "not measured: no time"


def test_unknown_claims_are_refused():
    with pytest.raises(bf.errors.UnknownNameError, match="did you mean"):
        theory.explain("W/thm22")
    with pytest.raises(bf.errors.InputError, match="time_s"):
        theory.explain("W/thm1", time_s=-1)


def test_a_claim_of_ones_own_is_explained_as_far_as_it_goes():
    own = dataclasses.replace(theory.claim("W/thm1"), id="lottery/thm1", reference="my notes")
    text = theory.explain(own).text
    assert "In symbols" in text and "In words" not in text and "my notes" in text
