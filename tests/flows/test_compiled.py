"""The compiled dual flow: against the interpreted one at all scales, its error estimate, plateaus,
refusals, and its kernels."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics import rodas5p as rodas, rosenbrock
from biasflow.flows.mirror import compiled_flow, hypentropy_kernels as kernels

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def small():
    return bf.data.sparse_regression(n=6, d=18, sparsity=3, noise_var=0.01, key=1)


def compiled(potential, X, y, *args, **kwargs):
    return bf.mirror_flow(potential, X, y, *args, method="compiled", **kwargs)


def agree(potential, X, y, beta0=None, rtol=1e-8, until=0.9, **kwargs):
    """Both flows at common times lie within their error estimates of each other; the compiled
    one."""
    end = until * bf.mirror_flow(potential, X, y, beta0, **kwargs).times[-1]
    times = np.append(0.0, np.geomspace(1e-4 * end, end, 60))
    theirs = bf.mirror_flow(potential, X, y, beta0, times=times, rtol=1e-10, **kwargs)
    ours = compiled(potential, X, y, beta0, times=times, rtol=rtol, **kwargs)
    distance = np.max(np.abs(ours.states - theirs.states), axis=1)
    size = np.max(np.abs(theirs.states))
    assert np.all(distance <= ours.error + theirs.error + (ROUNDING + 1e-3 * rtol) * size)
    assert np.max(ours.error) <= 1e3 * rtol * size
    assert np.allclose(ours.loss, theirs.loss, rtol=1e-3, atol=1e-6 * theirs.loss[0])
    return ours


@pytest.mark.parametrize("alpha", [1e6, 1e3, 1.0, 1e-3, 1e-10, 1e-50, 1e-290])
def test_agrees_with_the_interpreted_flow_at_every_scale(small, alpha):
    agree(bf.potentials.Hypentropy(alpha), small.X, small.y)


@pytest.mark.parametrize("log_alpha", [-800.0, -2300.0])
def test_scales_below_float_range(small, log_alpha):
    agree(bf.potentials.Hypentropy(log_alpha=log_alpha), small.X, small.y, rtol=1e-7)


@pytest.mark.parametrize("seed", range(20, 26))
def test_the_error_covers_the_flow_inside_its_steps(seed):
    """Between the ends of a step the dense output has an error of its own, which errors at the ends
    do not know of."""
    rng = np.random.default_rng(seed)
    ds = bf.data.sparse_regression(n=6, d=24, sparsity=3, noise_var=0.01, key=seed)
    potential, rtol = (
        bf.potentials.Hypentropy(log_alpha=-(10 ** rng.uniform(0, 3.5))),
        10 ** rng.uniform(-8, -5),
    )
    knots = compiled(potential, ds.X, ds.y, rtol=rtol).times
    knots = knots[knots < 0.95 * knots[-1]]
    times = np.append(
        0.0,
        (
            knots[:-1, None] + np.diff(knots)[:, None] * rng.uniform(0, 1, (len(knots) - 1, 1))
        ).ravel(),
    )
    ours = compiled(potential, ds.X, ds.y, times=times, rtol=rtol)
    exact = bf.mirror_flow(potential, ds.X, ds.y, times=times, rtol=1e-12)
    distance, size = (
        np.max(np.abs(ours.states - exact.states), axis=1),
        np.max(np.abs(exact.states)),
    )
    assert np.all(distance <= ours.error + exact.error + (ROUNDING + 1e-3 * rtol) * size)
    assert np.max(ours.error) <= 1e3 * rtol * size


def test_a_scale_and_a_factor_per_coordinate_from_a_start(small):
    rng = np.random.default_rng(0)
    potential = bf.potentials.ScaledPotential(
        np.exp(rng.normal(size=small.d)),
        bf.potentials.Hypentropy(np.exp(rng.normal(-3, 2, small.d))),
    )
    beta0 = 0.3 * rng.standard_normal(small.d)
    ours = agree(potential, small.X, small.y, beta0, loss=bf.SquareLoss("sum"))
    assert np.allclose(ours.states[0], beta0, rtol=1e-12)


def test_half_lines_beside_free_coordinates(small):
    rng = np.random.default_rng(3)
    alpha = np.where(np.arange(small.d) % 3 == 0, 0.0, 0.01)
    agree(bf.potentials.Hypentropy(alpha), small.X, small.y, rng.choice([-0.1, 0.1], small.d))


def test_a_wide_problem_leaves_coordinates_out_and_says_what_that_costs():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((4, 700)) / 20, rng.standard_normal(4)
    for rtol in (1e-4, 1e-7):
        agree(bf.potentials.Hypentropy(1e-7), X, y, rtol=rtol)


def test_many_samples_use_blas():
    ds = bf.data.sparse_regression(n=40, d=120, sparsity=5, noise_var=0.01, key=2)
    agree(bf.potentials.Hypentropy(1e-4), ds.X, ds.y, rtol=1e-7)


@pytest.mark.parametrize("alpha", [1e3, 1.0, 1e-3, 1e-10, 1e-100])
@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
def test_ends_at_the_projection_at_any_tolerance(small, alpha, rtol):
    potential = bf.potentials.Hypentropy(alpha)
    flow = compiled(potential, small.X, small.y, rtol=rtol)
    assert flow.result is bf.Result.CONVERGED
    assert flow.loss[-1] <= 1e-20 * flow.loss[0]
    exact = bf.bregman_projection(potential, small.X, small.y).value
    # loss 1e-20 leaves β within 1e-10·κ(X)
    assert np.max(np.abs(flow.final - exact)) <= flow.error[-1] + 1e-8


def test_ends_when_the_interpreted_flow_does(small):
    for alpha in (1.0, 1e-6):
        reference = bf.mirror_flow(bf.potentials.Hypentropy(alpha), small.X, small.y, rtol=1e-10)
        for rtol in (1e-4, 1e-8):
            flow = compiled(bf.potentials.Hypentropy(alpha), small.X, small.y, rtol=rtol)
            before = np.interp(
                np.log(1e-16), np.log(flow.loss[::-1] / flow.loss[0]), flow.times[::-1]
            )
            expected = np.interp(
                np.log(1e-16),
                np.log(reference.loss[::-1] / reference.loss[0]),
                reference.times[::-1],
            )
            assert before == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("alpha", [1.0, 1e-6, 1e-30])
def test_the_error_estimate_is_honest_and_follows_the_tolerance(small, alpha):
    potential = bf.potentials.Hypentropy(alpha)
    end = compiled(potential, small.X, small.y).times[-1]
    times = np.geomspace(1e-3 * end, 0.9 * end, 50)
    reference = bf.mirror_flow(potential, small.X, small.y, times=times, rtol=1e-12)
    measured, estimated = [], []
    for rtol in (1e-3, 1e-5, 1e-7, 1e-9):
        flow = compiled(potential, small.X, small.y, times=times, rtol=rtol)
        distance = np.max(np.abs(flow.states - reference.states), axis=1)
        assert np.all(distance <= flow.error + 2 * reference.error + ROUNDING + 1e-3 * rtol)
        measured.append(np.max(distance))
        estimated.append(np.max(flow.error))
    assert measured[3] < 1e-4 * measured[0]
    assert estimated[3] < 1e-4 * estimated[0]
    assert np.all(np.array(estimated[:3]) < 100 * np.array(measured[:3]))


@pytest.mark.parametrize("alpha", [1e-20, 1e-50, 1e-100])
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("key", [4, 5, 6])
def test_transitions_are_not_jumped_over(alpha, rtol, key):
    ds = bf.data.sparse_regression(n=6, d=14, sparsity=3, noise_var=0.0, key=key)
    path, clock = bf.saddle_path(ds.X, ds.y), -np.log(alpha)
    flow = compiled(
        bf.potentials.Hypentropy(alpha), ds.X, ds.y, t1=1.3 * clock * path.times[-1], rtol=rtol
    )
    beyond = np.append(path.times[1:], 1.3 * path.times[-1])
    for k, (start, end) in enumerate(zip(path.times, beyond, strict=True)):
        if end - start > 0.2 * path.times[-1]:
            assert np.max(np.abs(flow.at(clock * (start + end) / 2) - path.states[k])) < 20 / clock
    reference = bf.mirror_flow(
        bf.potentials.Hypentropy(alpha), ds.X, ds.y, times=flow.times[1:], rtol=1e-9
    )
    distance = np.max(np.abs(flow.states[1:] - reference.states), axis=1)
    assert np.all(distance <= flow.error[1:] + 3 * np.max(reference.error) + 1e-3 * rtol)


def test_saves_at_times_and_between(small):
    times = np.array([0.0, 0.013, 0.4, 1.7])
    flow = compiled(bf.potentials.Hypentropy(0.1), small.X, small.y, times=times)
    assert np.array_equal(flow.times, times)
    assert flow.result is bf.Result.REACHED_T1
    for k, t in enumerate(times):
        assert np.allclose(flow.at(t), flow.states[k], rtol=1e-12, atol=1e-14)
    assert flow.stats["nu"].shape == (4, small.n)
    assert np.allclose(
        0.1 * np.sinh(flow.stats["nu"] @ small.X), flow.states, rtol=1e-10, atol=1e-14
    )
    whole = compiled(bf.potentials.Hypentropy(0.1), small.X, small.y)
    assert np.max(np.abs(whole.at(0.4) - flow.states[2])) <= np.max(whole.error) + np.max(
        flow.error
    )


def test_t1_is_reached_exactly(small):
    flow = compiled(bf.potentials.Hypentropy(0.1), small.X, small.y, t1=0.25)
    assert flow.times[-1] == 0.25
    assert flow.result is bf.Result.REACHED_T1


def test_results_are_those_of_the_interpreted_flow(small):
    zero = compiled(bf.potentials.Hypentropy(0.1), small.X, np.zeros(small.n))
    assert (
        zero.result is bf.Result.CONVERGED
        and np.array_equal(zero.times, [0.0])
        and not np.any(zero.states)
    )
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    short = compiled(bf.potentials.Hypentropy(0.1), X, y)
    fitted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    assert short.result is bf.Result.STATIONARY
    assert short.loss[-1] == pytest.approx(0.5 * np.sum((fitted - y) ** 2), rel=1e-8)
    X, y = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([-1.0, 0.5])
    stuck = compiled(bf.potentials.Hypentropy(0.0, sign=1.0), X, y, beta0=[0.1, 0.1])
    assert stuck.result is bf.Result.INFEASIBLE
    assert stuck.loss[-1] == pytest.approx(
        bf.mirror_flow(bf.potentials.Hypentropy(0.0, sign=1.0), X, y, beta0=[0.1, 0.1]).loss[-1],
        rel=1e-6,
    )


def test_rank_deficient_but_consistent(small):
    X, y = np.vstack([small.X, small.X[:2]]), np.append(small.y, small.y[:2])
    flow = compiled(bf.potentials.Hypentropy(0.1), X, y)
    assert flow.result is bf.Result.CONVERGED
    assert (
        np.max(
            np.abs(flow.final - bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, y).value)
        )
        <= flow.error[-1] + 1e-8
    )


def test_a_step_limit_throws_or_returns(small, monkeypatch):
    few = dataclasses.replace(compiled_flow.DUAL, most_steps=5)
    monkeypatch.setattr(compiled_flow, "DUAL", few)
    with pytest.raises(bf.errors.ConvergenceError, match="step limit"):
        compiled(bf.potentials.Hypentropy(0.1), small.X, small.y)
    flow = compiled(bf.potentials.Hypentropy(0.1), small.X, small.y, throw=False)
    assert flow.result is bf.Result.STEP_LIMIT and len(flow.times) == 6


@pytest.mark.parametrize(("name", "value"), [("t1", -1.0), ("rtol", 0.0), ("times", [0.2, 0.1])])
def test_bad_arguments_are_named(small, name, value):
    with pytest.raises(bf.errors.InputError, match=name):
        compiled(bf.potentials.Hypentropy(0.1), small.X, small.y, **{name: value})


def test_refusals(small):
    with pytest.raises(bf.errors.RefusedError, match="hypentropy"):
        compiled(bf.potentials.Euclidean(), small.X, small.y)
    with pytest.raises(bf.errors.InputError, match="method"):
        bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, method="fast")
    model = bf.DiagonalNetwork(depth=3)
    with pytest.raises(bf.errors.RefusedError, match="hypentropy"):
        bf.gradient_flow(
            model, small, bf.SquareLoss(), model.init(scale=0.1, dim=small.d), method="compiled"
        )


@pytest.mark.parametrize("normalisation", ["sum", "half-mean"])
def test_gradient_flow_of_a_diagonal_network(small, normalisation):
    model, loss = bf.DiagonalNetwork(depth=2), bf.SquareLoss(normalisation)
    start = model.init(scale=0.05, dim=small.d)
    ours = bf.gradient_flow(model, small, loss, start, method="compiled")
    assert ours.result is bf.Result.CONVERGED and ours.stats["method"] == "compiled"
    theirs = bf.gradient_flow(model, small, loss, start, times=ours.times[1:-5], rtol=1e-10)
    distance = np.max(
        np.abs(model.effective(ours.states)[1:-5] - model.effective(theirs.states)), axis=1
    )
    assert np.all(distance <= ours.error[1:-5] + theirs.error)
    assert np.allclose(
        ours.loss,
        [
            loss(model(type(start)(*(leaf[k] for leaf in ours.states)), small.X), small.y)
            for k in range(len(ours.times))
        ],
        rtol=1e-6,
        atol=1e-18,
    )


def test_never_chosen_by_default(small):
    model = bf.DiagonalNetwork(depth=2)
    flow = bf.gradient_flow(
        model, small, bf.SquareLoss(), model.init(scale=0.1, dim=small.d), t1=0.1
    )
    assert flow.stats["method"] == "dual"
    code = (
        "import sys, biasflow.flows.methods, biasflow.flows.mirror.compiled_flow; "
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_mirror_kernel_is_accurate_to_rounding():
    rng = np.random.default_rng(0)
    eta = np.concatenate([rng.normal(0, s, 500) for s in (1e-9, 0.1, 3.0, 200.0)])
    r, one, zero = np.exp(rng.normal(-5, 3, eta.size)), np.ones(eta.size), np.zeros(eta.size)
    beta, weight = np.empty_like(eta), np.empty_like(eta)
    kernels.mirror(eta, np.stack([one, r / 2, zero, zero]), np.inf, beta, weight)
    assert np.allclose(beta, r * np.sinh(eta), rtol=4e-15, atol=0)
    assert np.allclose(weight, r * np.cosh(eta), rtol=4e-15, atol=0)
    kernels.mirror(eta, np.stack([one, one, zero, -one]), np.inf, beta, weight)
    assert np.allclose(beta, -np.exp(-eta), rtol=4e-15, atol=0)


def test_weights_and_their_point_by_one_exponential_are_accurate_to_rounding():
    from biasflow.flows.mirror import compiled_samples as samples

    rng = np.random.default_rng(1)
    eta = np.concatenate([rng.normal(0, s, 500) for s in (1e-9, 0.1, 3.0, 200.0)])
    r, one, zero = np.exp(rng.normal(-5, 3, eta.size)), np.ones(eta.size), np.zeros(eta.size)
    eta0, curves = rng.normal(0, 3, eta.size), np.stack([one, r / 2, zero, zero])
    start = np.stack([np.sqrt(r / 2) * np.exp(eta0 / 2), -np.sqrt(r / 2) * np.exp(-eta0 / 2)])
    bases, (beta, weight, plus, minus) = np.empty_like(start), np.empty((4, eta.size))
    samples.centre(start, eta0, bases)
    samples.lift_plain(bases, eta, curves, beta, weight, plus, minus)
    assert np.allclose(beta, r * np.sinh(eta), rtol=4e-15, atol=0)
    assert np.allclose(weight, r * np.cosh(eta), rtol=4e-15, atol=0)
    assert np.allclose(plus, np.sqrt(r / 2) * np.exp(eta / 2), rtol=1e-14, atol=0)
    assert np.allclose(minus, -np.sqrt(r / 2) * np.exp(-eta / 2), rtol=1e-14, atol=0)


def test_the_largest_of_many_is_nan_where_one_is():
    a, b = np.array([1.0, -3.0, 2.0, 0.0, -0.0]), np.array([1.0, 0.5, 2.0, np.inf, 1.0])
    assert kernels.largest(a) == 3.0 and kernels.largest(-a) == 3.0
    assert kernels.largest_product(a[:3], b[:3]) == 4.0
    assert np.isnan(kernels.largest_product(a, b)) and kernels.largest(b) == np.inf
    assert np.isnan(kernels.largest(np.array([np.inf, np.nan, 1.0])))


@pytest.mark.parametrize("n", [1, 3, 10, 33])
def test_two_rows_are_solved_for_at_once(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, 2 * n))
    U, x = np.zeros((n, n)), rng.standard_normal((2, n))
    kernels.factorise(A @ A.T, 2.0, 0.5, U)
    wanted = np.linalg.solve(0.5 * np.eye(n) + 2.0 * A @ A.T, x.T).T
    kernels.solve_pair(U, x)
    assert np.allclose(x, wanted, rtol=1e-10, atol=1e-12)


class Pendulum:
    """ẏ = (y₂, −sin y₁ − y₂³) from a state, as the stepper is told of a flow."""

    def __init__(self, y):
        self.y, self.force = y, np.array([y[1], -np.sin(y[0]) - y[1] ** 3])

    def force_at(self, change, out):
        out[:] = Pendulum(self.y + change).force

    def solve(self, out):
        out[:] = np.linalg.solve(self.system, out)

    def one_step(self, h):
        """The solution, the embedded one, and the dense output half-way."""
        y, K = self.y, np.zeros((rodas.STAGES, 2))
        jacobian = np.array([[0.0, 1.0], [-np.cos(y[0]), -3 * y[1] ** 2]])
        self.system, K[0] = np.eye(2) / (rodas.GAMMA * h) - jacobian, self.force
        take_stages = rosenbrock.staging(rosenbrock.add_stages, Pendulum.force_at, Pendulum.solve)
        take_stages(self, h, K, np.empty(2))
        new = y + rodas.B @ K
        path = rosenbrock.Path(np.array([0.0, h]), np.array([y, new]), (rodas.H @ K)[None])
        return new, new - K[-1], path.at(h / 2)


def test_the_slope_is_that_of_the_dense_output():
    rng = np.random.default_rng(0)
    start, end, *bent = rng.standard_normal((5, 3))
    ends = [rosenbrock.between(start, end, *bent, share) for share in (0.3 - 1e-6, 0.3 + 1e-6)]
    slope = rosenbrock.slope(end - start, *bent, 0.3, 1.0)
    assert np.allclose(slope, (ends[1] - ends[0]) / 2e-6, atol=1e-8)


def test_a_long_march_empties_its_record(small, monkeypatch):
    """Steps beyond what one call has room for are those of a march with more room."""
    whole = compiled(bf.potentials.Hypentropy(1e-20), small.X, small.y)
    monkeypatch.setattr("biasflow.flows.mirror.compiled_room.RECORD_ROOM", 64)
    parts = compiled(bf.potentials.Hypentropy(1e-20), small.X, small.y)
    assert len(whole.times) > 200 and np.array_equal(whole.times, parts.times)
    assert np.array_equal(whole.states, parts.states)
    assert np.array_equal(whole.error, parts.error)


def test_the_tableau_has_its_orders():
    from scipy.integrate import solve_ivp

    y, errors = np.array([1.0, 0.7]), []
    steps = (0.05, 0.025)
    for h in steps:
        exact = solve_ivp(
            lambda t, y: [y[1], -np.sin(y[0]) - y[1] ** 3],
            (0, h),
            y,
            "DOP853",
            [h / 2, h],
            rtol=1e-13,
            atol=1e-15,
        ).y
        ends = Pendulum(y).one_step(h)
        errors.append(
            [
                np.linalg.norm(v - e)
                for v, e in zip(ends, (exact[:, 1], exact[:, 1], exact[:, 0]), strict=True)
            ]
        )
    order = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))[-1]
    # of one step: order 5, 4 and 4 of the method
    assert order[0] > 5.5 and order[1] > 4.7 and order[2] > 4.7


@pytest.mark.parametrize("scale", [3.0, 1e-3, 1e-140])
def test_weights_are_lifted_as_the_interpolant_does(scale):
    """All saved times at once in compiled code, one at a time in NumPy."""
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.standard_normal((5, 30)), rng.standard_normal(5))
    directions = bf.FixedDirections(rng.standard_normal((30, 30)), normalise=True)
    diagonal = bf.DiagonalNetwork(2)
    biased = diagonal.init(scale, dim=30)._replace(minus=np.linspace(0.1, 2.0, 30) * scale)
    half_line = biased._replace(minus=np.linspace(0.0, 2 * scale, 30))
    for model, start in (
        (directions, directions.init(scale)),
        (diagonal, diagonal.init(scale, dim=30)),
        (diagonal, biased),
        *([(diagonal, half_line)] if scale > 1e-100 else []),
    ):
        times = np.append(0.0, np.geomspace(1e-2, 40.0, 36))
        problem = bf.Problem(model, data, bf.SquareLoss("half"), start)
        flow = bf.gradient_flow(problem, times=times, method="compiled", rtol=1e-6)
        for k in (0, 11, 36):
            for leaf, other in zip(flow.states, flow.at(times[k]), strict=True):
                size = np.max(np.abs(other))
                np.testing.assert_allclose(leaf[k], other, rtol=1e-12, atol=1e-14 * size)
        assert all(np.array_equal(leaf[0], w) for leaf, w in zip(flow.states, start, strict=True))
        largest = [np.max(np.abs(leaf), axis=1) for leaf in flow.states]
        assert np.all(flow.error >= 4 * np.finfo(float).eps * np.max(largest, axis=0))
