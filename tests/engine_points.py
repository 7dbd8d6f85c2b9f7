"""Points that engines compute in tests, importable in workers."""

from __future__ import annotations

import os

import numpy as np
import xarray

CALLS: list = []
FIXED = False


def point(scale: float, seed: int, n: int) -> xarray.Dataset:
    CALLS.append((scale, seed))
    A = np.random.default_rng(seed).normal(size=(40, 40))
    values = np.linalg.eigvalsh(A @ A.T)[:n] * scale
    return xarray.Dataset(
        {
            "path": ("k", values),
            "value": float(np.sum(values)),
            "count": seed,
            "good": scale > 0.05,
            "word": "x" * (seed + 1),
        },
        coords={"k": np.arange(n)},
    )


def conditions(x: int) -> xarray.Dataset:
    from threadpoolctl import threadpool_info

    pools = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    return xarray.Dataset(
        {
            "threads": os.environ["OMP_NUM_THREADS"],
            "x64": os.environ["JAX_ENABLE_X64"],
            "pools": pools,
            "process": os.getpid(),
        }
    )


def double(x: int) -> xarray.Dataset:
    return xarray.Dataset({"twice": 2.0 * x, "company": 1})


def double_many(settings) -> list[xarray.Dataset]:
    twice = 2.0 * np.array([setting["x"] for setting in settings])
    return [xarray.Dataset({"twice": value, "company": len(settings)}) for value in twice]


def broken_batch(settings) -> list[xarray.Dataset]:
    raise RuntimeError("no batch today")


def not_three(x: int) -> xarray.Dataset:
    CALLS.append(x)
    if x == 3 and not FIXED:
        raise ArithmeticError("three")
    return xarray.Dataset({"v": float(x), "count": x, "word": "w"})


def complex_value(x: float) -> xarray.Dataset:
    return xarray.Dataset({"v": 1j * x})


def dies(x: int) -> xarray.Dataset:
    os._exit(1)
