"""
What a finite step does to the limit
====================================

SGD with a large step goes where gradient flow from a far smaller scale would; full-batch descent
hardly moves.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Sparse regression without noise, from α = 0.1.
data = bf.data.sparse_regression(n=20, d=60, sparsity=3, noise_var=0.0, key=0)
model = bf.DiagonalNetwork(depth=2)
loss, start = bf.SquareLoss("half-mean"), model.init(0.1, dim=60)
steps = np.linspace(0.04, 0.16, 7)

# %%
# `effective_limit` trains, and gives the limit that its steps had: the projection for another
# scale, one for each coordinate.
figure, (norm, scale) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
trainings = ((None, "gradient descent", "#4477aa"), (1, "SGD, one sample a step", "#bb3344"))
for batch, label, colour in trainings:
    runs = [
        bf.training.effective_limit(model, data, loss, start, step, 12_000, batch=batch, key=1)
        for step in steps
    ]
    predicted = [np.sum(np.abs(limit.value)) for limit, _ in runs]
    reached = [np.sum(np.abs(model.effective(end))) for _, end in runs]
    norm.plot(steps, predicted, color=colour, lw=2, label=f"{label}, predicted")
    norm.plot(steps, reached, "o", color=colour, mfc="none", label="reached")
    alphas = np.array([0.1 * np.exp(limit.stats["log_gain"] / 2) for limit, _ in runs])
    low, high = alphas.min(axis=1), alphas.max(axis=1)
    every = f"{label}, all coordinates"
    scale.fill_between(steps, low, high, color=colour, alpha=0.2, label=every)
    scale.plot(steps, np.median(alphas, axis=1), color=colour, lw=2, label="median")

# %%
# For comparison the flow's own limit, and the least norm there is.
flow_norm = np.sum(np.abs(bf.limit(model, data, scale=0.1).value))
least_norm = bf.min_norm(data, norm="l1").objective
norm.axhline(flow_norm, color="0.5", ls=":", label="gradient flow")
norm.axhline(least_norm, color="black", ls="--", lw=1, label="least ℓ1 norm")
norm.set(xlabel="step size", ylabel="ℓ1 norm of the limit")
norm.set_title("Noisy large steps lead to sparser limits ...")
norm.legend(frameon=False, loc=(0.02, 0.09))
scale.set(yscale="log", xlabel="step size", ylabel="effective α")
scale.set_title("... because they shrink the effective scale")
scale.legend(frameon=False, loc="lower left")
keep(figure)
