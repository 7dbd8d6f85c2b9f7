"""docs/sharpness.md against the register of claims."""

import re
from pathlib import Path

from biasflow import theory

PAGE = Path(__file__).parents[2] / "docs" / "sharpness.md"


def test_the_page_lists_every_claim_once():
    listed = re.findall(r"^\| `([^`]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(theory.claims())
