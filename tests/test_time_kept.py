"""Time limits are kept to within a second of a core, and flows have one of their own."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import biasflow as bf

LIMIT, LATE = 0.5, 1.0
"""Seconds given, and seconds of a core beyond them that no function may take."""
ROTATION = {
    "certify": "n 300, d 50, m 1000",
    "f1_max_margin": "n 400, d 100",
    "kernel_max_margin": "n 1500",
    "l1_max_margin": "2000 × 2000",
    "min_norm_interpolator": "n 400, d 2",
    "relu_saddle_path": "n 40, d 40, m 200",
    "train, every step recorded": "n 3, d 5, 10 million steps",
    "MinNormReLURegressor": "n 400, d 300",
}


@pytest.fixture(scope="module")
def table():
    """tests/search/time_limits.py, which prints the table of all functions."""
    place = Path(__file__).parent / "search" / "time_limits.py"
    spec = importlib.util.spec_from_file_location("time_limits_table", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def calls(table):
    return {(name, size): calls for name, size, *calls in table.cases()}


@pytest.mark.parametrize("name", ROTATION)
def test_time_is_kept(table, calls, name):
    small, large = calls[name, ROTATION[name]]
    table.measured(small, 30.0)
    wall, cpu, _ = table.measured(large, LIMIT)
    assert table.beyond(wall, cpu, LIMIT) <= LATE


@pytest.mark.parametrize(
    "function",
    [
        bf.gradient_flow,
        bf.mirror_flow,
        bf.flows.direction_path,
        bf.flows.relu_saddle_path,
        bf.diagnostics.convergence_bounds,
    ],
)
def test_flows_have_an_end_of_their_own(function):
    assert inspect.signature(function).parameters["time_s"].default == 120.0


def test_a_flow_that_ran_out_of_time_says_how_it_goes_on():
    rng = np.random.default_rng(0)
    problem = bf.Problem(
        bf.TwoLayer(60, 2),
        (rng.normal(size=(8, 2)), rng.normal(size=8)),
        bf.SquareLoss(),
        scale=1e-3,
    )
    with pytest.raises(bf.errors.ConvergenceError, match=r"error\.partial\.resume\(time_s=300\)"):
        bf.gradient_flow(problem, time_s=0.5)


def test_a_path_of_saddles_that_ran_out_of_time_is_kept_so_far():
    rng = np.random.default_rng(1)
    start = bf.TwoLayer(40, 20).init(1.0, key=0)
    data = bf.Dataset(rng.normal(size=(20, 20)), rng.normal(size=20))
    with pytest.raises(
        bf.errors.ConvergenceError, match=r"relu_saddle_path: after .* time_s"
    ) as end:
        bf.flows.relu_saddle_path(data, start, time_s=0.2)
    assert isinstance(end.value.partial, bf.flows.ReluSaddlePath)
