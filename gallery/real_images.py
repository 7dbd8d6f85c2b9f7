"""
MNIST at full size
==================

From results that travel with the package: small starts generalise better, exact kernels best of
all.
"""

import matplotlib.pyplot as plt

import biasflow as bf
from pictures import keep

# %%
# The quick preset of W/fig4e reads what was computed on a GPU: it needs no image and no GPU.
data = bf.figure("W/fig4e").sel(data="mnist")
trained = {
    "as drawn": ("network", "#4477aa"),
    "unbiased": ("network minus its start", "#228833"),
}

# %%
# Networks of 5000 units against the scale of their start, beside the exact kernels.
figure, (error, moved) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for reading, (label, colour) in trained.items():
    runs = data.sel(reading=reading).dropna("alpha", subset=["chosen_test_error"])
    percent = 100 * runs["chosen_test_error"]
    mean, spread = percent.mean("seed"), percent.std("seed")
    style = {"color": colour, "marker": "o", "label": label}
    error.errorbar(runs["alpha"], mean, spread, capsize=3, **style)
    moved.plot(runs["alpha"], runs["chosen_kernel_distance"].mean("seed"), **style)
for kernel, dash in (("tangent kernel", "--"), ("random features", ":")):
    exact = 100 * data["test_error"].sel(reading=kernel).mean()
    error.axhline(exact, color="#bb3344", ls=dash, label=f"exact {kernel}")
error.set(ylabel="test error, %", title="5000 units on MNIST")
moved.set(ylabel="cosine distance", title="Tangent kernel, start to end", yscale="log")
for axis in (error, moved):
    axis.set(xscale="log", xlabel="initialisation scale α")
    axis.legend(frameon=False)
keep(figure)
