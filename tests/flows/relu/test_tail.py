"""Flows whose steps stability binds: implicit ones between changes of gates, which are those of the
explicit march."""

import time

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.relu import implicit_tail as tail
from biasflow.flows.relu.frozen_field import FrozenField
from biasflow.flows.relu.geometry import network


def noise_problem(seed, n=20, m=30):
    rng = np.random.default_rng(seed)
    data, model = bf.Dataset(rng.normal(size=(n, 2)), rng.normal(size=n)), bf.TwoLayer(m, 2)
    return bf.Problem(model, data, bf.SquareLoss("half-mean"), model.init(0.1, key=seed))


def flow_of(problem, **options):
    return bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start, **options)


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_noise_in_the_plane_ends_at_a_stationary_point(seed):
    """Explicit steps reached their limit of 400 000 after 45 s, at t = 15 000 for the first of
    these."""
    flow = flow_of(noise_problem(seed))
    assert flow.result is bf.Result.STATIONARY and flow.stats["implicit_steps"] > 0
    assert flow.stats["steps"] + flow.stats["rejected"] < 50_000
    assert np.all(np.diff(flow.loss) <= 1e-12 * flow.loss[0]) and np.max(flow.error) < 1e-4


def test_implicit_steps_go_where_explicit_ones_go(monkeypatch):
    """Gates that change in between included: implicit steps are handed back at every one."""
    problem, times = noise_problem(5, n=8, m=10), np.geomspace(5.0, 2000.0, 25)
    explicit = flow_of(problem, times=times)
    monkeypatch.setattr(tail, "PATIENT", 300)
    implicit = flow_of(problem, times=times)
    assert implicit.stats["implicit_steps"] > 0 == explicit.stats["implicit_steps"]
    assert implicit.stats["steps"] < explicit.stats["steps"]
    apart = np.max(np.abs(implicit.states.a - explicit.states.a), axis=1)
    assert np.all(apart <= implicit.error + explicit.error)
    inside = [flow.at(777.0).a for flow in (implicit, explicit)]
    assert np.max(np.abs(inside[0] - inside[1])) <= 2 * np.max(implicit.error + explicit.error)


def test_the_frozen_field_is_the_gradient_and_its_derivative_that_of_it():
    problem = noise_problem(1, n=6, m=5)
    net = network(problem)
    field, Y = FrozenField(net.gates, net.geometry, net.start.shape), net.start.ravel()
    slope = problem.model.gradient(
        problem.start,
        problem.data.X,
        problem.loss.gradient(problem.model(problem.start, problem.data.X), problem.data.y),
    )
    h = 1e-6
    ahead, behind = (
        net.params((Y + sign * h * field(0.0, Y)).reshape(net.start.shape)) for sign in (1, -1)
    )
    np.testing.assert_allclose((ahead.a - behind.a) / (2 * h), -slope.a, atol=1e-8)
    np.testing.assert_allclose((ahead.W - behind.W) / (2 * h), -slope.W, atol=1e-8)
    along = np.random.default_rng(0).normal(size=Y.size)
    difference = (field(0.0, Y + h * along) - field(0.0, Y - h * along)) / (2 * h)
    np.testing.assert_allclose(field.jacobian(0.0, Y) @ along, difference, atol=1e-8)
    assert field.stands(Y)


def test_a_time_limit_ends_an_implicit_stretch_too(monkeypatch):
    monkeypatch.setattr(tail, "PATIENT", 300)
    flow_of(noise_problem(3), t1=1.0)  # compiles, which does not count
    begun = time.monotonic()
    flow = flow_of(noise_problem(4), time_s=0.5, throw=False)
    assert time.monotonic() - begun < 0.5 + 2.0
    assert not flow.result.success and np.all(np.isfinite(flow.loss))
