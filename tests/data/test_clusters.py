import numpy as np
import pytest

import biasflow as bf


@pytest.mark.parametrize("preset", ["paper", "code"])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_points_lie_in_their_disks(preset, k):
    ds = bf.data.clusters(2000, 5, k, key=1, preset=preset)
    unit = 1 / (3 * k - 1)
    assert ds.d == (5 if preset == "paper" else 4) and np.max(np.abs(ds.X)) <= 0.5
    cell = np.clip(np.round((ds.X[:, :2] + 0.5 - unit) / (3 * unit)), 0, k - 1)
    centres = cell * 3 * unit - 0.5 + unit
    assert np.max(np.linalg.norm(ds.X[:, :2] - centres, axis=1)) <= unit * (1 + 1e-12)
    np.testing.assert_array_equal(
        ds.y,
        bf.data.cluster_classes(k, key=1, preset=preset)[(cell[:, 1] * k + cell[:, 0]).astype(int)],
    )


def test_laws_of_the_radius():
    """Uniform on the disk: mean radius 2/3; in the authors' code: 1/2. 20 000 draws: errors of
    about 0.002."""
    for preset, mean in (("paper", 2 / 3), ("code", 0.5)):
        ds = bf.data.clusters(20_000, k=1, key=0, preset=preset)
        assert np.mean(np.linalg.norm(ds.X, axis=1)) / 0.5 == pytest.approx(mean, abs=0.01)


def test_classes_and_draws():
    assert np.sum(bf.data.cluster_classes(3, key=5, preset="code") < 0) == 4
    one, two = (bf.data.clusters(50, 3, 3, key=2, draw=draw) for draw in (0, 1))
    assert not np.any(one.X == two.X) and np.array_equal(one.X, bf.data.clusters(50, 3, 3, key=2).X)
    classes = {tuple(bf.data.cluster_classes(3, key=key)) for key in range(10)}
    assert len(classes) > 5


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"d": 1}, ("d", "at least 2")),
        ({"d": 2, "preset": "code"}, ("d", "at least 3")),
        ({"preset": "x"}, ("preset",)),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(bf.errors.InputError) as caught:
        bf.data.clusters(10, **arguments)
    assert str(caught.value).startswith(words[0]) and all(
        word in str(caught.value) for word in words
    )
