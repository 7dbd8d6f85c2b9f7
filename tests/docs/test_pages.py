"""Pages print what they say, show pictures that their own code makes, and link to what there is."""

import re
from pathlib import Path

import pages
import pytest

ROOT = pages.ROOT
GUIDES = [page for page in pages.PAGES if page.parent.name in pages.FOLDERS]


def _name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages.PAGES, ids=_name)
def test_page_prints_what_it_says(page, tmp_path):
    sayings = pages.run(page, tmp_path)
    assert [one.difference for one in sayings if not one.agrees] == []
    if page in GUIDES:
        shown = [Path(target).name for _, target in pages.pictures(page)]
        assert [name for name in shown if not (tmp_path / name).exists()] == []


@pytest.mark.parametrize("page", pages.PAGES, ids=_name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    targets = [target for target in found if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_pages_begin_alike(page):
    """A title, and a sentence that says who the page is for; pictures have words beside them."""
    title, blank, opening = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ") and blank == "" and opening.startswith("For ")
    assert all(len(alt) > 30 for alt, _ in pages.pictures(page))


def test_readme_has_ten_lines():
    (code,) = (
        block.body
        for block in pages.blocks((ROOT / "README.md").read_text(encoding="utf-8"))
        if block.language == "python"
    )
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


class TestRules:
    """The comparison can fail."""

    @staticmethod
    def _agree(said, found):
        return pages.Saying(said, found, (0, 0)).agrees

    def test_words_and_counts_must_be_the_same(self):
        assert self._agree("3 neurons\n", "3 neurons\n")
        assert not self._agree("3 neurons\n", "4 neurons\n")
        assert not self._agree("3 neurons\n", "3 kinks\n")

    def test_numbers_agree_to_a_few_digits(self):
        assert self._agree("loss 0.0964\n", "loss 0.0965\n")
        assert not self._agree("loss 0.0964\n", "loss 0.0994\n")
        assert not self._agree("loss 0.0964\n", "loss -0.0964\n")

    def test_errors_are_compared_roughly_and_rounding_not_at_all(self):
        assert self._agree("error 3e-05\n", "error 9e-05\n")
        assert not self._agree("error 3e-05\n", "error 3e-03\n")
        assert self._agree("residual 6e-16\n", "residual 2e-12\n")
        assert not self._agree("residual 6e-16\n", "residual 2e-06\n")

    def test_dots_stand_for_lines(self):
        assert self._agree("a\n…\nb 2.50\n", "a\nx 7\ny\nb 2.50\n")
        assert not self._agree("a\n…\nb 2.50\n", "a\nx 7\ny\nb 3.50\n")
