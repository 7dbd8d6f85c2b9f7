"""
Bring your own data
===================

Your own X and y: where gradient flow on a diagonal network goes from three scales, with proof, and
a flow that checks it.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Put your inputs, of shape (n, d), and your labels, (n,), here. With more columns than samples
# there are infinitely many ways to fit the labels.
rng = np.random.default_rng(3)
X = rng.standard_normal((20, 60))
y = X[:, [4, 17, 40]] @ [1.0, -0.7, 0.5]
data = bf.Dataset(X, y)

# %%
# The limit needs no training: it is a convex problem, and its certificate says how well it is
# solved. The flow is integrated as an independent check.
model = bf.DiagonalNetwork(depth=2)
limits, ends = {}, {}
for scale in (3.0, 0.1, 1e-4):
    problem = bf.Problem(model, data, bf.SquareLoss("half"), scale=scale)
    limits[scale] = bf.limit(problem)
    ends[scale] = model.effective(bf.gradient_flow(problem).final)
    proof = limits[scale].certificate
    distance = np.max(np.abs(ends[scale] - limits[scale].value))
    print(
        f"α = {scale:g}: residual {proof.residual:.0e}, gap {proof.gap:.0e}, "
        f"flow {distance:.0e} away"
    )

# %%
# Smaller starts end at sparser solutions.
figure, panels = plt.subplots(
    3, 1, figsize=(8, 6.2), sharex=True, sharey=True, layout="constrained"
)
colours = ("#4477aa", "#aa7733", "#bb3344")
for panel, scale, colour in zip(panels, limits, colours, strict=True):
    beta = limits[scale].value
    label = f"predicted limit, α = {scale:g}"
    panel.vlines(np.arange(data.d), 0, beta, color=colour, linewidth=3, label=label)
    panel.plot(ends[scale], ".", color="black", markersize=5, label="where the flow went")
    panel.legend(frameon=False, loc="upper right", ncols=2)
panels[0].set_title("The same data, three scales of the start, and where theory says they lead")
panels[0].set_ylim(-0.95, 1.35)
panels[-1].set(xlabel="coordinate i", ylabel="βᵢ")
keep(figure)
