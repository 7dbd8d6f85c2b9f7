"""All interpolants of least norm on a line, against linear programs, the general solver, and
arithmetic with sixty digits."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

import biasflow as bf
from biasflow.theory.since.line_programs import cost_on_grid, grid_error

VARIANTS = list(itertools.product((False, True), (False, True)))
PROGRAM = 1e-7  # HiGHS's tolerance


def solved(x, y, penalise_bias, skip, **more):
    return bf.limits.line_interpolants(x, y, penalise_bias=penalise_bias, skip=skip, **more)


def by_programming(x, y, penalise_bias, skip, directions=1200):
    """The least norm over neurons on a grid of directions, or of kinks, with those at samples."""
    if penalise_bias:
        across = np.concatenate([np.arctan2(-x, 1.0), np.arctan2(x, -1.0)])
        angle = np.concatenate([np.linspace(0, 2 * np.pi, directions, endpoint=False), across])
        A = np.maximum(np.outer(x, np.cos(angle)) + np.sin(angle), 0.0)
        costs = np.ones(angle.size)
    else:
        t = np.unique(np.concatenate([np.linspace(x.min() - 3, x.max() + 3, 150), x]))
        A = np.hstack([np.maximum(x[:, None] - t, 0), np.maximum(t - x[:, None], 0)])
        A, costs = np.hstack([A, np.ones((x.size, 1))]), np.append(np.ones(2 * t.size), 0.0)
    if skip:
        A = np.hstack([A, x[:, None], np.ones((x.size, 1))])
        costs = np.append(costs, [0.0, 0.0])
    found = linprog(np.tile(costs, 2), A_eq=np.hstack([A, -A]), b_eq=y, method="highs")
    assert found.status == 0
    return found.fun, 1 / math.cos(math.pi / directions) if penalise_bias else 1.0


def drawn(seed):
    rng = np.random.default_rng((90_210, seed))
    n = int(rng.integers(1, 9))
    x = rng.standard_normal(n) * rng.choice([0.3, 2.0, 8.0]) + rng.choice([0.0, 3.0])
    y = rng.standard_normal(n) + rng.choice([0.0, 2.0]) * x + rng.choice([0.0, 1.0]) * x**2
    if seed % 3 == 0:  # samples on a line, and ties
        x, first = np.unique(np.round(x), return_index=True)
        y = np.round(y[first])
    return x, y


@pytest.mark.parametrize("seed", range(12))
def test_least_norms_are_those_of_linear_programs(seed):
    x, y = drawn(seed)
    for penalise_bias, skip in VARIANTS:
        found = solved(x, y, penalise_bias, skip)
        program, dearer = by_programming(x, y, penalise_bias, skip)
        room = PROGRAM * (1 + found.objective)
        assert found.certificate.kind == "exact"
        assert found.certificate.lower - room <= program <= dearer * found.objective + room


@pytest.mark.parametrize("seed", range(12, 22))
def test_the_general_solver_agrees(seed):
    x, y = drawn(seed)
    found = bf.limits.line_interpolants(x, y)
    general = bf.limits.min_norm_interpolator(x[:, None], y, bias="append")
    assert general.objective / 2 == pytest.approx(found.objective, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("seed", range(22, 34))
def test_networks_functions_and_objectives_agree(seed):
    x, y = drawn(seed)
    inputs = np.column_stack([x, np.ones_like(x)])
    for penalise_bias, skip in VARIANTS:
        found = solved(x, y, penalise_bias, skip)
        a, W = found.network
        lengths = np.linalg.norm(W, axis=1) if penalise_bias else np.abs(W[:, 0])
        near = {"rel": 1e-8, "abs": 1e-9}
        assert np.abs(a) @ lengths == pytest.approx(found.objective, **near)
        norm = found.value.norm(penalise_bias=penalise_bias, skip=skip)
        assert norm == pytest.approx(found.objective, **near)
        size = 1e-9 * (1 + np.max(np.abs(y)))
        assert found(x) == pytest.approx(y, abs=size)
        outputs = np.maximum(inputs @ W.T, 0.0) @ a + inputs @ found.affine
        assert outputs == pytest.approx(y, abs=100 * size)
        seen = np.linspace(x.min() - 2, x.max() + 2, 40)
        wide = np.column_stack([seen, np.ones_like(seen)])
        network = np.maximum(wide @ W.T, 0.0) @ a + wide @ found.affine
        assert found.value(seen) == pytest.approx(network, abs=1e-6 * (1 + np.max(np.abs(y))))


UGLY = {
    "timestamps": (1.7e9 + 3600 * np.arange(30.0), (np.arange(30.0) - 11.3) ** 2),
    "timestamps on a line": (1.7e9 + 3600 * np.arange(5.0), 2 * np.arange(5.0) + 1),
    "tiny units": (1e-200 * np.arange(6.0), 1e-150 * np.array([0, 1, 0, 2, 2, 1.0])),
    "huge units": (1e200 * np.arange(6.0), 1e150 * np.array([0, 1, 0, 2, 2, 1.0])),
    "all units": (np.array([1e-300, 1e-10, 1, 1e10, 1e200]), np.array([1, -1, 1e-5, 3, 1e10])),
    "neighbouring floats": (np.array([0, np.nextafter(0.5, 1), 0.5, 1]), np.array([0.0, 1, 0, 1])),
    "far from zero on both sides": (np.array([-40, -30.0, 50, 60]), np.array([1.0, 0, 0, 2])),
    "samples on a line inside": (np.arange(-4, 5.0), np.array([4, 2, 0, -2, -2, -2, 0, 2, 4.0])),
    "zeros": (np.arange(4.0), np.zeros(4)),
    "constants": (np.arange(4.0), np.ones(4)),
    "two": (np.array([-10.0, 10.0]), np.array([1.0, 1.0])),
}


@pytest.mark.parametrize(("penalise_bias", "skip"), VARIANTS)
@pytest.mark.parametrize("name", UGLY)
def test_brackets_are_narrow_on_ugly_data(name, penalise_bias, skip):
    x, y = UGLY[name]
    found = solved(x, y, penalise_bias, skip)
    assert found.certificate.relative_gap <= 1e-9 and found.certificate.kind == "exact"
    assert np.array_equal(found(x), y)


@pytest.mark.parametrize("name", UGLY)
def test_the_string_is_as_long_as_sixty_digits_say(name):
    """The length of γ from its kinks as floats, against a bracket of rationals."""
    x, y = UGLY[name]
    found = solved(x, y, True, True)
    with mpmath.workdps(60):
        terms = zip(found.value.kinks.tolist(), found.value.jumps.tolist(), strict=True)
        length = sum(
            (abs(mpmath.mpf(k)) * mpmath.sqrt(1 + mpmath.mpf(t) ** 2) for t, k in terms), 0
        )
    assert float(length) == pytest.approx(found.objective, rel=1e-13, abs=0.0)


def test_order_and_copies_do_not_matter():
    x, y = np.array([2.0, -1.0, 0.5, 1.0, 3.0]), np.array([1.0, 0.0, -1.0, 2.0, 2.0])
    for penalise_bias, skip in VARIANTS:
        one = solved(x, y, penalise_bias, skip)
        other = solved(np.append(x, x[::-1])[:, None], np.append(y, y[::-1]), penalise_bias, skip)
        assert one.objective == other.objective and np.array_equal(
            one.value.kinks, other.value.kinks
        )


def test_labels_of_one_input_that_differ_are_refused_by_name():
    with pytest.raises(bf.errors.InconsistentError, match="samples 1 and 3 share the input x = 2"):
        bf.limits.line_interpolants([0.0, 2.0, 1.0, 2.0], [0.0, 1.0, 0.0, 1.5])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1.0, 2.0]], [1.0], "x: expected inputs on a line"),
        ([], [], "x: expected inputs on a line"),
        ([1.0, 2.0], [1.0], "y: expected shape"),
        ([1.0, math.nan], [1.0, 2.0], "x: entry"),
        ([0.0, 5e-324, 1.0], [0.0, 1.0, 0.0], "rise faster than floats can say"),
    ],
)
def test_what_is_no_line_is_refused(x, y, message):
    with pytest.raises(bf.errors.InputError, match=message):
        bf.limits.line_interpolants(x, y)


def test_options_are_true_or_false():
    with pytest.raises(bf.errors.InputError, match="skip"):
        bf.limits.line_interpolants([0.0, 1.0], [0.0, 1.0], skip=1)


def test_one_sample():
    free, skip = solved([3.0], [4.0], False, False), solved([3.0], [4.0], True, True)
    assert free.objective == 0 and free.unique and free([-7.0, 7.0]).tolist() == [4.0, 4.0]
    assert skip.objective == 0 and skip.unique is False
    low, high = skip.envelope([3.0, 5.0])
    assert low.tolist() == [4.0, -math.inf] and high.tolist() == [4.0, math.inf]
    one = solved([3.0], [-4.0], True, False)
    assert one.objective == pytest.approx(4 / math.sqrt(10), rel=1e-15)
    assert one.value.kinks == pytest.approx([-1 / 3]) and one([3.0]) == pytest.approx([-4.0])


def test_two_samples_without_an_affine_part():
    found = solved([0.0, 2.0], [1.0, 7.0], False, False)
    assert found.objective == 3.0 and found.unique is False and found.spare == 3.0
    low, high = found.envelope([-1.0, 1.0, 3.0])
    assert low.tolist() == [-2.0, 4.0, 7.0] and high.tolist() == [1.0, 4.0, 10.0]
    both = solved([-1.0, 1.0], [-1.0, 1.0], True, False)  # a neuron of each sign, along (x, 1)
    assert both.objective == pytest.approx(math.sqrt(2), rel=1e-9)


@pytest.mark.parametrize(("run", "kinks"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_run_of_bends_takes_every_second_chord(run, kinks):
    """⌈r/2⌉ kinks: each line passes through two samples at most, and the outer chords are
    given."""
    x = np.arange(run + 2.0)
    found = solved(x, x * (x - 7), False, True)
    assert found.value.kinks.size == kinks
    assert found.objective == 2 * run


def test_spare_slope_takes_no_kink_more_where_a_run_is_odd():
    odd = solved([0, 1, 2.0], [0, 2, 5.0], False, False)
    even = solved([0, 1, 2, 3.0], [0, 2, 5, 9.0], False, False)
    assert (odd.objective, odd.spare, odd.value.kinks.size) == (3.0, 2.0, 1)
    assert (even.objective, even.spare, even.value.kinks.size) == (4.0, 2.0, 2)


def test_every_function_between_two_minimisers_is_one():
    x, y = np.arange(6.0), np.array([0, 0, 1, 3, 3, 2.0])
    found = solved(x, y, False, False)
    chords = bf.limits.PiecewiseLinear.through(x, y, 0.0, -1.0)
    points = np.unique(np.concatenate([x, found.value.kinks]))
    for share in (0.25, 0.5, 1.0):
        values = (1 - share) * found.value(points) + share * chords(points)
        mixed = bf.limits.PiecewiseLinear.through(points, values, 0.0, -1.0)
        assert mixed.norm(penalise_bias=False) == pytest.approx(found.objective, rel=1e-14)
        low, high = found.envelope(points)
        assert np.all(low <= values + 1e-14) and np.all(values <= high + 1e-14)


def test_kinks_between_samples_are_reflected_at_them():
    """arctan τ_{i−1} + arctan τ_i = 2 arctan x_i where both sides of a sample have a kink."""
    x = np.linspace(-1.0, 2.0, 12)
    found = solved(x, np.exp(x), True, True)
    between = {
        int(np.searchsorted(x, t)): t for t in found.value.kinks if np.min(np.abs(x - t)) > 1e-9
    }
    pairs = [(i, between[i], between[i + 1]) for i in between if i + 1 in between]
    assert pairs
    for i, before, after in pairs:
        assert np.arctan(before) + np.arctan(after) == pytest.approx(2 * np.arctan(x[i]), abs=1e-9)


def test_a_free_end_is_met_at_a_right_angle():
    """From −11, −10 to 10 the label at −10 bends: a kink of two at 1/10 costs less than one of one
    at −10, as nothing is said beyond 10."""
    for sign in (1.0, -1.0):
        found = solved(sign * np.array([-11.0, -10.0, 10.0]), [1.0, 0.0, 0.0], True, True)
        assert found.value.kinks == pytest.approx([-0.1 * sign])
        assert found.objective < 2.1 < 10


def test_labels_in_other_units_have_norms_in_them():
    x, y = drawn(40)
    for penalise_bias, skip in ((False, False), (False, True), (True, True)):
        one, other = solved(x, y, penalise_bias, skip), solved(x, 2.0**40 * y, penalise_bias, skip)
        assert other.objective == 2.0**40 * one.objective


@pytest.mark.parametrize("alpha", [0.0, 0.3, -1.0])
@pytest.mark.parametrize("beta", [-2.0, 0.0, 0.1, 1.0])
def test_what_affine_functions_cost(alpha, beta):
    f = bf.limits.PiecewiseLinear.through([0.0], [beta], alpha, alpha)
    near = abs(beta) <= abs(alpha) / math.sqrt(3)
    exact = 2 * math.hypot(alpha, beta) if near else math.sqrt(3) * abs(alpha) + abs(beta)
    assert f.norm() == pytest.approx(exact, rel=1e-14)
    assert f.norm(skip=True) == 0


@pytest.mark.parametrize("seed", range(6))
def test_norms_of_functions_are_those_of_linear_programs(seed):
    rng = np.random.default_rng((77, seed))
    points = np.sort(rng.uniform(-3, 3, 4))
    slopes = rng.standard_normal(2) + rng.choice([0.0, 4.0])
    f = bf.limits.PiecewiseLinear.through(points, rng.standard_normal(4) * (seed % 3), *slopes)
    program = cost_on_grid(f)
    assert f.norm() * (1 - 1e-6) <= program <= f.norm() * (1 + grid_error() + 1e-6)


def test_ten_thousand_samples():
    x = np.linspace(-1, 2, 10_000)
    y = np.cosh(x) + 3 * x
    for penalise_bias, skip in ((False, False), (False, True), (True, True)):
        found = solved(x, y, penalise_bias, skip)
        assert found.certificate.relative_gap < 1e-13


def test_the_record_shows_itself():
    found = solved(np.arange(6.0), [0, 0, 1, 3, 3, 2.0], False, False)
    assert "2 bends are free" in str(found)
    assert found.plot().axes[0].get_legend() is not None
    assert found.to_xarray().attrs["objective"] == 5.0


def test_flows_from_small_starts_end_at_no_smaller_norm():
    """Their limits are KKT points, not always minimisers."""
    x = np.array([-1.0, 0.0, 1.0])
    data = bf.Dataset(np.column_stack([x, np.ones(3)]), [1.0, -0.5, 1.0])
    least = bf.limits.line_interpolants(x, data.y)
    problem = bf.Problem(bf.TwoLayer(24, 2), data, bf.SquareLoss("half-mean"), scale=1e-4, key=1)
    end = bf.gradient_flow(problem).final
    fitted = np.maximum(data.X @ end.W.T, 0.0) @ end.a
    norm = float(np.sum(end.a**2) + np.sum(end.W**2)) / 2
    assert fitted == pytest.approx(data.y, abs=1e-3)
    assert norm >= least.certificate.lower * (1 - 1e-2)
