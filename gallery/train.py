"""
Gradient descent beside the flow
================================

Descent stays as near to the flow as its step is small: one verb, for one start or many.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# The flow until t = 12.
data = bf.data.sparse_regression(n=10, d=30, sparsity=3, noise_var=0.0, key=0)
model, end = bf.DiagonalNetwork(depth=2), 12.0
problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), scale=0.1)
flow = bf.gradient_flow(problem, t1=end)

# %%
# Descent at six step sizes, up to the same time.
steps = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
runs = [bf.train(problem, steps=round(end / step), step=step) for step in steps]
distances = []
for run in runs:
    there = flow.at(min(run.times[-1], end))
    distances.append(np.max(np.abs(model.effective(run.final) - model.effective(there))))

# %%
# Many starts go by the same verb.
scales = (0.3, 1.0)
starts = [model.init(scale, dim=30) for scale in scales]
others = bf.train(problem, steps=300, step=0.04, starts=starts)

# %%
# The error is of first order in the step.
figure, (losses, apart) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
losses.plot(flow.times[1:], flow.loss[1:], color="black", lw=3, alpha=0.3, label="gradient flow")
colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, steps.size))
for step, run, colour in zip(steps, runs, colours, strict=True):
    losses.plot(run.times[1:], run.loss[1:], color=colour, lw=1.3, label=f"steps of {step:g}")
for scale, run in zip(scales, others, strict=True):
    losses.plot(run.times[1:], run.loss[1:], color="0.6", ls=":", label=f"0.04, from {scale:g}")
losses.set(xlabel="time: sum of the steps", ylabel="loss", yscale="log", ylim=(1e-12, 1e2))
losses.set_title("Small steps follow the flow ...")
losses.legend(frameon=False, fontsize=8)
apart.loglog(steps, distances, "o-", color="#4477aa", label=f"distance from the flow, t = {end:g}")
apart.loglog(steps, distances[0] * steps / steps[0], "--", color="0.5", label="first order")
apart.set(xlabel="step", ylabel="max |β − β of the flow|")
apart.set_title("... with an error of first order")
apart.legend(frameon=False)
keep(figure)
