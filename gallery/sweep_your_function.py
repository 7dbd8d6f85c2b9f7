"""
Sweep a function of your own
============================

Over a grid of 6400 points, on every core, resumably: Newton's method for z³ = 1.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray

import biasflow as bf
from pictures import keep

# %%
# A function of one point. It may return numbers, a dictionary of them, or a dataset.


def newton(re: float, im: float, steps: int) -> xarray.Dataset:
    z = complex(re, im)
    for _ in range(steps):
        before = z
        z = z - (z**3 - 1) / (3 * z**2)
        if abs(z - before) < 1e-12:
            break
    return xarray.Dataset({"angle": np.angle(z)})


# %%
# What is computed stays in the store: run it again, or after it was interrupted, and only missing
# points are computed. Workers import this file, hence the question for its name.
if __name__ == "__main__":
    side = tuple(np.linspace(-1.5, 1.5, 80))
    grid = bf.sweeps.Grid({"im": side, "re": side}, {"steps": 40})
    store = bf.sweeps.Store(Path(tempfile.gettempdir()) / "newton")
    data = bf.sweep(newton, grid, engine=bf.sweeps.Processes(), store=store)
    data.angle.plot(cmap="viridis", size=6, aspect=1.15)
    plt.title("which cube root of one Newton's method finds")
    keep(plt.gcf())
