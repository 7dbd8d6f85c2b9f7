"""Early alignment and the limit of vanishing initialisation, against the flow."""

import numpy as np
import pytest

import biasflow as bf

B = bf.SquareLoss("half-mean")


def orthonormal_start(key, n=4, d=6, m=40):
    ds, model = bf.data.orthonormal(n, d, key=key), bf.TwoLayer(m, d)
    return ds, model, model.init(1.0, key=key)


def scaled(params, lam):
    return bf.models.TwoLayerParams(lam * params.a, lam * params.W)


@pytest.mark.parametrize("key, balanced", [(0, True), (1, True), (2, False), (3, False)])
def test_alignment_is_the_flow_from_a_vanishing_start(key, balanced):
    rng = np.random.default_rng(key)
    ds, model = bf.Dataset(rng.standard_normal((5, 3)), rng.standard_normal(5)), bf.TwoLayer(12, 3)
    start, lam = model.init(1.0, key=key, balanced=balanced), 1e-60
    aligned = bf.flows.early_alignment(ds, start)
    t = 20.0 / np.max(aligned.rates)
    flow = bf.gradient_flow(model, ds, B, scaled(start, lam), t1=t, rtol=1e-10)
    np.testing.assert_allclose(aligned.at(t).W, flow.final.W / lam, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(aligned.at(t).a, flow.final.a / lam, rtol=1e-8, atol=1e-8)
    t = 300.0 / np.max(aligned.rates)  # far beyond alignment, before squares overflow
    late, settled = aligned.at(t), (aligned.rates * (t - aligned.times) > 25) | (aligned.rates == 0)
    norms = np.linalg.norm(late.W, axis=1)
    np.testing.assert_allclose(
        (late.W / norms[:, None])[settled], aligned.directions[settled], atol=1e-9
    )
    assert (
        np.array_equal(np.sign(late.a)[settled], aligned.signs[settled]) and np.mean(settled) > 0.5
    )


def test_amplitudes_are_those_of_the_exponential_growth():
    ds, _, start = orthonormal_start(1)
    aligned = bf.flows.early_alignment(ds, start)
    growing = aligned.rates > 0
    t = np.max(aligned.times) + 30.0 / np.min(aligned.rates[growing])
    log_norm = np.log(np.linalg.norm(aligned.at(t).W, axis=1))
    np.testing.assert_allclose(
        (log_norm - aligned.rates * t)[growing], aligned.log_amplitudes[growing], atol=1e-9
    )


def test_directions_are_unit_and_fixed_points():
    """Each limit direction is that of the pull of its own active inputs (B, §4.1), or the neuron is
    at rest."""
    ds, _, start = orthonormal_start(2)
    aligned = bf.flows.early_alignment(ds, start)
    np.testing.assert_allclose(np.linalg.norm(aligned.directions, axis=1), 1.0, rtol=1e-12)
    for j in range(40):
        D = (aligned.active[j] * ds.y) @ ds.X / ds.n
        if aligned.rates[j] > 0:
            np.testing.assert_allclose(
                aligned.directions[j], aligned.signs[j] * D / np.linalg.norm(D), atol=1e-12
            )
            assert aligned.rates[j] == pytest.approx(np.linalg.norm(D))
        else:
            assert not np.any(aligned.active[j])


def test_the_clock_of_alignment_is_the_loss_and_leaky_networks_align_too():
    ds, _, start = orthonormal_start(3)
    slow, fast = (
        bf.flows.early_alignment(ds, start),
        bf.flows.early_alignment(ds, start, bf.SquareLoss("sum")),
    )
    np.testing.assert_allclose(fast.rates, 2 * ds.n * slow.rates)
    np.testing.assert_allclose(fast.directions, slow.directions, atol=1e-12)
    leaky = bf.flows.early_alignment(ds, start, model=bf.TwoLayer(40, 6, "leaky_relu", slope=0.3))
    assert np.all(leaky.rates > 0)


@pytest.mark.parametrize("key", [0, 3, 4])
def test_the_saddle_limit_is_where_the_flow_ends(key):
    """θ* neuron by neuron; the gap closes like a small power of λ (the paper's λ^ε), so tiny scales
    are needed."""
    ds, model, start = orthonormal_start(key)
    limit = bf.flows.saddle_limit(ds, start)
    gaps = []
    for lam in (1e-10, 1e-40, 1e-80):
        flow = bf.gradient_flow(model, ds, B, scaled(start, lam))
        gaps.append(np.max(np.abs(flow.final.W - limit.value.W)))
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 2e-2
    assert limit.certificate.gap < 1e-12 and limit.certificate.residual < 1e-12


@pytest.mark.parametrize("key", [0, 3])
def test_clusters_grow_along_the_predicted_logistic_curves(key):
    ds, model, start = orthonormal_start(key)
    limit, log_lam = bf.flows.saddle_limit(ds, start), np.log(1e-80)
    flow = bf.gradient_flow(model, ds, B, scaled(start, 1e-80))
    for neurons, rate, capacity, offset in zip(
        *(limit.stats[k] for k in ("neurons", "rate", "capacity", "offset")), strict=True
    ):
        midpoint = -log_lam / rate + offset
        for s in (-2.0, 0.0, 2.0):
            size = np.sum(flow.at(midpoint + s / rate).a[neurons] ** 2)
            assert size == pytest.approx(capacity / (1 + np.exp(-2 * s)), abs=0.02 * capacity)


def test_the_minimum_norm_of_unnormalised_orthogonal_inputs():
    """6/√5 for B/fig2's two points."""
    ds, model = bf.data.two_points(), bf.TwoLayer(60, 2)
    limit = bf.flows.saddle_limit(ds, model.init(1.0))
    assert limit.objective == pytest.approx(6 / np.sqrt(5), rel=1e-12)
    flow = bf.gradient_flow(model, ds, B, model.init(1e-30))
    np.testing.assert_allclose(flow.final.W, limit.value.W, atol=1e-6)
    for sign, rate, capacity, offset in zip(
        (1, -1), *(limit.stats[name] for name in ("rate", "capacity", "offset")), strict=True
    ):
        state = flow.at(-np.log(1e-30) / rate + offset)
        assert np.sum(state.W[state.a * sign > 0] ** 2) == pytest.approx(capacity / 2, rel=1e-7)


def test_the_growth_of_a_cluster_that_turns():
    """Two positive labels on inputs of different lengths: the neurons leave zero along D_+ and end
    along Σy_kx_k/‖x_k‖²."""
    ds, model = bf.Dataset(np.diag([0.5, 2.0, 1.0]), [1.0, 0.7, -0.2]), bf.TwoLayer(20, 3)
    start = model.init(1.0, key=3)
    limit, flow = (
        bf.flows.saddle_limit(ds, start),
        bf.gradient_flow(model, ds, B, start, log_scale=-2000.0),
    )
    np.testing.assert_allclose(flow.final.W, limit.value.W, atol=1e-8)
    assert limit.objective == pytest.approx(2 * (np.hypot(1 / 0.5, 0.7 / 2.0) + 0.2), rel=1e-12)
    (rate, _), (capacity, _), (offset, _) = (
        limit.stats[name] for name in ("rate", "capacity", "offset")
    )
    neurons = limit.stats["neurons"][0]
    middle = 2000.0 / rate + offset
    assert np.sum(flow.at(middle).W[neurons] ** 2) == pytest.approx(capacity / 2, rel=1e-7)
    early, late = (flow.at(t).W[neurons[0]] for t in (middle - 20 / rate, flow.times[-1]))
    np.testing.assert_allclose(
        early[:2] / np.linalg.norm(early), [0.5, 1.4] / np.hypot(0.5, 1.4), atol=1e-6
    )
    np.testing.assert_allclose(
        late[:2] / np.linalg.norm(late), [2.0, 0.35] / np.hypot(2.0, 0.35), atol=1e-7
    )


@pytest.mark.parametrize(
    "X, y, hypothesis",
    [
        ([[1.0, 0.0], [0.6, 0.8]], [1.0, -1.0], "B/assumption-1"),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, -1.0], "B/assumption-1"),
        (np.eye(2), [1.0, 0.0], "B/assumption-2"),
    ],
)
def test_the_saddle_limit_names_the_assumption_that_fails(X, y, hypothesis):
    with pytest.raises(bf.errors.AssumptionError, match=hypothesis):
        bf.flows.saddle_limit(bf.Dataset(X, y), bf.TwoLayer(20, 2).init(1.0))


def test_without_a_neuron_in_each_cone_there_is_no_saddle_limit():
    start = bf.models.TwoLayerParams(np.array([1.0]), np.array([[0.6, 0.8]]))
    with pytest.raises(bf.errors.AssumptionError, match=r"B/assumption-3.*negative"):
        bf.flows.saddle_limit(bf.Dataset(np.eye(2), [1.0, -1.0]), start)


def test_a_neuron_opposed_to_its_pull_shrinks_for_ever():
    ds = bf.Dataset([[1.0, 0.0]], [-1.0])
    aligned = bf.flows.early_alignment(
        ds, bf.models.TwoLayerParams(np.array([1.0]), np.array([[1.0, 0.0]]))
    )
    assert aligned.rates[0] == -1.0 and aligned.signs[0] == 1.0
    assert aligned.at(3.0).a[0] == pytest.approx(np.exp(-3.0), rel=1e-9)
