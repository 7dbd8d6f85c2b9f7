"""Public functions as point functions, so that a spec can name them.

A spec holds numbers and strings, while the functions take data sets, models and losses. Each
adapter here makes those from plain
settings, the same everywhere: sparse regression data (n, d, sparsity, noise_var, seed) and a
diagonal network (depth) started at `scale`. It returns what the function found as plain variables:
`beta` and, for limits, the certificate; for flows, how they ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.problems import Dataset
from .._core.results import Limit, Trajectory
from .._numerics.deadlines import RECORDED_S
from ..data import clusters, sparse_regression, with_bias
from ..flows import gradient_flow, limit, saddle_path
from ..limits import min_l1, min_l2
from ..losses import SquareLoss
from ..models import DiagonalNetwork, TwoLayer
from ..training import InverseRootStep, gradient_descent, margin_ascent

if TYPE_CHECKING:
    import xarray


def limit_point(
    n: int,
    d: int,
    seed: int,
    scale: float,
    sparsity: int = 5,
    noise_var: float = 0.01,
    depth: int = 2,
) -> xarray.Dataset:
    """`bf.limit` of a diagonal network."""
    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    return _of_limit(data, limit(DiagonalNetwork(depth), data, scale=scale, time_s=RECORDED_S))


def min_l1_point(
    n: int, d: int, seed: int, sparsity: int = 5, noise_var: float = 0.01
) -> xarray.Dataset:
    """`bf.limits.min_l1`."""
    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    return _of_limit(data, min_l1(data.X, data.y))


def min_l2_point(
    n: int, d: int, seed: int, sparsity: int = 5, noise_var: float = 0.01
) -> xarray.Dataset:
    """`bf.limits.min_l2`."""
    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    return _of_limit(data, min_l2(data.X, data.y))


def gradient_flow_point(
    n: int,
    d: int,
    seed: int,
    scale: float,
    sparsity: int = 5,
    noise_var: float = 0.01,
    depth: int = 2,
    t1: float = np.inf,
    rtol: float = 1e-8,
    method: str = "dual",
) -> xarray.Dataset:
    """`bf.gradient_flow` of a diagonal network with the loss ½‖·‖², until t1 or until it
    converges."""
    data, model = sparse_regression(n, d, sparsity, noise_var, key=seed), DiagonalNetwork(depth)
    end = None if np.isinf(t1) else t1
    flow = gradient_flow(
        model,
        data,
        SquareLoss("half"),
        model.init(scale, dim=d),
        t1=end,
        rtol=rtol,
        method=method,
        throw=False,
        time_s=None,
    )
    return _of_flow(data, flow, model.effective(flow.final))


def gradient_descent_point(
    n: int,
    d: int,
    seed: int,
    scale: float,
    stepsize: float,
    steps: int,
    sparsity: int = 5,
    noise_var: float = 0.01,
    depth: int = 2,
    batch: int = 0,
) -> xarray.Dataset:
    """`bf.training.gradient_descent` on a diagonal network with the loss ½‖·‖². batch 0: all
    samples; `seed` draws the batches too."""
    data, model = sparse_regression(n, d, sparsity, noise_var, key=seed), DiagonalNetwork(depth)
    start = model.init(scale, dim=d)
    run = gradient_descent(
        model, data, SquareLoss("half"), start, stepsize, steps, batch=batch or None, key=seed
    )
    return _of_flow(data, run, model.effective(run.final))


def saddle_path_point(
    n: int, d: int, seed: int, sparsity: int = 5, noise_var: float = 0.01
) -> xarray.Dataset:
    """`bf.saddle_path`: where it ends, and after how many jumps."""
    data = sparse_regression(n, d, sparsity, noise_var, key=seed)
    path = saddle_path(data.X, data.y)
    return _of_flow(data, path, path.final).assign(jumps=len(path.times) - 1)


def margin_ascent_point(
    n: int,
    d: int,
    m: int,
    seed: int,
    steps: int,
    k: int = 3,
    size: float = 0.5,
    preset: str = "paper",
    dtype: str = "float64",
) -> xarray.Dataset:
    """`bf.training.margin_ascent` of both layers with steps size/√(t+1), on clusters with their
    bias column, from a balanced start."""
    import xarray

    data, model = (
        with_bias(clusters(n, d, k, key=seed, preset=preset)),
        TwoLayer(m, d + 1 - (preset == "code")),
    )
    run = margin_ascent(
        data, model.init(1 / np.sqrt(m), key=seed), steps, InverseRootStep(size), dtype=dtype
    )
    test = with_bias(clusters(4000, d, k, key=seed, draw=1, preset=preset))
    error = float(np.mean(test.y * model(run.final, test.X) < 0))
    numbers = {name: float(run.stats[name][-1]) for name in ("margin", "best_margin", "log_norm")}
    return xarray.Dataset({**numbers, "test_error": error, "ended": run.result.value})


def _of_limit(data: Dataset, found: Limit[Any]) -> xarray.Dataset:
    certificate = found.certificate
    return _of_beta(data, found.value).assign(
        objective=found.objective,
        gap=certificate.gap,
        residual=certificate.residual,
        certificate=certificate.kind,
    )


def _of_flow(data: Dataset, found: Trajectory, beta: np.ndarray) -> xarray.Dataset:
    return _of_beta(data, beta).assign(
        time=float(found.times[-1]),
        loss=float(found.loss[-1]),
        integration_error=float(found.predictor_error[-1]),
        ended=found.result.value,
    )


def _of_beta(data: Dataset, beta: np.ndarray) -> xarray.Dataset:
    import xarray

    error = float(np.sum((beta - data.truth) ** 2))
    norms = {"l1_norm": float(np.sum(np.abs(beta))), "l2_norm": float(np.linalg.norm(beta))}
    return xarray.Dataset({"beta": ("coordinate", beta), **norms, "population_error": error})


LIBRARY: Mapping[str, Callable[..., xarray.Dataset]] = {
    "gradient_descent": gradient_descent_point,
    "gradient_flow": gradient_flow_point,
    "limit": limit_point,
    "margin_ascent": margin_ascent_point,
    "min_l1": min_l1_point,
    "min_l2": min_l2_point,
    "saddle_path": saddle_path_point,
}
