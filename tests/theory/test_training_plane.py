"""C, Theorem 3, in the plane: γ₁ of squared ReLUs is proven there."""

import numpy as np

import biasflow as bf
from biasflow.limits.neurons.squared_relu_line import squared_f1_max_margin
from biasflow.theory import claim
from biasflow.theory.evidence import Evidence
from biasflow.theory.margin import trained
from biasflow.theory.margin.margin_examples import line_problem, smooth_problem
from biasflow.theory.margin.raw import searched_margin
from biasflow.theory.margin.routes import largest_square_gain


def test_the_largest_gain_of_squared_relus_is_attained_and_never_exceeded():
    rng = np.random.default_rng(4)
    for d in (2, 3):
        rows, signed = rng.standard_normal((9, d)), rng.standard_normal(9)
        u = rng.standard_normal((200_000, d))
        u /= np.linalg.norm(u, axis=1)[:, None]
        seen = np.max(np.abs(np.maximum(u @ rows.T, 0.0) ** 2 @ signed))
        assert seen <= largest_square_gain(rows, signed) <= seen * 1.001


def test_on_a_line_the_proven_bound_is_the_exact_solver_s():
    problem = line_problem(0)
    exact = squared_f1_max_margin(problem.data.X[:, :-1], problem.data.y).objective
    weights = searched_margin(problem).weights
    upper = largest_square_gain(problem.data.X, weights * problem.data.y)
    assert exact <= upper <= exact * (1 + 1e-5)


def test_a_search_too_coarse_for_the_inputs_blames_no_theorem(monkeypatch):
    """Inputs of size 1e-3 beside the bias 1: the search misses 0.3% of γ₁."""
    monkeypatch.setattr(trained.Trained, "margin", lambda self, k: 0.0)
    monkeypatch.setattr(trained.Trained, "place", lambda self, size: 0)
    checks = trained.gamma_checks(trained.Trained(Evidence(claim("C/cor4").family(1))))
    assert not [str(check) for check in checks if check.status == "violated"]


def test_theorem_3_speaks_about_inputs_in_the_plane():
    verdict = bf.verify("C/thm3", smooth_problem(0, n=8, m=80, scale=3.0))
    assert verdict.status == "consistent", str(verdict)
    assert "finitely many places" in verdict.why
