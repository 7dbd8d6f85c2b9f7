"""MNIST at full size, from results that travel with the package: small starts generalise better,
exact kernels best of all."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import biasflow as bf

data = bf.figure("W/fig4e").sel(data="mnist")  # the quick preset: no data, no GPU
figure, (error, moved) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for start, label, colour in (
    ("as drawn", "network", "#4477aa"),
    ("unbiased", "network minus its start", "#228833"),
):
    runs = data.sel(start=start).dropna("alpha", subset=["chosen_test_error"])
    percent = 100 * runs["chosen_test_error"]
    error.errorbar(
        runs["alpha"],
        percent.mean("seed"),
        percent.std("seed"),
        color=colour,
        marker="o",
        capsize=3,
        label=label,
    )
    moved.plot(
        runs["alpha"], runs["chosen_kernel_distance"].mean("seed"), "o-", color=colour, label=label
    )
for kernel, style in (("tangent kernel", "--"), ("random features", ":")):
    exact = 100 * data["kernel_test_error"].sel(kernel=kernel, start="as drawn").mean()
    error.axhline(exact, color="#bb3344", ls=style, label=f"exact {kernel}")
for axis, label, title in (
    (error, "test error, %", "5000 units on MNIST"),
    (moved, "cosine distance", "Tangent kernel, start to end"),
):
    axis.set(xscale="log", xlabel="initialisation scale α", ylabel=label, title=title)
    axis.legend(frameon=False)
moved.set(yscale="log")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "real_images.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
