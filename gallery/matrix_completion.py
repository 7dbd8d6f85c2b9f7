"""
Matrix completion
=================

Completing a rank-one matrix by gradient flow on UVᵀ: a tiny start recovers it, a large one leaves
unseen entries at zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Sixty of a hundred entries are observed.
shape = (10, 10)
data = bf.data.completion(shape, rank=1, observed=60, key=2)
entries = bf.data.observed_entries(data, shape)
truth = data.truth.reshape(shape)

# %%
# The completion of least nuclear norm, with its proof, and the ends of three flows.
least = bf.limits.min_nuclear_norm(shape, *entries)
shown = {
    "planted matrix": truth,
    f"least nuclear norm\n(gap {least.certificate.gap:.0e})": least.value,
}
model = bf.MatrixFactorisation(shape, 20)
for alpha in (1e-6, 0.1, 10.0):
    flow = bf.gradient_flow(model, data, bf.SquareLoss("sum"), model.init(alpha))
    shown[f"flow from α = {alpha:g}\n(error {flow.error[-1]:.0e})"] = model.effective(flow.final)

# %%
# Dots are observed entries.
figure, axes = plt.subplots(1, len(shown), figsize=(13, 3.4), layout="constrained")
for axis, (title, M) in zip(axes, shown.items(), strict=True):
    picture = axis.imshow(M, cmap="RdBu_r", vmin=-3, vmax=3)
    axis.plot(entries.cols, entries.rows, ".", color="black", markersize=2)
    axis.set_title(f"{title}\n‖M‖∗ = {np.linalg.norm(M, 'nuc'):.3f}", fontsize=10)
    axis.set(xticks=[], yticks=[], xlabel=f"distance from planted {np.linalg.norm(M - truth):.1e}")
figure.colorbar(picture, ax=axes, label="entry (dots: observed)", shrink=0.8)
keep(figure)
