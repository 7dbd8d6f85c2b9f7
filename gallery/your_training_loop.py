"""A training loop of your own as evidence: at which step size is gradient descent a gradient flow, and where does it end?"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.sparse_regression(n=8, d=24, sparsity=3, noise_var=0.01, key=0)
model, steps = bf.DiagonalNetwork(2), np.geomspace(3e-3, 3e-6, 7)
problem = bf.Problem(model, data, bf.SquareLoss("sum"), model.init(0.1, dim=24))
best, colours = bf.limit(model, data, scale=0.1).value, {"holds": "#3a7d44", "does not apply": "#bb3344"}
figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
for step in steps:
    (plus, minus), every, states = problem.params0, round(0.03 / step), []
    for k in range(100 * every + 1):  # plain NumPy: anybody's loop
        states += [(plus, minus)] if k % every == 0 else []
        pull = 4 * data.X.T @ (data.X @ (plus**2 - minus**2) - data.y)
        plus, minus = plus - step * plus * pull, minus + step * minus * pull
    verdict = bf.verify("W/thm1", problem, flow=bf.Checkpoints(step * every * np.arange(101), states))
    panel.loglog(step, np.max(np.abs(plus**2 - minus**2 - best)), "o", color=colours.get(verdict.status, "#c08a00"))
    panel.annotate(verdict.status, (step, np.max(np.abs(plus**2 - minus**2 - best))), (4, 6), textcoords="offset points", size=8)
panel.set(xlabel="step size of gradient descent", ylabel="distance of its end from the flow's limit", title="Verdict of W/thm1")
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "your_training_loop.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
