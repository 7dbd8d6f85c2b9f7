"""
A training loop of your own
===========================

As evidence for a theorem: up to which step size does gradient descent stand for gradient flow?
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

data = bf.data.sparse_regression(n=8, d=24, sparsity=3, noise_var=0.01, key=0)
problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("sum"), scale=0.1)

# %%
# Plain NumPy: anybody's loop. It keeps 271 states, 0.03 apart in time.


def descend(step):
    plus, minus = problem.start
    every, states = round(0.03 / step), []
    for k in range(270 * every + 1):
        if k % every == 0:
            states.append((plus, minus))
        pull = 4 * data.X.T @ (data.X @ (plus**2 - minus**2) - data.y)
        plus, minus = plus - step * plus * pull, minus + step * minus * pull
    return bf.theory.Checkpoints(step * every * np.arange(271), states)


# %%
# Three theorems judge five trainings.
steps = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
claims = ("R/lemA1", "R/eq3", "W/thm2")
colours = {"holds": "#9fd3a9", "inconclusive": "#f3dd9b", "does not apply": "#e6b3b8"}
figure, panel = plt.subplots(figsize=(8, 3), layout="constrained")
for column, step in enumerate(steps):
    run = descend(step)
    for row, claim in enumerate(claims):
        status = bf.verify(claim, problem, flow=run).status
        box = {"fc": colours.get(status, "#ffffff"), "pad": 6, "lw": 0}
        words = status.replace("not ", "not\n")
        panel.text(column, row, words, ha="center", va="center", bbox=box)
panel.set(xlim=(-0.6, 4.6), ylim=(2.6, -0.6), xlabel="step size")
panel.set(xticks=range(5), xticklabels=steps, yticks=range(3), yticklabels=claims)
panel.set_title("Theorems judged on gradient descent of smaller steps")
keep(figure)
