"""
Tiny weights choose the features
================================

From vanishing starts deep diagonal networks remember which weights were larger; depth two forgets.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Two samples, four features (Zhao et al. 2026). The first weight starts c times larger.
X, y = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]), np.array([1.0, 0.0])
shapes = np.geomspace(0.5, 3, 60)


def end(depth, c):
    model = bf.DiagonalNetwork(depth)
    start = model.init(1e-3 * np.array([c, 1.0, 1.0, 1.0]))
    return bf.saddle_path(bf.Problem(model, (X, y), bf.SquareLoss("half"), start)).final


# %%
# No flow is integrated: the limit of the path is known for every depth and shape.
figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True, layout="constrained")
for panel, depth in zip(panels, (2, 3, 5), strict=True):
    ends = np.array([end(depth, c) for c in shapes])
    for i in range(4):
        panel.plot(shapes, ends[:, i], label=f"feature {i + 1}", lw=2)
    panel.set(xscale="log", title=f"depth {depth}", xlabel="c, first weight over the others")
    panel.set_xticks([0.5, 1, 2, 3], ["0.5", "1", "2", "3"])
    panel.xaxis.set_minor_formatter("")
panels[0].set_ylabel("coefficients at the end")
panels[0].legend(frameon=False)
figure.suptitle("Which features a vanishing start ends with")
keep(figure)
