"""SGD with a large step goes where gradient flow from a far smaller scale would; full-batch descent
hardly moves."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data, model = (
    bf.data.sparse_regression(n=20, d=60, sparsity=3, noise_var=0.0, key=0),
    bf.DiagonalNetwork(depth=2),
)
loss, start, steps = bf.SquareLoss("half-mean"), model.init(0.1, dim=60), np.linspace(0.04, 0.16, 7)
figure, (norm, scale) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for batch, label, colour in (
    (None, "gradient descent", "#4477aa"),
    (1, "SGD, one sample a step", "#bb3344"),
):
    runs = [
        bf.training.effective_limit(model, data, loss, start, step, 12_000, batch=batch, key=1)
        for step in steps
    ]
    norm.plot(
        steps,
        [np.sum(np.abs(limit.value)) for limit, _ in runs],
        color=colour,
        lw=2,
        label=f"{label}, predicted",
    )
    norm.plot(
        steps,
        [np.sum(np.abs(model.effective(w))) for _, w in runs],
        "o",
        color=colour,
        mfc="none",
        label="reached",
    )
    alphas = np.array([0.1 * np.exp(limit.stats["log_gain"] / 2) for limit, _ in runs])
    scale.fill_between(
        steps,
        alphas.min(axis=1),
        alphas.max(axis=1),
        color=colour,
        alpha=0.2,
        label=f"{label}, all coordinates",
    )
    scale.plot(steps, np.median(alphas, axis=1), color=colour, lw=2, label="median")
norm.axhline(
    np.sum(np.abs(bf.limit(model, data, scale=0.1).value)),
    color="0.5",
    ls=":",
    label="gradient flow",
)
norm.axhline(
    bf.limits.min_l1(data.X, data.y).objective, color="black", ls="--", lw=1, label="least ℓ1 norm"
)
norm.set(
    xlabel="step size",
    ylabel="ℓ1 norm of the limit",
    title="Noisy large steps lead to sparser limits ...",
)
scale.set(
    yscale="log",
    xlabel="step size",
    ylabel="effective α",
    title="... because they shrink the effective scale",
)
norm.legend(frameon=False, loc=(0.02, 0.09))
scale.legend(frameon=False, loc="lower left")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "step_size.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
