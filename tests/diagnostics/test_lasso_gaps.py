"""Averages of flows against the Lasso: the identity, the proof against other solvers, errors."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import biasflow as bf
from biasflow.diagnostics import lasso_gap
from biasflow.diagnostics.lasso_gaps import lasso_proof
from biasflow.theory.since.lasso_program import lasso_solution, least_objective


def draw(seed, n=6, d=14):
    rng = np.random.default_rng((7, seed))
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def objective(X, y, beta, penalty):
    return 0.5 * np.sum((X @ beta - y) ** 2) + penalty * np.sum(np.abs(beta))


def peer(X, y, penalty):
    """scikit-learn's coordinate descent."""
    model = Lasso(alpha=penalty / len(y), fit_intercept=False, tol=1e-13, max_iter=200_000)
    return model.fit(X, y).coef_


@pytest.mark.parametrize("loss", ["sum", "half", "half-mean"])
@pytest.mark.parametrize("depth", [2, 3])
def test_pulls_of_the_average_are_what_the_mirror_coordinates_moved(depth, loss):
    """Xᵀ(y − Xβ̄) = (η(t) − η₀)/t, clock and normalisation included, from a biased start."""
    X, y = draw(1)
    rng = np.random.default_rng(2)
    start = bf.models.DiagonalParams(*rng.uniform(0.1, 0.4, (2, 14)))
    problem = bf.Problem(bf.DiagonalNetwork(depth), (X, y), bf.SquareLoss(loss), start)
    flow = bf.gradient_flow(problem, t1=4.0, times=[1.0, 4.0])
    found, form = lasso_gap(flow), bf.models.mirror(problem)
    for k, t in enumerate(found.times):
        beta = problem.model.effective(flow.at(t))
        moved = form.potential.at(beta).minus(form.origin) / t
        assert np.max(np.abs(X.T @ (y - X @ found.mean[k]) - moved)) < 1e-6 * found.penalty[k]


@pytest.mark.parametrize("seed", range(4))
def test_other_solvers_stay_within_the_gap(seed):
    X, y = draw(seed)
    flow = bf.mirror_flow(bf.potentials.Hypentropy(1e-8), X, y, t1=80.0, times=[5.0, 20.0, 80.0])
    found = lasso_gap(flow)
    for k in range(3):
        penalty = found.penalty[k]
        least = objective(X, y, peer(X, y, penalty), penalty)
        assert found.objective[k] - found.gap[k] <= least * (1 + 1e-12)
        assert least <= found.objective[k] * (1 + 1e-12)
        lower, upper = least_objective(X, y, penalty)
        assert lower <= least * (1 + 1e-12) and upper - lower < 1e-9 * upper
        assert upper == pytest.approx(least, rel=1e-9)
        raw = objective(X, y, flow.states[k], penalty)
        assert raw > found.objective[k]  # the flow itself is no such solution


