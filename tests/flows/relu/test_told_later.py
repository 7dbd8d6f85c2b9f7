"""Events and stats of a flow are made when somebody looks, once, and from what was there then."""

import copy
import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.results import altered, later

LOSS = bf.SquareLoss("half-mean")


def _problem(scale=1e-3):
    data = bf.Dataset(3.0 * np.eye(2), [5.0, -7.0])
    return bf.Problem(bf.TwoLayer(8, 2), data, LOSS, scale=scale, key=0)


def test_nothing_is_told_before_and_the_same_twice():
    flow = bf.gradient_flow(_problem())
    assert "events" not in vars(flow) and "stats" not in vars(flow)
    events, stats = flow.events, flow.stats
    assert flow.events is events and flow.stats is stats
    assert stats["events"] == len(events) > 0
    assert all(0 < event.time <= flow.times[-1] for event in events)
    assert stats["log_norms"] is flow.log_norms and stats["rtol"] == 1e-8


def test_copies_tell_the_same():
    flow, told = (bf.gradient_flow(_problem()) for _ in range(2))
    expected = told.events, {**told.stats, "error_seconds": 0.0, "log_norms": None}
    for other in (copy.copy(flow), altered(flow, loss=2 * flow.loss), dataclasses.replace(flow)):
        found = {**other.stats, "error_seconds": 0.0, "log_norms": None}
        assert (other.events, found) == expected
    assert altered(flow, events=()).events == ()
    assert altered(flow, stats=later(lambda: {"steps": 0})).stats["steps"] == 0


def test_what_is_written_into_the_data_afterwards_changes_nothing():
    expected = bf.gradient_flow(_problem()).stats["dead"]
    problem = _problem()
    flow = bf.gradient_flow(problem)
    problem.data.X[...] = -1.0
    assert flow.stats["dead"] == expected and 0 < len(expected) < 8


def test_what_a_flow_has_not_is_an_attribute_error():
    flow = bf.gradient_flow(_problem())
    with pytest.raises(AttributeError, match="'Trajectory' object has no attribute 'event'"):
        flow.event  # noqa: B018
    assert not hasattr(flow, "_event") and not hasattr(flow, "__setstate_cython__")
