"""
Large starts only postpone sparse classifiers
=============================================

On separable data the direction of a diagonal network tends to the largest ℓ1 margin, whatever the
start.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Five samples with eight features, two classes.
rng = np.random.default_rng(3)
X = rng.standard_normal((5, 8))
y = np.where(X @ rng.standard_normal(8) > 0, 1.0, -1.0)

# %%
# Norms up to e^10000: the flow is followed in its dual, where they are ordinary numbers.
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for panel, scale in zip(panels, (1e-2, 1e3), strict=True):
    problem = bf.Problem(bf.DiagonalNetwork(2), (X, y), bf.ExponentialLoss(), scale=scale)
    path = bf.flows.direction_path(problem, log_norm=1e4)
    grown = np.maximum(path.log_norm - path.log_norm[0], 1e-3)
    lines = panel.plot(grown[1:], path.directions[1:], lw=1.8)
    best = bf.limit(problem).value
    for line, value in zip(lines, best, strict=True):
        panel.plot(2e4, value, "o", color=line.get_color(), clip_on=False)
    panel.set(xscale="log", xlim=(0.1, 2e4), title=f"from weights of {scale:g}")
    panel.set_xlabel("log-norm less that of the start")
panels[0].set_ylabel("β/‖β‖₁; dots: largest ℓ1 margin")
figure.suptitle("The direction of a diagonal classifier, by its norm")
keep(figure)