def test_the_proof_holds_in_exact_arithmetic_on_ugly_data():
    """Columns over eight decades, an offset, a column twice: P(β̄) − D(θ) for the floats as they
    are."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((4, 7)) * 10.0 ** rng.uniform(-4, 4, 7) + 1e3
    X[:, 1] = X[:, 0]
    y, beta = rng.standard_normal(4) + 1e6, rng.standard_normal(7)
    beta[2] = 0.0
    found = lasso_proof(X, y, beta)
    rows = [[Fraction(float(v)) for v in row] for row in X]
    b, labels = [Fraction(float(v)) for v in beta], [Fraction(float(v)) for v in y]
    penalty = Fraction(found.penalty)
    theta = [Fraction(float(v)) for v in y - X @ beta]
    pulls = [sum(row[i] * t for row, t in zip(rows, theta, strict=True)) for i in range(7)]
    assert max(map(abs, pulls)) <= penalty
    left = [
        label - sum(x * v for x, v in zip(row, b, strict=True))
        for row, label in zip(rows, labels, strict=True)
    ]
    primal = sum(v * v for v in left) / 2 + penalty * sum(map(abs, b))
    dual = sum(label * t - t * t / 2 for label, t in zip(labels, theta, strict=True))
    assert dual <= primal and primal - dual <= Fraction(found.gap)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_least_value_lies_in_the_bracket_in_exact_arithmetic(offset):
    """One column, where the least value is known in rationals; β̄ is optimal, or zero, so that the
    gap is rounding and nothing else."""
    rng = np.random.default_rng(9)
    for k in range(40):
        n = 1 + k % 20
        x, y = rng.standard_normal(n), rng.standard_normal(n) + offset
        beta = (k % 3) / 2 * float(x @ y) / float(x @ x)
        found = lasso_proof(x[:, None], y, np.array([beta]))
        column, labels = ([Fraction(float(v)) for v in part] for part in (x, y))
        pull = sum(a * b for a, b in zip(column, labels, strict=True))
        size = max(abs(pull) - Fraction(found.penalty), 0) / sum(a * a for a in column)
        best = size if pull > 0 else -size
        left = [b - a * best for a, b in zip(column, labels, strict=True)]
        least = sum(v * v for v in left) / 2 + Fraction(found.penalty) * size
        upper = Fraction(found.objective)
        assert upper - Fraction(found.gap) <= least <= upper


def test_closed_form_of_one_coordinate():
    """X = 1, Euclidean: β = y(1 − e^{−t}), β̄ = y(1 − (1 − e^{−t})/t)."""
    flow = bf.mirror_flow(bf.potentials.Euclidean(), [[1.0]], [2.0], t1=3.0, rtol=1e-10)
    found = lasso_gap(flow, [0.0, 0.5, 3.0])
    t = found.times[1:]
    exact = 2 * (1 - (1 - np.exp(-t)) / t)
    assert np.max(np.abs(found.mean[1:, 0] - exact)) < 1e-8
    assert np.all(np.abs(found.mean[1:, 0] - exact) <= 10 * found.error[1:] + 1e-13)
    assert found.mean[0, 0] == 0 and found.penalty[0] == pytest.approx(2.0)


def test_few_saved_times_give_the_same_average():
    """Jumps between saved times are found by halving."""
    X, y = draw(3)
    potential = bf.potentials.Hypentropy(log_alpha=-60.0)
    full = lasso_gap(bf.mirror_flow(potential, X, y, t1=400.0))
    few = lasso_gap(bf.mirror_flow(potential, X, y, t1=400.0, times=[200.0, 400.0]))
    off = np.max(np.abs(full.mean[-1] - few.mean[-1]))
    assert off <= 10 * (full.error[-1] + few.error[-1])


def test_averages_of_a_path_are_exact_and_vanish_nowhere():
    X, y = np.eye(3), np.array([0.5, -2.0, 1.0])
    found = lasso_gap(bf.saddle_path(X, y), [0.25, 1.0, 4.0])
    expected = np.sign(y) * np.maximum(np.abs(y) - 1 / found.times[:, None], 0)  # soft thresholds
    assert np.allclose(found.mean, expected) and np.allclose(found.penalty, [2.0, 1.0, 0.25])
    # 2(n + d + 8) roundings of the objective, and some of θ and of pulls
    assert np.max(found.relative) < 100 * np.finfo(float).eps


def test_what_has_no_average_is_refused():
    X, y = draw(0)
    problem = bf.Problem(bf.DiagonalNetwork(2), (X, y), bf.SquareLoss("half"), scale=0.1)
    with pytest.raises(bf.errors.InputError, match="not of descent"):
        lasso_gap(bf.train(problem, steps=5, step=0.01))
    flow = bf.gradient_flow(problem, t1=1.0)
    for times in ([], [-1.0], [2.0]):
        with pytest.raises(bf.errors.InputError, match="times"):
            lasso_gap(flow, times)
    network = bf.Problem(bf.TwoLayer(4, 14), (X, y), bf.SquareLoss("half"), scale=0.1)
    with pytest.raises(bf.errors.InputError, match="linear predictor"):
        lasso_gap(dataclasses.replace(flow, problem=network))


def test_it_shows_itself():
    X, y = draw(0)
    found = lasso_gap(bf.saddle_path(X, y), [0.1, 1.0, 10.0])
    assert "averages of a flow" in repr(found) and len(found.plot().axes) == 2


def test_the_program_gives_the_path_by_hand():
    """X = 1: soft thresholding; a penalty above ‖Xᵀy‖_∞ leaves nothing."""
    X, y = np.eye(2), np.array([3.0, -1.0])
    assert np.allclose(lasso_solution(X, y, 0.5), [2.5, -0.5])
    assert np.allclose(lasso_solution(X, y, 5.0), 0.0)
