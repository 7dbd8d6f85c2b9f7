"""A ReLU network on orthonormal data waits at one saddle after another; an exact formula says when
it leaves, at any scale."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.Dataset(bf.data.orthonormal(4, 6, key=0).X, [1.0, 1.0, -0.6, -0.6])
model = bf.TwoLayer(40, 6)
unit = model.init(1.0, key=0)
limit = bf.flows.saddle_limit(
    data, unit
)  # where the flow from λ·unit ends as λ → 0, neuron by neuron
rate, offset = np.array(limit.stats["rate"]), np.array(limit.stats["offset"])
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
for k, lam in enumerate((1e-5, 1e-20, 1e-80)):
    flow = bf.gradient_flow(
        model,
        data,
        bf.SquareLoss("half-mean"),
        bf.models.TwoLayerParams(lam * unit.a, lam * unit.W),
    )
    tau, clock = np.linspace(0, 1.15, 600), -np.log(lam) / rate[1]
    loss = [
        flow.problem.loss(model(flow.at(min(t, flow.times[-1])), data.X), data.y)
        for t in tau * clock
    ]
    excess = abs(2 * np.sum(flow.final.a**2) - limit.objective)
    axis.plot(
        tau, loss, color=f"C{k}", label=f"λ = {lam:g}: ‖θ‖² ends within {excess:.0e} of the least"
    )
    for midpoint in (-np.log(lam) / rate + offset) / clock:
        axis.axvline(midpoint, color=f"C{k}", linestyle=":", linewidth=1)
axis.set(
    xlabel="time / (−ln λ/‖D₋‖)",
    ylabel="loss",
    title="Saddle to saddle; dotted: u₊, u₋ half grown, exact as λ → 0",
)
axis.legend(frameon=False)
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "relu_saddles.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
