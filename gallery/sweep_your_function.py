"""Sweep a function of your own over a grid, on every core, resumably: Newton's method for z³ = 1
from a grid of starts."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray

import biasflow as bf


def newton(re: float, im: float, steps: int) -> xarray.Dataset:
    z = complex(re, im)
    for _ in range(steps):
        z, before = z - (z**3 - 1) / (3 * z**2), z
        if abs(z - before) < 1e-12:
            break
    return xarray.Dataset({"angle": np.angle(z)})


if __name__ == "__main__":  # workers import this file
    side = tuple(np.linspace(-1.5, 1.5, 80))
    grid = bf.sweeps.Grid({"im": side, "re": side}, {"steps": 40})
    out = Path(
        sys.argv[1]
        if len(sys.argv) > 1
        else Path(__file__).parent / "out" / "sweep_your_function.png"
    )
    data = bf.sweep(
        newton, grid, engine=bf.sweeps.Processes(), store=bf.sweeps.Store(out.parent / "store")
    )
    data.angle.plot(cmap="viridis", size=6, aspect=1.15)
    plt.title("which cube root of one Newton's method finds")
    plt.savefig(out, dpi=150)
