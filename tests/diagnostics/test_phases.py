"""Phases of a flow: made-up losses whose phases are known, and small-scale flows against the exact
path of jumps."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import biasflow as bf
from biasflow import Result, SquareLoss
from biasflow.diagnostics import Phase, phases

PROBLEM = bf.MirrorProblem(bf.potentials.Euclidean(), [[1.0]], [1.0])


def made_up(times, loss, result=Result.CONVERGED):
    return bf.Trajectory(
        times, np.zeros((len(times), 1)), loss, np.zeros(len(times)), (), {}, result, PROBLEM
    )


def stairs(times, jumps, heights, rate):
    """Plateaus at heights, left at the jumps by drops of length ~1/rate; after the last jump
    exponential decay to zero."""
    levels = np.array([*heights, 0.0])
    drops = -np.diff(levels)
    return sum(
        drop * np.exp(-np.logaddexp(0, rate * (times - jump)))
        for drop, jump in zip(drops, jumps, strict=True)
    )


def covers(found, times):
    """Phases in order, without gaps, from the first time to the last, with the losses handed on."""
    assert found[0].start == times[0] and found[-1].end == times[-1]
    for one, two in itertools.pairwise(found):
        assert (
            one.end == two.start > one.start
            and one.loss_end == two.loss_start
            and one.name != two.name
        )


class TestMadeUp:
    def test_exponential_is_final_convergence_only(self):
        times = np.linspace(0, 40, 500)
        (only,) = phases(made_up(times, 3 * np.exp(-1.3 * times)))
        assert only.name == "final convergence" and (only.start, only.end) == (0.0, 40.0)
        assert only.rate == pytest.approx(1.3) and only.loss_start == 3

    def test_euclidean_flow_is_final_convergence_only(self):
        flow = bf.mirror_flow(bf.potentials.Euclidean(), [[0.7]], [2.0], rtol=1e-10, t1=40.0)
        converged = replace(flow, result=Result.CONVERGED)
        (only,) = phases(converged)
        assert only.name == "final convergence" and only.rate == pytest.approx(2 * 0.49, rel=1e-4)

    def test_stairs(self):
        times = np.linspace(0, 130, 4000)
        found = phases(made_up(times, stairs(times, [20, 60, 100], [1.0, 0.3, 0.05], 2.0)))
        covers(found, times)
        assert [p.name for p in found][:4] == ["escape", "drop", "plateau", "drop"] and found[
            -1
        ].name == "final convergence"
        drops = [p for p in found if p.name == "drop"]
        for drop, jump in zip(drops, (20, 60, 100), strict=False):
            assert drop.start - 2 < jump < drop.end + 2 and drop.end - drop.start < 8
        assert abs(found[-1].start - 100) < 3 and found[-1].rate == pytest.approx(2.0, rel=0.1)
        assert found[0].loss_end > 0.85 and found[0].end == pytest.approx(20, abs=2)
        plateau = found[2]
        assert (plateau.loss_start, plateau.loss_end) == (
            pytest.approx(0.3, rel=0.2),
            pytest.approx(0.3, rel=0.2),
        )

    def test_a_start_that_falls_at_once(self):
        """A steep start is not the long plateau after it: that one starts once the loss has fallen
        to a fifth at most."""
        times = np.linspace(0, 60, 3000)
        found = phases(made_up(times, 0.9 * np.exp(-3 * times) + stairs(times, [30], [0.1], 3.0)))
        covers(found, times)
        plateau = next(p for p in found if p.start <= 15 < p.end)
        assert plateau.name == "plateau" and plateau.start < 2 and plateau.loss_start < 0.2
        assert plateau.end == pytest.approx(30, abs=2) and found[-1].name == "final convergence"

    @pytest.mark.parametrize(
        "result", [Result.REACHED_T1, Result.STEP_LIMIT, Result.STEP_TOO_SMALL]
    )
    def test_partial_flows_have_no_final_convergence(self, result):
        times = np.linspace(0, 130, 4000)
        found = phases(made_up(times, stairs(times, [20, 60, 100], [1.0, 0.3, 0.05], 2.0), result))
        covers(found, times)
        assert all(p.name != "final convergence" for p in found) and found[0].name == "escape"
        found = phases(made_up(times[:100], np.exp(-times[:100]), result))
        assert all(p.name != "final convergence" for p in found) and found[-1].name == "drop"

    @pytest.mark.parametrize("result", [Result.STATIONARY, Result.INFEASIBLE, Result.FLOOR])
    def test_the_excess_over_an_infimum_is_read(self, result):
        times = np.linspace(0, 40, 500)
        found = phases(made_up(times, 5 + np.exp(-times), result))
        assert [p.name for p in found] == ["final convergence"] and found[
            0
        ].loss_start == pytest.approx(1.0)

    def test_too_little_to_say(self):
        assert phases(made_up(np.array([0.0, 1.0]), np.array([1.0, 0.5]))) == ()
        assert phases(made_up(np.linspace(0, 1, 5), np.zeros(5))) == ()

    def test_one_phase(self):
        phase = Phase("drop", 1.0, 3.0, 1.0, np.exp(-4.0))
        assert phase.rate == pytest.approx(2.0) and str(phase).startswith(
            "drop: t = 1 to 3, loss 1 to 0.0183, rate 2"
        )

    def test_bad_input(self):
        with pytest.raises(
            bf.errors.InputError, match="trajectory: expected Trajectory, found str"
        ):
            phases("no")

    @given(seed=st.integers(0, 10**6), complete=st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_cover_without_gaps(self, seed, complete):
        """Any decreasing loss: steps of random sizes, ten orders of magnitude in all."""
        rng = np.random.default_rng(seed)
        count = int(rng.integers(3, 300))
        times = np.concatenate([[0.0], np.cumsum(rng.exponential(size=count) ** 3 + 1e-12)])
        falls = rng.exponential(size=count) ** 4
        loss = np.exp(-np.concatenate([[0.0], np.cumsum(falls)]) * 23 / np.sum(falls))
        found = phases(made_up(times, loss, Result.CONVERGED if complete else Result.REACHED_T1))
        covers(found, times)
        assert all(p.name in ("escape", "plateau", "drop", "final convergence") for p in found)
        assert all(p.name != "escape" for p in found[1:]) and found[0].name != "plateau"
        assert all(p.name != "final convergence" for p in found[:-1])


def jumps_and_phases(flow, X, y, to_time):
    """Each jump of the exact path that halves the loss, and the nearest end of a phase that
    falls."""
    path = bf.saddle_path(X, y)
    found = phases(flow)
    falling = [p for p in found if p.name in ("drop", "final convergence")]
    for k in range(1, len(path.times)):
        if path.loss[k] < 0.5 * path.loss[k - 1]:
            t = to_time * path.times[k]
            assert min(max(p.start - t, t - p.end, 0.0) for p in falling) < 0.1 * t, (t, found)
    first = to_time * path.times[1]
    assert found[0].name == "escape" and found[0].end == pytest.approx(first, rel=0.1)
    covers(found, np.array([0.0, flow.times[-1]]))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_diagonal_flow_at_tiny_scale_follows_the_path_of_jumps(seed):
    """α = 1e-60: W's mirror time is 4t under ½‖·‖², and times come in units of log(1/r), r =
    2α²."""
    ds, model, alpha = (
        bf.data.sparse_regression(n=4, d=6, sparsity=2, key=seed),
        bf.DiagonalNetwork(2),
        1e-60,
    )
    flow = bf.gradient_flow(model, ds, SquareLoss(), model.init(alpha, dim=6))
    found = jumps_and_phases(flow, ds.X, ds.y, -np.log(2 * alpha**2) / 4)
    assert sum(p.name == "plateau" for p in found) >= 1 and found[-1].name == "final convergence"
    slow, fast = found[0].rate, found[-1].rate
    assert fast > slow and all(p.rate < 0.5 * found[1].rate for p in found if p.name == "plateau")


@pytest.mark.parametrize("seed", range(4))
def test_fixed_directions_at_tiny_scale_follow_the_path_of_jumps(seed):
    """α = 1e-30: R's ½Φ_r has mirror time 2t, r = α²/2."""
    rng = np.random.default_rng(seed)
    model, alpha = bf.FixedDirections(np.abs(rng.standard_normal((6, 5))), normalise=True), 1e-30
    ds = bf.Dataset(rng.uniform(0, 1, (3, 5)), rng.standard_normal(3))
    flow = bf.gradient_flow(model, ds, SquareLoss(), model.init(alpha))
    found = jumps_and_phases(flow, model.features(ds.X), ds.y, -np.log(alpha**2 / 2) / 2)
    assert found[-1].name == "final convergence"


