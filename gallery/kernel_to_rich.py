"""
From the kernel to the rich regime
==================================

The excess norms of the limit against the scale of the start, in one plot.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Sparse regression: 40 samples, 200 columns, five of them used. Two interpolators are the ends of
# the story, that of least ℓ1 norm and that of least ℓ2 norm.
data = bf.data.sparse_regression(n=40, d=200, sparsity=5, noise_var=0.01, key=0)
least = {1: bf.min_norm(data, norm="l1").objective, 2: bf.min_norm(data, norm="l2").objective}

# %%
# The limits of training at 46 scales and two depths. Scales are given by their logarithm: α^D, the
# size of β at the start, goes down to 1e-12.
units = np.geomspace(1e-12, 1e3, 46)
limits = {
    depth: [
        bf.limit(bf.DiagonalNetwork(depth), data, log_scale=np.log(unit) / depth).value
        for unit in units
    ]
    for depth in (2, 3)
}

# %%
# Small starts give least ℓ1 norm, large ones least ℓ2, and depth eases the way to ℓ1.
figure, panel = plt.subplots(figsize=(8, 4.8), layout="constrained")
for depth, style in ((2, "-"), (3, "--")):
    for order, colour in ((1, "#bb3344"), (2, "#4477aa")):
        excess = [np.linalg.norm(beta, order) / least[order] - 1 for beta in limits[depth]]
        panel.plot(units, excess, style, color=colour, label=f"ℓ{order}, depth {depth}")
panel.text(2e-12, 0.06, "rich: least ℓ1 norm", color="#bb3344")
panel.text(9e2, 0.06, "kernel: least ℓ2 norm", color="#4477aa", ha="right")
panel.set(xscale="log", xlabel="initial scale $\\alpha^D$", ylim=(-0.03, None))
panel.set_ylabel("norm of the limit / least norm − 1")
panel.set_title("Small starts give least ℓ1 norm, large ones least ℓ2")
panel.legend(frameon=False, ncols=2, loc="center left")
keep(figure)
