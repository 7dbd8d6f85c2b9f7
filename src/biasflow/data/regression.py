"""Regression problems with a planted predictor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._core.arguments import Array, has_bias, positive_int, real_number
from .._core.former_names import keyword_only, renamed
from .._core.problems import Dataset
from ..errors import InputError


@keyword_only("key")
def sparse_regression(
    n: int, d: int, sparsity: int, noise_var: float = 0.01, *, key: int = 0
) -> Dataset:
    """x ~ N(0, I_d), y = ⟨β*, x⟩ + N(0, noise_var), β* with `sparsity` entries 1/√sparsity (W, §4).

    Parameters
    ----------
    n, d : int
    sparsity : int
    noise_var : float
    key : int

    Returns
    -------
    Dataset
        X (n, d), y (n,), truth β* (d,).

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=20, d=60, sparsity=4, noise_var=0.0, key=0)
    >>> print(data.X.shape, data.truth[:5], np.allclose(data.X @ data.truth, data.y))
    (20, 60) [0.5 0.5 0.5 0.5 0. ] True
    """
    n, d, sparsity = positive_int("n", n), positive_int("d", d), positive_int("sparsity", sparsity)
    if sparsity > d:
        raise InputError(f"sparsity: {sparsity} exceeds d = {d}")
    variance = real_number("noise_var", noise_var, "a finite number of at least zero")
    if not variance >= 0 or not np.isfinite(variance):
        raise InputError(
            f"noise_var: expected a finite number of at least zero, found {noise_var!r}"
        )
    rng = np.random.default_rng(positive_int("key", key, least=0))
    X = drawn(n, d, lambda: rng.standard_normal((n, d)))
    truth = np.zeros(d)
    truth[:sparsity] = 1 / np.sqrt(sparsity)
    y = X @ truth + np.sqrt(variance) * rng.standard_normal(n)
    return Dataset(
        X,
        y,
        f"sparse regression n={n} d={d} sparsity={sparsity} noise_var={variance:g} key={key}",
        truth,
    )


@keyword_only("key")
def hypercube(n: int, d: int, *, key: int = 0) -> Dataset:
    """x uniform on [−1, 1]^d, labels ±1 with equal chance: nothing to learn, everything to fit (R,
    §4).

    Parameters
    ----------
    n, d : int
    key : int

    Returns
    -------
    Dataset
        X (n, d), y (n,).

    Examples
    --------
    >>> data = bf.data.hypercube(n=20, d=3, key=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((20, 3), [-1.0, 1.0])
    """
    rng = np.random.default_rng(positive_int("key", key, least=0))
    shape = positive_int("n", n), positive_int("d", d)
    X = drawn(*shape, lambda: rng.uniform(-1.0, 1.0, shape))
    return Dataset(X, rng.choice([-1.0, 1.0], n), f"hypercube n={n} d={d} key={key}")


def drawn(n: int, d: int, draw: Callable[[], Array]) -> Array:
    """What `draw` gives, or an error that says how large a matrix was asked for."""
    try:
        return draw()
    except (MemoryError, ValueError, OverflowError):
        raise InputError(f"n, d: {n:,} × {d:,} numbers do not fit into memory") from None


@renamed(ds="data")
def with_bias(data: Dataset) -> Dataset:
    """The same data with a last input coordinate equal to one.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Dataset
        X (n, d + 1).

    Raises
    ------
    InputError
        Of data that has that column already.

    Examples
    --------
    >>> bf.data.with_bias(bf.Dataset([[2.0], [3.0]], [0.0, 1.0])).X
    array([[2., 1.],
           [3., 1.]])
    """
    if has_bias(data.X):
        raise InputError(
            "data: its last column is one for every sample already; a second bias would change "
            "every norm"
        )
    truth = None if data.truth is None else np.append(data.truth, 0.0)
    return Dataset(np.hstack([data.X, np.ones((data.n, 1))]), data.y, data.name, truth)
