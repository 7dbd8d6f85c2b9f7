"""Gradient descent stays as near to the flow as its step is small, by one verb for one start or
many."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.sparse_regression(n=10, d=30, sparsity=3, noise_var=0.0, key=0)
model, end = bf.DiagonalNetwork(depth=2), 12.0
problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), model.init(0.1, dim=30))
flow = bf.gradient_flow(model, data, problem.loss, problem.start, t1=end)
figure, (losses, apart) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
losses.plot(flow.times[1:], flow.loss[1:], color="black", lw=3, alpha=0.3, label="gradient flow")
steps = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, steps.size))
distances = []
for step, colour in zip(steps, colours, strict=True):
    run = bf.train(problem, steps=round(end / step), step=step)
    losses.plot(run.times[1:], run.loss[1:], color=colour, lw=1.3, label=f"steps of {step:g}")
    reached = model.effective(run.final) - model.effective(flow.at(min(run.times[-1], end)))
    distances.append(np.max(np.abs(reached)))
starts = [model.init(scale, dim=30) for scale in (0.3, 1.0)]
for scale, run in zip(
    (0.3, 1), bf.train(problem, steps=300, step=0.04, starts=starts), strict=True
):
    losses.plot(run.times[1:], run.loss[1:], color="0.6", ls=":", label=f"0.04, from {scale:g}")
apart.loglog(steps, distances, "o-", color="#4477aa", label=f"distance from the flow, t = {end:g}")
apart.loglog(steps, distances[0] * steps / steps[0], "--", color="0.5", label="first order")
losses.set(xlabel="time: sum of the steps", ylabel="loss", title="Small steps follow the flow ...")
losses.set(yscale="log", ylim=(1e-12, 1e2))
apart.set(xlabel="step", ylabel="max |β − β of the flow|", title="... with an error of first order")
losses.legend(frameon=False, fontsize=8)
apart.legend(frameon=False)
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "train.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
