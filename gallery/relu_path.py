"""
A training of plateaus, predicted
=================================

From tiny weights a ReLU network learns in steps. Times and losses of all steps are known without
training it.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Three samples in three dimensions, and a start whose scale λ will vanish.
rng = np.random.default_rng(41)
data = bf.Dataset(rng.standard_normal((3, 3)), rng.standard_normal(3))
model = bf.TwoLayer(width=12, dim=3)
start = model.init(1.0, key=4)

# %%
# The path of saddles in the time t/log(1/λ).
path = bf.flows.relu_saddle_path(data, start)
print(path)

# %%
# Flows from three scales approach it.
end = 1.2 * path.times[-1]
tau = np.linspace(0, end, 500)
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
times, losses = np.append(path.times, end), np.append(path.losses, path.losses[-1])
axis.step(times, losses, where="post", color="0.75", linewidth=7, label="the path, λ → 0")
for T in (20.0, 100.0, 1000.0):
    problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start, log_scale=-T)
    flow = bf.gradient_flow(problem, times=tau[1:] * T)
    axis.plot(flow.times / T, flow.loss, label=f"λ = e^(−{T:g})")
for stop, until in zip(path.saddles, times[1:], strict=True):
    place = ((stop.time + until) / 2, stop.loss)
    axis.annotate(stop.kind, place, (0, 8), textcoords="offset points", ha="center", fontsize=9)
axis.set(xlabel="time / log(1/λ)", ylabel="loss", ylim=(-0.02, 0.72))
axis.set_title("From saddle to saddle: predicted, and followed")
axis.legend(frameon=False)
keep(figure)
