"""What the march leaves out because it cannot matter: looks at kinks out of reach, and sums that a
parabola holds."""

import math

import numpy as np

from biasflow.flows.relu.detours import bearable
from biasflow.flows.relu.dormand_prince import dense_state, set_travel
from biasflow.flows.relu.gated_field import set_outputs
from biasflow.flows.relu.layout import FIRST, OUT, RHO
from biasflow.flows.relu.turns_aside import NOWHERE, pile, sift


def test_no_neuron_goes_further_than_its_travel():
    rng, h = np.random.default_rng(0), 0.3
    for _ in range(20):
        Y, trial, K = rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), rng.normal(size=(7, 30))
        scratch, travel, state = np.empty((5, 6)), np.empty(5), np.empty((5, 6))
        set_travel(h, Y, trial, K, scratch, travel)
        farthest = np.zeros(5)
        for theta in np.linspace(0.0, 1.0, 41):
            dense_state(theta, h, Y, trial, K, state)
            farthest = np.maximum(farthest, np.linalg.norm((state - Y)[:, FIRST:], axis=1))
        assert np.all(farthest <= travel)
        assert np.all(travel <= 3 * farthest)  # and not for want of trying


def test_neurons_come_in_the_order_of_their_events():
    when = np.array([0.5, 0.1, NOWHERE, 0.3, 0.1, NOWHERE, 0.9, 0.0, 0.3])
    heap = np.zeros(when.size, np.int64)
    count, order = pile(when, heap), []
    while count:
        order.append(int(heap[0]))
        count -= 1
        heap[0] = heap[count]
        sift(heap, count, 0, when)
    assert order == [7, 1, 4, 3, 8, 0, 6]


def test_a_step_is_cut_where_the_ramps_reach_what_is_allowed():
    rng = np.random.default_rng(1)
    when, ramps = np.sort(rng.uniform(0, 0.4, 6)), rng.uniform(0, 1, 6)
    last, loop, allowed = when[-1], 3.0, 0.2
    tilt, level = ramps @ (last - when), ramps @ (last - when) ** 2
    theta = bearable(last, 1.0, ramps.sum(), tilt, level, loop, allowed)

    def left_out(theta):
        return ramps @ (theta - when) ** 2 * min(1.0, loop * theta)

    assert last < theta < 1 and left_out(theta) <= allowed < left_out(theta + 1e-5)
    assert bearable(last, 1.0, ramps.sum(), tilt, level, loop, 1e9) == 1.0
    assert bearable(last, 1.0, ramps.sum(), tilt, level, loop, 0.0) == last


def test_sizes_follow_from_those_before():
    rng = np.random.default_rng(2)
    Y, lanes = rng.normal(size=(7, 4)), np.full((8, 7), math.inf)
    for gain in (0.0, 1e-9, 0.05, -0.06, 0.02, 3.0, -1e-3):
        Y[:, RHO] += gain * rng.uniform(0.5, 1, 7)
        set_outputs(Y, lanes)
        exact = np.exp(2 * Y[:, RHO]) * Y[:, OUT]
        assert np.all(np.abs(lanes[0] - exact) <= 8 * np.finfo(float).eps * np.abs(exact))
