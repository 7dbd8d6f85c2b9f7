"""R's figures: what the pictures rest on, and the constants the paper reports over many seeds."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.mirror.cone import failure_probability, one_neuron, wilson
from biasflow.experiments.mirror.hypentropies import hypentropy


def test_hypentropies_are_the_papers():
    x = np.array([-2.0, -0.3, 0.5, 1.7])
    for alpha in (1e-3, 1.0, 10.0):
        assert hypentropy(alpha, x) == pytest.approx(x * np.arcsinh(x / alpha) - np.sqrt(x**2 + alpha**2) + alpha, rel=1e-9)
    assert hypentropy(0.0, x) == pytest.approx(np.abs(x) * np.log(np.abs(x)) - np.abs(x) + 1, rel=1e-12)


def test_fig1_runs_from_l2_to_l1():
    summary = bf.figure("R/fig1")
    exponents = summary["exponent"].dropna("alpha").sortby("alpha").values
    assert np.all(np.diff(exponents) > 0)
    assert 1 < exponents[0] < 1.2 < 1.99 < exponents[-1] < 2
    assert len(experiment("R/fig1").draw(summary).axes) == 4


@pytest.mark.parametrize(("a0", "b0"), [(1.5, -1.0), (0.4, 0.3), (2.0, 1.9)])
def test_neuron_inside_the_cone_is_the_librarys_flow(a0, b0):
    """Two data points ±1: R's reduction, integrated in the dual, is the closed form."""
    data = bf.Dataset([[1.0], [-1.0]], [1.0, 1.0])
    model, times = bf.FixedDirections([[1.0]]), np.array([0.1, 0.5, 1.5, 3.0])
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), ([a0], [b0]), times=times, rtol=1e-10)
    a, b, kink = one_neuron(a0, b0, times)
    assert np.max(np.abs(np.column_stack([a, b]) - np.column_stack(flow.states))) < 1e-8
    assert kink == np.inf


@pytest.mark.parametrize(("a0", "b0"), [(0.3, 1.2), (-0.3, 1.2), (1.5, -1.8), (-0.6, -2.0), (0.01, -0.5)])
def test_neuron_outside_the_cone_is_scipys(a0, b0):
    def field(t, w):
        residual = 1 - w[1] * abs(w[0])
        return [np.sign(w[0]) * w[1] * residual, abs(w[0]) * residual]

    def at_kink(t, w):
        return w[0]

    at_kink.terminal = True
    run = solve_ivp(field, (0, 4), [a0, b0], method="DOP853", rtol=1e-12, atol=1e-14, events=at_kink)
    a, b, kink = one_neuron(a0, b0, run.t)
    assert (kink < np.inf) == (b0 < 0)
    assert np.max(np.abs(np.stack([a, b]) - run.y)) < 1e-8
    if b0 < 0:
        assert run.t_events[0][0] == pytest.approx(kink, rel=1e-8)
        later = one_neuron(a0, b0, np.array([kink + 1.0]))
        assert later[0] == pytest.approx(0, abs=1e-12)


def test_fig4_stays_in_the_cone_and_hits_the_kink_outside():
    summary = bf.figure("R/fig4")
    assert summary.attrs["starts inside the cone that hit the kink"] == 0
    assert summary.attrs["share of starts with b < -|a| that hit it"] == 1
    assert summary.attrs["largest drift of a^2 - b^2"] < 1e-13
    assert len(experiment("R/fig4").draw(summary).axes) == 2


def test_failure_probabilities_by_quadrature():
    from scipy.integrate import quad
    from scipy.stats import chi2, norm

    assert failure_probability(1, "gaussian") == pytest.approx(0.5)
    assert failure_probability(1, "uniform") == pytest.approx(0.5)
    assert failure_probability(2, "uniform") == pytest.approx(np.pi / 12)
    for d in (2, 7, 20):
        direct = 2 * quad(lambda b, d=d: norm.pdf(b) * chi2.cdf(b * b, d), 0, 40, epsabs=1e-14)[0]
        assert failure_probability(d, "gaussian") == pytest.approx(direct, rel=1e-6)


def test_fig5_agrees_with_the_exact_probability():
    """160 comparisons; a standardised deviation above 4.5 has probability 1e-5 in each."""
    summary = bf.figure("R/fig5")
    assert summary.attrs["deviations compared"] == 160
    assert summary.attrs["largest standardised deviation"] < 4.5
    assert summary.attrs["mean squared standardised deviation"] < 1.5
    inside = (summary["low"] <= summary["exact"]) & (summary["exact"] <= summary["high"])
    assert float(inside.mean()) > 0.9
    assert len(experiment("R/fig5").draw(summary).axes) == 2


def test_fig5_notices_a_wrong_probability():
    point = experiment("R/fig5").point
    found = point(d=3, law="gaussian", neurons=20_000, widths=[1], seed=0)
    wrong = point(d=4, law="gaussian", neurons=20_000, widths=[1], seed=0)
    assert abs(float(found["count"][0]) - float(wrong["exact"][0]) * 20_000) > 10 * np.sqrt(20_000 * 0.1)


def test_wilson_covers():
    low, high = wilson(np.array([0, 50, 100]), np.array([100, 100, 100]))
    assert low == pytest.approx([0, 0.404, 0.963], abs=1e-3)
    assert high == pytest.approx([0.037, 0.596, 1], abs=1e-3)
