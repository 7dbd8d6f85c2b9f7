"""From the kernel to the rich regime in one plot: the excess norms of the limit against the
initialisation scale."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.sparse_regression(n=40, d=200, sparsity=5, noise_var=0.01, key=0)
l1, l2 = bf.limits.min_l1(data.X, data.y).objective, bf.limits.min_l2(data.X, data.y).objective
units = np.geomspace(1e-12, 1e3, 46)  # α^D, the scale of β at the start
figure, panel = plt.subplots(figsize=(8, 4.8), layout="constrained")
for depth, style in ((2, "-"), (3, "--")):
    limits = [
        bf.limit(bf.DiagonalNetwork(depth), data, log_scale=np.log(u) / depth).value for u in units
    ]
    for order, least, colour in ((1, l1, "#bb3344"), (2, l2, "#4477aa")):
        excess = [np.linalg.norm(beta, order) / least - 1 for beta in limits]
        panel.plot(units, excess, style, color=colour, label=f"ℓ{order}, depth {depth}")
panel.text(2e-12, 0.06, "rich: least ℓ1 norm", color="#bb3344")
panel.text(9e2, 0.06, "kernel: least ℓ2 norm", color="#4477aa", ha="right")
panel.set(
    xscale="log",
    xlabel="initial scale $\\alpha^D$",
    ylabel="norm of the limit / least norm − 1",
    ylim=(-0.03, None),
)
panel.set_title("Small starts give least ℓ1 norm, large ones least ℓ2; depth eases the way to ℓ1")
panel.legend(frameon=False, ncols=2, loc="center left")
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "kernel_to_rich.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
