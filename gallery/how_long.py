"""
How long does a flow take?
==========================

Times to a given accuracy from smaller and smaller starts, the phases on the way, and which of the
bounds on that time is informative.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# The same network at thirteen scales. `time_to` answers with the time, its error, phases, and the
# bounds that theorems give.
data = bf.data.hypercube(n=10, d=100, key=3)
scales = np.geomspace(1e-6, 1.0, 13)
flows, arrivals = [], []
for scale in scales:
    model, start = bf.models.random_network(20, 100, scale, key=3)
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), start)
    flows.append(flow)
    arrivals.append(bf.diagnostics.time_to(flow, divergence=1e-3))
print(arrivals[0])

# %%
# Small starts wait; most bounds are far above what is measured.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for k in (0, 6, 12):
    left.loglog(flows[k].times[1:], flows[k].loss[1:], label=f"α = {scales[k]:.0e}")
left.set(xlabel="t", ylabel="loss", ylim=(1e-12, None))
left.set_title("Small starts wait at plateaus, then end fast")
left.legend()
right.loglog(scales, [arrival.time for arrival in arrivals], "k.-", label="measured")
for name in arrivals[0].bounds:
    right.loglog(scales, [arrival.bounds[name] for arrival in arrivals], "--", label=name)
right.set(xlabel="initial scale α", ylabel="t", title="Time to $D_\\phi$ ≤ 1e-3, and its bounds")
right.legend(fontsize=8)
keep(figure)
