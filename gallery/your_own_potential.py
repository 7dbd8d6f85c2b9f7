"""A potential of your own, given by its derivative: limits of mirror flow between ℓ1 and ℓ2."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.sparse_regression(n=8, d=20, sparsity=2, key=1)
powers = np.linspace(1.1, 2.0, 10)


def potential(p, rounding=1e-2):
    """φ ≈ |β|^p/p, rounded off at zero: φ′ = β(β² + ε²)^(p/2−1)."""
    return bf.potentials.Separable(lambda beta: beta * (beta**2 + rounding**2) ** (p / 2 - 1))


limits = [bf.bregman_projection(potential(p), data.X, data.y) for p in powers]
flow = bf.mirror_flow(potential(1.5), data.X, data.y, times=np.geomspace(1e-3, 10, 30))
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="constrained")
left.plot(powers, [limit.value for limit in limits], color="tab:gray", lw=0.8)
left.plot(powers, [limit.value[data.truth != 0] for limit in limits], color="tab:red")
left.set(xlabel="p", ylabel="coordinates of the limit (red: planted)", title="φ ≈ |β|^p/p")
right.loglog(flow.times, flow.loss)
right.set(xlabel="t", ylabel="loss", title=f"its flow at p = 1.5, error {np.max(flow.error):.0e}")
out = Path(sys.argv[1] if len(sys.argv) > 1 else "gallery/out/your_own_potential.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
print(
    f"ℓ1 norm {np.sum(np.abs(limits[0].value)):.3f} at p = 1.1, "
    f"{np.sum(np.abs(limits[-1].value)):.3f} at p = 2"
)
