"""
The potential of your parametrisation
=====================================

Write the predictor as a function of the weights, in JAX. Is its training a mirror flow, and of
which potential?
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Three ways to write one coefficient, a mix of squares, a matrix product.
d = 3
rng = np.random.default_rng(0)
A = np.eye(d) + 0.4 * rng.standard_normal((d, d))
shapes = {
    "w₊² − w₋²": (lambda w: w[0] ** 2 - w[1] ** 2, np.full((2, d), 0.2)),
    "w + w³": (lambda w: w + w**3, np.full(d, 0.01)),
    "sinh(w₁)·w₂": (lambda w: jnp.sinh(w[0]) * w[1], np.full((2, d), 0.3)),
    "A(w∘w)": (lambda w: jnp.asarray(A) @ (w * w), np.ones(d)),
    "UVᵀ": (lambda w: (w[0] @ w[1].T).ravel()[:d], rng.standard_normal((2, 2, 2))),
}
found = {name: bf.diagnostics.find_potential(*shape, loops=2) for name, shape in shapes.items()}
for name, one in found.items():
    print(f"{name} is {one}")

# %%
# Where training ends, without training: three potentials, one data set.
X, y = [[1.0, 0.5, 0.2]], [1.5]
for name in list(shapes)[:4]:
    limit = found[name].limit(X, y)
    print(f"{name}: {limit.value.round(4)} ± {max(limit.stats['error']):.0e}")

# %%
figure, panel = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
beta = np.linspace(-2, 2, 81)
for name in list(shapes)[:3]:
    eta = found[name].potential.grad(np.repeat(beta[:, None], d, axis=1))[:, 0]
    panel.plot(beta, eta / np.max(np.abs(eta)), label=name, lw=2)
panel.set(xlabel="β", ylabel="∇φ(β), over its largest", title="Mirror maps, found by following w")
panel.legend(frameon=False)
keep(figure)
