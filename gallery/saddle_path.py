"""
Jumps between saddles
=====================

From smaller and smaller starts, flows in rescaled time approach an exact process of jumps.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# The process itself needs no flow: it is computed jump by jump.
data = bf.data.sparse_regression(n=12, d=30, sparsity=3, noise_var=0.0, key=5)
path = bf.saddle_path(data.X, data.y)
end = 1.6 * path.times[-1]
shown = np.flatnonzero(np.any(np.abs(path.states) > 0.05, axis=0))
print(path)

# %%
# Flows (thin) over the jumps (wide). With β = r·sinh η and r = 2α² the time is τ = t/log(1/r).
figure, panels = plt.subplots(
    3, 1, figsize=(8, 7.2), sharex=True, sharey=True, layout="constrained"
)
tau = np.linspace(0, end, 600)
for panel, scale in zip(panels, (1e-3, 1e-8, 1e-30), strict=True):
    clock = -np.log(2 * scale**2)
    potential = bf.potentials.Hypentropy(2 * scale**2)
    flow = bf.mirror_flow(potential, data.X, data.y, times=clock * tau)
    for k, i in enumerate(shown):
        heights = [*path.states[:, i], path.states[-1, i]]
        panel.step([*path.times, end], heights, where="post", color=f"C{k}", lw=4, alpha=0.3)
        panel.plot(flow.times / clock, flow.states[:, i], color=f"C{k}", lw=1.4, label=f"β{i}")
    panel.set_ylabel(f"α = {scale:g}")
panels[0].set_title("Coordinates jump one after another; the flow approaches the jumps as α → 0")
panels[0].legend(frameon=False, ncols=len(shown), loc="lower right", fontsize=9)
panels[-1].set(xlabel="rescaled time τ = t / log(1/r)", xlim=(0, end))
keep(figure)
