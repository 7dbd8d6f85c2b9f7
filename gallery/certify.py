"""
Is the margin the largest one?
==============================

Two trainings that both converged, and one of them stopped short: `bf.certify` says which, and why.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Three samples in a plane, two of one class 100 degrees apart, and networks without biases.
angles, lengths = np.deg2rad([40.0, 140.0, -90.0]), np.array([1.2, 0.8, 1.0])
X = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
y = np.array([1.0, 1.0, -1.0])


def trained(start):
    problem = bf.Problem(bf.TwoLayer(start.a.size, 2), (X, y), bf.SmoothMargin(), start)
    return bf.gradient_flow(problem, log_norm=24.0).final


# %%
# One neuron near each sample, or forty random ones.
one_each = bf.models.TwoLayerParams(0.3 * y, 0.3 * (X + np.array([0.05, 0.0])))
ends = {
    "one neuron each": trained(one_each),
    "random neurons": trained(bf.TwoLayer(40, 2).init(0.3, key=0)),
}
found = {name: bf.certify(end, X, y, tolerance=0.03) for name, end in ends.items()}
for name, certificate in found.items():
    print(name, certificate, sep="\n")

# %%
# Where f changes its sign, and what is known of both.
side = np.linspace(-1.5, 1.5, 200)
plane = np.array([[p, q] for q in side for p in side])
figure, panels = plt.subplots(1, 2, figsize=(8.6, 4.2), sharey=True, layout="constrained")
for panel, (name, end) in zip(panels, ends.items(), strict=True):
    values = bf.TwoLayer(end.a.size, 2)(end, plane).reshape(200, 200)
    size = np.sum(end.a**2) + np.sum(end.W**2)
    drawn = panel.contourf(
        side, side, values / size, levels=15, cmap="coolwarm", vmin=-0.5, vmax=0.5
    )
    panel.contour(side, side, values / size, levels=[0], colors="black")
    panel.scatter(*X.T, c=y, cmap="coolwarm", edgecolor="black", s=60)
    certificate = found[name]
    panel.set(
        title=f"{name}: {certificate.verdict}\n{certificate.fraction.lower:.3f} of the largest "
        f"margin, KKT residual {certificate.residual:.1g}",
        xlabel="x₁",
        aspect="equal",
    )
panels[0].set_ylabel("x₂")
keep(figure)
