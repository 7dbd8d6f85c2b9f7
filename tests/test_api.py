"""The documented names are the public names."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import biasflow as bf
from biasflow._core.former_names import FORMER_NAMES

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


ROOMS = [name for name in bf.__all__ if inspect.ismodule(getattr(bf, name))]
NAMED = {word for chunk in re.findall(r"`([^`]+)`", PAGE) for word in re.findall(r"^[\w.]+", chunk)}
FORMER = [(room, name) for room, names in FORMER_NAMES.items() for name in names]


def test_flat_names_are_few_and_documented():
    flat = set(bf.__all__) - set(ROOMS)
    assert flat <= NAMED and set(ROOMS) <= NAMED
    assert len(flat) <= 45
    assert len(bf.__all__) == len(set(bf.__all__))


def test_what_the_page_names_exists():
    for name in NAMED & {f"{room}.{name}" for room in ROOMS for name in dir(getattr(bf, room))}:
        room, _, rest = name.partition(".")
        assert hasattr(getattr(bf, room), rest)
    dotted = {name for name in NAMED if name.partition(".")[0] in ROOMS and "." in name}
    for name in dotted:
        room, _, rest = name.partition(".")
        assert hasattr(getattr(bf, room), rest.partition(".")[0]), name


@pytest.mark.parametrize("room, name", FORMER, ids=lambda value: value)
def test_a_flat_name_that_moved_says_where_it_went(room, name):
    assert f"{room}.{name}" in NAMED, f"docs/api.md does not name {room}.{name}"
    assert name not in dir(bf)
    with pytest.warns(
        DeprecationWarning, match=rf"biasflow\.{name} is now biasflow\.{room}\.{name};"
    ):
        old = getattr(bf, name)
    assert old is getattr(getattr(bf, room), name)


def test_names_that_never_were_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        bf.nothing  # noqa: B018


def test_there_is_one_limit():
    with pytest.warns(DeprecationWarning, match=r"biasflow\.limits\.limit is now biasflow\.limit;"):
        assert bf.limits.limit is bf.limit
    assert [room for room in ROOMS if "limit" in getattr(getattr(bf, room), "__all__", ())] == [
        "flows"
    ]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        bf.limits.nothing  # noqa: B018


def test_no_subpackage_shares_its_name_with_a_public_function():
    folders = {path.name for path in Path(bf.__file__).parent.iterdir() if path.is_dir()}
    assert all(inspect.ismodule(getattr(bf, name)) for name in folders & set(bf.__all__))


def test_rooms_are_there_from_the_start():
    code = (
        "import biasflow as bf; print(bf.limits.min_l1.__name__, bf.flows.gradient_flow is "
        "bf.gradient_flow)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["min_l1", "True"]


def test_a_word_that_changed_says_the_new_one():
    X, y = [[1.0, 0.0], [0.0, 1.0], [0.5, 2.0]], [1.0, -1.0, 1.0]
    new = bf.diagnostics.interclass_distance(X, y, 1, restarts=2)
    with pytest.warns(
        DeprecationWarning, match=r"interclass_distance\(starts=…\) is now .*restarts"
    ):
        old = bf.diagnostics.interclass_distance(X, y, 1, starts=2)
    assert old.objective == new.objective
    with pytest.raises(TypeError, match="starts is the old name of restarts"):
        bf.diagnostics.interclass_distance(X, y, 1, starts=2, restarts=2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bf.data.sparse_regression(4, 9, 2, 0.1, 7), "key=…"),
        (lambda: bf.data.circle_teacher(10, 3, 1, True), "key=…, spaced=…"),
        (lambda: bf.limits.f1_max_margin([[1.0], [0.0]], [1, -1], 1e-6, 30.0), "gap=…, time_s=…"),
    ],
)
def test_effort_and_keys_by_position_are_of_before(call, words):
    with pytest.warns(DeprecationWarning, match=rf"by position is now \w+\({words}\)") as caught:
        assert call() is not None
    assert caught[0].filename == __file__


def test_effort_and_keys_have_words_everywhere():
    """Signatures in the snapshot, which another test keeps true: none of these words is a place."""
    path = Path(__file__).with_name("signatures.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        places = line.partition("(")[2].partition("*, ")[0]
        found = re.findall(r"\b(gap|time_s|memory_b|key)\b: ", places.partition(") -> ")[0])
        assert not found or line.startswith("flows.FlowRequest"), line
    with pytest.raises(TypeError, match="positional"):
        bf.data.hypercube(3, 4, 5, key=5)
    with pytest.raises(TypeError, match="positional"):
        bf.data.hypercube(3, 4, 5, 6)
