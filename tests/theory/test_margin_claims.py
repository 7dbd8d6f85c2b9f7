"""C's claims: what each refuses, and what a wrong formula would give."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.weights import integrate_weights
from biasflow.limits.neurons.squared_relu_line import squared_f1_max_margin
from biasflow.theory import claim
from biasflow.theory.examples import diagonal_problem
from biasflow.theory.margin.margin_examples import (
    cluster_data,
    feature_problem,
    line_problem,
    relu_problem,
    smooth_problem,
)
from biasflow.theory.margin.measure_transport import FLOW_RTOL, Moving

MARGIN_CLAIMS = [name for name in bf.claims() if name.startswith("C/")]
ON_DATA = [name for name in MARGIN_CLAIMS if isinstance(claim(name).example(0), bf.Dataset)]
ON_LABELS = [name for name in ON_DATA if name != "C/lem28"]
"""Lemma 28 is about inputs alone."""
ON_NETWORKS = [name for name in MARGIN_CLAIMS if isinstance(claim(name).example(0), bf.Problem)]


@pytest.mark.parametrize("name", MARGIN_CLAIMS)
def test_regression_problems_are_refused(name):
    verdict = bf.verify(name, diagonal_problem(0))
    assert verdict.status == "does not apply"
    assert "DiagonalNetwork" in str(verdict)


@pytest.mark.parametrize("name", ON_LABELS)
def test_labels_that_are_no_classes_are_refused(name):
    data = claim(name).example(0)
    spoiled = dataclasses.replace(data, y=np.where(np.arange(data.n) == 3, 0.5, data.y))
    verdict = bf.verify(name, spoiled)
    assert verdict.status == "hypotheses fail"
    assert "label 3 is 0.5" in str(verdict)


@pytest.mark.parametrize("name", ON_LABELS)
def test_an_input_with_both_labels_is_refused(name):
    data = claim(name).example(0)
    spoiled = bf.Dataset(np.vstack([data.X, data.X[:1]]), np.append(data.y, -data.y[0]))
    verdict = bf.verify(name, spoiled)
    assert verdict.status == "hypotheses fail"
    assert "opposite labels" in str(verdict)


@pytest.mark.parametrize("name", ON_NETWORKS)
def test_a_network_needs_its_bias_column_and_its_loss(name):
    problem = claim(name).example(0)
    shifted = dataclasses.replace(problem, data=bf.Dataset(problem.data.X + 0.1, problem.data.y))
    assert "bf.data.with_bias" in str(bf.verify(name, shifted))
    squared = dataclasses.replace(problem, loss=bf.SquareLoss())
    assert "SmoothMargin" in str(bf.verify(name, squared))


# prop29: on a line
@pytest.mark.parametrize("name", [n for n in ON_DATA if n not in ("C/thm22", "C/prop29")])
def test_claims_about_data_take_a_network_s_problem_too(name):
    assert bf.verify(name, relu_problem(1)).status == "holds"


def test_a_relu_does_not_satisfy_a3():
    assert "jumps" in str(bf.verify("C/A3", relu_problem(0)))


def test_repeated_inputs_violate_a3():
    problem = smooth_problem(0)
    twice = bf.Dataset(
        np.vstack([problem.data.X, problem.data.X[:1]]),
        np.append(problem.data.y, problem.data.y[0]),
    )
    assert bf.verify("C/A3", dataclasses.replace(problem, data=twice)).status == "violated"


def test_scores_that_are_not_positive_are_refused():
    scores = bf.theory.Scores(np.array([0.0, 1.0]), bf.LogisticLoss())
    for name in ("C/lem13", "C/lem14", "C/lem15"):
        assert "needs positive ones" in str(bf.verify(name, scores))


def test_equal_scores_have_none_off_the_margin():
    assert "all scores are equal" in str(
        bf.verify("C/lem15", bf.theory.Scores(np.full(3, 0.5), bf.ExponentialLoss()))
    )


def test_one_class_has_no_distance():
    data = cluster_data(0)
    assert "one class only" in str(bf.verify("C/eq10", bf.Dataset(data.X, np.ones(data.n))))


def test_the_norms_of_c_lack_a_factor():
    """x = ±1, both labels +1: γ₁ = ½ < γ₂ = √(¼ + 1/(4π)), so ‖f‖_{F1} ≤ ‖f‖_{F2} as printed is
    violated."""
    X, y = np.array([[-1.0], [1.0]]), np.ones(2)
    one, two = bf.limits.f1_max_margin(X, y), bf.limits.f2_max_margin(X, y)
    assert one.certificate.dual == pytest.approx(0.5, rel=1e-9)
    assert two.objective == pytest.approx(np.sqrt(0.25 + 1 / (4 * np.pi)), rel=1e-9)
    assert two.objective > one.certificate.dual


def test_equation_12_as_printed_is_violated():
    """With J' at ν̄ instead of ν the rates are off by a good share, where the corrected form is
    right to the integration error."""
    problem = smooth_problem(0, scale=3.0)
    moving, data = Moving(problem), problem.data
    params = integrate_weights(problem, 1.0, FLOW_RTOL, None).final
    bar = problem.model(params, data.X) / np.sum(params.W**2)
    rates = moving.rates(params, normalised=True)
    printed = moving.rates(params, True, problem.loss.weights(bar, data.y))
    assert np.max(np.abs(printed - rates)) > 0.5 * np.max(np.abs(rates))
    assert bf.verify("C/eq12", problem).status == "holds"


def test_the_rademacher_bound_as_printed_is_violated():
    """1/√n without the radius fails for inputs far from zero: one sample gives sup|f(x)| =
    ½√(R²+1)."""
    X, ones = np.array([[10.0]]), np.ones(1)
    network = bf.models.Particles(np.array([[1.0, 0.0]]), ones, np.zeros(1))
    value = bf.limits.margin_certificate(network, X, ones, weights=ones).upper
    assert value == pytest.approx(np.sqrt(101) / 2, rel=1e-9)
    assert value > 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 3}, "1 or 2"),
        ({"sizes": (3, 5)}, "three"),
        ({"sizes": (5, 4, 3)}, "growing"),
        ({"centre": np.nan}, "finite"),
    ],
)
def test_families_check_their_settings(settings, words):
    with pytest.raises(bf.errors.InputError, match=words):
        bf.theory.Alternating(**settings)


def test_scores_need_a_margin_loss():
    with pytest.raises(bf.errors.InputError, match="SquareLoss"):
        bf.theory.Scores(np.ones(2), bf.SquareLoss())


@pytest.mark.parametrize("name", ["C/thm5", "C/lem26"])
def test_a_start_off_the_invariant_set_is_refused(name):
    problem = claim(name).example(0)
    off = dataclasses.replace(problem, start=problem.start._replace(a=1.5 * problem.start.a))
    assert "off the set" in str(bf.verify(name, off))


@pytest.mark.parametrize("name", ["C/thm3", "C/cor4", "C/thm5"])
def test_neurons_of_one_half_space_are_no_full_support(name):
    problem = claim(name).example(0)
    W = problem.start.W * np.where(problem.start.W[:, :1] > 0, 1, -1)
    assert "from every neuron" in str(
        bf.verify(name, dataclasses.replace(problem, start=problem.start._replace(W=W)))
    )


def test_too_few_neurons_do_not_reach_the_max_margin():
    """C, after Theorem 3: a Dirac stays a Dirac. Two neurons end well below γ₁, so that the theorem
    needs its support."""
    problem = line_problem(0)
    data = bf.Dataset(problem.data.X[:, :-1], problem.data.y)
    gamma = squared_f1_max_margin(data.X, data.y).certificate.dual
    model = bf.SignedTwoLayer(2, 2)
    flow = bf.gradient_flow(
        model, problem.data, problem.loss, model.init(1.0), t1=60.0, rtol=1e-3, throw=False
    )
    assert flow.stats["margin"][-1] < 0.5 * gamma


def test_features_that_do_not_separate_are_refused():
    problem = feature_problem(0)
    model = bf.TwoLayer(1, 2)
    single = bf.Problem(
        model,
        problem.data,
        problem.loss,
        bf.models.TwoLayerParams(problem.start.a[:1], problem.start.W[:1]),
    )
    assert "do not separate" in str(bf.verify("C/prop6", single))


def test_rates_are_for_the_exponential():
    problem = dataclasses.replace(feature_problem(0), loss=bf.SmoothMargin(bf.LogisticLoss()))
    assert "needs ExponentialLoss" in str(bf.verify("C/prop7", problem))


def cancelling(key):
    """A network of pairs of neurons that cancel: f = 0, up to rounding."""
    problem = relu_problem(key, m=20)
    a, W = problem.start
    return dataclasses.replace(
        problem,
        model=bf.TwoLayer(40, 3),
        start=bf.models.TwoLayerParams(np.concatenate([a, -a]), np.concatenate([W, W])),
    )


def silent(key):
    """One neuron that is off on every sample: f = 0."""
    problem = relu_problem(key, m=1)
    return dataclasses.replace(
        problem, start=bf.models.TwoLayerParams(np.ones(1), np.array([[0.0, 0.0, -1.0]]))
    )


@pytest.mark.parametrize("name", ["C/A1", "C/pi2", "C/prop9"])
@pytest.mark.parametrize("problem", [cancelling, silent])
def test_identities_hold_where_the_start_predicts_nothing(name, problem):
    assert bf.verify(name, problem(0)).status == "holds"


@pytest.mark.parametrize("name", ["C/A1", "C/pi2", "C/prop9"])
def test_identities_still_fail_for_another_network(name, monkeypatch):
    call = bf.TwoLayer.__call__
    monkeypatch.setattr(
        bf.TwoLayer, "__call__", lambda self, params, X: call(self, params, X) + 1e-9
    )
    assert bf.verify(name, relu_problem(0)).status == "violated"


@pytest.mark.parametrize(
    "X, y", [([[0.7]], [-1.0]), ([[-1000.0], [1000.0], [-999.0]], [1.0, -1.0, 1.0])]
)
def test_gamma2_of_a_single_sample_and_of_samples_far_apart(X, y):
    assert bf.verify("C/gamma2", bf.Dataset(np.array(X), np.array(y))).status == "holds"


def test_gamma2_of_samples_too_close_is_inconclusive():
    assert (
        bf.verify("C/gamma2", bf.Dataset(np.array([[-1e-6], [1e-6]]), np.array([1.0, -1.0]))).status
        == "inconclusive"
    )


@pytest.mark.parametrize("factor", [1.5, 0.7])
def test_another_kernel_than_that_of_the_features_would_show(factor, monkeypatch):
    from biasflow.limits.neurons import f2_margin as f2

    def other(*args):
        found = bracket(*args)
        return dataclasses.replace(
            found, lower=factor**0.5 * found.lower, upper=factor**0.5 * found.upper
        )

    bracket = f2.f2_bracket
    monkeypatch.setattr(f2, "f2_bracket", other)
    assert (
        bf.verify(
            "C/gamma2", bf.Dataset(np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0]))
        ).status
        == "violated"
    )


@pytest.mark.parametrize("name", ["C/prop6", "C/prop7", "C/mirror", "C/lem17", "C/lem18"])
def test_a_neuron_without_a_direction_is_refused(name):
    problem = feature_problem(0)
    a, W = problem.start
    W = np.where(np.arange(24)[:, None] == 3, 0.0, W)
    assert "neuron 3 are zero" in str(
        bf.verify(name, dataclasses.replace(problem, start=bf.models.TwoLayerParams(a, W)))
    )


@pytest.mark.parametrize("name", ["C/lem17", "C/lem18"])
def test_lemmas_about_large_t_say_where_t_is_not_large(name):
    verdict = bf.verify(name, relu_problem(0, m=80))
    assert verdict.status == "hypotheses fail" and "less than half" in str(verdict)


def test_a_dead_neuron_supports_nothing():
    """One of two neurons of a sign without a direction: the other is too far from the opposite
    side."""
    problem = relu_problem(0, m=2)
    lone = bf.models.TwoLayerParams(
        np.array([1.0, -1.0]), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    )
    assert "from every neuron of sign +1" in str(
        bf.verify("C/cor4", dataclasses.replace(problem, start=lone))
    )


def test_training_that_stands_still_is_inconclusive_and_huge_starts_are_refused():
    data = bf.data.with_bias(
        bf.Dataset(np.array([[-1.0], [0.2], [1.3], [2.0]]), np.array([1.0, -1.0, 1.0, 1.0]))
    )
    model = bf.TwoLayer(40, 2)
    a, W = model.init(1 / np.sqrt(40), key=0, balanced=False)
    a[0], W[0] = 0.0, 0.0
    problem = bf.Problem(model, data, bf.SmoothMargin(), bf.models.TwoLayerParams(a, W))
    assert bf.verify("C/cor4", problem).status == "inconclusive"  # a tenth of the start dies
    huge = dataclasses.replace(problem, start=bf.models.TwoLayerParams(1e8 * a, 1e8 * W))
    assert "log β = 38" in str(bf.verify("C/cor4", huge))
