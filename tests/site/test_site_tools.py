"""What the site is made with: formulas, the order of the gallery, and the check of links."""

import re
import sys
from pathlib import Path

import pytest

import biasflow as bf

DOCS = Path(__file__).parents[2] / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "_extensions")]

import check_site  # noqa: E402
import draw_figures  # noqa: E402

import formulas  # noqa: E402
import gallery_scripts  # noqa: E402


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("α below √(2ε) gives ‖β̂_α‖₁", r"$α$ below $\sqrt{2ε}$ gives $\Vert \hat{β}_α\Vert ₁$"),
        ("a row of `X_i` in R^d", "a row of `X_i` in $R^d$"),
        ("no formula (at all), a word.", "no formula (at all), a word."),
        ("see R/sharp", "see `R/sharp`"),
    ],
)
def test_formulas_become_tex_and_words_stay(text, made):
    assert formulas.with_formulas(text) == made


def test_every_script_is_in_one_section_of_the_gallery_and_shows_its_figure():
    names = [name for _, _, names in gallery_scripts.sections() for name in names]
    scripts = {path.stem for path in gallery_scripts.GALLERY.glob("*.py")} - {"pictures"}
    assert sorted(names) == sorted(scripts)
    for path, text in gallery_scripts.copies():
        if path.suffix == ".py":
            assert "plt.show()" in text and "keep(" not in text, path.name
            compile(text, path.name, "exec")
            assert re.search(r"^import matplotlib.pyplot as plt$", text, re.M), path.name


def test_every_script_of_the_gallery_has_words_for_its_card():
    names = [name for _, _, names in gallery_scripts.sections() for name in names]
    assert sorted(gallery_scripts.descriptions()) == sorted(names)


def test_scripts_of_frameworks_that_are_not_there_are_shown_and_not_run(monkeypatch):
    monkeypatch.setattr(gallery_scripts.importlib.util, "find_spec", lambda name: None)
    texts = {path.stem: path.read_text("utf-8") for path in gallery_scripts.GALLERY.glob("*.py")}
    needy = {name for name, text in texts.items() if gallery_scripts.missing_framework(text)}
    run = re.compile(gallery_scripts.run_pattern())
    assert {"probe_torch", "probe_callback", "probe_flax", "probe_keras"} <= needy
    assert {name for name in texts if not run.search(f"/_gallery/part/{name}.py")} == needy


def test_what_the_gallery_hushes_is_what_is_said_of_compilation():
    from biasflow._numerics import compilation

    assert callable(compilation.say)


@pytest.mark.parametrize("id", bf.figures())
def test_figures_have_pictures_of_their_golden_data(id):
    assert not draw_figures.is_stale(id), f"python docs/draw_figures.py {id}"


def test_a_picture_that_is_missing_or_older_than_its_data_is_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(draw_figures, "stamp", lambda id: "another")
    assert draw_figures.is_stale("R/fig1")
    monkeypatch.setattr(draw_figures, "FOLDER", tmp_path)
    assert draw_figures.is_stale("R/fig1")


def test_the_first_page_leads_to_every_question_of_a_newcomer():
    questions = re.findall(r"^## (.+)$", (DOCS / "seven_questions.md").read_text("utf-8"), re.M)
    anchors = {re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-") for words in questions}
    linked = re.findall(r"\(seven_questions\.md#([\w-]+)\)", (DOCS / "index.md").read_text("utf-8"))
    assert len(questions) == 7 and set(linked) == anchors


GOOD = '<h1 id="top">A</h1><h2>B</h2><a href="b.html#there">b</a><img src="x.png" alt="x">'
BAD = {
    '<h1>A</h1><a href="nowhere.html">b</a>': "not there",
    '<h1>A</h1><a href="b.html#nowhere">b</a>': "no such anchor",
    '<h1>A</h1><script src="https://example.org/x.js"></script>': "from outside",
    '<h1>A</h1><img src="x.png">': "without words",
    "<h1>A</h1><h3>B</h3>": "out of order",
}


@pytest.fixture
def site(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1>')
    (tmp_path / "x.png").write_bytes(b"")
    return tmp_path


def test_a_good_site_has_no_faults(site):
    (site / "a.html").write_text(GOOD)
    assert list(check_site.faults(site)) == []


@pytest.mark.parametrize(("page", "words"), BAD.items(), ids=BAD.values())
def test_what_is_wrong_with_a_site_is_said(site, page, words):
    (site / "a.html").write_text(page)
    (fault,) = check_site.faults(site)
    assert words in fault


def test_style_sheets_load_nothing_from_outside(site):
    (site / "a.css").write_text("@import url(https://example.org/font.css);")
    (fault,) = check_site.faults(site)
    assert "a.css loads something from outside" in fault


def test_an_empty_site_is_a_fault(tmp_path):
    assert list(check_site.faults(tmp_path)) == [f"no page in {tmp_path}"]
