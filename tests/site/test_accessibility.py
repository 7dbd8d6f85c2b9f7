"""axe-core in a headless Chromium on what the software writes: the report in every state it can be
in, a page of the reference, and pages that must not pass.

It runs where Chromium is installed and npm can bring axe-core; `make docs-a11y` looks at the whole
site, `make report-a11y` at a whole report.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stub_science
from biasflow.report import reproduce

DOCS = Path(__file__).parents[2] / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "_extensions")]

import check_accessibility  # noqa: E402

BROWSER = check_accessibility.find_browser()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")


@pytest.fixture(scope="module", autouse=True)
def axe():
    try:
        check_accessibility.axe()
    except (SystemExit, subprocess.CalledProcessError):
        pytest.skip("npm could not bring axe-core")


def faults(folder, *only):
    results = list(check_accessibility.look_at([folder], BROWSER, only))
    assert len(results) >= 2
    return list(check_accessibility.faults(results))


def all_outcomes():
    """Claims with every outcome that a page can show."""
    holds, inconclusive, violated = stub_science.CLAIMS

    def stop(evidence):
        raise ZeroDivisionError("on the way")

    return (
        holds,
        dataclasses.replace(holds, id="W/thm2", example=lambda key: "spoiled"),
        dataclasses.replace(holds, id="W/thm3", check=stop),
        dataclasses.replace(
            holds, id="W/lem4", check=lambda on: [dataclasses.replace(CHECK, witness="")]
        ),
        inconclusive,
        violated,
    )


CHECK = stub_science.CLAIMS[0].check(None)[0]


def test_the_report_is_accessible_in_every_state(tmp_path, monkeypatch):
    claims = all_outcomes()
    stub_science.install(monkeypatch, claims)
    monkeypatch.setattr(stub_science, "CLAIMS", claims)
    page = tmp_path / "index.html"

    def keep_the_first(done, total, label):
        if not (tmp_path / "growing.html").exists():
            shutil.copy(page, tmp_path / "growing.html")

    report = reproduce(tmp_path, "quick", progress=keep_the_first)
    statuses = {entry.status for entry in report.claims}
    assert statuses >= {"holds", "consistent", "inconclusive", "violated", "hypotheses fail"}
    assert "failed" in statuses and "location.reload" in (tmp_path / "growing.html").read_text()
    assert faults(tmp_path) == []


def test_signatures_and_cards_of_the_site_are_accessible(tmp_path):
    pytest.importorskip("furo")
    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(DOCS / '_extensions')!r}]\n"
        'extensions = ["sphinx.ext.autodoc", "code_markup", "gallery_cards"]\n'
        'html_theme, html_title, html_show_sourcelink = "furo", "site", False\n'
        f"html_static_path = [{str(DOCS / '_static')!r}]\n"
        'html_css_files, html_js_files = ["site.css"], ["site.js"]\n'
        "python_maximum_signature_line_length = 40\n"
    )
    (source / "index.rst").write_text(
        "Names\n=====\n\n.. py:function:: limit(problem, *, gap=1e-9, time_s=None, memory_b=None)"
        "\n\n   Where training ends.\n\n" + thumbnail("train")
    )
    (source / "train.rst").write_text(":orphan:\n\nGradient descent\n================\n")
    shutil.copy(DOCS / "images" / "lazy_probe.png", source / "thumb.png")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", str(source), str(tmp_path / "site")]
    subprocess.run(command, check=True)
    page = (tmp_path / "site" / "index.html").read_text()
    assert page.count('class="sig-line"') == 5 and 'class="gallery-card' in page
    assert faults(tmp_path / "site", "index.html") == []


def thumbnail(name):
    """A thumbnail as sphinx-gallery writes it."""
    from sphinx_gallery.backreferences import THUMBNAIL_TEMPLATE

    words = {"intro": "Seen by a mouse", "title": "Title", "tags": ""}
    return THUMBNAIL_TEMPLATE.format(thumbnail="thumb.png", doc_name=name, **words)


GOOD = '<!doctype html><html lang="en"><title>A page</title><style>{}</style><main>{}</main></html>'
BAD = {
    "link-name": ("", '<h1>A</h1><a href="a.html"><span hidden>words</span></a>'),
    "definition-list": ("", "<h1>A</h1><dl><dd>no term</dd></dl>"),
    "color-contrast": (
        "@media (prefers-color-scheme: dark) { p { color: #333; background: #222; } }",
        "<h1>A</h1><p>read by day</p>",
    ),
    "wider than the window": ("", '<h1>A</h1><p style="width: 600px">wide</p>'),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_with_a_page_is_said(tmp_path, words):
    (tmp_path / "a.html").write_text(GOOD.format("", "<h1>A</h1><p>good</p>"))
    (tmp_path / "b.html").write_text(GOOD.format(*BAD[words]))
    assert faults(tmp_path, "a.html") == []
    found = faults(tmp_path)
    assert len(found) == 1 and words in found[0] and "b.html" in found[0]
