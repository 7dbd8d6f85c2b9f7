"""A wide ReLU network under the exponential loss, followed until its norm is e^30: its margin
against the exact max margin γ₁."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import biasflow as bf

data = bf.data.clusters(n=40, k=3, key=2)
gamma = bf.limits.f1_max_margin(data.X, data.y, gap=1e-4).certificate
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.axhspan(gamma.primal, gamma.dual, color="0.2", label=f"max margin γ₁ = {gamma.primal:.4f}")
for width, colour in ((30, "C1"), (300, "C0")):
    model = bf.TwoLayer(width, 3)
    start = model.init(width**-0.5, key=1)
    flow = bf.gradient_flow(
        model, bf.data.with_bias(data), bf.SmoothMargin(), start, log_norm=30, rtol=1e-4
    )
    polished = bf.limits.polish(flow.final, data.X, data.y)
    axis.plot(
        flow.log_norm,
        flow.margin,
        colour,
        label=f"gradient flow, {width} neurons",
    )
    axis.axhline(
        polished.objective, color=colour, ls=":", label="best masses on its final directions"
    )
    error = flow.margin_error[-1]
    print(
        f"{width} neurons, {flow.stats['steps']} steps: margin {flow.margin[-1]:.4f} ± "
        f"{error:.0e}, {flow.result.value}"
    )
axis.set(
    xlabel="log of the squared norm, log Σ‖w‖²",
    ylabel="normalised margin min y·h(x)/Σ‖w‖²",
    ylim=(0, 1.15 * gamma.dual),
)
axis.legend(frameon=False)
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "max_margin_flow.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
