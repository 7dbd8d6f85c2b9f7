"""W/sec6 refuses what it does not speak about, and its checks can fail."""

import dataclasses

import numpy as np

import biasflow as bf
from biasflow.theory.regimes.matrix_completion import (
    TRANSITION_ACCURACY,
    completion_problem,
    kernel_spread,
    narrowed,
    raw_limit,
    started,
    transition_scale,
)


def refusal(problem, status="hypotheses fail"):
    verdict = bf.verify("W/sec6", problem)
    assert verdict.status == status and verdict.checks == ()
    return str(verdict)


def test_other_models_are_refused():
    model = bf.DiagonalNetwork(2)
    ds = bf.data.sparse_regression(3, 8, 2)
    other = bf.Problem(model, ds, bf.SquareLoss(), model.init(0.1, dim=8))
    assert "needs a MatrixFactorisation" in refusal(other, "does not apply")


def test_general_sensing_a_full_matrix_and_biased_starts_are_refused():
    problem = completion_problem(0)
    rng = np.random.default_rng(0)
    sensed = bf.Dataset(rng.standard_normal((4, 16)), rng.standard_normal(4))
    assert "not the indicator" in refusal(dataclasses.replace(problem, data=sensed))
    full = bf.data.completion((4, 4), 1, 16)
    assert "every entry is observed" in refusal(dataclasses.replace(problem, data=full))
    U, V = problem.start
    assert "UVᵀ is not zero" in refusal(
        dataclasses.replace(problem, start=bf.models.FactorParams(U + 0.01, V))
    )
    zero = bf.Dataset(problem.data.X, np.zeros(problem.data.n))
    assert "nothing to learn" in refusal(dataclasses.replace(problem, data=zero))


def test_problems_without_two_regimes_are_refused():
    problem = completion_problem(0)
    one = bf.data.from_entries((4, 4), [1], [2], [1.0])
    assert "same limit" in refusal(dataclasses.replace(problem, data=one))
    thin = bf.MatrixFactorisation((4, 4), 2)
    start = thin.init(0.1, law="gaussian")
    assert "too few columns" in refusal(bf.Problem(thin, problem.data, problem.loss, start))


def test_kernel_spread_is_one_in_the_mean():
    """Rows of Gaussian factors: E⟨u_i, u_j⟩² = k against E‖u_i‖² = k; eight draws, five standard
    errors."""
    problem = completion_problem(1, (8, 8), 40)
    spreads = [kernel_spread(problem, 256, key) for key in range(8)]
    assert abs(np.mean(spreads) - 1) < 5 * np.std(spreads, ddof=1) / np.sqrt(8)


def test_correlated_rows_are_no_delta_kernel():
    """Rows of U₀ that share a direction couple entries of a column: the kernel limit then changes
    unobserved entries."""
    problem = completion_problem(0)
    model, shared = problem.model, np.eye(4) + 0.5
    start = bf.models.FactorParams(np.hstack([shared, -shared]), np.hstack([shared, shared]))
    kernel = bf.limits.tangent_kernel_limit(model, problem.data, start).value
    hidden = ~problem.data.X.any(axis=0)
    assert np.max(np.abs(kernel.ravel()[hidden])) > 0.05 * np.max(np.abs(problem.data.y))


def test_the_transition_scale_scales_with_the_root_of_the_labels():
    problem = started(completion_problem(0))
    quadruple = bf.Dataset(problem.data.X, 4 * problem.data.y)
    ratio = transition_scale(dataclasses.replace(problem, data=quadruple)) / transition_scale(
        problem
    )
    assert abs(np.log(ratio / 2)) < 2 * TRANSITION_ACCURACY


def test_columns_can_be_narrowed_without_changing_the_flow():
    """An orthogonal matrix on the right changes neither UVᵀ nor its flow, by raw gradients from
    both starts."""
    problem = started(completion_problem(0), 12, key=1)
    wide, narrow = (raw_limit(p, 0.05, 1e-9, 20.0)[0] for p in (problem, narrowed(problem)))
    assert narrowed(problem).model.rank < problem.model.rank
    assert np.max(np.abs(wide - narrow)) < 1e-8
