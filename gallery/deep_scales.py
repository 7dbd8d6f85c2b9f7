"""Forty-two deep ReLU networks in one call: small starts learn the teacher, large ones stay near
their kernel."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data, test = bf.data.circle_teacher(n=10, key=4), bf.data.circle_teacher(n=400, key=4, spaced=True)
model, scales, keys = (
    bf.DeepNetwork((2, 30, 30), symmetric=True),
    np.geomspace(0.01, 10, 7),
    range(6),
)
starts = [model.init(unit ** (1 / model.depth), key=key) for unit in scales for key in keys]
# half the stable step
steps = [
    min(0.01, 0.5 / np.linalg.eigvalsh(bf.tangent_kernel(model, w, data.X))[-1]) for w in starts
]
batch = bf.training.train_batch(
    model, data, bf.SquareLoss("sum"), starts, steps, 6000, threshold=1e-5
)
predictions, angle = (
    model(batch.params, test.X).reshape(7, 6, -1),
    np.linspace(0, 360, 400, endpoint=False),
)
figure, (curves, error) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for k, colour in ((0, "#bb3344"), (6, "#4477aa")):
    curves.plot(
        angle,
        predictions[k].T,
        color=colour,
        lw=1,
        alpha=0.7,
        label=[f"from α³ = {scales[k]:g}"] + [None] * 5,
    )
curves.plot(angle, test.y, "k--", lw=1.5, label="teacher, 3 units")
curves.plot(
    np.degrees(np.arctan2(data.X[:, 1], data.X[:, 0])) % 360,
    data.y,
    "ko",
    ms=6,
    label="training points",
)
curves.set(
    xlabel="angle of the input, degrees",
    ylabel="prediction",
    title="What six networks of depth 3 learn from two scales",
)
curves.legend(frameon=False)
error.loglog(scales, np.mean((predictions - test.y) ** 2, axis=-1), "o-", ms=4, lw=1)
title = f"Small starts generalise ({batch.fraction_converged:.0%} reached 1e-5)"
error.set(
    xlabel="scale of the start, α³",
    ylabel="test error (one line for each start, scaled)",
    title=title,
)
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "deep_scales.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
