"""Neurons with the same gates share one pull and one sum: what they do must not show it."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.relu.gated_field import set_kin, set_marks
from biasflow.flows.relu.layout import FIRST, OFF, ON, SLIDE, Geometry, Slides, Work


def problem(seed, m, d=3, n=6):
    rng = np.random.default_rng(seed)
    data = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    return data, 0.3 * rng.standard_normal(m), 0.3 * rng.standard_normal((m, d))


@pytest.mark.parametrize("seed", range(3))
def test_a_neuron_in_four_equal_parts_flows_as_the_whole(seed):
    data, a, W = problem(seed, 3)
    times = np.linspace(0.5, 4, 8)
    whole, parts = (
        bf.gradient_flow(
            bf.TwoLayer(3 * k, 3),
            data,
            bf.SquareLoss(),
            bf.models.TwoLayerParams(np.tile(a, k) / k**0.5, np.tile(W, (k, 1)) / k**0.5),
            times=times,
            rtol=1e-8,
        )
        for k in (1, 4)
    )
    apart = max(
        np.max(np.abs(2 * parts.states.a - np.tile(whole.states.a, (1, 4)))),
        np.max(np.abs(2 * parts.states.W - np.tile(whole.states.W, (1, 4, 1)))),
    )
    assert whole.stats["events"] > 0
    assert apart <= 4 * (np.max(whole.error) + 2 * np.max(parts.error))


def kin_of(gates, which, accident):
    """Who is kin to whom, all marks being equal by accident or not."""
    m, G = gates.shape
    sizes = np.sum(gates == SLIDE, axis=1)
    slides = Slides(sizes, which, *(np.empty((m, 2)),) * 3)
    geometry = Geometry(*(np.empty((1, 1)),) * 2, *(np.empty(0),) * 4, 1.0, 0.0, False)
    slots = 1 << (2 * m).bit_length()
    numbers = {"kin": m, "chief": m, "many": 1, "marks": m, "slots": slots}
    tables = dict.fromkeys(Work._fields, np.empty((m, FIRST)))
    tables |= {"masks": np.empty((2, 0, m)), "on": np.empty((m, G)), "off": np.empty((m, G))}
    work = Work(**{**tables, **{name: np.zeros(k, np.int64) for name, k in numbers.items()}})
    for j in range(m):
        set_marks(j, gates[j], geometry, work)
    if accident:
        work.marks[:] = 5
    set_kin(gates, geometry, slides, work)
    # every neuron finds its own gates among its kin's
    assert np.array_equal(work.on[work.kin], gates == ON)
    return work.kin.tolist(), work.chief[: work.many[0]].tolist(), work.marks


def test_kin_have_the_same_gates_and_slides_in_the_same_order():
    gates = np.array(
        [[ON, OFF, SLIDE], [ON, ON, OFF], [ON, OFF, SLIDE], [SLIDE, SLIDE, ON], [SLIDE, SLIDE, ON]],
        np.int8,
    )
    which = np.array([[2, 0], [0, 0], [2, 0], [0, 1], [1, 0]])
    kin, chiefs, marks = kin_of(gates, which, accident=False)
    assert kin == [0, 1, 0, 2, 3] and chiefs == [0, 1, 3, 4]
    assert marks[0] == marks[2] and len(set(marks.tolist())) == 3
    assert kin_of(gates, which, accident=True)[:2] == (kin, chiefs)
