"""C's energy, clock and populations: what is printed, where it fails, and data written in other
ways."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.margin import energy, populations
from biasflow.theory.margin.margin_examples import (
    any_interval_problem,
    exponential_problem,
    interval_problem,
    relu_problem,
)


def check_of(verdict, words):
    return next(check for check in verdict.checks if words in check.quantity)


def test_corollary_11_as_printed_is_violated():
    """Where ‖ν‖ grows −n·d/dt(1/‖ν‖) is positive, and larger than d/dt S; with the other sign log n
    suffices."""
    found = energy.Gaining(exponential_problem(0))
    n = found.problem.data.n
    t = found.end / 4
    speed, error = found.rates(lambda s: found.smooth(s) / found.norm(s), t)
    *_, growth = energy._parts(found, t)
    assert growth > 0
    assert speed < n * growth - error
    assert speed > -np.log(n) * growth + error


def test_on_atoms_the_gradient_jumps():
    check = check_of(bf.verify("C/lem25", key=0), "Lipschitz bound")
    assert check.status == "holds" and check.informative and check.null > 100


def test_a_population_has_mass_one_and_its_labels():
    for key in range(20):
        found = populations.spread(any_interval_problem(key))
        assert np.sum(found.mass) == pytest.approx(1, rel=1e-12)
        assert np.all(np.abs(found.label) == 1) and np.all(found.right > found.left)


def test_closed_forms_are_those_of_a_fine_sample():
    problem = interval_problem(3)
    found = populations.spread(problem)
    x, shares, values, _ = found.nodes
    fine = problem.model(problem.start, np.column_stack([x, np.ones(x.size)]))
    _, _, _, piece = found.nodes
    assert found.label[piece] * fine == pytest.approx(values, abs=1e-12)
    assert -np.log(shares @ np.exp(-values)) == pytest.approx(found.smooth_margin(), abs=1e-12)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_bias_may_stand_in_any_column(column):
    problem = relu_problem(0, balanced=True)
    order = np.insert([0, 1], column, 2)
    data = bf.Dataset(problem.data.X[:, order] * (1 + 1e-16), problem.data.y)
    start = problem.start._replace(W=problem.start.W[:, order])
    verdict = bf.verify("C/lem26", dataclasses.replace(problem, data=data, start=start))
    assert verdict.status == "holds", str(verdict)
    assert (
        bf.verify("C/gamma1", dataclasses.replace(problem, data=data, start=start)).status
        == "holds"
    )
