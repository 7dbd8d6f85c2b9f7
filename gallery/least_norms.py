"""Four of the infinitely many functions that fit the same points: which is least depends on the
norm."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

x, y = np.array([-1.0, -0.45, 0.1, 0.5, 1.0]), np.array([0.3, -0.4, 0.5, -0.2, 0.4])
line = np.linspace(-1.3, 1.3, 500)
cosines = lambda x: np.cos(np.pi * np.outer(x + 1.5, np.arange(12)) / 3)  # noqa: E731
inputs, grid = (np.column_stack([at, np.ones(at.size)]) for at in (x, line))
relu, kernel = (
    bf.min_norm(inputs, y, norm=norm).value
    for norm in ("relu", bf.limits.arc_cosine_kernel(x[:, None]))
)
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.7), sharey=True, layout="constrained")
for norm, label in (("l2", "least ℓ2 norm"), ("l1", "least ℓ1 norm")):
    found = bf.min_norm(cosines(x), y, norm=norm)
    panels[0].plot(
        line,
        cosines(line) @ found.value,
        label=f"{label}: {found.objective:.3f} ({found.certificate.kind})",
    )
panels[1].plot(
    line,
    bf.limits.arc_cosine_kernel(line[:, None], x[:, None]) @ kernel,
    label="output layer: least kernel norm",
)
panels[1].plot(line, np.maximum(grid @ relu.W.T, 0) @ relu.a, label="both layers: least ‖θ‖²")
for panel, title in zip(
    panels, ("twelve cosines", "two-layer ReLU networks of any width"), strict=True
):
    panel.plot(x, y, "ko", markersize=5)
    panel.set(xlabel="x", title=title, ylim=(-1, 1.25))
    panel.legend(frameon=False, loc="upper center", fontsize=9)
panels[0].set_ylabel("h(x)")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "least_norms.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
