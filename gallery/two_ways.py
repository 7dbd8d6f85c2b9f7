"""One start, two gradient flows: a neuron on the kinks of two opposite inputs may turn to either,
and the flow says so."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.Dataset([[1.0], [-1.0]], [1.0, 1.0])
model, start = bf.TwoLayer(1, 1), bf.models.TwoLayerParams(np.ones(1), np.zeros((1, 1)))
times, line = np.linspace(0.02, 8, 200), np.linspace(-1.5, 1.5, 301)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for branch, colour in ((0, "C0"), (1, "C1")):
    flow = bf.gradient_flow(
        model, data, bf.SquareLoss("half-mean"), start, times=times, branch=branch
    )
    print(f"branch {branch}: unique = {flow.unique}, {flow.stats['branches'][0]}")
    left.plot(flow.times, flow.states.W[:, 0, 0], color=colour, label=f"branch={branch}")
    right.plot(
        line,
        model(flow.final, line[:, None]),
        color=colour,
        label=f"branch={branch}, end of the flow",
    )
left.axhline(0, color="0.7", linewidth=0.8)
left.set(xlabel="time t", ylabel="weight w", title="From w = 0 both ways solve ẇ ∈ −∂L(w)")
right.plot(data.X[:, 0], data.y, "k.", markersize=9, label="data")
right.set(xlabel="x", ylabel="h(x)", title="Each way fits one of the two inputs")
left.legend(frameon=False, loc=(0.6, 0.62))
right.legend(frameon=False, loc="upper center")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "two_ways.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
