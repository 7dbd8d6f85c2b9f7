"""
Least norms
===========

Four of the infinitely many functions that fit the same points: which is least depends on the norm.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

x = np.array([-1.0, -0.45, 0.1, 0.5, 1.0])
y = np.array([0.3, -0.4, 0.5, -0.2, 0.4])
line = np.linspace(-1.3, 1.3, 500)

# %%
# Linear models: twelve cosines, of which five would do. One verb, `min_norm`, for every norm.


def cosines(x):
    return np.cos(np.pi * np.outer(x + 1.5, np.arange(12)) / 3)


linear = {norm: bf.min_norm(cosines(x), y, norm=norm) for norm in ("l2", "l1")}

# %%
# Two-layer ReLU networks of any width: with the output layer trained the least norm is that of a
# kernel, with both layers it is ‖θ‖².
inputs = np.column_stack([x, np.ones(5)])
both = bf.min_norm(inputs, y, norm="relu")
output = bf.min_norm(inputs, y, norm=bf.limits.arc_cosine_kernel(x[:, None]))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.7), sharey=True, layout="constrained")
for norm, found in linear.items():
    label = f"least ℓ{norm[1]} norm: {found.objective:.3f} ({found.certificate.kind})"
    left.plot(line, cosines(line) @ found.value, label=label)
smooth = bf.limits.arc_cosine_kernel(line[:, None], x[:, None]) @ output.value
right.plot(line, smooth, label="output layer: least kernel norm")
kinked = both(np.column_stack([line, np.ones(500)]))
right.plot(line, kinked, label="both layers: least ‖θ‖²")
left.set(ylabel="h(x)", title="twelve cosines")
right.set(title="two-layer ReLU networks of any width")
for panel in (left, right):
    panel.plot(x, y, "ko", markersize=5)
    panel.set(xlabel="x", ylim=(-1, 1.25))
    panel.legend(frameon=False, loc="upper center", fontsize=9)
keep(figure)
