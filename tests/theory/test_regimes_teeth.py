"""What W's verdicts rest on: the routes that share nothing with the library, and when a theorem
tells nothing."""

import dataclasses

import mpmath
import numpy as np
import pytest

import biasflow as bf
from biasflow.theory import Evidence, claim
from biasflow.theory.examples import diagonal_problem
from biasflow.theory.regimes.ends import residual_integrals
from biasflow.theory.regimes.log_weights import log_flow
from biasflow.theory.regimes.recovery import rank_one_completion
from biasflow.theory.regimes.regulariser import (
    beyond_linear,
    depth_value,
    dual_slope,
    hypentropic_value,
)
from biasflow.theory.witness import witness_flow


@pytest.mark.parametrize(
    ("size", "log_alpha"),
    [(1e-4, 0.0), (1.0, 0.0), (30.0, 0.0), (1.0, -30.0), (1e3, -300.0), (1e-3, 3.0)],
)
def test_quadrature_of_the_definition_agrees_with_50_digits(size, log_alpha):
    with mpmath.workdps(50):
        unit = mpmath.exp(2 * mpmath.mpf(log_alpha))
        z = mpmath.mpf(size) / unit
        exact = unit * (2 - mpmath.sqrt(4 + z * z) + z * mpmath.asinh(z / 2))
        assert abs(hypentropic_value(np.array([size]), log_alpha) / exact - 1) < 1e-13


@pytest.mark.parametrize("depth", [3, 4, 7])
def test_the_inverse_of_h_d(depth):
    p, z = depth / (depth - 2), np.array([-0.99, -0.3, 1e-3, 0.5, 0.999])
    height = (1 - z) ** -p - (1 + z) ** -p
    np.testing.assert_allclose(dual_slope(height, depth), z, rtol=1e-12)
    np.testing.assert_allclose(beyond_linear(z, depth), height - 2 * p * z, rtol=1e-6)


