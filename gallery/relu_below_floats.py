"""
Starts below float range
========================

On Gaussian labels, n = 12, a ReLU network from λ = 1e-10 ends well above the least norm. Smaller
starts come closer, down to 1e-10000.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Orthogonal inputs of different lengths.
rng = np.random.default_rng(8)
X = bf.data.orthonormal(12, 14, key=8).X * rng.uniform(0.7, 1.4, (12, 1))
data = bf.Dataset(X, rng.standard_normal(12))
model = bf.TwoLayer(200, 14)
unit = model.init(1.0, key=8)

# %%
# Where the flow from λ·unit ends as λ → 0, neuron by neuron, and when its two clusters grow.
limit = bf.flows.saddle_limit(data, unit)
rate, offset = np.array(limit.stats["rate"]), np.array(limit.stats["offset"])

# %%
# Four flows, each in its own clock. Their starts are given by their logarithms.
tau = np.linspace(0, 1.15, 500)
logarithms = {power: power * np.log(10) for power in (10, 100, 1000, 10000)}
flows = {
    power: bf.gradient_flow(
        model,
        data,
        bf.SquareLoss("half-mean"),
        unit,
        times=tau * log / min(rate),
        log_scale=-log,
    )
    for power, log in logarithms.items()
}

# %%
# Above the losses; below the neurons of the smallest start, in colour those of the two clusters.
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained", sharex=True)
for power, flow in flows.items():
    excess = 100 * abs(2 * np.sum(flow.final.a**2) / limit.objective - 1)
    above.plot(tau, flow.loss, label=f"λ = 1e-{power}: ‖θ‖² ends {excess:.1g} % above least")
log, smallest = logarithms[10000], flows[10000]
half_grown = (log / rate + offset) * min(rate) / log
above.vlines(half_grown, 0, max(smallest.loss), color="0.4", linestyle=":", linewidth=1)
above.set_ylabel("loss")
above.set_title("Saddle to saddle on Gaussian labels; dotted: clusters half grown, exact as λ → 0")
above.legend(frameon=False, fontsize="small", loc="lower left")
groups = (range(200), *limit.stats["neurons"])
for colour, neurons in zip(("0.75", "tab:red", "tab:blue"), groups, strict=True):
    below.plot(tau, smallest.log_norms[:, neurons] / log, color=colour, linewidth=0.8)
below.set(xlabel="time / (−ln λ/‖D‖ of the slower cluster)")
below.set_ylabel("log‖neuron‖/log(1/λ), λ = 1e-10000")
keep(figure)
