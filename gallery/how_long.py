"""How long does a flow take, which phases does it pass, and which of the bounds on its time is
informative?"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

data = bf.data.hypercube(n=10, d=100, key=3)
scales, arrivals = np.geomspace(1e-6, 1.0, 13), []
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for scale in scales:
    model, start = bf.models.random_network(20, 100, scale, key=3)
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), start)
    arrivals.append(bf.diagnostics.time_to(flow, divergence=1e-3))
    if scale in (scales[0], scales[6], scales[-1]):
        left.loglog(flow.times[1:], flow.loss[1:], label=f"α = {scale:.0e}")
print(arrivals[0])
left.set(
    xlabel="t",
    ylabel="loss",
    ylim=(1e-12, None),
    title="Small starts wait at plateaus, then end fast",
)
right.loglog(scales, [a.time for a in arrivals], "k.-", label="measured")
for name in arrivals[0].bounds:
    right.loglog(scales, [a.bounds[name] for a in arrivals], "--", label=name)
right.set(xlabel="initial scale α", ylabel="t", title="Time to $D_\\phi$ ≤ 1e-3, and its bounds")
left.legend(), right.legend(fontsize=8)
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "how_long.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
