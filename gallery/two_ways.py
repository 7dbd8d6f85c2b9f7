"""
One start, two flows
====================

A neuron on the kinks of two opposite inputs may turn to either, and the flow says so.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# At w = 0 the ReLU network has a kink for both inputs, and Filippov's solution is not unique.
data = bf.Dataset([[1.0], [-1.0]], [1.0, 1.0])
model = bf.TwoLayer(1, 1)
start = bf.models.TwoLayerParams(np.ones(1), np.zeros((1, 1)))
problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start)

# %%
# `branch=` asks for a way; `stats["branches"]` has those that there are.
times = np.linspace(0.02, 8, 200)
flows = [bf.gradient_flow(problem, times=times, branch=branch) for branch in (0, 1)]
for branch, flow in enumerate(flows):
    print(f"branch {branch}: unique = {flow.unique}, {flow.stats['branches'][0]}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
line = np.linspace(-1.5, 1.5, 301)
for branch, flow in enumerate(flows):
    left.plot(flow.times, flow.states.W[:, 0, 0], label=f"branch={branch}")
    right.plot(line, flow(line[:, None]), label=f"branch={branch}, end of the flow")
left.axhline(0, color="0.7", linewidth=0.8)
left.set(xlabel="time t", ylabel="weight w", title="From w = 0 both ways solve ẇ ∈ −∂L(w)")
left.legend(frameon=False, loc=(0.6, 0.62))
right.plot(data.X[:, 0], data.y, "k.", markersize=9, label="data")
right.set(xlabel="x", ylabel="h(x)", title="Each way fits one of the two inputs")
right.legend(frameon=False, loc="upper center")
keep(figure)
