"""
Saddle to saddle
================

A ReLU network on orthonormal data waits at one saddle after another; an exact formula says when it
leaves, at any scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Four orthonormal inputs, two labels of each sign.
data = bf.Dataset(bf.data.orthonormal(4, 6, key=0).X, [1.0, 1.0, -0.6, -0.6])
model = bf.TwoLayer(40, 6)
unit = model.init(1.0, key=0)

# %%
# Where the flow from λ·unit ends as λ → 0, neuron by neuron, and when each cluster is half grown.
limit = bf.flows.saddle_limit(data, unit)
rate, offset = np.array(limit.stats["rate"]), np.array(limit.stats["offset"])

# %%
# Flows from three tiny scales, in the time in which the second cluster grows.
tau = np.linspace(0, 1.15, 600)
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
for k, scale in enumerate((1e-5, 1e-20, 1e-80)):
    clock = -np.log(scale) / rate[1]
    start = bf.models.TwoLayerParams(scale * unit.a, scale * unit.W)
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half-mean"), start, times=tau * clock)
    excess = abs(2 * np.sum(flow.final.a**2) - limit.objective)
    label = f"λ = {scale:g}: ‖θ‖² ends within {excess:.0e} of the least"
    axis.plot(flow.times / clock, flow.loss, color=f"C{k}", label=label)
    for midpoint in (-np.log(scale) / rate + offset) / clock:
        axis.axvline(midpoint, color=f"C{k}", linestyle=":", linewidth=1)
axis.set(xlabel="time / (−ln λ/‖D₋‖)", ylabel="loss")
axis.set_title("Saddle to saddle; dotted: u₊, u₋ half grown, exact as λ → 0")
axis.legend(frameon=False)
keep(figure)
