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


def test_a_share_of_a_family_stays():
    """Every Nth of its tests, and every test is in one of the two sets."""
    family = [f"tests/a/test_a.py::test_one[{k}]" for k in range(7)]
    tests = [*family, "tests/a/test_a.py::test_two"]
    lines = ["1/3 a/test_a.py::test_one", "a/test_a.py::test_one[3]"]
    stay = [test for test in tests if test not in fast_set.left_out(tests, lines)]
    assert stay == [family[0], family[4], tests[-1]]
    assert fast_set.left_out(tests, []) == set()
    assert fast_set.gone(tests, lines) == []
    assert fast_set.gone(tests, ["1/3 a/test_a.py::test_three"]) == ["1/3 a/test_a.py::test_three"]
