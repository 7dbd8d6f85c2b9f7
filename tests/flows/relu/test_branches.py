"""Where Filippov's solution is not unique: the flow says so, and takes the way that is asked
for."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import biasflow as bf

B = bf.SquareLoss("half-mean")
TIMES = np.array([0.1, 0.5, 1.0, 3.0])


def fitted(t, speed):
    """p of ȧ = speed(1 − ap)p, ṗ = speed(1 − ap)a from a = 1, p = 0: sinh s, e^{2s} = 2 +
    √5·tanh(√5·speed·t/2 − atanh 1/√5)."""
    root = np.sqrt(5.0)
    return np.sinh(0.5 * np.log(2 + root * np.tanh(0.5 * root * speed * t - np.arctanh(1 / root))))


def test_a_neuron_between_two_opposite_inputs_goes_either_way():
    """f(±1) = 1 from a = 1, w = 0: to the left, which closes the gate of the first input, or to the
    right."""
    ds, model, start = (
        bf.Dataset([[1.0], [-1.0]], [1.0, 1.0]),
        bf.TwoLayer(1, 1),
        bf.models.TwoLayerParams(np.ones(1), np.zeros((1, 1))),
    )
    for branch, side in ((0, -1.0), (1, 1.0), ([1], 1.0)):
        flow = bf.gradient_flow(model, ds, B, start, times=TIMES, branch=branch)
        assert not flow.unique
        assert flow.stats["branches"] == (bf.flows.Branch(0.0, 0, (0, 1), 2, int(side > 0), True),)
        np.testing.assert_allclose(flow.states.W[:, 0, 0], side * fitted(TIMES, 0.5), atol=1e-8)
        assert np.all(np.abs(flow.states.W[:, 0, 0] - side * fitted(TIMES, 0.5)) <= flow.error)


def test_a_neuron_on_the_edge_of_death_dies_or_lives():
    """w ⟂ x: nothing moves while the gate is closed, and everything once it is open."""
    ds, model = bf.Dataset([[1.0, 0.0]], [1.0]), bf.TwoLayer(1, 2)
    start = bf.models.TwoLayerParams(np.ones(1), np.array([[0.0, 0.3]]))
    dead, alive = (bf.gradient_flow(model, ds, B, start, times=TIMES, branch=way) for way in (0, 1))
    assert not dead.unique and not alive.unique and dead.stats["branches"][0].samples == (0,)
    np.testing.assert_array_equal(dead.states.W[-1], start.W)
    np.testing.assert_allclose(alive.states.W[:, 0, 0], fitted(TIMES, 1.0), atol=1e-8)
    np.testing.assert_allclose(alive.states.W[:, 0, 1], 0.3)


TURNING = bf.Dataset([[1.0, 0.0], [-0.6, 0.8]], [-2.0, -1.0])
"""A neuron on the kink of the first input, a > 0, slides; the second pulls a through zero, from
where the kink pushes away."""
START = bf.models.TwoLayerParams(np.array([0.3]), np.array([[0.0, 1.0]]))


def frozen(t, v, first):
    a, w = v[0], v[1:]
    gates = np.array([first, 1.0])
    r = gates * (a * (gates * (TURNING.X @ w)) - TURNING.y) / 2
    pull = -r @ TURNING.X
    return np.append(pull @ w, a * pull)


@pytest.mark.parametrize("branch", [0, 1])
def test_a_sliding_neuron_whose_output_turns_leaves_either_way(branch):
    """The slide: a = √K·sinh s, w₂ = √K·cosh s with K = 0.91, ṡ = −0.4(1 + 0.4K·sinh 2s); from then
    on gates are frozen."""
    K = 0.91
    turn = quad(
        lambda s: 1 / (0.4 * (1 + 0.4 * K * np.sinh(2 * s))),
        0.0,
        np.arcsinh(0.3 / np.sqrt(K)),
        epsabs=1e-14,
    )[0]
    times = turn + np.array([-0.1, 0.0, 0.2, 1.0])
    flow = bf.gradient_flow(
        bf.TwoLayer(1, 2), TURNING, B, START, times=times, rtol=1e-9, branch=branch
    )
    (met,) = flow.stats["branches"]
    assert met.time == pytest.approx(turn, abs=1e-7)
    assert met[1:] == (0, (0,), 2, branch, True)
    after = solve_ivp(
        frozen,
        (0, 1),
        [0.0, 0.0, np.sqrt(K)],
        "DOP853",
        [0.2, 1.0],
        args=(float(branch),),
        rtol=1e-12,
        atol=1e-14,
    )
    found = np.column_stack([flow.states.a[2:], flow.states.W[2:, 0]])
    assert np.sign(found[0, 1]) == (1 if branch else -1)
    off = np.max(np.abs(found - after.y.T), axis=1)
    assert np.all(off < 1e-7) and np.all(off <= 2 * flow.error[2:])


def test_a_neuron_that_passes_zero_on_its_slide_goes_on_in_one_way():
    """Unbalanced, in the plane, w comes to zero, where every kink is; no gates hold it there, and
    one ray leads on."""
    rng = np.random.default_rng([5048, 5])
    m, d, n = (int(rng.integers(*ends)) for ends in ((2, 9), (2, 5), (1, 6)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    start = bf.TwoLayer(m, d).init(
        float(10.0 ** rng.uniform(-3, 0)), key=5048, balanced=bool(rng.random() < 0.7)
    )
    flow = bf.gradient_flow(bf.TwoLayer(m, d), bf.Dataset(X, y), B, start, t1=5.0)
    assert {(e.sample, e.kind) for e in flow.events if 3.423 < e.time < 3.424} == {
        (0, "on"),
        (3, "off"),
        (2, "off"),
    }
    assert flow.unique


def drawn(key):
    """In problem 26 neuron 1 passes w = 0 at t = 23.83 on a slide, from where three ways lead
    on."""
    rng = np.random.default_rng(key)
    n, d, m = (int(rng.integers(*ends)) for ends in ((2, 7), (1, 4), (2, 9)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    start = bf.TwoLayer(m, d).init(float(10.0 ** rng.uniform(-3, 0)), key=key)
    start = start._replace(a=start.a * rng.uniform(0.2, 3, m))
    return bf.Problem(bf.TwoLayer(m, d), bf.Dataset(X, y), bf.SquareLoss("half"), start)


def test_rounding_does_not_choose_among_the_ways_from_zero():
    """At every tolerance the flow takes the same way, tells of the others, and is where it says."""
    problem = drawn(26)
    best = bf.gradient_flow(problem, t1=30.0, rtol=1e-10)
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9):
        flow = bf.gradient_flow(problem, t1=30.0, rtol=rtol)
        assert [b[1:] for b in flow.stats["branches"]] == [(1, (0, 1, 5), 3, 0, True)]
        assert [e[1:] for e in flow.events] == [e[1:] for e in best.events]
        off = max(np.max(np.abs(a - b)) for a, b in zip(flow.final, best.final, strict=True))
        assert off <= flow.error[-1] + best.error[-1] < 10 * rtol


def test_the_error_knows_when_zero_is_passed():
    """The time of the moment has an error of its own, which the weights after it have, too."""
    rng = np.random.default_rng([3, 99])
    n, d, m = (int(rng.integers(*ends)) for ends in ((3, 8), (2, 4), (2, 7)))
    ds = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    start = bf.TwoLayer(m, d).init(float(10.0 ** rng.uniform(-2, 0)), key=3)
    problem = bf.Problem(
        bf.TwoLayer(m, d),
        ds,
        bf.SquareLoss("half"),
        start._replace(a=start.a * rng.uniform(1, 4, m)),
    )
    flow, best = (bf.gradient_flow(problem, t1=60.0, rtol=rtol) for rtol in (1e-7, 1e-9))
    assert flow.stats["branches"] and not best.unique
    off = max(np.max(np.abs(a - b)) for a, b in zip(flow.final, best.final, strict=True))
    assert off <= flow.error[-1] + best.error[-1] < 1e-6


def test_every_way_from_zero_is_taken_as_far_as_it_is_asked_for():
    """The neuron leaves zero along a ray, another one each way."""
    problem, rays = drawn(26), []
    for way in range(3):
        flow = bf.gradient_flow(problem, t1=24.0, branch=way)
        assert flow.stats["branches"][0].taken == way and flow.error[-1] < 1e-8
        w, before = flow.final.W[1], flow.at(23.9).W[1]
        np.testing.assert_allclose(w / np.linalg.norm(w), before / np.linalg.norm(before), atol=0.1)
        rays.append(w / np.linalg.norm(w))
    assert min(np.linalg.norm(rays[i] - rays[i - 1]) for i in range(3)) > 0.1


@pytest.mark.parametrize("cut", [3.0, 23.82997, 23.83])
def test_a_cut_does_not_change_the_way_from_zero(cut):
    problem = drawn(26)
    whole = bf.gradient_flow(problem, t1=30.0)
    flow = bf.gradient_flow(problem, t1=cut).resume(time_s=20, t1=30.0)
    assert [b[1:] for b in flow.stats["branches"]] == [b[1:] for b in whole.stats["branches"]]
    assert not flow.unique and [e[1:] for e in flow.events] == [e[1:] for e in whole.events]
    off = max(np.max(np.abs(a - b)) for a, b in zip(flow.final, whole.final, strict=True))
    assert off <= flow.error[-1] + whole.error[-1] < 1e-8


def test_forces_below_rounding_end_no_slide_after_a_cut():
    """They are held against those of the start, whenever the flow goes on."""
    problem = drawn(16)
    whole = bf.gradient_flow(problem, t1=577.0)
    flow = bf.gradient_flow(problem, t1=32.87).resume(time_s=20, t1=577.0)
    assert [e[1:] for e in flow.events] == [e[1:] for e in whole.events]
    assert flow.events[-1].time < 2.0


@pytest.mark.parametrize("key", range(6))
def test_ordinary_flows_are_unique(key):
    rng = np.random.default_rng([key, 78])
    ds, model = bf.Dataset(rng.standard_normal((4, 3)), rng.standard_normal(4)), bf.TwoLayer(5, 3)
    flow = bf.gradient_flow(model, ds, B, model.init(0.3, key=key, balanced=key % 2 == 0), t1=10.0)
    assert flow.unique and flow.stats["branches"] == ()


def test_a_neuron_that_starts_at_zero_has_a_way_into_every_cone():
    """f(x) = 1 at two orthogonal inputs from a = 1, w = 0: towards one of them, both or none."""
    ds, model, start = (
        bf.Dataset(np.eye(2), [1.0, 1.0]),
        bf.TwoLayer(1, 2),
        bf.models.TwoLayerParams(np.ones(1), np.zeros((1, 2))),
    )
    flows = [bf.gradient_flow(model, ds, B, start, times=TIMES, branch=[way]) for way in range(4)]
    assert all(flow.stats["branches"][0].ways == 4 for flow in flows)
    towards = [tuple(flow.states.W[-1, 0] > 0.1) for flow in flows]
    assert towards[0] == (False, False) and set(towards) == {
        (a, b) for a in (False, True) for b in (False, True)
    }
    for flow, (first, second) in zip(flows, towards, strict=True):
        if first != second:
            np.testing.assert_allclose(
                flow.states.W[:, 0, int(second)], fitted(TIMES, 0.5), atol=1e-8
            )


def test_times_of_branches_are_in_the_units_given():
    ds = bf.Dataset(TURNING.X, 2.0**20 * TURNING.y)
    start = bf.models.TwoLayerParams(2.0**10 * START.a, 2.0**10 * START.W)
    plain, large = (
        bf.gradient_flow(bf.TwoLayer(1, 2), TURNING, B, START, t1=2.0),
        bf.gradient_flow(bf.TwoLayer(1, 2), ds, B, start, t1=2.0**-19),
    )
    assert large.stats["branches"][0].time == pytest.approx(
        2.0**-20 * plain.stats["branches"][0].time, rel=1e-6
    )


def test_ways_that_are_not_there_are_named():
    with pytest.raises(bf.errors.InputError, match="branch"):
        bf.gradient_flow(bf.TwoLayer(1, 2), TURNING, B, START, t1=0.1, branch=1)
    with pytest.raises(bf.errors.InputError, match="branch"):
        bf.gradient_flow(bf.TwoLayer(1, 2), TURNING, B, START, t1=0.1, branch=-1)
    with pytest.raises(bf.errors.RefusedError, match="branch"):
        bf.gradient_flow(
            bf.DiagonalNetwork(2),
            TURNING,
            bf.SquareLoss(),
            bf.DiagonalNetwork(2).init(0.1, dim=2),
            branch=1,
        )
