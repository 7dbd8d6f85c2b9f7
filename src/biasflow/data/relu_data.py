"""The data sets on which two-layer ReLU networks are studied (B, §5 and App. A)."""

from __future__ import annotations

import numpy as np

from .._core.arguments import Array, positive_int
from .._core.former_names import keyword_only
from .._core.problems import Dataset
from ..errors import InputError

TEACHER_GRID = 1000
"""Points on the circle over which a teacher's mean square is taken."""


def two_points() -> Dataset:
    """Two points on a line with a bias coordinate, orthogonal (B, figs. 2 and 3).

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = bf.data.two_points()
    >>> data.X, data.y
    (array([[-0.5,  1. ],
           [ 2. ,  1. ]]), array([-1.,  1.]))
    """
    return Dataset([[-0.5, 1.0], [2.0, 1.0]], [-1.0, 1.0], "B/fig2 two points")  # type: ignore[arg-type]


def five_points() -> Dataset:
    """Five points on a line with a bias coordinate (B, figs. 4 and 5). B does not print them; they
    are those of the authors' code (github.com/eboursier/GFdynamics).

    Returns
    -------
    Dataset
        X (5, 2), its last column one.

    Examples
    --------
    >>> data = bf.data.five_points()
    >>> data.X.shape, data.X[:, 1]
    ((5, 2), array([1., 1., 1., 1., 1.]))
    """
    x, y = np.array([-1.5, -1.0, 0.0, 0.25, 2.0]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
    return Dataset(np.column_stack([x, np.ones(5)]), y, "B/fig4 five points")


@keyword_only("key")
def gaussian_teacher(n: int = 75, d: int = 150, neurons: int = 6, *, key: int = 0) -> Dataset:
    """x ~ N(0, I_d), labelled by a two-layer ReLU network with w ~ N(0, I_d/d) and a ~ N(0,
    1)/neurons (B, figs. 6 and 7).

    B does not say how its teacher is drawn. The authors' code (github.com/eboursier/GFdynamics) has
    w ~ N(0, I_d/(neurons·d)) and a ~ N(0, 1/neurons), which gives labels of the same law.

    Parameters
    ----------
    n, d : int
    neurons : int
        Of the teacher.
    key : int

    Returns
    -------
    Dataset
        X (n, d), y (n,).

    Examples
    --------
    >>> bf.data.gaussian_teacher(n=10, d=20, key=0).X.shape
    (10, 20)
    """
    n, d, neurons = positive_int("n", n), positive_int("d", d), positive_int("neurons", neurons)
    rng = np.random.default_rng(positive_int("key", key, least=0))
    X = rng.standard_normal((n, d))
    W, a = rng.standard_normal((neurons, d)) / np.sqrt(d), rng.standard_normal(neurons) / neurons
    return Dataset(
        X, np.maximum(X @ W.T, 0) @ a, f"Gaussian teacher n={n} d={d} neurons={neurons} key={key}"
    )


@keyword_only("key")
def orthonormal(n: int, d: int, *, key: int = 0) -> Dataset:
    """n random orthonormal inputs in dimension d ≥ n, labels ± uniform on [½, 3/2]: B's assumptions
    1 and 2.

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
    >>> data = bf.data.orthonormal(n=3, d=5, key=0)
    >>> bool(np.allclose(data.X @ data.X.T, np.eye(3)))
    True
    """
    n, d = positive_int("n", n), positive_int("d", d)
    if n > d:
        raise InputError(f"n: {n} orthonormal inputs do not fit into dimension {d}")
    rng = np.random.default_rng(positive_int("key", key, least=0))
    Q, R = np.linalg.qr(rng.standard_normal((d, n)))
    y = rng.choice([-1.0, 1.0], n) * rng.uniform(0.5, 1.5, n)
    return Dataset((Q * np.sign(np.diag(R))).T, y, f"orthonormal n={n} d={d} key={key}")


@keyword_only("key", "spaced")
def circle_teacher(n: int = 10, neurons: int = 3, *, key: int = 0, spaced: bool = False) -> Dataset:
    """n points on the unit circle, labelled by a two-layer ReLU network with w ~ N(0, I) and a ~
    N(0, 1) (W, fig. 4a-d).

    The paper does not say how its teacher is drawn; this one is scaled to mean square 1 over the
    circle, so that predicting zero has error 1.

    Parameters
    ----------
    n : int
    neurons : int
        Of the teacher.
    key : int
        Of the teacher and the points.
    spaced : bool
        Evenly spaced points instead of uniformly drawn ones, for tests of the same teacher.

    Returns
    -------
    Dataset
        X (n, 2), y (n,).

    Examples
    --------
    >>> test = bf.data.circle_teacher(n=1000, neurons=3, key=0, spaced=True)
    >>> print(test.X.shape, np.mean(test.y**2).round(3))
    (1000, 2) 1.0
    """
    n, neurons = positive_int("n", n), positive_int("neurons", neurons)
    rng = np.random.default_rng(positive_int("key", key, least=0))
    W, a = rng.standard_normal((neurons, 2)), rng.standard_normal(neurons)
    drawn = rng.uniform(0, 2 * np.pi, n)

    def outputs(angles: Array) -> tuple[Array, Array]:
        X = np.column_stack([np.cos(angles), np.sin(angles)])
        return X, np.maximum(X @ W.T, 0) @ a

    X, y = outputs(2 * np.pi * np.arange(n) / n if spaced else drawn)
    size = np.sqrt(np.mean(outputs(2 * np.pi * np.arange(TEACHER_GRID) / TEACHER_GRID)[1] ** 2))
    return Dataset(
        X,
        y / size,
        f"circle teacher n={n} neurons={neurons} key={key}" + (" spaced" if spaced else ""),
    )
