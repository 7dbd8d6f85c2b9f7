"""What the site is made with: formulas, the order of the gallery, and the check of links."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "_extensions")]

import check_site  # noqa: E402

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
