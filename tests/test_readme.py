"""The README's example prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w/.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
NEGLIGIBLE = 1e-7
"""Numbers below it are rounding and integration errors: they differ between machines, and only
their smallness is claimed."""


def test_example_prints_what_it_says():
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    promised = re.search(r"```text\n(.*?)```", README, re.S).group(1)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "README.md", "exec"), {})
    printed = out.getvalue()
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", promised)
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True):
        a, b = float(ours), float(theirs)
        # printed with three decimals
        assert max(a, b) < NEGLIGIBLE or abs(a - b) <= 0.002, (ours, theirs)


def test_example_is_ten_lines():
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_files_it_links_to_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target