def test_logarithms_of_the_weights_follow_the_weights():
    problem = diagonal_problem(0, n=5, d=12, scale=1e-2)
    raw = witness_flow(problem, time_s=30)
    _, at = log_flow(problem, float(np.log(1e-2)), float(raw.times[-1]))
    chosen = raw.times[:: len(raw.times) // 20]
    beta = np.array([problem.model.effective(raw.at(t)) for t in chosen])
    assert np.max(np.abs(at(chosen) - beta)) < 1e-6


def test_the_residual_is_added_up_to_its_error():
    """d(log w₊)/dt = −4cXᵀr for the loss c‖·‖²: the weights themselves know the integral."""
    problem = diagonal_problem(0)
    raw = witness_flow(problem, time_s=30)
    _, integrals, errors = residual_integrals(problem, raw)
    logs = np.log(raw.final.plus) - np.log(problem.start.plus)
    off = np.max(np.abs(-4 * problem.data.X.T @ integrals[-1] - logs))
    assert off < 4 * errors[-1] * np.max(np.sum(np.abs(problem.data.X), axis=0))
    assert errors[-1] < 1e-5


def test_theorem_2_tells_nothing_on_data_like_those_of_figure_1():
    """n/d = 1/10: the kernel solution satisfies what the theorem promises of the rich one, and the
    verdict says so."""
    data = bf.data.sparse_regression(20, 200, 3, 0.01, key=0)
    model = bf.DiagonalNetwork(2)
    verdict = bf.verify(
        "W/thm2",
        bf.Problem(model, data, bf.SquareLoss("sum"), model.init(1e-8, dim=200)),
        time_s=300.0,
    )
    assert verdict.informative is False and "not informative here" in str(verdict)
    assert verdict.status == "holds"
    assert verdict.sharpness > 100


def test_theorem_2_tells_the_regimes_apart_on_its_examples():
    for key in (0, 2):
        evidence = Evidence(claim("W/thm2").example(key))
        assert bf.verify("W/thm2", evidence.problem).informative
        assert bf.verify("W/thm2", evidence.problem, limit=evidence.l2).status == "violated"


def test_lemma_3_could_be_48_times_sharper():
    """The deviation is at most (‖β‖₂/α²)²/48, attained as ‖β‖₂/α² → 0 on e₁."""
    assert bf.verify("W/lem3", key=2).sharpness == pytest.approx(48, rel=0.1)


def test_small_starts_complete_to_the_planted_matrix_where_the_nuclear_norm_does_not():
    problem = claim("W/sec6-rich").example(2)
    i, j, values = bf.data.observed_entries(problem.data, problem.model.shape)
    planted, least = (
        rank_one_completion(problem),
        bf.limits.min_nuclear_norm(problem.model.shape, i, j, values).value,
    )
    np.testing.assert_allclose(planted.ravel(), problem.data.truth, rtol=1e-9)
    assert bf.verify("W/sec6-rich", problem).status == "holds"
    assert np.max(np.abs(planted - least)) > 0.1 * np.max(np.abs(planted))


@pytest.mark.parametrize("depth", [3, 5])
def test_values_of_q_d_from_both_sides(depth):
    """Quadrature of h_D⁻¹ below one, x less what it lacks above: the same where they meet, and the
    library's potential."""
    p = depth / (depth - 2)
    for x in (0.1, 1.0, 30.0):
        z = float(dual_slope(np.array(x), depth))
        exact = x * z - ((1 - z) ** (1 - p) + (1 + z) ** (1 - p) - 2) / (p - 1)
        assert depth_value(x, depth) == pytest.approx(exact, rel=1e-11)
        assert bf.DiagonalNetwork(depth).potential(scale=1.0).value(np.array([x])) == pytest.approx(
            exact, rel=1e-11
        )


def test_labels_that_are_exactly_sparse_slow_the_jumps_down():
    """An active coordinate that ends at zero is not pushed there: its decay is algebraic, and the
    rate has a logarithm."""
    data = bf.data.sparse_regression(n=3, d=7, sparsity=1, noise_var=0.0, key=2)
    model = bf.DiagonalNetwork(2)
    verdict = bf.verify(
        "W/limit", bf.Problem(model, data, bf.SquareLoss("sum"), model.init(0.1, dim=7))
    )
    assert verdict.status == "hypotheses fail" and "rank" in str(verdict)


@pytest.mark.parametrize(("relative", "factor"), [(1.2, 0.44), (2.0, 3.0)])
def test_a_step_raises_the_product_of_the_weights_once_s_squared_exceeds_two(relative, factor):
    """One coordinate, one step with s = 2γ∂L/∂β: w₊w₋ gains |1 − s²|, so r_eff ≤ r needs s² ≤ 2."""
    model, data = bf.DiagonalNetwork(2), bf.Dataset([[1.0]], [1.0])
    start = model.init(0.1, dim=1)
    run = bf.training.gradient_descent(model, data, bf.SquareLoss("sum"), start, relative / 4, 1)
    assert abs(run.final.plus[0] * run.final.minus[0]) == pytest.approx(factor * 0.01)


@pytest.mark.parametrize("name", ["W/thm1", "W/thm2", "W/thm3"])
@pytest.mark.parametrize("factor", [0.0, -1.0, 1e100])
def test_limits_that_are_far_off_are_violated(name, factor):
    evidence = Evidence(claim(name).example(1))
    wrong = dataclasses.replace(evidence.limit, value=factor * evidence.limit.value)
    assert bf.verify(name, evidence.problem, limit=wrong).status == "violated"


def test_lemma_4_on_a_piece_of_a_flow_is_consistent_and_says_what_was_not_seen():
    p = claim("W/lem4").example(1)
    piece = bf.gradient_flow(p.model, p.data, p.loss, p.start, t1=0.5)
    verdict = bf.verify("W/lem4", p, flow=piece)
    assert verdict.status == "consistent" and "nothing after t = 0.5" in verdict.why


@pytest.mark.parametrize("name", ["W/thm1", "W/thm3", "W/lem4", "W/descent"])
def test_starts_that_are_uniform_up_to_rounding_are_admitted(name):
    p, rng = claim(name).example(1), np.random.default_rng(0)

    def started(spread):
        weights = (leaf * (1 + spread * rng.uniform(-1, 1, leaf.shape)) for leaf in p.start)
        return dataclasses.replace(p, start=bf.models.DiagonalParams(*weights))

    assert bf.verify(name, started(4e-13)).status == "holds"
    assert bf.verify(name, started(1e-9)).status == "hypotheses fail"


ODD = {
    "one column a million times as large": lambda X: (
        X * np.where(np.arange(X.shape[1]) == 3, 1e6, 1.0)
    ),
    "columns over twelve decades": lambda X: X * 10.0 ** np.linspace(-6, 6, X.shape[1]),
    "samples twice": lambda X: np.vstack([X, X[:2]]),
    "columns twice": lambda X: np.hstack([X, X[:, :3]]),
    "more samples than coordinates": lambda X: np.random.default_rng(1).standard_normal((12, 6)),
    "a column of zeros": lambda X: X * (np.arange(X.shape[1]) != 2),
    "labels of 1e-8": lambda X: X,
    "one coordinate": lambda X: X[:1, :1],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "name", ["W/thm1", "W/thm2", "W/lem1", "W/lem2", "W/lem3", "W/thm3", "W/lem4"]
)
def test_odd_data_make_no_theorem_false(name, odd):
    rng = np.random.default_rng(5)
    X = ODD[odd](rng.standard_normal((6, 15)))
    model = bf.DiagonalNetwork(3 if name in ("W/thm3", "W/lem4") else 2)
    data = bf.Dataset(
        X, X @ rng.standard_normal(X.shape[1]) * (1e-8 if odd == "labels of 1e-8" else 1.0)
    )
    verdict = bf.verify(
        name,
        bf.Problem(model, data, bf.SquareLoss("sum"), model.init(0.1, dim=X.shape[1])),
        time_s=10,
    )
    assert verdict.status != "violated", str(verdict)
    assert "Error" not in verdict.why


@pytest.mark.parametrize("name", [name for name in bf.claims() if name.startswith("W/")])
def test_every_claim_says_what_it_is_compared_with(name):
    statement = claim(name)
    assert statement.witness and statement.null and statement.family is not None


@pytest.mark.parametrize("key", [1, 2, 7])
def test_the_recipe_is_judged_by_the_error_of_the_predictor(key):
    """From starts whose weights are known better than β, or worse."""
    statement = claim("W/appA")
    assert bf.verify(statement, statement.family(key)).status == "holds"
