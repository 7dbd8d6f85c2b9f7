"""The list of what the fast set leaves out."""

import fast_set


def test_every_line_names_a_test(pytestconfig):
    """Of the files that this run collected."""
    assert pytestconfig.stash.get(fast_set.GONE, []) == []


def test_a_line_that_names_none_is_found():
    tests = ["tests/a/test_a.py::test_one[1-x]", "tests/a/test_a.py::test_one[2-y]"]
    assert fast_set.gone(tests, ["a/test_a.py::test_one[2-y]", "a/test_a.py::test_one"]) == []
    assert fast_set.gone(tests, ["a/test_a.py::test_two", "a/test_b.py::test_two"]) == [
        "a/test_a.py::test_two"
    ]
