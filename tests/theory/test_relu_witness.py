"""The ReLU witness against the library's flow, and against plain gradient descent extrapolated in
its step."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.handed_in_flows import flow_defect
from biasflow.theory.relu.relu_examples import general_problem, orthonormal_problem
from biasflow.theory.relu.relu_witness import gated_flow


def distance(one, other):
    return max(float(np.max(np.abs(one.a - other.a))), float(np.max(np.abs(one.W - other.W))))


def descent(problem, t1, steps):
    a, W = problem.start
    X, y, model = problem.data.X, problem.data.y, problem.model
    for _ in range(steps):
        state = bf.models.TwoLayerParams(a, W)
        da, dW = model.gradient(state, X, problem.loss.gradient(model(state, X), y))
        a, W = a - t1 / steps * da, W - t1 / steps * dW
    return bf.models.TwoLayerParams(a, W)


@pytest.mark.parametrize("key", [0, 1, 3])
def test_it_ends_where_the_flow_ends_from_vanishing_starts(key):
    problem = orthonormal_problem(key)
    witness = gated_flow(problem, None, None, 1e-10, 60.0)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    assert witness.result is bf.Result.CONVERGED
    assert distance(witness.final, flow.final) <= 10 * float(flow.error[-1])
    assert len(witness.events) == len(flow.events)
    middle = float(witness.times[-1]) / 2
    sizes = np.linalg.norm(flow.at(middle).W, axis=1)
    apart = np.linalg.norm(witness.at(middle).W - flow.at(middle).W, axis=1)
    assert np.all(apart <= 1e-6 * sizes)  # neuron by neuron, far below the largest


@pytest.mark.parametrize("key", [3, 4, 7])
def test_it_slides_where_the_flow_slides(key):
    problem = general_problem(key)
    witness = gated_flow(problem, None, None, 1e-10, 60.0)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    assert {e.kind for e in witness.events} >= {"off", "slide in"} or key == 3
    assert distance(witness.final, flow.final) <= 10 * float(flow.error[-1])


@pytest.mark.parametrize("loss", [bf.SquareLoss("half-mean"), bf.LogisticLoss()])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
def test_gradient_descent_tends_to_it_linearly_in_the_step(loss, activation):
    problem = general_problem(5)
    data = bf.Dataset(problem.data.X, np.sign(problem.data.y))
    problem = bf.Problem(bf.TwoLayer(12, 4, activation), data, loss, problem.start)
    t1 = 6.0
    witness = gated_flow(problem, t1, None, 1e-10, 60.0)
    gaps = [distance(descent(problem, t1, steps), witness.final) for steps in (4000, 8000)]
    assert gaps[0] <= 3e-3
    # O(η); where neurons slide, descent zigzags, and one halving is not exactly a half
    assert gaps[1] <= 0.65 * gaps[0]
    assert gaps[1] >= 100 * float(witness.error[-1])


def test_it_measures_the_defect_of_flows():
    problem = orthonormal_problem(0, scale=1e-6)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    assert flow_defect(flow, 60.0).sound
    spoiled = bf.models.TwoLayerParams(flow.states.a * (1 + 1e-3), flow.states.W * (1 + 1e-3))
    assert not flow_defect(dataclasses.replace(flow, states=spoiled), 60.0).sound


def test_what_it_cannot_follow_is_a_sentence():
    model = bf.TwoLayer(1, 1)
    data = bf.Dataset(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]))
    start = bf.models.TwoLayerParams(np.array([0.5]), np.array([[0.0]]))
    assert "kink" in gated_flow(
        bf.Problem(model, data, bf.SquareLoss(), start), 1.0, None, 1e-10, 5.0
    )
    assert "time limit" in gated_flow(general_problem(1), None, None, 1e-10, 1e-3)


def test_a_dead_network_stays():
    problem = orthonormal_problem(0)
    dead = dataclasses.replace(
        problem, start=bf.models.TwoLayerParams(problem.start.a, -np.abs(problem.start.W))
    )
    X = np.eye(problem.data.d)[: problem.data.n]
    dead = dataclasses.replace(dead, data=bf.Dataset(X, problem.data.y))
    witness = gated_flow(dead, None, None, 1e-10, 5.0)
    assert witness.result is bf.Result.DEAD
    assert distance(gated_flow(dead, 3.0, None, 1e-10, 5.0).final, dead.start) == 0
