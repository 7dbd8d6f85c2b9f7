"""
Is it a mirror flow?
====================

The Lie brackets of a model's coordinate gradients decide whether its gradient flow is a mirror
flow.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Five models at random parameters: ours, or any function of parameters.
rng = np.random.default_rng(0)
X = rng.standard_normal((4, 5))


def linear(w):
    return X @ w


def factorisation(w):
    return (w[0] @ w[1].T).ravel()


def two_layer(w):
    return np.maximum(X @ w[1].T, 0) @ w[0]


models = {
    "diagonal, depth 2": (
        bf.DiagonalNetwork(2),
        bf.models.DiagonalParams(*rng.uniform(0.1, 1, (2, 5))),
    ),
    "fixed directions": bf.models.random_network(8, 5, 1.0),
    "linear": (linear, rng.standard_normal(5)),
    "matrix factorisation": (factorisation, tuple(rng.standard_normal((2, 3, 3)))),
    "two-layer ReLU": (two_layer, (rng.standard_normal(8), rng.standard_normal((8, 5)))),
}

# %%
# A defect of zero, up to rounding, means that the gradients commute.
found = {name: bf.diagnostics.commuting_defect(*model) for name, model in models.items()}
for name, defect in found.items():
    print(f"{name}: {defect}")

# %%
figure, panel = plt.subplots(figsize=(8, 3.4), layout="constrained")
colours = ["#3a7d44" if defect else "#bb3344" for defect in found.values()]
panel.barh(list(found), [max(defect.defect, 1e-16) for defect in found.values()], color=colours)
panel.set(xscale="log", xlabel="largest relative Lie bracket")
panel.set_title("Green: commuting gradients, a mirror flow. Red: none")
panel.invert_yaxis()
keep(figure)
