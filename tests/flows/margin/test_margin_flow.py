"""The margin flow against a general integrator, against itself at finer tolerance, at huge norms,
and what it refuses."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.margin.implicit_step import squared_norm

DATA = bf.data.with_bias(bf.data.clusters(n=20, k=2, key=1))
SMOOTH, RELU = bf.SignedTwoLayer(20, 3), bf.TwoLayer(30, 3)
STARTS = {SMOOTH: SMOOTH.init(0.5, key=1), RELU: RELU.init(0.3, key=1)}
LOSSES = [
    (bf.SmoothMargin(), 6.0),
    (bf.SmoothMargin(bf.LogisticLoss()), 6.0),
    (bf.ExponentialLoss(), 50.0),
    (bf.LogisticLoss(), 50.0),
]


def distance(ours, theirs):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("loss, t1", LOSSES)
def test_it_agrees_with_a_general_integrator_as_well_as_it_says(loss, t1):
    start, saved = STARTS[SMOOTH], np.array([0.0, t1 / 4, t1 / 2, t1])
    reference = bf.gradient_flow(SMOOTH, DATA, loss, start, t1=t1, rtol=1e-10, method="weights")
    errors = []
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6):
        flow = bf.gradient_flow(SMOOTH, DATA, loss, start, times=saved, rtol=rtol)
        assert flow.stats["method"] == "margin" and flow.result is bf.Result.REACHED_T1
        assert np.array_equal(flow.times, saved) or np.allclose(flow.times, saved, rtol=1e-3 * rtol)
        gaps = [
            distance(bf.models.SignedTwoLayerParams(W), reference.at(t))
            for W, t in zip(flow.states.W, saved, strict=True)
        ]
        assert np.all(np.array(gaps) <= 2 * flow.error + 1e-7)  # the reference's own error
        assert flow.loss[-1] == pytest.approx(reference.loss[-1], rel=100 * rtol)
        errors.append(gaps[-1])
    assert np.all(np.diff(errors) < 0) and errors[-1] < errors[0] / 100  # rtol fell by 1000
    assert distance(flow.at(t1 / 3), reference.at(t1 / 3)) < 10 * errors[-1] + 1e-5


def test_it_is_of_third_order_on_smooth_networks():
    steps = [
        bf.gradient_flow(SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH], t1=6.0, rtol=r).stats[
            "steps"
        ]
        for r in (1e-4, 1e-7)
    ]
    assert 7 < steps[1] / steps[0] < 14  # 1000^(1/3) = 10


def test_relu_networks_converge_with_the_tolerance():
    """Kinks cost order, not convergence: errors fall about like rtol, in more steps than on smooth
    networks."""
    flows = [
        bf.gradient_flow(RELU, DATA, bf.SmoothMargin(), STARTS[RELU], t1=15.0, rtol=r)
        for r in (1e-3, 1e-4, 1e-5)
    ]
    errors = [distance(flow.final, flows[-1].final) for flow in flows[:-1]]
    assert errors[1] < errors[0] / 2
    assert all(error <= 3 * flow.error[-1] for error, flow in zip(errors, flows, strict=False))
    assert (
        abs(flows[1].stats["margin"][-1] - flows[-1].stats["margin"][-1])
        < 1e-3 * flows[-1].stats["margin"][-1]
    )


def test_relu_networks_agree_with_descent_in_tiny_steps():
    """Descent steps over kinks and chatters along them, an error of the order of its step: an
    independent witness."""
    flow = bf.gradient_flow(RELU, DATA, bf.SmoothMargin(), STARTS[RELU], t1=8.0, rtol=1e-5)
    down = bf.training.gradient_descent(RELU, DATA, bf.SmoothMargin(), STARTS[RELU], 2e-3, 4000)
    seen = bf.SmoothMargin().weights(RELU(flow.final, DATA.X), DATA.y)
    # the last step's, of first order in its length
    np.testing.assert_allclose(flow.stats["weights"][-1], seen, atol=0.02)
    # the step; weights are of order one
    assert distance(down.final, flow.final) < 2e-3 + flow.error[-1] < 5e-3


def test_relu_flow_conserves_the_balance_of_every_neuron():
    start = RELU.init(0.3, key=2, balanced=False)
    flow = bf.gradient_flow(RELU, DATA, bf.LogisticLoss(), start, t1=10.0, rtol=1e-5)
    balance = flow.states.a**2 - np.sum(flow.states.W**2, axis=2)
    drift = np.max(np.abs(balance - balance[0]), axis=1)
    size = np.max(np.abs(flow.states.W), axis=(1, 2))
    assert np.all(drift <= 8 * size * flow.error + 1e-12)


def test_both_clocks_tell_one_path():
    smooth = bf.gradient_flow(
        SMOOTH, DATA, bf.SmoothMargin(bf.LogisticLoss()), STARTS[SMOOTH], log_norm=5.0, rtol=1e-6
    )
    risk = bf.gradient_flow(
        SMOOTH, DATA, bf.LogisticLoss(), STARTS[SMOOTH], log_norm=5.0, rtol=1e-6
    )
    assert smooth.result is risk.result is bf.Result.REACHED_NORM
    assert distance(smooth.final, risk.final) <= 2 * smooth.error[-1]
    assert risk.stats["smooth_time"][-1] == pytest.approx(smooth.times[-1], rel=1e-4)
    # dτ/dt = 1/R, here between states where log R is linear
    slope = np.diff(risk.times) / np.diff(risk.stats["smooth_time"])
    np.testing.assert_allclose(
        slope, np.diff(1 / risk.loss) / -np.diff(np.log(risk.loss)), rtol=0.01
    )
    np.testing.assert_allclose(np.log(risk.times[1:]), risk.stats["log_time"][1:], rtol=1e-12)


@pytest.mark.parametrize("model", [SMOOTH, RELU])
def test_it_goes_on_where_the_norm_is_astronomic(model):
    flow = bf.gradient_flow(
        model, DATA, bf.SmoothMargin(), STARTS[model], log_norm=100.0, rtol=1e-3
    )
    L, margin = flow.stats["log_norm"], flow.stats["margin"]
    assert flow.result is bf.Result.REACHED_NORM and L[-1] == pytest.approx(100.0, abs=1e-9)
    assert flow.stats["steps"] < 2000
    late = L > 20
    assert np.all(margin[late] > 0) and np.all(np.diff(margin[late]) > -1e-3 * margin[-1])  # rtol
    np.testing.assert_allclose(flow.stats["weights"].sum(axis=1)[1:], 1.0, rtol=1e-6)
    final = type(flow.final)(*(leaf * np.exp(-50.0) for leaf in flow.final))
    assert squared_norm(final) == pytest.approx(1.0, rel=1e-9)
    # d log β/dt = 4·Σp·h̄, which tends to 4·margin
    rate = (L[-1] - L[-5]) / (flow.times[-1] - flow.times[-5])
    assert rate == pytest.approx(4 * margin[-1], rel=1e-2)


def test_the_margin_stays_below_the_max_margin():
    data = bf.data.clusters(n=20, k=2, key=1)
    flow = bf.gradient_flow(
        RELU, bf.data.with_bias(data), bf.SmoothMargin(), STARTS[RELU], log_norm=25.0, rtol=1e-3
    )
    gamma, polished = (
        bf.limits.f1_max_margin(data.X, data.y, gap=1e-6),
        bf.limits.polish(flow.final, data.X, data.y),
    )
    assert (
        flow.stats["margin"][-1]
        <= polished.objective * (1 + 1e-9)
        <= gamma.certificate.dual * (1 + 2e-9)
    )
    assert flow.stats["margin"][-1] > 0.8 * gamma.objective


def test_large_problems_take_few_steps():
    data = bf.data.with_bias(bf.data.clusters(n=60, k=3, key=0))
    model = bf.TwoLayer(200, 3)
    flow = bf.gradient_flow(
        model, data, bf.SmoothMargin(), model.init(200**-0.5, key=0), log_norm=30.0, rtol=1e-3
    )
    assert flow.result is bf.Result.REACHED_NORM and flow.stats["steps"] < 1500


@pytest.mark.parametrize("model", [SMOOTH, RELU])
def test_it_starts_from_any_scale(model):
    flow = bf.gradient_flow(
        model, DATA, bf.SmoothMargin(), model.init(1e-150, key=1), log_norm=5.0, rtol=1e-3
    )
    assert flow.result is bf.Result.REACHED_NORM and flow.stats["log_norm"][0] < -600
    assert np.all(np.diff(flow.loss) <= 1e-12)
    # the soft-min of zero margins
    np.testing.assert_allclose(flow.stats["weights"][1], 1 / DATA.n, rtol=1e-9)


def test_a_dead_network_stays():
    dead = bf.models.TwoLayerParams(np.ones(30), np.tile([0.0, 0.0, -1.0], (30, 1)))
    flow = bf.gradient_flow(RELU, DATA, bf.SmoothMargin(), dead, t1=1.0, times=[0.5, 1.0])
    assert flow.result is bf.Result.DEAD and np.array_equal(flow.final.W, dead.W)
    assert np.all(flow.stats["log_norm"] == np.log(60.0))


def test_labels_that_contradict_each_other_stop_the_growth():
    data = bf.Dataset(np.array([[1.0, 0.5], [1.0, 0.5]]), np.array([1.0, -1.0]))
    model = bf.TwoLayer(4, 2)
    flow = bf.gradient_flow(model, data, bf.SmoothMargin(), model.init(0.5, key=3), log_norm=10.0)
    assert flow.result is bf.Result.STATIONARY
    assert flow.stats["log_norm"][-1] < 5 and flow.stats["margin"][-1] <= 1e-6


def test_the_clock_of_the_risk_ends_and_says_so():
    with pytest.raises(
        bf.errors.ConvergenceError, match="time of the mean risk left float range"
    ) as raised:
        bf.gradient_flow(SMOOTH, DATA, bf.LogisticLoss(), STARTS[SMOOTH], log_norm=30.0, rtol=1e-2)
    flow = raised.value.partial
    assert (
        flow.result is bf.Result.CLOCK
        and np.all(np.isfinite(flow.times))
        and flow.times[-1] > 1e300
    )


DIAGONAL = bf.DiagonalNetwork(2)


def nan_start():
    return bf.models.SignedTwoLayerParams(np.full((20, 3), np.nan))


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        (
            (SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH]),
            {},
            "t1: SmoothMargin has no minimiser",
        ),
        (
            (SMOOTH, bf.Dataset(DATA.X, 0.5 * DATA.y), bf.SmoothMargin(), STARTS[SMOOTH]),
            {"t1": 1.0},
            r"data\.y: expected labels",
        ),
        ((SMOOTH, DATA, bf.SmoothMargin(), nan_start()), {"t1": 1.0}, "every entry must be finite"),
        (
            (SMOOTH, DATA, bf.SmoothMargin(), (np.zeros((20, 3)),)),
            {"t1": 1.0},
            "every weight is zero",
        ),
        (
            (SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH]),
            {"log_norm": -50.0},
            "needs more than the start's",
        ),
        ((SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH]), {"log_norm": 1e4}, "at most 1000"),
        ((SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH]), {"log_norm": np.nan}, "log_norm"),
        ((SMOOTH, DATA, bf.SmoothMargin(), STARTS[SMOOTH]), {"t1": 1.0, "rtol": -1.0}, "rtol"),
        (
            (SMOOTH, DATA, bf.SquareLoss(), STARTS[SMOOTH]),
            {"method": "margin"},
            "needs an exponential or logistic loss",
        ),
        (
            (SMOOTH, DATA, bf.SquareLoss(), STARTS[SMOOTH]),
            {"log_norm": 3.0},
            "log_norm: a cap for methods 'margin' and 'separable'",
        ),
        (
            (DIAGONAL, DATA, bf.SmoothMargin(), DIAGONAL.init(1.0, dim=3)),
            {"t1": 1.0, "method": "margin"},
            "TwoLayer and Signed",
        ),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(bf.errors.InputError, match=message):
        bf.gradient_flow(*arguments, **options)


def test_the_last_weights_are_those_of_a_whole_step():
    """The last step is fitted to the log-norm from both sides: a sliver left over would give the
    soft-min of rounded margins."""
    from biasflow.theory.margin.margin_examples import line_problem

    problem = line_problem(9)
    flow = bf.gradient_flow(
        problem.model, problem.data, problem.loss, problem.start, rtol=1e-3, log_norm=30.0
    )
    assert abs(flow.stats["log_norm"][-1] - 30.0) <= 1e-9
    assert flow.times[-1] - flow.times[-2] > 1e-3 * (flow.times[-2] - flow.times[-3])
    np.testing.assert_allclose(flow.stats["weights"][-1], flow.stats["weights"][-2], atol=1e-3)


def test_a_flow_gives_up_where_its_time_ends_and_says_so():
    """Inputs far from zero are nearly parallel, and every step is slow: it ends, with an error that
    tells how little is known."""
    rng = np.random.default_rng(1)
    data = bf.data.with_bias(
        bf.Dataset(rng.standard_normal((10, 2)) + 1000, rng.choice([-1.0, 1.0], 10))
    )
    model = bf.TwoLayer(30, 3)
    start = model.init(0.2, key=1)
    with pytest.raises(bf.errors.ConvergenceError, match="time limit"):
        bf.gradient_flow(model, data, bf.SmoothMargin(), start, log_norm=30.0, time_s=0.2)
    flow = bf.gradient_flow(
        model, data, bf.SmoothMargin(), start, log_norm=30.0, time_s=0.2, throw=False
    )
    assert flow.result is bf.Result.TIME_LIMIT and len(flow.times) >= 1
    assert np.isnan(flow.error[-1]) or flow.error[-1] >= 0


def test_rejected_steps_count_towards_the_limit(monkeypatch):
    from biasflow.flows.margin import margin_march as marching

    never = marching.step
    monkeypatch.setattr(marching, "step", lambda *args: never(*args)._replace(error=1.0))
    data = bf.data.with_bias(bf.data.clusters(n=8, k=2, key=0))
    model = bf.TwoLayer(6, 3)
    flow = bf.gradient_flow(
        model, data, bf.SmoothMargin(), model.init(0.3, key=0), log_norm=10.0, throw=False
    )
    assert flow.result is bf.Result.STEP_TOO_SMALL
    monkeypatch.setattr(marching, "MAX_STEPS", 5)
    flow = bf.gradient_flow(
        model, data, bf.SmoothMargin(), model.init(0.3, key=0), log_norm=10.0, throw=False
    )
    assert flow.result is bf.Result.STEP_LIMIT


def test_errors_of_products_know_both_layers():
    """Output weights of a thousand beside small inner ones: an error of w shows a thousandfold in
    a·w."""
    start = bf.models.TwoLayerParams(
        np.array([1000.0, -1000.0]), np.array([[1e-3, 0.0, 1e-3], [0.0, 1e-3, -1e-3]])
    )
    flow = bf.gradient_flow(bf.TwoLayer(2, 3), DATA, bf.SmoothMargin(), start, t1=1e-6)
    assert np.all(flow.predictor_error[1:] >= 1000 * flow.error[1:])


def test_a_norm_beyond_the_clock_of_the_risk_is_refused():
    """The clock of the mean risk leaves float range long before the norm does: said so, not marched
    on with a clock that is NaN."""
    data = bf.data.with_bias(bf.data.clusters(16, 2, 2, key=3))
    model = bf.TwoLayer(60, 3)
    with pytest.raises(bf.errors.ConvergenceError, match="left float range"):
        bf.gradient_flow(
            model, data, bf.ExponentialLoss(), model.init(0.1, key=1), rtol=1e-3, log_norm=30.0
        )
