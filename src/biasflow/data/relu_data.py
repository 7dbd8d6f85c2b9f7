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
    """Two points on a line with a bias coordinate, orthogonal: x = (−0.5, 1), (2, 1), y = −1, 1 (B,
    figs. 2 and 3)."""
    return Dataset([[-0.5, 1.0], [2.0, 1.0]], [-1.0, 1.0], "B/fig2 two points")  # type: ignore[arg-type]


def five_points() -> Dataset:
    """Five points on a line with a bias coordinate (B, figs. 4 and 5)."""
    x, y = np.array([-1.5, -1.0, 0.0, 0.25, 2.0]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
    return Dataset(np.column_stack([x, np.ones(5)]), y, "B/fig4 five points")


@keyword_only("key")
def gaussian_teacher(n: int = 75, d: int = 150, neurons: int = 6, *, key: int = 0) -> Dataset:
    """x ~ N(0, I_d), labelled by a two-layer ReLU network with w ~ N(0, I_d/d) and a ~ N(0,
    1)/neurons (B, figs. 6 and 7).

    The paper does not say how its teacher is scaled; this one gives the times of its figure.
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
    1 and 2."""
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

    The points are drawn uniformly; spaced: evenly spaced instead, for tests of the same teacher.
    The paper does not say how its teacher is drawn; this one is scaled to mean square 1 over the
    circle, so that predicting zero has error 1.
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
