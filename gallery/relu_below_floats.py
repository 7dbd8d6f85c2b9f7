"""Gaussian labels, n = 12: from λ = 1e-10 a ReLU network ends 4 % off the least norm. Smaller
starts, below float range."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

rng, model, log10 = np.random.default_rng(8), bf.TwoLayer(200, 14), np.log(10)
data = bf.Dataset(
    bf.data.orthonormal(12, 14, key=8).X * rng.uniform(0.7, 1.4, (12, 1)), rng.standard_normal(12)
)
# where the flow from λ·unit ends as λ → 0, neuron by neuron
limit = bf.flows.saddle_limit(data, unit := model.init(1.0, key=8))
rate, offset = np.array(limit.stats["rate"]), np.array(limit.stats["offset"])
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained", sharex=True)
for k, power in enumerate((10, 100, 1000, 10000)):
    tau, clock = np.linspace(0, 1.15, 500), power * log10 / min(rate)
    flow = bf.gradient_flow(
        model, data, bf.SquareLoss("half-mean"), unit, times=tau * clock, log_scale=-power * log10
    )
    excess = 100 * abs(2 * np.sum(flow.final.a**2) / limit.objective - 1)
    above.plot(
        tau, flow.loss, color=f"C{k}", label=f"λ = 1e-{power}: ‖θ‖² ends {excess:.1g} % above least"
    )
above.legend(frameon=False, fontsize="small", loc="lower left")
above.vlines(
    (power * log10 / rate + offset) / clock,
    0,
    max(flow.loss),
    color="0.4",
    linestyle=":",
    linewidth=1,
)
for colour, neurons in zip(
    ("0.75", "tab:red", "tab:blue"), (range(200), *limit.stats["neurons"]), strict=True
):
    below.plot(tau, flow.log_norms[:, neurons] / (power * log10), color=colour, linewidth=0.8)
above.set(
    ylabel="loss",
    title="Saddle to saddle on Gaussian labels; dotted: clusters half grown, exact as λ → 0",
)
below.set(
    xlabel="time / (−ln λ/‖D‖ of the slower cluster)", ylabel="log‖neuron‖/log(1/λ), λ = 1e-10000"
)
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "relu_below_floats.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
