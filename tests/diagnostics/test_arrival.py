"""Arrival times: against closed forms, monotone in the level, and never above their bounds."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import biasflow as bf
from biasflow import SquareLoss
from biasflow.diagnostics import time_to
from biasflow.errors import InputError


def single_mode(sigma=0.5, y=2.0, **options):
    """X = σ, Euclidean: the residual is −y·e^{−σ²t}."""
    return bf.mirror_flow(bf.potentials.Euclidean(), [[sigma]], [y], rtol=1e-10, **options)


def network(seed, alpha=1.0, loss="half"):
    model, params = bf.models.random_network(10, 6, alpha, key=seed)
    ds = bf.data.hypercube(3, 6, key=seed)
    return bf.gradient_flow(model, ds, SquareLoss(loss), params, rtol=1e-10)


@given(share=st.floats(1e-12, 0.9), sigma=st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=20, deadline=None)
def test_single_mode(share, sigma):
    """Loss ½y²e^{−2σ²t} and D = ½(β* − β)² = ½(y/σ)²e^{−2σ²t}."""
    flow, y = single_mode(sigma), 2.0
    exact = -np.log(share) / (2 * sigma**2)
    for arrival in (
        time_to(flow, loss=share * y**2 / 2),
        time_to(flow, divergence=share * (y / sigma) ** 2 / 2),
    ):
        # the error is an estimate
        assert arrival.time == pytest.approx(exact, abs=max(3 * arrival.error, 1e-8 * exact))
        assert arrival.time == pytest.approx(exact, rel=1e-6)
        assert 0 <= arrival.error < 1e-2 * exact and arrival.level > 0
        assert all(bound >= arrival.time * (1 - 1e-9) for bound in arrival.bounds.values())


def test_bounds_of_the_single_mode():
    """D₀/t and ‖ν*‖²/(2t²) for F, ‖ν*‖²/(2t) for D, with D₀ = ½(y/σ)² and ν* = y/σ²; no hypentropy,
    no more."""
    found = time_to(single_mode(), loss=0.02)
    assert found.bounds == pytest.approx(
        {"R/eq3, D₀/t": 8 / 0.02, "R/sharp, ‖ν*‖²/(2t²)": 8 / np.sqrt(0.04)}, rel=1e-9
    )
    assert time_to(single_mode(), divergence=0.1).bounds == pytest.approx(
        {"R/sharp, ‖ν*‖²/(2t)": 64 / 0.2}, rel=1e-9
    )
    assert "loss ≤ 0.02 at t = 9.2" in str(found) and "bound, R/eq3" in str(found)


@pytest.mark.parametrize("loss", ["half", "sum", "half-mean"])
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([1.0, 0.03]), share=st.floats(1e-10, 0.99))
@settings(max_examples=8, deadline=None)
def test_bounds_of_networks_hold(loss, seed, alpha, share):
    """All bounds, in the flow's own time and for the problem's own loss; divergence has R's lemmas
    besides."""
    flow = network(seed, alpha, loss)
    # else some labels cannot be fitted
    assume(np.linalg.matrix_rank(flow.problem.model.features(flow.problem.data.X)) == 3)
    by_loss = time_to(flow, loss=share * flow.loss[0])
    start = bf.limit(flow.problem.model, flow.problem.data, start=flow.problem.start).objective
    by_divergence = time_to(flow, divergence=share * start / (4 * flow.problem.loss.factor(3)))
    assert len(by_loss.bounds) == 2 and len(by_divergence.bounds) == 4
    for arrival in (by_loss, by_divergence):
        assert 0 < arrival.time < flow.times[-1]
        for name, bound in arrival.bounds.items():
            assert bound >= arrival.time * (1 - 1e-7) - arrival.error, name
    # the loss there is the level: measured again, by the model
    p = flow.problem
    assert p.loss(p.model(flow.at(by_loss.time), p.data.X), p.data.y) == pytest.approx(
        share * flow.loss[0], rel=1e-6
    )


def test_clock_of_the_loss():
    """c‖·‖² is 2c times as fast and its loss 2c times as large: bounds scale as times do."""
    half, total = network(1), network(1, loss="sum")
    one, two = time_to(half, loss=1e-3), time_to(total, loss=2e-3)
    assert two.time == pytest.approx(one.time / 2, rel=1e-6)
    assert {k: 2 * v for k, v in two.bounds.items()} == pytest.approx(dict(one.bounds), rel=1e-6)
    # D of ½Φ against D of ¼Φ
    one, two = time_to(half, divergence=1e-3), time_to(total, divergence=0.5e-3)
    assert two.time == pytest.approx(one.time / 2, rel=1e-6)
    assert {k: 2 * v for k, v in two.bounds.items()} == pytest.approx(dict(one.bounds), rel=1e-6)


@pytest.mark.parametrize("n", [1, 100])
def test_bounds_of_a_mirror_flow_under_another_loss(n):
    """Under 1/(2n)‖·‖² the flow is n times slower, and so must be the bounds; the level is of
    ½‖·‖²."""
    flow = bf.mirror_flow(
        bf.potentials.Euclidean(), np.eye(n), np.ones(n), loss=SquareLoss("half-mean"), rtol=1e-10
    )
    arrival = time_to(flow, loss=0.01 * n / 2)
    assert arrival.time == pytest.approx(n * np.log(10), rel=1e-5)
    assert all(bound >= arrival.time for bound in arrival.bounds.values())


def test_monotone_in_the_level():
    flow = network(2, 0.01)
    levels = np.geomspace(1e-12, 2 * flow.loss[0], 25)
    times = [time_to(flow, loss=level).time for level in levels]
    assert np.all(np.diff(times) <= 0) and times[-1] == 0 and times[0] > times[10] > 0


def test_reached_at_the_start():
    arrival = time_to(network(3), loss=1e6)
    assert arrival.time == 0 and arrival.error == 0
    arrival = time_to(network(3), divergence=1e6)
    assert arrival.time == 0 and set(arrival.bounds) == set(
        time_to(network(3), divergence=1e-3).bounds
    )
    assert list(arrival.bounds.values())[:3] == [0, 0, 0]


def test_nothing_to_do_from_zero_labels():
    """The start is the limit: every level is reached at once, and nothing is divided by D₀ = 0."""
    model, _ = bf.models.random_network(6, 4, 1.0)
    flow = bf.gradient_flow(
        model, bf.Dataset(bf.data.hypercube(3, 4).X, np.zeros(3)), SquareLoss(), model.init(1.0)
    )
    for arrival in (time_to(flow, loss=0.1), time_to(flow, divergence=0.1)):
        assert arrival.time == 0 and set(arrival.bounds.values()) == {0.0} and arrival.phases == ()


def test_not_reached():
    flow = single_mode(t1=1.0)
    arrival = time_to(flow, loss=1e-8)
    assert arrival.time == np.inf and arrival.result is bf.Result.REACHED_T1
    assert "was not reached; the flow reached the final time asked for" in str(arrival)
    assert all(np.isfinite(bound) for bound in arrival.bounds.values())


def test_not_reached_above_the_infimum():
    flow = bf.mirror_flow(bf.potentials.Euclidean(), [[1.0], [1.0]], [1.0, -1.0], [0.5])
    arrival = time_to(flow, loss=0.9)
    assert arrival.time == np.inf and arrival.bounds == {}
    assert time_to(flow, loss=1.1).time > 0


def test_unreachable_labels():
    """The limit lies on the wall, at zero, where the divergence is Σβ; the times have no bounds."""
    flow = bf.mirror_flow(bf.potentials.Entropy(), [[1.0, 0.5]], [-1.0], [0.5, 0.5])
    arrival = time_to(flow, loss=0.6)
    assert 0 < arrival.time < np.inf and arrival.bounds == {}
    away = time_to(flow, divergence=0.1)
    assert away.bounds == {} and np.sum(flow.at(away.time)) == pytest.approx(0.1)


def test_methods_agree():
    """The flow on weights, which knows no mirror, arrives at the same time."""
    flow = network(4)
    p = flow.problem
    weights = bf.gradient_flow(
        p.model, p.data, p.loss, p.start, t1=float(flow.times[-1]), rtol=1e-10, method="weights"
    )
    for level in ({"loss": 1e-4}, {"divergence": 1e-3}):
        one, two = time_to(flow, **level), time_to(weights, **level)
        assert one.time == pytest.approx(two.time, rel=1e-6) and one.bounds == pytest.approx(
            dict(two.bounds), rel=1e-5
        )


def test_depth_three_has_the_general_bounds_only():
    model = bf.DiagonalNetwork(3)
    flow = bf.gradient_flow(
        model, bf.data.sparse_regression(3, 6, 2), SquareLoss(), model.init(0.5, dim=6)
    )
    arrival = time_to(flow, divergence=1e-3)
    assert (
        list(arrival.bounds) == ["R/sharp, ‖ν*‖²/(2t)"]
        and arrival.bounds["R/sharp, ‖ν*‖²/(2t)"] >= arrival.time > 0
    )


def test_phases_come_along():
    arrival = time_to(network(5, 1e-4), loss=1e-3)
    assert [p.name for p in arrival.phases] == [
        p.name for p in bf.diagnostics.phases(network(5, 1e-4))
    ] and arrival.phases
    assert arrival.phases[-1].name == "final convergence" and "final convergence: t =" in str(
        arrival
    )


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: time_to("no", loss=1.0), "trajectory: expected Trajectory, found str"),
        (lambda: time_to(single_mode()), "time_to: give exactly one of loss and divergence"),
        (lambda: time_to(single_mode(), loss=1.0, divergence=1.0), "time_to: give exactly one"),
        (
            lambda: time_to(single_mode(), loss=0.0),
            "loss: expected a positive finite number, found 0",
        ),
        (
            lambda: time_to(single_mode(), loss=np.nan),
            "loss: expected a positive finite number, found nan",
        ),
        (
            lambda: time_to(single_mode(), divergence=-1.0),
            "divergence: expected a positive finite number, found -1",
        ),
        (
            lambda: time_to(single_mode(), divergence="x"),
            "divergence: expected a positive number, found 'x'",
        ),
        (
            lambda: time_to(bf.saddle_path(np.eye(2), [1.0, 2.0]), loss=0.1),
            "trajectory: no dense output here",
        ),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_the_time_a_deep_network_takes():
    """Weights in tuples of tuples."""
    rng = np.random.default_rng(0)
    model, ds = (
        bf.DeepNetwork((3, 4), bias=True, activation="linear"),
        bf.Dataset(rng.standard_normal((2, 3)), [1.0, -1.0]),
    )
    flow = bf.gradient_flow(model, ds, bf.SquareLoss("sum"), model.init(1.0))
    found = bf.diagnostics.time_to(flow, loss=1e-3)
    assert 0 < found.time < flow.times[-1] and found.error < 1e-4 * found.time
