"""Paper B's claims where they should fail, and the corrected constants."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.relu.examples import general_problem, in_cones, orthonormal_problem
from biasflow.theory.relu.setting import Setting


def with_data(problem, X=None, y=None):
    data = problem.data
    return dataclasses.replace(problem, data=bf.Dataset(data.X if X is None else X, data.y if y is None else y))


def test_assumptions_are_violated_where_they_fail():
    problem = orthonormal_problem(0)
    skewed = with_data(problem, X=problem.data.X + 0.1)
    assert bf.verify("B/assumption-1", skewed).status == "violated"
    equal = with_data(problem, y=np.array([0.5, -0.5]))
    assert bf.verify("B/assumption-2", equal).status == "violated"
    empty = dataclasses.replace(problem, params0=bf.TwoLayerParams(np.abs(problem.params0.a), problem.params0.W))
    verdict = bf.verify("B/assumption-3", empty)
    assert verdict.status == "violated" and "S_{−,1} (none)" in str(verdict)


def test_lemmas_name_the_assumption_that_fails():
    problem = orthonormal_problem(0)
    empty = dataclasses.replace(problem, params0=bf.TwoLayerParams(np.abs(problem.params0.a), problem.params0.W))
    verdict = bf.verify("B/lem4", empty)
    assert verdict.status == "hypotheses fail" and "S_{−,1} is empty" in str(verdict) and "not minimal" in str(verdict)
    large = orthonormal_problem(0, scale=0.1)
    assert "needs at most 1e-06" in str(bf.verify("B/lem2", large))
    assert "relu" in str(bf.verify("B/lem1", dataclasses.replace(problem, model=bf.TwoLayer(30, 6, "leaky_relu"))))


@pytest.mark.parametrize("name", [n for n in bf.claims() if n.startswith("B/")])
def test_claims_about_networks_refuse_mirror_problems(name):
    problem = bf.MirrorProblem(bf.Euclidean(), np.eye(2), np.ones(2))
    assert bf.verify(name, problem).status == "hypotheses fail"


@pytest.mark.parametrize("normalisation", ["half", "sum"])
def test_the_clock_follows_the_loss(normalisation):
    problem = dataclasses.replace(orthonormal_problem(1), loss=bf.SquareLoss(normalisation))
    for name in ("B/timeline", "B/lem3", "B/lem5", "B/u-plus", "B/fact1"):
        verdict = bf.verify(name, problem)
        assert verdict.status == "holds", str(verdict)


def test_epsilon_is_the_largest_that_b2_allows():
    """α and β with 1/n²: with the printed ones, without it, ε would be far larger and Lemma 3 false at once."""
    s = Setting(orthonormal_problem(3))
    shares = [np.min(y**2) / np.sum(y**2) / 2 for y in (s.y[s.first.sign * s.y > 0], s.y[s.second.sign * s.y > 0])]
    for eps, allowed in ((s.epsilon, True), (1.001 * s.epsilon, False)):
        one = (1 + 3 * eps) * max(1 - shares[0], 1 / s.ratio) <= 1 - eps + 1e-15
        two = (1 + 3 * s.ratio * eps) * (1 - shares[1]) <= 1 - eps + 1e-15
        assert bool(one and two) is allowed


def test_roles_swap_with_the_labels():
    """Flipping all labels and signs flips everything and nothing else."""
    problem = orthonormal_problem(1)
    flipped = with_data(
        dataclasses.replace(problem, params0=bf.TwoLayerParams(-problem.params0.a, problem.params0.W)), y=-problem.data.y
    )
    one, two = Setting(problem), Setting(flipped)
    assert one.first.sign == -two.first.sign and one.epsilon == two.epsilon and one.ends == two.ends
    assert bf.verify("B/lem4", flipped).status == "holds"


def test_a_wrong_limit_is_found_out():
    """The flow of one start against the limit of another."""
    from biasflow.theory.evidence import Evidence
    from biasflow.theory.verifying import claim, judge

    problem = orthonormal_problem(2)
    other = dataclasses.replace(problem, params0=in_cones(problem.model.init(1.0, key=99), problem.data, 1e-80))
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.params0)
    assert judge(claim("B/limit"), Evidence(other, flow)).status == "violated"


def test_unbalanced_starts_conserve_their_difference():
    problem = general_problem(3)
    a, W = problem.params0
    assert not np.allclose(np.abs(a), np.linalg.norm(W, axis=1))
    assert bf.verify("B/lem1", problem).status == "holds"
    assert bf.verify("B/thm1", problem).status == "hypotheses fail"
