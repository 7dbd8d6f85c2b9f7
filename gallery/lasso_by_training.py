"""
Training time is regularisation
===============================

The average of a diagonal network's flow is nearly a Lasso solution, at every time, with a proof.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# One flow from r = 2α² = e^{−200}; its averages β̄ come with a penalty λ and a proven gap.
data = bf.data.sparse_regression(n=10, d=20, sparsity=3, noise_var=0.01, key=3)
potential = bf.potentials.Hypentropy(log_alpha=-200.0)
times = np.geomspace(20, 4000, 60)
flow = bf.mirror_flow(potential, data.X, data.y, times=times)
found = bf.diagnostics.lasso_gap(flow)
print(found)

# %%
# The flow itself jumps (dotted); its average (lines) is a Lasso path in 1/λ.
figure, (path, gap) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
inverse = 1 / found.penalty
for k, i in enumerate(np.argsort(-np.abs(found.mean[-1]))[:5]):
    path.plot(inverse, found.mean[:, i], color=f"C{k}", label=f"coefficient {i}")
    path.plot(inverse, flow.states[:, i], color=f"C{k}", ls=":", lw=1)
path.set(xscale="log", xlabel="1/λ", ylabel="average over training (dotted: the flow)")
path.set_title("Stop early, and average: a Lasso")
path.legend(frameon=False, fontsize=8)
gap.loglog(inverse, found.relative, color="black", label="proven for the average")
raw = 0.5 * np.sum((flow.states @ data.X.T - data.y) ** 2, axis=1)
raw += found.penalty * np.sum(np.abs(flow.states), axis=1)
excess = raw / (found.objective - found.gap) - 1
gap.loglog(inverse, excess, ":", color="C3", label="the flow itself, at most")
gap.set(xlabel="1/λ", ylabel="above the optimum, relative", ylim=(1e-5, 3))
gap.set_title("How far from optimal")
gap.legend(frameon=False, fontsize=8)
keep(figure)
