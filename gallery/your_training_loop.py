"""A training loop of your own as evidence: up to which step size does gradient descent stand for
gradient flow?"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.sparse_regression(n=8, d=24, sparsity=3, noise_var=0.01, key=0)
model, steps, claims = (
    bf.DiagonalNetwork(2),
    (3e-3, 1e-3, 3e-4, 1e-4, 3e-5),
    ("R/lemA1", "R/eq3", "W/thm2"),
)
problem = bf.Problem(model, data, bf.SquareLoss("sum"), model.init(0.1, dim=24))
figure, panel = plt.subplots(figsize=(8, 3), layout="constrained")
for column, step in enumerate(steps):
    (plus, minus), every, states = problem.start, round(0.03 / step), []
    for k in range(270 * every + 1):  # plain NumPy: anybody's loop
        states += [(plus, minus)] if k % every == 0 else []
        pull = 4 * data.X.T @ (data.X @ (plus**2 - minus**2) - data.y)
        plus, minus = plus - step * plus * pull, minus + step * minus * pull
    for row, name in enumerate(claims):
        status = bf.verify(
            name, problem, flow=bf.theory.Checkpoints(step * every * np.arange(271), states)
        ).status
        colour = {"holds": "#9fd3a9", "inconclusive": "#f3dd9b", "does not apply": "#e6b3b8"}.get(
            status, "#ffffff"
        )
        panel.text(
            column,
            row,
            status.replace("not ", "not\n"),
            ha="center",
            va="center",
            bbox={"fc": colour, "pad": 6, "lw": 0},
        )
panel.set(
    xlim=(-0.6, 4.6),
    ylim=(2.6, -0.6),
    xlabel="step size",
    title="Theorems judged on gradient descent of smaller steps",
)
panel.set(xticks=range(5), xticklabels=steps, yticks=range(3), yticklabels=claims)
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "your_training_loop.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
