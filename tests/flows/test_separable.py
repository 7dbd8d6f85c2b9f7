"""The flow of diagonal networks on separable data: against raw gradients, closed forms and linear
programs, on data of any units."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.errors import InputError, RefusedError
from biasflow.flows.separable import separable_flow
from biasflow.flows.separable.separable_march import SeparableMarch, risk_clock

TWO = bf.DiagonalNetwork(2)


def classes(key, n=5, d=8):
    rng = np.random.default_rng((301, key))
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)


def best(X, y):
    Z = y[:, None] * X
    found = bf.limits.l1_max_margin(np.hstack([Z, -Z]))
    return found.value[: X.shape[1]] - found.value[X.shape[1] :], found.objective


@pytest.mark.parametrize("loss", [bf.ExponentialLoss(), bf.LogisticLoss()])
@pytest.mark.parametrize("scale", [1e-2, 3.0])
def test_errors_cover_raw_gradients(loss, scale):
    X, y = classes(1)
    rng = np.random.default_rng(5)
    start = bf.models.DiagonalParams(*(scale * np.exp(rng.uniform(-1, 1, (2, 8)))))
    problem = bf.Problem(TWO, (X, y), loss, start)
    times = np.array([0.05, 1.0, 30.0, 1e3])
    flow = bf.gradient_flow(problem, times=times, method="separable")
    true = bf.gradient_flow(problem, times=times, method="weights", rtol=1e-11)
    for own, other in zip(flow.states, true.states, strict=True):
        assert np.all(np.max(np.abs(own - other), axis=1) <= flow.error + true.error)
    apart = np.max(np.abs(TWO.effective(flow.states) - TWO.effective(true.states)), axis=1)
    assert np.all(apart <= flow.predictor_error + true.predictor_error)
    assert np.all(flow.predictor_error <= 1e-3 * np.max(np.abs(TWO.effective(flow.states)), axis=1))


def test_negative_weights_keep_their_signs():
    X, y = classes(2)
    rng = np.random.default_rng(6)
    start = bf.models.DiagonalParams(-np.exp(rng.uniform(-1, 0, 8)), np.exp(rng.uniform(-1, 0, 8)))
    problem = bf.Problem(TWO, (X, y), bf.ExponentialLoss(), start)
    flow = bf.gradient_flow(problem, t1=5.0, method="separable")
    assert np.all(flow.final.plus < 0) and np.all(flow.final.minus > 0)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e8])
def test_one_sample_has_a_closed_form(scale):
    """s = σ: β_j = r·sinh(4z_jσ)."""
    z = np.array([1.0, -0.9, 0.3])
    problem = bf.Problem(TWO, (z[None], [1.0]), bf.ExponentialLoss(), scale=scale)
    path = bf.flows.direction_path(problem, log_norm=1e5)
    log_size = 4 * np.multiply.outer(path.sigma[1:], np.abs(z))
    true = np.exp(log_size - log_size[:, :1]) * -np.expm1(-2 * log_size)
    true = np.sign(z) * true / np.sum(true, axis=1, keepdims=True)
    off = np.sum(np.abs(path.directions[1:] - true), axis=1)
    assert np.all(off <= path.error[1:] + 1e-13) and path.log_norm[-1] == pytest.approx(1e5)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e8])
@pytest.mark.parametrize("units", ["plain", "columns"])
def test_ugly_data_reach_the_largest_margin(scale, units):
    X, y = classes(3, n=4, d=6)
    if units == "columns":
        X = X * 10.0 ** np.array([-6, 6, 0, 3, -3, 1.0])
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])  # duplicates
    a, gamma = best(X, y)
    path = bf.flows.direction_path(bf.Problem(TWO, (X, y), bf.ExponentialLoss(), scale=scale))
    assert path.best == gamma and path.log_norm[-1] == pytest.approx(1e5)
    # the bound of the module's head, its constant generous
    lacking = 1 - path.margin[-1] / gamma
    assert lacking <= 4 * np.log(2 * 6 * 1e12) / (1e5 - path.log_norm[0])
    if units == "plain":
        assert np.sum(np.abs(path.directions[-1] - a)) <= 1e-6


def test_many_samples_and_nearly_inseparable_ones():
    X, y = classes(4, n=60, d=3)
    problem = bf.Problem(TWO, (X, y), bf.LogisticLoss(), scale=0.1)
    path = bf.flows.direction_path(problem, log_norm=3e3)
    assert path.margin[-1] / path.best == pytest.approx(1, abs=1e-4)
    near = np.array([[1.0, 1e-5], [-1.0, 1e-5]])
    path = bf.flows.direction_path(
        bf.Problem(TWO, (near, np.ones(2)), bf.ExponentialLoss(), scale=0.1), log_norm=1e3
    )
    assert path.margin[-1] / path.best == pytest.approx(1, abs=1e-4)
    assert path.directions[-1] == pytest.approx([0, 1], abs=1e-6)


def test_inseparable_data_are_refused_but_followed_for_a_time():
    X, y = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    problem = bf.Problem(TWO, (X, y), bf.ExponentialLoss(), scale=0.5)
    for call in (
        lambda: bf.flows.direction_path(problem),
        lambda: bf.gradient_flow(problem, log_norm=10.0),
        lambda: bf.limit(problem),
    ):
        with pytest.raises(RefusedError, match="separates the classes"):
            call()
    X = np.vstack([X, [[1.0, -1.0]]])
    problem = bf.Problem(TWO, (X, np.append(y, 1.0)), bf.ExponentialLoss(), scale=0.5)
    flow = bf.gradient_flow(problem, t1=20.0, method="separable")
    true = bf.gradient_flow(problem, t1=20.0, method="weights", rtol=1e-11)
    gap = np.max(np.abs(TWO.effective(flow.final) - TWO.effective(true.final)))
    assert gap <= flow.predictor_error[-1] + true.predictor_error[-1]


def test_what_is_refused():
    X, y = classes(1)
    zero = bf.models.DiagonalParams(np.ones(8), np.zeros(8))
    with pytest.raises(RefusedError, match="zero at the start"):
        bf.flows.direction_path(bf.Problem(TWO, (X, y), bf.ExponentialLoss(), zero))
    problem = bf.Problem(TWO, (X, y), bf.ExponentialLoss(), scale=1.0)
    with pytest.raises(InputError, match="log_norm"):
        bf.flows.direction_path(problem, log_norm=1.0)
    deep = bf.Problem(bf.DiagonalNetwork(3), (X, y), bf.ExponentialLoss(), scale=1.0)
    with pytest.raises(RefusedError, match="depends on the start"):
        bf.limit(deep)
    with pytest.raises(RefusedError, match="depth 2, found DiagonalNetwork of depth 3"):
        bf.flows.direction_path(deep)


def test_limits_and_units():
    """Inputs times 1024 and weights over 32 are the same flow, to the last bit."""
    X, y = classes(5)
    found = bf.limit(bf.Problem(TWO, (X, y), bf.LogisticLoss(), scale=1.0))
    a, gamma = best(X, y)
    assert np.array_equal(found.value, a) and found.objective == gamma and "Pesme" in found.source
    one = bf.flows.direction_path(
        bf.Problem(TWO, (X, y), bf.ExponentialLoss(), scale=1.0), log_norm=50.0
    )
    cap = 50.0 - np.log(1024.0)
    other = bf.flows.direction_path(
        bf.Problem(TWO, (1024 * X, y), bf.ExponentialLoss(), scale=1 / 32), log_norm=cap
    )
    steps = min(len(one.sigma), len(other.sigma)) - 1
    assert np.array_equal(one.directions[:steps], other.directions[:steps])
    assert np.array_equal(one.margin[:steps] * 1024, other.margin[:steps])
    assert one.sigma[:steps] / 1024 == pytest.approx(other.sigma[:steps], rel=1e-14)


def test_paths_show_themselves():
    X, y = classes(5)
    path = bf.flows.direction_path(
        bf.Problem(TWO, (X, y), bf.ExponentialLoss(), scale=1.0), log_norm=50.0
    )
    assert repr(path).startswith("DirectionPath(log-norm") and "margin" in path._repr_html_()
    assert len(path.plot().axes) == 2


@pytest.mark.parametrize("loss", [bf.ExponentialLoss(), bf.LogisticLoss()])
def test_errors_cover_times_inside_steps(loss):
    """A step from the same place ends there: no interpolation that errors do not tell of."""
    X, y = classes(6)
    problem = bf.Problem(TWO, (X, y), loss, scale=0.1)
    flow = bf.gradient_flow(problem, t1=1e3, method="separable")
    inside = np.linspace(1, len(flow.times) - 2, 9).astype(int)
    times = 0.6 * flow.times[inside] + 0.4 * flow.times[inside + 1]
    true = bf.gradient_flow(problem, times=times, method="weights", rtol=1e-11)
    for k, t, plus, minus, off in zip(inside, times, *true.states, true.error, strict=True):
        found = flow.at(t)
        apart = max(np.max(np.abs(found.plus - plus)), np.max(np.abs(found.minus - minus)))
        assert apart <= max(flow.error[k : k + 2]) + off


def test_weights_stay_the_method_where_no_norm_is_asked_for():
    """Its tolerance is tighter, its samples unlimited, its starts may have zeros."""
    X, y = classes(6)
    problem = bf.Problem(TWO, (X, y), bf.LogisticLoss(), scale=0.3)
    assert bf.gradient_flow(problem, t1=1.0).stats["method"] == "weights"
    capped = bf.gradient_flow(problem, log_norm=3.0)
    assert capped.stats["method"] == "separable" and capped.log_norm[-1] == pytest.approx(3.0)
    two = bf.gradient_flow(problem, log_norm=3.0, starts=[problem.start, TWO.init(0.4, dim=8)])
    assert [flow.stats["method"] for flow in two] == ["separable"] * 2


def test_steps_shorter_than_a_rounding_of_the_clock_move_nothing():
    problem = bf.Problem(TWO, classes(1), bf.ExponentialLoss(), scale=1.0)
    frame = separable_flow._frame(problem)[0]
    march = SeparableMarch(frame, risk_clock, 1e-6, lambda: False)
    march.run(np.array([1.0]), np.inf)
    last = march.states[-1]
    march.states.append(last)  # the next one, so short that σ stays where it is
    beside = march.beside([])
    assert len(beside) == len(march.states) and beside[-1].s is beside[-2].s


def test_times_that_end_before_t1_are_saved_beside_it():
    problem = bf.Problem(TWO, classes(1), bf.ExponentialLoss(), scale=1.0)
    flow = bf.gradient_flow(problem, method="separable", times=[1.0, 2.0], t1=3.0)
    np.testing.assert_array_equal(flow.times, [1.0, 2.0, 3.0])
