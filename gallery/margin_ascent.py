"""Gradient ascent on the smooth margin: both layers climb to the F1 max margin, the output layer to the F2 one, slowly."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

ds, m, steps = bf.data.clusters(60, 2, 3, key=1), 200, 20_000
data = bf.data.with_bias(ds)
start = bf.TwoLayer(m, 3).init(1 / np.sqrt(m), key=0)
directions = start.W / np.linalg.norm(start.W, axis=1)[:, None]
both = bf.margin_ascent(data, start, steps)
output = bf.margin_ascent(data, bf.TwoLayerParams(np.zeros(m), directions), steps, training="output")
first = bf.f1_max_margin(ds.X, ds.y, time_s=10)
second = bf.f2_max_margin(ds.X, ds.y, features=directions)

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for run, limit, colour, name in ((both, first, "C0", "both layers, γ₁"), (output, second, "C3", "output layer, its γ₂")):
    axis.plot(run.times[1:], run.stats["best_margin"][1:], color=colour, label=name.split(",")[0])
    axis.axhline(limit.objective, color=colour, linestyle="--", label=f"{name.split(', ')[1]} = {limit.objective:.4f}")
axis.set(xscale="log", xlabel="steps", ylabel="best margin so far", ylim=(-0.2 * first.objective, 1.1 * first.objective))
axis.legend(loc="center left")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "margin_ascent.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
