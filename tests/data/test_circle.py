"""Points on the circle with a teacher."""

import numpy as np
import pytest

import biasflow as bf


def test_training_and_test_points_have_the_same_teacher():
    few, many = (
        bf.data.circle_teacher(n=50, key=3),
        bf.data.circle_teacher(n=4000, key=3, spaced=True),
    )
    np.testing.assert_allclose(np.linalg.norm(few.X, axis=1), 1, rtol=1e-14)
    nearest = np.argmax(few.X @ many.X.T, axis=1)
    np.testing.assert_allclose(few.y, many.y[nearest], atol=0.02)
    assert np.mean(many.y**2) == pytest.approx(1, rel=1e-3)


def test_a_teacher_of_three_units_has_at_most_six_kinks():
    ds = bf.data.circle_teacher(n=3600, key=5, spaced=True)
    # zero between kinks
    harmonic = 2 * np.cos(2 * np.pi / 3600) * ds.y - np.roll(ds.y, 1) - np.roll(ds.y, -1)
    assert np.count_nonzero(np.abs(harmonic) > 1e-9) <= 12


def test_a_key_fixes_the_data():
    assert np.array_equal(bf.data.circle_teacher(key=1).X, bf.data.circle_teacher(key=1).X)
    assert not np.array_equal(bf.data.circle_teacher(key=1).X, bf.data.circle_teacher(key=2).X)


@pytest.mark.parametrize("change", [{"n": 0}, {"neurons": 0}, {"key": -1}, {"n": 2.5}])
def test_bad_input_is_named(change):
    with pytest.raises(bf.errors.InputError, match=next(iter(change))):
        bf.data.circle_teacher(**change)