def test_final_rate_is_the_asymptotic_one():
    """The loss finally decays as D does, at 2λ_min; its mean over the phase, which starts at half
    the rate, is near."""
    problem = bf.Problem(*_network(3))
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start, rtol=1e-10)
    final = phases(flow)[-1]
    assert final.name == "final convergence"
    assert final.rate == pytest.approx(
        bf.diagnostics.convergence_bounds(problem, flow).asymptotic_rate, rel=0.25
    )


def _network(seed):
    model, params = bf.models.random_network(10, 6, 1.0, key=seed)
    return model, bf.data.hypercube(3, 6, key=seed), SquareLoss(), params


def test_few_saved_times_do_not_coarsen_the_phases():
    """Where few were saved, the dense output is read."""
    model = bf.DiagonalNetwork(2)
    ds = bf.data.sparse_regression(n=4, d=6, sparsity=2, key=0)
    full = phases(bf.gradient_flow(model, ds, SquareLoss(), model.init(1e-20, dim=6), t1=30.0))
    few = phases(
        bf.gradient_flow(model, ds, SquareLoss(), model.init(1e-20, dim=6), times=[0.0, 30.0])
    )
    assert [p.name for p in few] == [p.name for p in full]
    np.testing.assert_allclose([p.end for p in few], [p.end for p in full], rtol=0.05)


def test_infeasible_flow_has_phases():
    flow = bf.mirror_flow(
        bf.potentials.Entropy(), [[1.0, 0.3], [0.2, 1.0]], [1.0, -1.0], [0.1, 0.5]
    )
    assert flow.result is Result.INFEASIBLE
    covers(phases(flow), np.array([0.0, flow.times[-1]]))
