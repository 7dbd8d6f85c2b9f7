"""
Interpolants on a line
======================

All two-layer ReLU networks of least norm through the same samples, exactly, under four norms:
whether biases are penalised, and whether a skip connection adds an affine function for free.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

x = np.array([-1.5, -0.5, 0.5, 1.5, 2.5])
y = np.array([-0.8, 0.0, 0.9, 3.3, 6.4])
line = np.linspace(-3.0, 3.5, 651)

# %%
# Free biases: a closed form. Every function in the shaded range that bends the way the labels do is
# a minimiser; the one that is drawn has the fewest kinks. Penalised biases: one function.
figure, rows = plt.subplots(
    2, 2, figsize=(9.5, 6.4), sharex=True, sharey=True, layout="constrained"
)
for row, penalise_bias in zip(rows, (False, True), strict=True):
    for panel, skip in zip(row, (True, False), strict=True):
        found = bf.limits.line_interpolants(x, y, penalise_bias=penalise_bias, skip=skip)
        low, high = found.envelope(line)
        if found.unique is False:
            panel.fill_between(line, low, high, alpha=0.25, label="all of least norm")
        panel.plot(line, found.value(line), label=f"{found.value.kinks.size} kinks")
        seen = found.value.kinks[np.abs(found.value.kinks) < 3]
        panel.plot(seen, found.value(seen), "s", color="tab:red", markersize=6)
        panel.plot(x, y, "ko", markersize=4)
        biases = "biases penalised" if penalise_bias else "biases free"
        panel.set_title(
            f"{biases}, {'affine part free' if skip else 'no affine part'}: {found.objective:.4f}",
            fontsize=10,
        )
        panel.legend(frameon=False, loc="upper left", fontsize=9)
        print(found)

# %%
# Half of the least ‖θ‖² that the general solver finds, by another way:
general = bf.limits.min_norm_interpolator(x[:, None], y, bias="append")
print(general.objective / 2 - found.objective)
for panel in rows[1]:
    panel.set_xlabel("x")
for row in rows:
    row[0].set_ylabel("f(x)")
keep(figure)
