"""From a large start, one training shows two implicit biases: the tangent kernel's max margin
first, that of F1 in the end."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data, model = bf.data.clusters(n=40, k=3, key=1), bf.TwoLayer(200, 3)
half = bf.TwoLayer(100, 3).init(1000 / 200**0.5, key=1)
# antisymmetric: h = 0
start = bf.models.TwoLayerParams(np.append(half.a, -half.a), np.vstack([half.W, half.W]))
inputs, gamma = bf.data.with_bias(data), bf.limits.f1_max_margin(data.X, data.y).objective
kernel = bf.limits.kernel_max_margin(bf.tangent_kernel(model, start, inputs.X), data.y).objective
flow = bf.gradient_flow(
    model, inputs, bf.SmoothMargin(), start, times=np.geomspace(1e-6, 300, 80), rtol=1e-3
)
least = np.min(data.y * model(flow.states, inputs.X), axis=1)
moved = np.sqrt(
    np.sum((flow.states.a - start.a) ** 2, 1) + np.sum((flow.states.W - start.W) ** 2, (1, 2))
)
lazy = moved < 0.01 * np.linalg.norm([*start.a, *start.W.ravel()])
early, late = least / moved / kernel, flow.margin / gamma
print(f"margins over the largest possible: {np.max(early[lazy]):.4f} early, {late[-1]:.4f} late")
figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
axis.plot(
    flow.times[lazy],
    early[lazy],
    "C4",
    label="min y·h/‖w − w₀‖, over the tangent kernel's max margin",
)
axis.plot(flow.times, late, "C2", label="min y·h/‖w‖², over the F1 max margin γ₁")
axis.set(xscale="log", ylim=(-0.1, 1.35), xlabel="time", ylabel="margin / largest possible")
axis.legend(frameon=False)
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "two_implicit_biases.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
