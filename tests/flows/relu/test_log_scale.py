"""Starts below float range: log_scale in place of a scale."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.errors import InputError, RefusedError, ScaleError
from biasflow.theory.handed_in_flows import same_problem
from biasflow.theory.relu.relu_examples import orthonormal_problem
from biasflow.theory.relu.relu_setting import Setting
from biasflow.theory.witness import witness_flow

LOG_TINY = -11000 * np.log(10)


def at_scale(problem, log_scale):
    return dataclasses.replace(problem, log_scale=log_scale)


def unfolded(problem, log_scale):
    """The start in logarithms although floats hold it, so that both ways can be compared."""
    object.__setattr__(problem, "log_scale", log_scale)
    return problem


def flow_of(problem, **options):
    return bf.gradient_flow(
        problem.model,
        problem.data,
        problem.loss,
        problem.start,
        log_scale=problem.log_scale,
        **options,
    )


def test_a_start_that_floats_hold_is_written_in_floats():
    unit = orthonormal_problem(0, scale=1.0)
    problem = at_scale(unit, np.log(1e-290))
    assert problem.log_scale == 0.0 and problem.in_floats
    np.testing.assert_allclose(problem.start.W, 1e-290 * unit.start.W, rtol=1e-13)
    assert not at_scale(unit, LOG_TINY).in_floats


@pytest.mark.parametrize("key", [0, 1, 3])
def test_logarithms_and_floats_agree_where_both_exist(key):
    problem = orthonormal_problem(key, scale=1e-290)
    times = np.linspace(0, 4000, 41)
    request = bf.flows.FlowRequest.read(None, 1e-8, times)
    floats, logs = (
        bf.flows.Events().integrate(each, request)
        for each in (problem, unfolded(orthonormal_problem(key, scale=1.0), np.log(1e-290)))
    )
    np.testing.assert_allclose(logs.states.W, floats.states.W, atol=1e-9)
    np.testing.assert_allclose(logs.stats["log_norms"], floats.stats["log_norms"], atol=1e-9)
    witness = witness_flow(
        unfolded(orthonormal_problem(key, scale=1.0), np.log(1e-290)), times=times, time_s=60
    )
    np.testing.assert_allclose(witness.states.W, floats.states.W, atol=1e-8)


@pytest.mark.parametrize("key", [0, 1, 2, 3])
def test_growth_is_where_the_early_phase_says_at_1e_minus_11000(key):
    problem = at_scale(orthonormal_problem(key, scale=1.0), LOG_TINY)
    s = Setting(problem)
    limit = bf.flows.saddle_limit(problem.data, problem.start)
    flow = flow_of(problem)
    assert flow.result.success and flow.loss[-1] <= 1e-19 * flow.loss[0]
    np.testing.assert_allclose(flow.final.W, limit.value.W, atol=1e-8)
    for cluster in s.clusters:
        offset = limit.stats["offset"][0 if cluster.sign > 0 else 1]
        middle = -LOG_TINY / cluster.rate + offset
        assert float(cluster.size(flow.at(middle))) == pytest.approx(
            s.n * cluster.rate / 2, rel=1e-7
        )


def test_states_are_zero_below_floats_and_polar_is_not():
    problem = at_scale(orthonormal_problem(0, scale=1.0), -5000.0)
    flow = flow_of(problem)
    t = flow.times[-1] / 4
    assert not np.any(flow.at(t).W)
    units, log_norms = flow.polar(t)
    np.testing.assert_allclose(units.a**2 + np.sum(units.W**2, axis=1), 1.0, rtol=1e-12)
    witness = witness_flow(problem, t1=float(t), time_s=60)
    other, logs = witness.polar(t)
    np.testing.assert_allclose(log_norms, logs, atol=1e-8)
    np.testing.assert_allclose(units.W, other.W, atol=1e-8)
    assert flow.stats["log_norms"].shape == (len(flow.times), problem.model.width)
    assert np.all(flow.stats["log_norms"][0] < -4990)


def test_a_scale_for_each_neuron():
    unit = orthonormal_problem(0, scale=1.0)
    scales = np.linspace(-3000, -2000, unit.model.width)
    flow = flow_of(at_scale(unit, scales))
    witness = witness_flow(at_scale(unit, scales), time_s=60)
    np.testing.assert_allclose(flow.final.W, witness.final.W, atol=1e-8)
    np.testing.assert_allclose(
        flow.stats["log_norms"][0], np.log(np.sqrt(2) * np.abs(unit.start.a)) + scales, atol=1e-9
    )


def test_early_alignment_only_shifts():
    p = orthonormal_problem(3, scale=1.0)
    one, other = (
        bf.flows.early_alignment(p.data, p.start, log_scale=shift) for shift in (0.0, -40000.0)
    )
    np.testing.assert_allclose(other.log_amplitudes + 40000.0, one.log_amplitudes, atol=1e-9)
    np.testing.assert_allclose(other.directions, one.directions, atol=1e-12)
    np.testing.assert_allclose(other.polar(30.0)[1] + 40000.0, one.polar(30.0)[1], atol=1e-9)


def test_unbalanced_and_general_data():
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.standard_normal((5, 3)), rng.standard_normal(5))
    model = bf.TwoLayer(10, 3)
    problem = bf.Problem(
        model, data, bf.SquareLoss("half-mean"), model.init(1.0, key=1, balanced=False), -1500.0
    )
    flow, witness = flow_of(problem, t1=9000.0), witness_flow(problem, t1=9000.0, time_s=60)
    if not isinstance(witness, str):
        np.testing.assert_allclose(flow.final.W, witness.final.W, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf, "small", None])
def test_no_number(bad):
    with pytest.raises(InputError, match="log_scale"):
        at_scale(orthonormal_problem(0, scale=1.0), bad)


def test_bad_scales():
    unit = orthonormal_problem(0, scale=1.0)
    with pytest.raises(ScaleError, match="above float range"):
        at_scale(unit, 800.0)
    with pytest.raises(ScaleError, match="one for each neuron"):
        at_scale(unit, [-2000.0, -3000.0])
    with pytest.raises(ScaleError, match="log_scale=log λ"):
        unit.model.init(1e-320)
    with pytest.raises(ScaleError, match="larger"):
        flow_of(at_scale(unit, -1e9))
    with pytest.raises(ScaleError, match="expected a number"):
        bf.Problem(
            bf.DiagonalNetwork(2),
            bf.Dataset(np.eye(2), np.ones(2)),
            bf.SquareLoss(),
            bf.DiagonalNetwork(2).init(1.0, dim=2),
            [1.0, 2.0],
        )


def test_other_models_take_what_floats_hold():
    model, data = bf.DiagonalNetwork(2), bf.Dataset(np.eye(2), np.ones(2))
    start = model.init(1.0, dim=2)
    problem = bf.Problem(model, data, bf.SquareLoss(), start, np.log(1e-3))
    np.testing.assert_allclose(problem.start[0], 1e-3 * start[0], rtol=1e-14)
    with pytest.raises(RefusedError, match="starts in floats"):
        bf.Problem(model, data, bf.SquareLoss(), start, -5000.0)


def test_methods_that_start_in_floats_say_so():
    p = at_scale(orthonormal_problem(0, scale=1.0), -5000.0)
    y = np.sign(p.data.y)
    with pytest.raises(RefusedError, match="below float range"):
        bf.gradient_flow(
            p.model,
            bf.Dataset(p.data.X, y),
            bf.LogisticLoss(),
            p.start,
            t1=1.0,
            log_scale=-5000.0,
        )


def test_problems_differ_in_their_scale():
    p = orthonormal_problem(0, scale=1.0)
    assert not same_problem(at_scale(p, -2000.0), at_scale(p, -2001.0))
    assert same_problem(at_scale(p, -2000.0), at_scale(p, -2000.0))
