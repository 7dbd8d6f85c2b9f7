"""Paper B's claims on limits that somebody hands in, and on data that they are not about."""

import dataclasses
import warnings

import numpy as np
import pytest
from relu_flow_worlds import one_for_each

import biasflow as bf
from biasflow.theory import claim
from biasflow.theory.relu.relu_examples import orthonormal_problem, pairs_problem, planar_problem
from biasflow.theory.relu.relu_setting import Setting


def predicted(problem):
    return bf.flows.saddle_limit(problem.data, Setting(problem).unit)


def with_value(limit, value):
    return dataclasses.replace(limit, value=value)


@pytest.mark.parametrize(
    "name", ["B/thm1", "B/limit", "B/lem12", "B/fact1", "B/lem5", "B/prop1", "B/kkt"]
)
def test_another_interpolator_is_violated(name):
    """One neuron for each label: it fits, and is neither of least norm nor where the flow ends."""
    problem = claim(name).example(3)
    wrong = one_for_each(problem)
    assert np.allclose(problem.model(wrong.value, problem.data.X), problem.data.y)
    if name == "B/lem12":  # one label of each sign: shares of the clusters are what is wrong
        assert (
            bf.verify(
                name,
                problem,
                limit=with_value(
                    wrong, bf.models.TwoLayerParams(1.5 * wrong.value.a, 1.5 * wrong.value.W)
                ),
            ).status
            == "violated"
        )
    else:
        assert bf.verify(name, problem, limit=wrong).status == "violated"


@pytest.mark.parametrize("name", ["B/limit", "B/prop1", "B/eq8"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda a, W: bf.models.TwoLayerParams(np.where(np.arange(len(a)) == 1, np.nan, a), W),
            "nan",
        ),
        (lambda a, W: bf.models.TwoLayerParams(a, W[:, :1]), "expected the shape"),
        (lambda a, W: bf.models.TwoLayerParams(a[:-1], W), "expected the shape"),
    ],
)
def test_a_limit_that_is_no_network_on_these_inputs_is_refused(name, change, words):
    problem = claim(name).example(0)
    limit = (
        predicted(problem)
        if name != "B/eq8"
        else bf.limits.min_norm_interpolator(problem.data.X, problem.data.y)
    )
    with pytest.raises(bf.errors.InputError, match=words):
        bf.verify(name, problem, limit=with_value(limit, change(*limit.value)))


def test_a_limit_of_another_kind_or_width_is_no_verdict():
    problem = orthonormal_problem(0)
    limit = predicted(problem)
    verdict = bf.verify("B/limit", problem, limit=with_value(limit, tuple(limit.value)))
    assert verdict.status == "inconclusive" and "expected a network" in verdict.why
    fewer = bf.models.TwoLayerParams(limit.value.a[:-1], limit.value.W[:-1])
    verdict = bf.verify("B/limit", problem, limit=with_value(limit, fewer))
    assert verdict.status == "inconclusive" and "expected 30 neurons" in verdict.why
    # says nothing about their number
    assert bf.verify("B/prop1", problem, limit=with_value(limit, fewer)).status == "holds"


def test_the_limit_zero_is_not_called_right():
    problem = planar_problem(0)
    limit = bf.limits.min_norm_interpolator(problem.data.X, problem.data.y)
    zero = bf.models.TwoLayerParams(0 * limit.value.a, 0 * limit.value.W)
    assert bf.verify("B/eq8", problem, limit=with_value(limit, zero)).status == "violated"
    problem = pairs_problem(0)
    zero = bf.models.TwoLayerParams(np.zeros(60), np.zeros((60, 6)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("B/thm1", "B/kkt", "B/lem5"):
            assert (
                bf.verify(name, problem, limit=with_value(predicted(problem), zero)).status
                == "violated"
            )


def odd(X, y, scale=1e-8, m=12):
    model = bf.TwoLayer(m, np.shape(X)[1])
    return bf.Problem(model, bf.Dataset(X, y), bf.SquareLoss("half-mean"), model.init(scale, key=3))


RNG = np.random.default_rng(0)
ROWS = np.linalg.qr(RNG.standard_normal((6, 4)))[0].T
LABELS = np.array([1.2, -0.5, 1.0, -0.6])
ODD = {
    "offset": odd(RNG.standard_normal((5, 3)) + 100, RNG.standard_normal(5), 0.1),
    "a sample twice": odd(np.vstack([ROWS, ROWS[:1]]), np.append(LABELS, LABELS[0])),
    "more samples than dimensions": odd(RNG.standard_normal((9, 2)), RNG.standard_normal(9), 0.1),
    "unscaled columns": odd(
        RNG.standard_normal((5, 4)) * (1e-6, 1, 1e3, 1e6), RNG.standard_normal(5), 0.1
    ),
    "orthogonal, of any length": odd(ROWS * np.array([[1.0], [30.0], [0.01], [5.0]]), LABELS),
    "nearly orthogonal": odd(ROWS + 1e-7 * RNG.standard_normal(ROWS.shape), LABELS),
    "one sample": odd(ROWS[:1], LABELS[:1]),
    "a zero input": odd(np.vstack([ROWS, 0 * ROWS[:1]]), np.append(LABELS, 0.3)),
    "huge labels": odd(ROWS, 1e200 * LABELS),
    "on a line": odd([[1.0], [-1.0], [2.0]], [1.0, 2.0, 2.0], 0.1),
    "a large start": odd(ROWS, LABELS, 1.0),
    "one neuron": odd(ROWS, LABELS, m=1),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_odd_data_are_never_called_a_violation(kind):
    for name in bf.claims():
        if not name.startswith("B/") or name.startswith("B/assumption"):
            continue
        verdict = bf.verify(name, ODD[kind], time_s=20)
        assert verdict.status != "violated", str(verdict)
        assert "Error" not in verdict.why, f"{name}: {verdict.why}"


def test_interpolators_on_a_line_all_have_one_norm():
    verdict = bf.verify("B/eq8", ODD["on a line"])
    assert verdict.status == "holds", str(verdict)


def test_equation_11_is_judged_at_the_rate_of_a_large_start():
    assert bf.verify("B/lem6", ODD["a large start"]).status == "holds"
