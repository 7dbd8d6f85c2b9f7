"""A request that nobody waits for ends inside its flow."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import biasflow as bf
from biasflow.explore import SCENES
from biasflow.explore.patience import (
    Abandoned,
    DrawingPatience,
    Patience,
    abandoned,
    drawn_flow,
    got_there,
)
from biasflow.explore.scenes.sparse_scene import DEEP_S
from biasflow.explore.worker_process import Labour


@pytest.fixture(autouse=True)
def somebody_waits():
    abandoned.clear()
    yield
    abandoned.clear()


def deep_problem(log10_alpha=-2.0, depth=3):
    data = bf.data.sparse_regression(n=12, d=20, sparsity=3, noise_var=0.0, key=2)
    model, scale = bf.DiagonalNetwork(depth), 10.0**log10_alpha
    return bf.Problem(model, data, bf.SquareLoss("half"), scale=scale)


def test_patience_is_over_once_nobody_waits():
    patience, drawing = Patience(60.0), DrawingPatience(60.0)
    assert not (patience.over() or patience.first() or patience.both() or drawing.first())
    assert drawing.both(), "no second run tells the error of a picture"
    abandoned.set()
    assert patience.over() and patience.first() and patience.both() and drawing.first()


def test_a_flow_that_nobody_waits_for_is_broken_off():
    timer = threading.Timer(0.05, abandoned.set)
    timer.start()
    with pytest.raises(Abandoned):
        while True:
            drawn_flow(deep_problem(-8.0), DrawingPatience(60.0), rtol=1e-6, method="weights")
    timer.join()


def test_a_drawn_flow_is_the_flow_without_its_error():
    problem = deep_problem(0.0)
    drawn = drawn_flow(problem, DrawingPatience(30.0), t1=0.05, rtol=1e-6)
    flow = bf.gradient_flow(problem, t1=0.05, rtol=1e-6)
    assert got_there(drawn) and not drawn.result.success and flow.result.success
    np.testing.assert_allclose(drawn.final.plus, flow.final.plus, rtol=1e-5)


def test_a_worker_hears_of_a_cancellation_during_a_part():
    said = []
    labour = Labour(lambda head, data=None: said.append((time.monotonic(), head)))
    state = SCENES["sparse"].read({"depth": 5, "log10_alpha": -4.0})

    def cancel():
        while not any(head.get("part") == "limit" for _, head in said):
            time.sleep(0.001)
        labour.listen_to(json.dumps({"cancel": 7}))

    canceller = threading.Thread(target=cancel)
    labour.listen_to(json.dumps({"id": 7, "scene": "sparse", "state": state}))
    canceller.start()
    labour.work_once()
    canceller.join()
    heads = [head for _, head in said]
    assert heads[-1] == {"id": 7, "end": ""}
    limit = next(at for at, head in said if head.get("part") == "limit")
    assert said[-1][0] - limit < DEEP_S / 2
    assert not any(head.get("part") == "norms" for head in heads)
    assert not abandoned.is_set(), "the next request is waited for"
