"""The witness of mirror flow and the formulas it uses; evidence of the user's own; false alarms that were found."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory import claim
from biasflow.theory.examples import boundary_problem, diagonal_problem, half_line_problem, mirror_problem
from biasflow.theory.mirror.formulas import formulas_of
from biasflow.theory.mirror.operator_norm import least_singular, vertex_norm
from biasflow.theory.mirror.witness import primal_flow

RNG = np.random.default_rng(0)
POTENTIALS = [
    bf.Euclidean(),
    bf.ScaledPotential(0.3, bf.Euclidean()),
    bf.Hypentropy(1e-8),
    bf.ScaledPotential(0.5, bf.Hypentropy(RNG.uniform(1e-3, 10, 40))),
    bf.DepthPotential(3, 0.1),
    bf.ScaledPotential(2.0, bf.DepthPotential(5, 1.5)),
]


@pytest.mark.parametrize("potential", POTENTIALS, ids=repr)
def test_formulas_agree_with_the_potentials(potential):
    rng = np.random.default_rng(1)
    f = formulas_of(potential, 40)
    beta, other = (rng.standard_normal(40) * 10.0 ** rng.uniform(-3, 2, 40) for _ in range(2))
    assert f.gradient(beta) == pytest.approx(potential.grad(beta), rel=1e-13, abs=1e-13)
    assert f.weight(beta) * potential.hessian_diag(beta) == pytest.approx(1, rel=1e-12)
    for near in (other, beta * (1 + 1e-7 * rng.standard_normal(40))):
        D = potential.at(beta).divergence(potential.at(near))
        assert f.divergence(beta, near) == pytest.approx(D, rel=1e-7, abs=1e-300)


def test_formulas_on_half_lines_and_at_their_wall():
    start = np.array([1.0, -2.0, 0.5])
    f = formulas_of(bf.Hypentropy([0.0, 0.0, 0.3]), 3, start)
    assert list(f.signs) == [1, -1, 0]
    assert f.divergence(np.zeros(3), start)[:2] == pytest.approx([1.0, 2.0])  # D_φ(0, β) = |β| for the entropy


def test_a_potential_of_ones_own_is_known_by_its_gradient_alone():
    class Mine(bf.Hypentropy):
        pass

    class Wrapped(bf.ScaledPotential):
        pass

    assert formulas_of(Mine(0.3), 4).independent  # a subclass is what it says it is
    assert formulas_of(Wrapped(0.5, bf.Hypentropy(log_alpha=-2000.0)), 4).independent is False


@pytest.mark.parametrize("example", [mirror_problem, half_line_problem, boundary_problem])
@pytest.mark.parametrize("key", [0, 1, 2])
def test_the_error_of_the_witness_covers_the_truth(example, key):
    problem = example(key)
    flow = primal_flow(problem, None, None, 1e-10, 20.0)
    assert not isinstance(flow, str)
    own = bf.mirror_flow(problem.potential, problem.X, problem.y, problem.beta0, times=flow.times[1:], rtol=1e-11)
    distance = np.max(np.abs(own.states - flow.states[1:]), axis=1)
    assert np.all(distance <= flow.error[1:] + own.error)
    assert np.max(flow.error) <= 1e-6 * np.max(np.abs(flow.states))


def test_the_witness_at_tiny_scales_and_its_time_limit():
    problem = mirror_problem(0)
    tiny = dataclasses.replace(problem, potential=bf.ScaledPotential(0.5, bf.Hypentropy(np.full(24, 1e-30))), beta0=np.zeros(24))
    flow = primal_flow(tiny, None, None, 1e-10, 20.0)
    assert not isinstance(flow, str)
    best = bf.bregman_projection(tiny.potential, tiny.X, tiny.y, tiny.beta0).value
    assert np.max(np.abs(flow.final - best)) <= 1e-6
    assert "time limit" in primal_flow(problem, None, None, 1e-10, 1e-9)


def test_below_floats_there_is_no_independent_witness_and_nothing_is_claimed():
    problem = mirror_problem(0)
    tiny = dataclasses.replace(problem, potential=bf.ScaledPotential(0.5, bf.Hypentropy(log_alpha=-3000.0)), beta0=np.zeros(24))
    for name in ("R/thm2.2", "R/eq3", "R/lemA1"):
        assert bf.verify(name, tiny).status in ("consistent", "inconclusive")


@pytest.mark.parametrize("name", ["R/thm2.2", "R/eq3", "R/sharp", "R/lem2.5"])
def test_a_users_flow_is_judged_and_a_wrong_limit_is_not_taken(name):
    problem = mirror_problem(3)
    flow = bf.mirror_flow(problem.potential, problem.X, problem.y, problem.beta0)
    assert bf.verify(name, problem, flow=flow).status in ("holds", "inconclusive")
    best = bf.bregman_projection(problem.potential, problem.X, problem.y, problem.beta0)
    wrong = dataclasses.replace(best, value=best.value + np.linalg.svd(problem.X)[2][-1])
    verdict = bf.verify(name, problem, flow=flow, limit=wrong)
    if name != "R/eq3":  # equation (2) holds for every interpolator
        assert verdict.status == "violated"


def test_a_deep_network_whose_curvature_changes_late_is_no_violation():
    """The error of the late rate was that of a hypentropy: depth 5 with large labels was called violated."""
    rng = np.random.default_rng(1017)
    n, d = int(rng.integers(1, 8)), int(rng.integers(2, 20))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2)
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)
    model = bf.DiagonalNetwork(int(rng.integers(2, 6)))
    problem = bf.Problem(model, bf.Dataset(X, y), bf.SquareLoss("sum"), model.init(10.0 ** rng.uniform(-1, 1), dim=d))
    assert (model.depth, X.shape) == (5, (7, 18))
    assert bf.verify("R/sharp", problem).status in ("holds", "inconclusive")


@pytest.mark.parametrize(("depth", "labels"), [(2, 30.0), (3, 1.0), (4, 30.0)])
def test_late_rates_of_other_depths_hold(depth, labels):
    problem = diagonal_problem(0, depth=depth, scale=0.3)
    data = dataclasses.replace(problem.data, y=labels * problem.data.y)
    verdict = bf.verify("R/sharp", dataclasses.replace(problem, data=data))
    assert verdict.status in ("holds", "inconclusive"), str(verdict)


def test_vertices_give_norms_that_are_known():
    assert vertex_norm(np.eye(3), "linf") == pytest.approx(np.sqrt(3))  # the corner of a cube
    assert vertex_norm(np.eye(3), "l1") == pytest.approx(1.0)
    assert vertex_norm(np.array([[3.0, -4.0]]), "linf") == pytest.approx(1 / 4)
    assert vertex_norm(np.ones((20, 60)), "linf") is None
    assert least_singular(np.diag([3.0, 1e-5, 2.0])) == pytest.approx(1e-5)


def test_loose_bounds_say_that_a_slower_flow_passes():
    verdict = bf.verify("R/lem3.7", key=0)
    assert verdict.status == "holds"
    assert verdict.informative is False
    assert "10 times slower passes too" in str(verdict)
    assert verdict.sharpness > 10
    assert bf.verify("R/eq3", key=0).informative


def test_families_are_wider_than_the_examples_and_depend_on_the_key():
    for name in bf.claims():
        if name.startswith("R/"):
            family = claim(name).family
            assert family is not None
            assert repr(family(0)) != repr(family(1))


def test_the_objective_of_lemma_5_1_is_convex_for_odd_powers_only():
    x = np.linspace(-1, 1, 41)
    for n in range(1, 6):
        bend = np.diff(x ** (n + 1), 2)
        assert np.all(bend > -1e-12) == (n % 2 == 1)
        assert np.all(bend[20:] > 0)  # on x > 0 always


def test_gradients_tend_to_those_of_the_half_line_values_do_not():
    x = np.array([0.3, 2.0])
    half = bf.Hypentropy(0.0, sign=1.0)
    for alpha in (1e-3, 1e-6, 1e-12):
        potential = bf.Hypentropy(alpha)
        assert potential.grad(x) - np.log(2 / alpha) == pytest.approx(half.grad(x), abs=alpha)
        assert np.all(potential.at(x).value() > x * (np.log(1 / alpha) - 2))
