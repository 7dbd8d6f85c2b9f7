"""
A wide network up to the norm e³⁰
=================================

A ReLU network under the exponential loss, followed until its squared norm is e³⁰: its margin
against the exact max margin γ₁.
"""

import matplotlib.pyplot as plt

import biasflow as bf
from pictures import keep

# %%
# The largest margin of any network, bracketed.
data = bf.data.clusters(n=40, k=3, key=2)
gamma = bf.limits.f1_max_margin(data.X, data.y, gap=1e-4).certificate

# %%
# The flow is followed in directions and the logarithm of the norm. `polish` finds the best masses
# on the directions that it has found.
flows, polished = {}, {}
for width in (30, 300):
    model = bf.TwoLayer(width, 3)
    start = model.init(width**-0.5, key=1)
    flow = bf.gradient_flow(
        model, bf.data.with_bias(data), bf.SmoothMargin(), start, log_norm=30, rtol=1e-4
    )
    flows[width] = flow
    polished[width] = bf.limits.polish(flow.final, data.X, data.y).objective
    print(
        f"{width} neurons, {flow.stats['steps']} steps: margin {flow.margin[-1]:.4f} ± "
        f"{flow.margin_error[-1]:.0e}, {flow.result.value}"
    )

# %%
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.axhspan(gamma.lower, gamma.upper, color="0.2", label=f"max margin γ₁ = {gamma.lower:.4f}")
for width, colour in ((30, "C1"), (300, "C0")):
    flow = flows[width]
    axis.plot(flow.log_norm, flow.margin, colour, label=f"gradient flow, {width} neurons")
    label = "best masses on its final directions"
    axis.axhline(polished[width], color=colour, ls=":", label=label)
axis.set(xlabel="log of the squared norm, log Σ‖w‖²", ylim=(0, 1.15 * gamma.upper))
axis.set_ylabel("normalised margin min y·h(x)/Σ‖w‖²")
axis.legend(frameon=False)
keep(figure)
