"""The event-driven flow: invariants, accuracy, agreement with independent integrations, events."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import biasflow as bf

B = bf.SquareLoss("half-mean")
LEAKY = {"activation": "leaky_relu", "slope": 0.1}


def random_problem(key, n=4, d=3, m=6, scale=0.3, balanced=True, **kind):
    rng = np.random.default_rng(key)
    ds = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    model = bf.TwoLayer(m, d, **kind)
    return model, ds, model.init(scale, key=key, balanced=balanced)


def invariant(params):
    return params.a**2 - np.sum(params.W**2, axis=-1)


CASES = [
    (key, scale, balanced, kind)
    for key, (scale, balanced) in enumerate(
        [(3.0, True), (0.3, True), (1e-6, True), (1e-40, True), (1.0, False), (1e-5, False)]
    )
    for kind in ({}, LEAKY)
]


@pytest.mark.parametrize("key, scale, balanced, kind", CASES)
def test_what_is_conserved_and_what_decreases(key, scale, balanced, kind):
    """B/lem1, and L never increases; whatever the data, the scale, the start and the activation."""
    model, ds, start = random_problem(key, scale=scale, balanced=balanced, **kind)
    flow = bf.gradient_flow(model, ds, B, start, throw=False, t1=200.0)
    size = flow.states.a**2 + np.sum(flow.states.W**2, axis=2)
    assert np.max(np.abs(invariant(flow.states) - invariant(start)) / size) < 1e-12
    assert np.all(np.diff(flow.loss) <= 1e-12 * flow.loss[0])
    assert flow.result.success
    times = [event.time for event in flow.events]
    assert times == sorted(times)


@pytest.mark.parametrize("key, kind", [(0, {}), (1, {}), (2, {}), (1, LEAKY)])
def test_descent_converges_to_the_flow_at_first_order(key, kind):
    """Sliding included: five points on a line, where neurons stick to data points."""
    model, ds = bf.TwoLayer(10, 2, **kind), bf.data.five_points()
    start = model.init(0.3, key=key)
    flow = bf.gradient_flow(model, ds, B, start, t1=40.0)
    errors = []
    for stepsize in (1.6e-2, 1e-3, 6.25e-5):
        descent = bf.training.gradient_descent(
            model, ds, B, start, stepsize, round(40.0 / stepsize)
        )
        errors.append(np.max(np.abs(descent.final.W - flow.final.W)))
    assert errors[2] < 1e-4
    # descent meets its crossings a random share of a step late
    assert errors[1] < errors[0] / 4 and errors[2] < errors[0] / 60
    if not kind:
        assert any(event.kind == "slide in" for event in flow.events)


def piecewise_reference(model, ds, start, t1):
    """The same flow by SciPy: smooth pieces of the raw equation, SciPy's own event location. Only
    for flows without sliding."""
    m, d = start.W.shape
    y, gates, t = np.concatenate([start.a, start.W.ravel()]), start.W @ ds.X.T > 0, 0.0
    while t < t1:

        def field(t, v, gates=gates):
            a, W = v[:m], v[m:].reshape(m, d)
            slope = np.where(gates, 1.0, model.negative_slope)
            P = W @ ds.X.T
            r = (a @ (slope * P) - ds.y) / ds.n
            return -np.concatenate([(slope * P) @ r, ((a[:, None] * slope * r) @ ds.X).ravel()])

        def crossing(j, k, gates=gates):
            def value(t, v):
                return v[m + j * d : m + (j + 1) * d] @ ds.X[k] * (1 if gates[j, k] else -1) + 1e-13

            value.terminal, value.direction = True, -1
            return value

        events = [crossing(j, k) for j in range(m) for k in range(ds.n)]
        run = solve_ivp(field, (t, t1), y, method="DOP853", rtol=1e-11, atol=1e-13, events=events)
        t, y = run.t[-1], run.y[:, -1]
        if run.status == 1:
            hit = next(i for i, found in enumerate(run.t_events) if found.size)
            gates = gates.copy()
            gates[hit // ds.n, hit % ds.n] ^= True
    return bf.models.TwoLayerParams(y[:m], y[m:].reshape(m, d))


@pytest.mark.parametrize(
    "key, balanced, kind",
    [(8, True, {}), (10, True, {}), (3, False, {}), (7, True, LEAKY), (14, False, LEAKY)],
)
def test_the_flow_agrees_with_scipy_between_events(key, balanced, kind):
    model, ds, start = random_problem(key, n=3, d=3, m=3, scale=1.0, balanced=balanced, **kind)
    flow = bf.gradient_flow(model, ds, B, start, t1=6.0, rtol=1e-10)
    assert flow.events
    assert not any("slide" in event.kind for event in flow.events), (
        "the reference cannot slide: choose another key"
    )
    reference = piecewise_reference(model, ds, start, 6.0)
    np.testing.assert_allclose(flow.final.W, reference.W, atol=1e-8)
    np.testing.assert_allclose(flow.final.a, reference.a, atol=1e-8)


@pytest.mark.parametrize("kind", [{}, LEAKY])
def test_a_hundredfold_tolerance_gives_a_hundredfold_accuracy(kind):
    """rtol means what it says, from 1e-4 to 1e-10, on a flow with crossings and sliding."""
    model, ds = bf.TwoLayer(10, 2, **kind), bf.data.five_points()
    start = model.init(0.3, key=0)
    exact = bf.gradient_flow(model, ds, B, start, t1=40.0, rtol=1e-11).final
    errors = {}
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        flow = bf.gradient_flow(model, ds, B, start, t1=40.0, rtol=rtol)
        errors[rtol] = np.max(np.abs(flow.final.W - exact.W))
        assert errors[rtol] < 10 * rtol
        assert errors[rtol] <= 3 * flow.error[-1]
    assert errors[1e-6] < errors[1e-4] / 20 and errors[1e-8] < errors[1e-6] / 20


def test_every_gate_follows_from_the_events():
    """Replaying the events from the start gives the pattern of the end."""
    model, ds = bf.TwoLayer(12, 2), bf.data.five_points()
    start = model.init(0.05, key=2)
    flow = bf.gradient_flow(model, ds, B, start, t1=60.0)
    state = np.where(start.W @ ds.X.T > 0, "on", "off").astype(object)
    for event in sorted(flow.events):
        now = state[event.neuron, event.sample]
        if event.kind == "slide in":
            assert now in ("on", "off")
            state[event.neuron, event.sample] = "held"
        elif event.kind == "slide out":
            assert now == "held"
            state[event.neuron, event.sample] = "left"
        else:
            assert now != event.kind
            state[event.neuron, event.sample] = event.kind
    p = flow.final.W @ ds.X.T
    assert np.all(np.abs(p[state == "held"]) < 1e-12) and np.any(state == "held")
    assert np.all(p[state == "on"] > -1e-12) and np.all(p[state == "off"] < 1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1e-30])
def test_dense_output_saved_times_and_steps_agree(scale):
    model, ds = bf.TwoLayer(10, 2), bf.data.five_points()
    start = model.init(scale, key=1)
    flow = bf.gradient_flow(model, ds, B, start, t1=400.0)
    times = np.linspace(1.0, 399.0, 12)
    saved = bf.gradient_flow(model, ds, B, start, t1=400.0, times=times)
    np.testing.assert_array_equal(saved.times, times)
    for k, t in enumerate(times):
        size = np.max(np.abs(saved.states.W[k])) + 1e-300
        np.testing.assert_allclose(flow.at(t).W, saved.states.W[k], atol=2e-8 * size)
    assert (
        flow.times[0] == 0
        and np.all(flow.states.W[0] == start.W)
        and np.all(np.diff(flow.times) > 0)
    )
    np.testing.assert_array_equal(flow.at(0.0).W, start.W)
    with pytest.raises(bf.errors.InputError, match="outside"):
        flow.at(401.0)


def test_scales_are_alike_when_time_is_shifted():
    """Below rounding of h a smaller scale only delays: λ = 1e-30 and 1e-80 end at the same
    network."""
    model, ds = bf.TwoLayer(6, 3), bf.data.orthonormal(3, 3, key=1)
    ends = [bf.gradient_flow(model, ds, B, model.init(scale, key=5)) for scale in (1e-60, 1e-80)]
    assert all(flow.result is bf.Result.CONVERGED for flow in ends)
    assert all(flow.loss[-1] <= 1e-20 * flow.loss[0] for flow in ends)
    assert ends[1].times[-1] > 1.25 * ends[0].times[-1]
    np.testing.assert_allclose(ends[0].final.W, ends[1].final.W, atol=1e-3)


def test_parallel_inputs_switch_together():
    """Duplicates, multiples and antiparallel inputs: the flow is that of descent, and the gates of
    a line change at once."""
    x = np.array([[1.0], [2.0], [-1.5], [1.0]])
    ds, model = bf.Dataset(x, [1.0, 1.5, 0.5, 0.8]), bf.TwoLayer(4, 1)
    start = bf.models.TwoLayerParams(
        np.array([0.3, -0.2, 0.4, 0.1]), np.array([[0.1], [0.2], [-0.3], [-0.05]])
    )
    flow = bf.gradient_flow(model, ds, B, start, t1=30.0)
    descent = bf.training.gradient_descent(model, ds, B, start, 1e-4, 300_000)
    np.testing.assert_allclose(flow.final.W, descent.final.W, atol=2e-4)
    assert not flow.events or len({event.time for event in flow.events}) * 4 == len(flow.events)


def test_a_negative_preactivation_stays_negative_on_orthogonal_data():
    """B/lem6: no event switches a gate on."""
    ds, model = bf.data.orthonormal(5, 8, key=3), bf.TwoLayer(20, 8)
    flow = bf.gradient_flow(model, ds, B, model.init(1e-4, key=3))
    assert flow.events and {event.kind for event in flow.events} == {"off"}


def test_a_bias_is_a_column():
    ds = bf.data.with_bias(bf.Dataset([[-1.0], [0.5], [2.0]], [1.0, -1.0, 0.5]))
    model = bf.TwoLayer(20, 2)
    flow = bf.gradient_flow(model, ds, B, model.init(0.5, key=2))
    assert flow.result is bf.Result.CONVERGED
    np.testing.assert_allclose(model(flow.final, ds.X), ds.y, atol=1e-9)


def test_the_part_of_a_neuron_outside_the_span_of_the_inputs_never_moves():
    model, ds, start = random_problem(2, n=2, d=5, m=4, scale=0.5)
    flow = bf.gradient_flow(model, ds, B, start)
    null = np.linalg.svd(ds.X)[2][2:]
    np.testing.assert_allclose(flow.final.W @ null.T, start.W @ null.T, atol=1e-14)


@pytest.mark.parametrize("key", range(4))
def test_compiled_descent_is_descent(key):
    """The same numbers as the general loop, which SGD on whole batches runs."""
    model, ds, start = random_problem(key, **(LEAKY if key % 2 else {}))
    fast = bf.training.gradient_descent(model, ds, B, start, 0.05, 400)
    params = start
    for _ in range(400):
        gradient = model.gradient(params, ds.X, B.gradient(model(params, ds.X), ds.y))
        params = bf.models.TwoLayerParams(
            params.a - 0.05 * gradient.a, params.W - 0.05 * gradient.W
        )
    np.testing.assert_allclose(fast.final.W, params.W, atol=1e-12)
    np.testing.assert_allclose(fast.final.a, params.a, atol=1e-12)
    assert fast.times[-1] == pytest.approx(20.0)


def test_descent_that_diverges_or_converges_says_so():
    model, ds, start = random_problem(1, **LEAKY)
    assert (
        bf.training.gradient_descent(model, ds, B, start, 50.0, 1000).result is bf.Result.DIVERGED
    )
    easy = bf.Dataset(np.eye(3), [1.0, 2.0, 0.5])
    model = bf.TwoLayer(30, 3)
    assert (
        bf.training.gradient_descent(model, easy, B, model.init(1.0, key=2), 0.1, 100_000).result
        is bf.Result.CONVERGED
    )


def test_an_excursion_below_the_tolerance_does_not_stall_the_flow():
    """A gate found on its wrong side by less than the tolerance is left to its velocity, not
    decided for ever.

    At t = 217, near a saddle, a residual of 1e-9 changes sign and lets go a neuron that slid on its
    kink: which way is known at rtol = 3e-9, and not at 3e-8, from where the two ways differ by 1e-3
    in the end.
    """
    ds, model = bf.data.gaussian_teacher(n=20, d=80), bf.TwoLayer(50, 80)
    start = model.init(1e-10 / np.sqrt(50 * 80))
    flow, fine = (bf.gradient_flow(model, ds, B, start, rtol=rtol) for rtol in (1e-6, 1e-9))
    assert flow.result is bf.Result.CONVERGED and flow.stats["steps"] < 5000
    assert flow.error[flow.times < 200][-1] < 1e-6 and fine.error[-1] < 1e-9
    assert (
        np.max(np.abs(flow.final.W - fine.at(min(flow.times[-1], fine.times[-1])).W))
        < flow.error[-1]
        < 1e-2
    )


def test_events_do_not_cut_the_steps_and_cost_no_accuracy():
    """Hundreds of gate changes in fewer steps; the error is within the tolerance, and the estimate
    says so."""
    ds, model = bf.data.gaussian_teacher(n=20, d=40), bf.TwoLayer(50, 40)
    start, times = model.init(1e-3 / np.sqrt(50 * 40)), np.linspace(10.0, 200.0, 20)
    exact = bf.gradient_flow(model, ds, B, start, times=times, rtol=1e-10)
    for rtol in (1e-4, 1e-6, 1e-8):
        flow = bf.gradient_flow(model, ds, B, start, times=times, rtol=rtol)
        error = max(
            np.max(np.abs(flow.states.W - exact.states.W)),
            np.max(np.abs(flow.states.a - exact.states.a)),
        )
        assert error < 10 * rtol and error <= 3 * np.max(flow.error)
    coarse = bf.gradient_flow(model, ds, B, start, times=times, rtol=1e-4)
    assert len(coarse.events) > 500 and coarse.stats["steps"] < len(coarse.events) / 3


@pytest.mark.parametrize("key", range(4))
def test_errors_are_told_where_two_tolerances_would_take_the_same_steps(key):
    """Early, while steps grow as fast as they may, and late, at the limit of stability; and where a
    neuron has just died."""
    rng = np.random.default_rng([key, 77])
    ds, model = bf.Dataset(rng.standard_normal((3, 3)), rng.standard_normal(3)), bf.TwoLayer(4, 3)
    start, times = (
        model.init(0.3, key=key, balanced=False),
        np.array([0.02, 0.05, 0.1, 0.4, 1.0, 20.0]),
    )
    exact = bf.gradient_flow(model, ds, B, start, times=times, rtol=1e-12)
    flow = bf.gradient_flow(model, ds, B, start, times=times, rtol=1e-4)
    off = np.maximum(
        np.max(np.abs(flow.states.a - exact.states.a), axis=1),
        np.max(np.abs(flow.states.W - exact.states.W), axis=(1, 2)),
    )
    assert np.all(off < flow.error + exact.error)
    assert np.sum(flow.error < 10 * off) >= 3
