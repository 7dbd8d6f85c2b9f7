import numpy as np
import pytest

from biasflow import Dataset
from biasflow.data import sparse_regression, with_bias
from biasflow.errors import InputError


def test_a_key_fixes_the_data():
    first, again, other = (sparse_regression(20, 50, 5, key=key) for key in (3, 3, 4))
    assert np.array_equal(first.X, again.X) and np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert first.name == again.name != other.name


def test_shapes_and_the_planted_predictor():
    ds = sparse_regression(20, 50, 5)
    assert ds.X.shape == (20, 50) and ds.y.shape == (20,) and (ds.n, ds.d) == (20, 50)
    assert np.count_nonzero(ds.truth) == 5
    assert np.linalg.norm(ds.truth) == pytest.approx(1.0, rel=1e-15)


def test_moments():
    """400 000 standard normal entries: mean within 5/√N, second moment within 5·√(2/N)."""
    ds = sparse_regression(2000, 200, 4, noise_var=0.25, key=1)
    N = ds.X.size
    assert abs(ds.X.mean()) < 5 / np.sqrt(N)
    assert abs((ds.X**2).mean() - 1) < 5 * np.sqrt(2 / N)
    noise = ds.y - ds.X @ ds.truth
    assert abs(noise.mean()) < 5 * 0.5 / np.sqrt(2000)
    assert abs(noise.var() / 0.25 - 1) < 5 * np.sqrt(2 / 2000)


def test_without_noise_the_truth_interpolates():
    ds = sparse_regression(10, 30, 3, noise_var=0.0)
    np.testing.assert_allclose(ds.X @ ds.truth, ds.y, atol=1e-14)


def test_the_noise_level_leaves_inputs_alone():
    assert np.array_equal(
        sparse_regression(5, 9, 2, noise_var=0.0).X, sparse_regression(5, 9, 2, noise_var=1.0).X
    )


def test_with_bias():
    ds = with_bias(sparse_regression(4, 6, 2))
    assert ds.X.shape == (4, 7) and np.all(ds.X[:, -1] == 1) and ds.truth[-1] == 0
    assert with_bias(Dataset([[1.0, 2.0]], [1.0])).truth is None


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: sparse_regression(0, 5, 1), ("n", "0")),
        (lambda: sparse_regression(5, 5, 6), ("sparsity", "6", "5")),
        (lambda: sparse_regression(5, 5, 0), ("sparsity", "0")),
        (lambda: sparse_regression(5, 5.0, 1), ("d", "integer")),
        (lambda: sparse_regression(5, 5, 1, noise_var=-1.0), ("noise_var", "-1")),
        (lambda: sparse_regression(5, 5, 1, noise_var=np.nan), ("noise_var", "nan")),
        (lambda: sparse_regression(5, 5, 1, key=-1), ("key", "-1")),
        (lambda: sparse_regression(5, 5, 1, key="a"), ("key", "'a'")),
        (lambda: Dataset([[1.0, np.inf]], [1.0]), ("X", "inf")),
        (lambda: Dataset([[1.0, 2.0]], [1.0, 2.0]), ("y", "(1,)", "(2,)")),
        (lambda: Dataset([1.0, 2.0], [1.0, 2.0]), ("X", "matrix")),
        (lambda: Dataset([[1.0, 2.0]], [1j]), ("y", "complex")),
        (lambda: Dataset([[1.0, 2.0]], [1.0], truth=[1.0]), ("truth", "2", "1")),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(words[0])
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_dataset_does_not_share_the_arrays_given():
    X = np.ones((1, 2))
    ds = Dataset(X, [1])
    X[:] = 5.0
    assert np.array_equal(ds.X, [[1.0, 1.0]]) and ds.y.dtype == np.float64
