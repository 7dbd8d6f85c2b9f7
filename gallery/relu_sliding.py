"""
Neurons that slide
==================

The kinks of a ReLU network stick to data points for a while, which no choice of the ReLU's slope at
zero describes.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# B's five points on a line. The flow records every change of a gate.
data = bf.data.five_points()
model = bf.TwoLayer(60, 2)
start = model.init(1e-4 / 60**0.5, key=1)
flow = bf.gradient_flow(model, data, bf.SquareLoss("half-mean"), start)
slides = [event for event in flow.events if event.kind.startswith("slide")]
print(f"{len(flow.events)} changes of gates, {len(slides)} of them begin or end a slide")
print("the function ends with")
for kink in bf.diagnostics.kinks(flow.final):
    print(f"  a kink at {kink}")

# %%
# The kink −bias/w of each neuron that grows, through time; those beyond the picture are on their
# way from one end of the line to the other.
times = np.geomspace(1, flow.times[-1], 700)
W = np.array([flow.at(t).W for t in times])
grows = np.linalg.norm(W[-1], axis=1) > 0.05
kinks = -W[:, grows, 1] / W[:, grows, 0]
kinks[np.abs(kinks) > 9] = np.nan

figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
axis.plot(times, kinks, color="C0", linewidth=0.8, alpha=0.7)
style = {"color": "C1", "linewidth": 4, "alpha": 0.3}
axis.hlines(data.X[:, 0], times[0], times[-1], label="data points", **style)
axis.set(xscale="log", ylim=(-3, 4), xlabel="time", ylabel="kink −bias/w of each neuron that grows")
axis.set_title("Kinks stick to data points, leave them, and merge")
axis.legend(frameon=False, loc="upper right")
keep(figure)
