"""C's classification data: clusters on a grid, and coordinates that say nothing (C, §6.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._core.arguments import Array, one_of, positive_int
from .._core.former_names import keyword_only
from .._core.problems import Dataset
from ..errors import InputError

PRESETS = ("paper", "code")


def clusters(
    n: int, d: int | None = None, k: int = 3, *, key: int = 0, draw: int = 0, preset: str = "paper"
) -> Dataset:
    """k² clusters on a grid of step 3/(3k−1), each on a disk of radius 1/(3k−1), classes at random;
    other coordinates uniform (C, §6.1).

    Parameters
    ----------
    n : int
    d : int, optional
        Of the inputs; two where none is given. The first two coordinates decide the class.
    k : int
    key : int
        The classes of the clusters and the points.
    draw : int
        Other points with the same classes, say for a test set.
    preset : {'paper', 'code'}
        'paper': points uniform on the disks, each class a fair coin. 'code': the authors' code; the
        distance to the centre is uniform, ⌊k²/2⌋ clusters are negative, and d counts the bias
        column, which is not added here, so that X has d − 1 columns.

    Returns
    -------
    Dataset
        X (n, d) in [−½, ½]^d, y = ±1 (n,).

    Examples
    --------
    >>> data = bf.data.clusters(n=100, d=5, k=3, key=1)
    >>> data.X.shape, sorted(set(data.y.tolist())), bool(abs(data.X).max() <= 0.5)
    ((100, 5), [-1.0, 1.0], True)
    """
    n, k, draw = positive_int("n", n), positive_int("k", k), positive_int("draw", draw, least=0)
    key, preset = positive_int("key", key, least=0), one_of("preset", preset, PRESETS)
    bias = int(preset == "code")
    inputs = 2 if d is None else positive_int("d", d) - bias
    if inputs < 2:
        raise InputError(
            f"d: clusters lie in the plane; preset {preset!r} needs d of at least {2 + bias}, "
            f"found {d}"
        )
    rng = np.random.default_rng([key, draw, 1])
    cluster = rng.integers(k * k, size=n)
    X = np.hstack([_in_the_plane(rng, cluster, k, preset), rng.uniform(-0.5, 0.5, (n, inputs - 2))])
    return Dataset(
        X,
        cluster_classes(k, key=key, preset=preset)[cluster],
        f"clusters n={n} d={inputs} k={k} key={key} draw={draw} {preset}",
    )


@keyword_only("key", "preset")
def cluster_classes(k: int, *, key: int = 0, preset: str = "paper") -> Array:
    """The classes ±1 of the k² clusters of `clusters`, row by row of the grid, from its lower left
    corner.

    Parameters
    ----------
    k : int
    key : int
    preset : {'paper', 'code'}
        As in `clusters`.

    Returns
    -------
    array of shape (k²,)

    Examples
    --------
    >>> bf.data.cluster_classes(3, key=0, preset="code").reshape(3, 3)
    array([[ 1.,  1., -1.],
           [ 1., -1.,  1.],
           [ 1., -1., -1.]])
    """
    rng = np.random.default_rng([positive_int("key", key, least=0), 0])
    count = positive_int("k", k) ** 2
    if one_of("preset", preset, PRESETS) == "code":
        return np.where(rng.permutation(count) < count // 2, -1.0, 1.0)
    return rng.choice([-1.0, 1.0], count)


def _in_the_plane(
    rng: np.random.Generator, cluster: NDArray[np.int64], k: int, preset: str
) -> Array:
    unit = 1 / (3 * k - 1)
    centres = np.stack(np.divmod(cluster, k)[::-1], axis=1) * 3 * unit - 0.5 + unit
    share, angle = rng.uniform(size=cluster.size), rng.uniform(0, 2 * np.pi, cluster.size)
    radius = unit * (np.sqrt(share) if preset == "paper" else share)
    return centres + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
