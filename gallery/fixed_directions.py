"""
Fixed directions: smooth or sparse
==================================

A two-layer ReLU network whose directions stay fixed ends at the predicted limit, smooth or sparse
as the scale says.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Six points on a line, with a column of ones for the bias, and 400 neurons in random directions.
x = [[-1.5], [-1.0], [-0.3], [0.2], [0.9], [1.6]]
data = bf.data.with_bias(bf.Dataset(x, [0.4, -0.5, 0.3, 1.0, 0.2, 0.5]))
W = np.random.default_rng(1).standard_normal((400, 2))
b = np.random.default_rng(2).uniform(-0.5, 0.5, 400)  # below one: R's cone |b| < ‖w‖

# %%
# Only the sizes of the neurons move. From a large start many of them share the work, from a small
# one a few do it.
figure, panels = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
grid = np.column_stack([np.linspace(-2, 2, 400), np.ones(400)])
for (fit, weights), scale in zip(panels, (0.3, 1e-4), strict=True):
    model, start = bf.models.split_network(scale * W, scale * b * np.linalg.norm(W, axis=1))
    problem = bf.Problem(model, data, bf.SquareLoss("half"), start)
    flow = bf.gradient_flow(problem)
    limit = bf.limit(problem)
    print(f"from {scale:g}:", bf.compare(flow, limit), sep="\n")

    label = f"flow until t = {flow.times[-1]:.3g}"
    fit.plot(grid[:, 0], model(flow.final, grid), linewidth=2, label=label)
    predicted = model.features(grid[::12]) @ limit.value
    fit.plot(grid[::12, 0], predicted, "o", mfc="none", color="C3", label="predicted limit")
    fit.plot(data.X[:, 0], data.y, "k*", markersize=11, label="data")
    fit.set(xlabel="input x", ylabel=f"network, start {scale:g}")
    fit.legend(frameon=False)

    angle = np.arctan2(*model.directions.T)
    weights.vlines(angle, 0, model.effective(flow.final), linewidth=1.5)
    weights.plot(angle, limit.value, "o", mfc="none", color="C3", markersize=4)
    weights.set(xlabel="direction of the neuron (angle)", ylabel="β = ab of each neuron")
keep(figure)
