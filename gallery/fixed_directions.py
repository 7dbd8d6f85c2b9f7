"""A two-layer ReLU network with fixed directions: its flow ends at the predicted limit, smooth or
sparse as the scale says."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.with_bias(
    bf.Dataset([[-1.5], [-1.0], [-0.3], [0.2], [0.9], [1.6]], [0.4, -0.5, 0.3, 1.0, 0.2, 0.5])
)
W, b = (
    np.random.default_rng(1).standard_normal((400, 2)),
    np.random.default_rng(2).uniform(-0.5, 0.5, 400),
)
figure, panels = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
grid = np.column_stack([np.linspace(-2, 2, 400), np.ones(400)])
for (fit, weights), scale in zip(panels, (0.3, 1e-4), strict=True):
    # |b| < ‖w‖: R's cone
    model, start = bf.models.split_network(scale * W, scale * b * np.linalg.norm(W, axis=1))
    flow, limit = (
        bf.gradient_flow(model, data, bf.SquareLoss("half"), start),
        bf.limit(model, data, start=start),
    )
    fit.plot(
        grid[:, 0],
        model(flow.final, grid),
        linewidth=2,
        label=f"flow until t = {flow.times[-1]:.3g}",
    )
    fit.plot(
        grid[::12, 0],
        model.features(grid[::12]) @ limit.value,
        "o",
        mfc="none",
        color="C3",
        label="predicted limit",
    )
    fit.plot(data.X[:, 0], data.y, "k*", markersize=11, label="data")
    fit.legend(frameon=False)
    angle = np.arctan2(*model.directions.T)
    weights.vlines(angle, 0, model.effective(flow.final), linewidth=1.5)
    weights.plot(angle, limit.value, "o", mfc="none", color="C3", markersize=4)
    fit.set(xlabel="input x", ylabel=f"network, start {scale:g}")
    weights.set(xlabel="direction of the neuron (angle)", ylabel="β = ab of each neuron")
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "fixed_directions.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
