"""
One training, two implicit biases
=================================

From a large start the tangent kernel's max margin comes first, that of F1 in the end.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Two hundred neurons in pairs that cancel: the network starts at h = 0.
data = bf.data.clusters(n=40, k=3, key=1)
inputs = bf.data.with_bias(data)
model = bf.TwoLayer(200, 3)
half = bf.TwoLayer(100, 3).init(1000 / 200**0.5, key=1)
start = bf.models.TwoLayerParams(np.append(half.a, -half.a), np.vstack([half.W, half.W]))

# %%
# The two largest margins, computed beforehand, and the flow.
kernel = bf.tangent_kernel(model, start, inputs.X)
lazy_margin = bf.max_margin(inputs.X, data.y, norm=kernel).objective
rich_margin = bf.limits.f1_max_margin(data.X, data.y).objective
times = np.geomspace(1e-6, 300, 80)
flow = bf.gradient_flow(model, inputs, bf.SmoothMargin(), start, times=times, rtol=1e-3)

# %%
# The margin per distance from the start, as long as the weights have moved by less than 1%; and the
# margin per squared norm.
least = np.min(data.y * model(flow.states, inputs.X), axis=1)
moved = np.sqrt(
    np.sum((flow.states.a - start.a) ** 2, axis=1)
    + np.sum((flow.states.W - start.W) ** 2, axis=(1, 2))
)
lazy = moved < 0.01 * np.linalg.norm([*start.a, *start.W.ravel()])
early, late = least / moved / lazy_margin, flow.margin / rich_margin
print(f"margins over the largest possible: {np.max(early[lazy]):.4f} early, {late[-1]:.4f} late")

# %%
figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
label = "min y·h/‖w − w₀‖, over the tangent kernel's max margin"
axis.plot(flow.times[lazy], early[lazy], "C4", label=label)
axis.plot(flow.times, late, "C2", label="min y·h/‖w‖², over the F1 max margin γ₁")
axis.set(xscale="log", ylim=(-0.1, 1.35), xlabel="time", ylabel="margin / largest possible")
axis.legend(frameon=False)
keep(figure)
