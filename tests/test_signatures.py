"""What is public, and how it is called, changes only on purpose."""

from pathlib import Path

from print_signatures import lines

FILE = Path(__file__).with_name("signatures.txt")


def test_signatures_are_what_they_were():
    """A change on purpose is written down by `python tests/print_signatures.py >
    tests/signatures.txt`."""
    before, now = FILE.read_text(encoding="utf-8").splitlines(), lines()
    gone = [f"was {line}" for line in before if line not in set(now)]
    new = [f"is  {line}" for line in now if line not in set(before)]
    assert not gone + new, "\n".join(sorted(gone + new, key=lambda line: line[4:]))


def test_every_public_name_is_there_once():
    now = lines()
    assert len(now) == len(set(now)) and now == sorted(now)
    assert any(line.startswith("flows.gradient_flow(problem: ") for line in now)
    assert not any("0x" in line for line in now)
