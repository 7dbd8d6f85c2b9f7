import numpy as np
import pytest

import biasflow as bf
from biasflow.data import completion, from_entries, observed_entries
from biasflow.errors import InconsistentError, InputError


def test_observes_the_planted_matrix():
    ds = completion((6, 9), rank=2, observed=20, key=3)
    truth = ds.truth.reshape(6, 9)
    rows, cols, values = observed_entries(ds, (6, 9))
    assert (
        np.linalg.matrix_rank(truth) == 2
        and values.size == len(set(zip(rows, cols, strict=True))) == 20
    )
    np.testing.assert_array_equal(values, truth[rows, cols])
    np.testing.assert_allclose(ds.X @ ds.truth, ds.y)


def test_keys():
    first, again, other = (completion(key=key) for key in (0, 0, 1))
    assert first.n == 60 and first.d == 100
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X) and not np.array_equal(first.truth, other.truth)


def test_entries_there_and_back():
    given = ([2, 0, 1], [1, 1, 0], [3.0, -1.0, 0.5])
    ds = from_entries((3, 2), *given)
    for found, expected in zip(observed_entries(ds, (3, 2)), given, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert ds.X[0].reshape(3, 2)[2, 1] == 1 and ds.X.sum() == 3


def test_repeated_entries_count_once():
    assert from_entries((2, 2), [0, 1, 0], [1, 1, 1], [2.0, 1.0, 2.0]).n == 2
    twice = bf.Dataset([[1.0, 0, 0, 0], [1.0, 0, 0, 0]], [2.0, 2.0])
    assert observed_entries(twice, (2, 2)).values.tolist() == [2.0]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: completion((3, 3), observed=10), r"observed: 10 exceeds the 9 entries"),
        (lambda: completion((3, 3), observed=0), r"observed: .*at least 1, found 0"),
        (lambda: completion((3, 4), rank=4, observed=3), r"rank: 4 exceeds"),
        (lambda: completion((3, 4), rank=0, observed=3), r"rank: .*at least 1"),
        (lambda: completion(9), r"shape: expected \(rows, cols\)"),
        (lambda: completion(key=-1), r"key: .*at least 0"),
        (
            lambda: observed_entries(completion(), (5, 10)),
            r"shape: \(5, 10\) has 50 entries, the inputs have dimension 100",
        ),
        (
            lambda: observed_entries(bf.Dataset(np.ones((1, 4)), [1.0]), (2, 2)),
            r"X: row 0 is not the indicator",
        ),
        (
            lambda: observed_entries(bf.Dataset([[2.0, 0, 0, 0]], [1.0]), (2, 2)),
            r"X: row 0 is not the indicator",
        ),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words):
        make()


BAD_ENTRIES = [
    (((2, 2), [0, 2], [0, 0], [1.0, 1.0]), InputError, r"rows: position 2 lies outside 0, …, 1"),
    (((2, 2), [0, 1], [0, -1], [1.0, 1.0]), InputError, r"cols: position -1 lies outside"),
    (((2, 2), [0.5], [0], [1.0]), InputError, r"rows: position 0.5 lies outside"),
    (
        ((2, 2), [0, 0], [1, 1], [1.0, 2.0]),
        InconsistentError,
        r"values: entry \(0, 1\) is given as 1 and as 2",
    ),
    (((2, 2), [0], [0], [np.nan]), InputError, r"values: entry \(0,\) is nan"),
    (((2, 2), [np.nan], [0], [1.0]), InputError, r"rows: entry \(0,\) is nan"),
    (((2, 2), [], [], []), InputError, r"values: expected a non-empty vector"),
    (
        ((2, 2), [0, 1], [0], [1.0, 1.0]),
        InputError,
        r"cols: expected 2 positions, one per value, found shape \(1,\)",
    ),
    ((4, [0], [0], [1.0]), InputError, r"shape: expected \(rows, cols\)"),
]


@pytest.mark.parametrize(
    "function", [from_entries, bf.limits.min_nuclear_norm, bf.limits.min_frobenius_norm]
)
@pytest.mark.parametrize("given, error, words", BAD_ENTRIES)
def test_bad_entries(function, given, error, words):
    with pytest.raises(error, match=words):
        function(*given)
