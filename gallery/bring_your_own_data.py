"""Your own X and y: where gradient flow on a diagonal network goes from three scales, with proof,
and a flow that checks it."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

rng = np.random.default_rng(3)
X = rng.standard_normal((20, 60))  # put your inputs (n, d) here
y = X[:, [4, 17, 40]] @ [1.0, -0.7, 0.5]  # and your labels (n,) here
data, model = bf.data.Dataset(X, y), bf.DiagonalNetwork(depth=2)
figure, panels = plt.subplots(
    3, 1, figsize=(8, 6.2), sharex=True, sharey=True, layout="constrained"
)
for panel, scale, colour in zip(
    panels, (3.0, 0.1, 1e-4), ("#4477aa", "#aa7733", "#bb3344"), strict=True
):
    limit = bf.limit(model, data, scale=scale)
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), model.init(scale, dim=data.d))
    reached, proof = model.effective(flow.final), limit.certificate
    distance = np.max(np.abs(reached - limit.value))
    print(
        f"α = {scale:g}: residual {proof.residual:.0e}, gap {proof.gap:.0e}, flow {distance:.0e} "
        "away"
    )
    panel.vlines(
        np.arange(data.d),
        0,
        limit.value,
        color=colour,
        linewidth=3,
        label=f"predicted limit, α = {scale:g}",
    )
    panel.plot(reached, ".", color="black", markersize=5, label="where the flow went")
    panel.legend(frameon=False, loc="upper right", ncols=2)
panels[0].set(
    title="The same data, three initialisation scales: smaller is sparser, and theory knows where",
    ylim=(-0.95, 1.35),
)
panels[-1].set(xlabel="coordinate i", ylabel="βᵢ")
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "bring_your_own_data.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
