"""
Margins, step by step
=====================

Gradient ascent on the smooth margin: both layers climb to the F1 max margin, the output layer to
the F2 one, slowly.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Sixty points of two classes in the plane, and 200 neurons.
data = bf.data.with_bias(bf.data.clusters(60, 2, 3, key=1))
m, steps = 200, 20_000
start = bf.TwoLayer(m, 3).init(1 / np.sqrt(m), key=0)
directions = start.W / np.linalg.norm(start.W, axis=1)[:, None]

# %%
# Two trainings, and the largest margins that they can reach.
both = bf.training.margin_ascent(data, start, steps)
fixed = bf.models.TwoLayerParams(np.zeros(m), directions)
output = bf.training.margin_ascent(data, fixed, steps, training="output")
gamma1 = bf.limits.f1_max_margin(data.X, data.y, bias="column", time_s=10).objective
gamma2 = bf.limits.f2_max_margin(data.X, data.y, bias="column", features=directions).objective

# %%
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
runs = ((both, gamma1, "C0", "both layers"), (output, gamma2, "C3", "output layer"))
for run, gamma, colour, label in runs:
    axis.plot(run.times[1:], run.best_margin[1:], color=colour, label=label)
    axis.axhline(gamma, color=colour, linestyle="--", label=f"its max margin, {gamma:.4f}")
axis.set(xscale="log", xlabel="steps", ylabel="best margin so far")
axis.set_ylim(-0.2 * gamma1, 1.1 * gamma1)
axis.legend(loc="center left")
keep(figure)
