"""Neurons slide: their kinks stick to data points for a while, which no choice of the ReLU's slope
at zero describes."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data, model = bf.data.five_points(), bf.TwoLayer(60, 2)
flow = bf.gradient_flow(model, data, bf.SquareLoss("half-mean"), model.init(1e-4 / 60**0.5, key=1))
slides = [event for event in flow.events if event.kind.startswith("slide")]
print(
    f"{len(flow.events)} changes of gates, {len(slides)} of them begin or end a slide; the "
    "function ends with"
)
print("\n".join(f"  a kink at {kink}" for kink in bf.diagnostics.kinks(flow.final)))
times = np.geomspace(1, flow.times[-1], 700)
W = np.array([flow.at(t).W for t in times])
weight = np.linalg.norm(W[-1], axis=1) > 0.05
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
kinks = -W[:, weight, 1] / W[:, weight, 0]
kinks[np.abs(kinks) > 9] = np.nan  # on their way from one end of the line to the other
axis.plot(times, kinks, color="C0", linewidth=0.8, alpha=0.7)
axis.hlines(
    data.X[:, 0], times[0], times[-1], color="C1", linewidth=4, alpha=0.3, label="data points"
)
axis.set(xscale="log", ylim=(-3, 4), xlabel="time", ylabel="kink −bias/w of each neuron that grows")
axis.set_title("Kinks stick to data points, leave them, and merge")
axis.legend(frameon=False, loc="upper right")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "relu_sliding.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
