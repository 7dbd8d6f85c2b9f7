"""The flow against flows that are known in closed form."""

import numpy as np
import pytest

import biasflow as bf

B = bf.SquareLoss("half-mean")


def one_neuron(w, lam, sign=1.0):
    w = lam * np.asarray(w, dtype=float)
    return bf.models.TwoLayerParams(np.array([sign * np.linalg.norm(w)]), w[None])


SLIDING = bf.Dataset([[1.0, 0.0], [0.6, 0.8]], [1.0, -1.0])
T_SLIDE = np.sqrt(5) * np.log((3 + np.sqrt(5)) / 2)


def sliding_size(t, lam):
    """‖w‖² while it slides: logistic from (2λ)² at T_SLIDE, growth rate 0.8, capacity 1.25."""
    return 1.25 / (1 + (1.25 / (2 * lam) ** 2 - 1) * np.exp(-0.8 * (t - T_SLIDE)))


@pytest.mark.parametrize("lam", [1e-8, 1e-20, 1e-80])
def test_a_neuron_slides_along_a_data_point_and_never_interpolates(lam):
    flow = bf.gradient_flow(bf.TwoLayer(1, 2), SLIDING, B, one_neuron([1, 0], lam), rtol=1e-10)
    assert [(e.neuron, e.sample, e.kind) for e in flow.events] == [(0, 1, "slide in")]
    assert flow.events[0].time == pytest.approx(T_SLIDE, abs=1e-9)
    assert flow.result is bf.Result.STATIONARY
    assert flow.loss[-1] == pytest.approx(0.25, abs=1e-12)
    np.testing.assert_allclose(flow.final.a**2, 1.25, rtol=1e-9)
    assert abs(flow.final.W[0] @ SLIDING.X[1]) < 1e-15
    middle = T_SLIDE + np.log(1.25 / (2 * lam) ** 2) / 0.8
    for t in (0.5 * middle, middle - 3, middle, middle + 3):
        # relative error of log-size times log-size
        assert flow.at(t).a[0] ** 2 == pytest.approx(sliding_size(t, lam), rel=2e-8)


def test_a_neuron_goes_off_and_stays_where_it_went_off():
    """Orthonormal inputs, y = (1, −1), w₀ = λ(1, 1)/√2: ⟨w, x₂⟩ = 0 at √2·asinh 1 (theory of the
    early phase)."""
    lam, ds = 1e-9, bf.Dataset(np.eye(2), [1.0, -1.0])
    flow = bf.gradient_flow(
        bf.TwoLayer(1, 2), ds, B, one_neuron(np.ones(2) / np.sqrt(2), lam), t1=3.0
    )
    assert [(e.sample, e.kind) for e in flow.events] == [(1, "off")]
    assert flow.events[0].time == pytest.approx(np.sqrt(2) * np.arcsinh(1.0), abs=1e-10)
    assert abs(flow.final.W[0, 1]) < 1e-12 * lam
    assert flow.final.W[0, 0] > lam


@pytest.mark.parametrize("loss, speed", [("half-mean", 1.0), ("half", 2.0), ("sum", 4.0)])
def test_normalisations_change_the_clock_only(loss, speed):
    ds, model = bf.data.five_points(), bf.TwoLayer(8, 2)
    start = model.init(0.1, key=4)
    reference = bf.gradient_flow(model, ds, B, start, t1=20.0)
    per_sample = {"half-mean": 1.0, "half": ds.n, "sum": 2 * ds.n}[loss]
    other = bf.gradient_flow(model, ds, bf.SquareLoss(loss), start, t1=20.0 / per_sample)
    np.testing.assert_allclose(other.final.W, reference.final.W, atol=1e-7)


def test_the_size_of_a_cluster_is_logistic():
    """B/u-plus: u̇ = 2‖D_+‖(1 − u/(n‖D_+‖))u, here with one aligned neuron per sign."""
    ds, lam = bf.Dataset(np.eye(2), [1.0, -0.5]), 1e-12
    params = bf.models.TwoLayerParams(np.array([lam, -lam]), lam * np.eye(2))
    flow = bf.gradient_flow(bf.TwoLayer(2, 2), ds, B, params, rtol=1e-10)
    for j, y in enumerate([1.0, 0.5]):
        rate, capacity = y / 2, y
        t = np.log(capacity / lam**2) / (2 * rate) + np.linspace(-8, 8, 5)
        exact = capacity / (1 + (capacity / lam**2 - 1) * np.exp(-2 * rate * t))
        measured = [flow.at(s).a[j] ** 2 for s in t if s < flow.times[-1]]
        np.testing.assert_allclose(measured, exact[: len(measured)], rtol=1e-8)
    assert flow.result is bf.Result.CONVERGED


def test_one_input_with_a_constant_column_is_scalar():
    """One sample, one neuron along it: a² = ‖w‖² = u with u̇ = 2u·κ(y − κu), κ = ‖x‖."""
    x, y, u0 = np.array([2.0, 1.0]), 0.7, 0.04
    kappa = np.linalg.norm(x)
    start = bf.models.TwoLayerParams(np.array([np.sqrt(u0)]), np.sqrt(u0) * x[None] / kappa)
    flow = bf.gradient_flow(
        bf.TwoLayer(1, 2),
        bf.Dataset(x[None], [y]),
        bf.SquareLoss("half"),
        start,
        times=[0.2, 0.5, 1.0],
        rtol=1e-10,
    )
    capacity = y / kappa
    exact = capacity / (
        1 + (capacity / u0 - 1) * np.exp(-2 * kappa * y * np.array([0.2, 0.5, 1.0]))
    )
    np.testing.assert_allclose(flow.states.a[:, 0] ** 2, exact, rtol=1e-9)


def test_an_unbalanced_output_weight_changes_sign():
    """a² < ‖w‖²: with h negligible a = a₀cosh βt + u₀sinh βt passes zero (theory of the early
    phase)."""
    ds, lam = bf.Dataset(np.eye(2), [1.0, 1.0]), 1e-10
    params = bf.models.TwoLayerParams(lam * np.array([-0.3]), lam * np.array([[1.0, 0.5]]))
    flow = bf.gradient_flow(bf.TwoLayer(1, 2), ds, B, params, t1=4.0)
    D = np.array([0.5, 0.5])
    beta = np.linalg.norm(D)
    for t in (0.2, 1.0, 3.0):
        a = lam * (-0.3 * np.cosh(beta * t) + (D @ [1.0, 0.5]) / beta * np.sinh(beta * t))
        assert flow.at(t).a[0] == pytest.approx(a, rel=1e-9)
    assert flow.final.a[0] > 0 > params.a[0]
