"""
A potential of your own
=======================

Given by its derivative alone: limits of mirror flow between ℓ1 and ℓ2.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# `φ ≈ |β|^p/p`, rounded off at zero. The derivative φ′ is enough; the rest is computed, more slowly
# than for the potentials of the package.


def potential(p, rounding=1e-2):
    return bf.potentials.Separable(lambda beta: beta * (beta**2 + rounding**2) ** (p / 2 - 1))


data = bf.data.sparse_regression(n=8, d=20, sparsity=2, key=1)
powers = np.linspace(1.1, 2.0, 10)
limits = [bf.bregman_projection(potential(p), data.X, data.y) for p in powers]
for p, limit in ((powers[0], limits[0]), (powers[-1], limits[-1])):
    print(f"p = {p:g}: ℓ1 norm {np.sum(np.abs(limit.value)):.3f}")

# %%
# Its flow, with an error estimate like any other.
flow = bf.mirror_flow(potential(1.5), data.X, data.y, times=np.geomspace(1e-3, 10, 30))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="constrained")
values = np.array([limit.value for limit in limits])
left.plot(powers, values, color="tab:gray", lw=0.8)
left.plot(powers, values[:, data.truth != 0], color="tab:red")
left.set(xlabel="p", ylabel="coordinates of the limit (red: planted)", title="φ ≈ |β|^p/p")
right.loglog(flow.times, flow.loss)
right.set(xlabel="t", ylabel="loss", title=f"its flow at p = 1.5, error {np.max(flow.error):.0e}")
keep(figure)
