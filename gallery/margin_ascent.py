"""Gradient ascent on the smooth margin: both layers climb to the F1 max margin, the output layer to
the F2 one, slowly."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data, m, steps = bf.data.with_bias(bf.data.clusters(60, 2, 3, key=1)), 200, 20_000
start = bf.TwoLayer(m, 3).init(1 / np.sqrt(m), key=0)
u = start.W / np.linalg.norm(start.W, axis=1)[:, None]
both = bf.training.margin_ascent(data, start, steps)
output = bf.training.margin_ascent(
    data, bf.models.TwoLayerParams(np.zeros(m), u), steps, training="output"
)
gamma1, gamma2 = (
    f.objective
    for f in (
        bf.limits.f1_max_margin(data.X, data.y, bias="column", time_s=10),
        bf.limits.f2_max_margin(data.X, data.y, bias="column", features=u),
    )
)

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for run, gamma, colour, label in (
    (both, gamma1, "C0", "both layers"),
    (output, gamma2, "C3", "output layer"),
):
    axis.plot(run.times[1:], run.best_margin[1:], color=colour, label=label)
    axis.axhline(gamma, color=colour, linestyle="--", label=f"its max margin, {gamma:.4f}")
axis.set(
    xscale="log", xlabel="steps", ylabel="best margin so far", ylim=(-0.2 * gamma1, 1.1 * gamma1)
)
axis.legend(loc="center left")
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "margin_ascent.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
