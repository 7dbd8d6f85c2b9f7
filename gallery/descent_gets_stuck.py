"""
Descent gets stuck where the flow does not
==========================================

Eight points, one start. Gradient descent with usual steps stops at a plateau and stays there; the
flow leaves it, and so does descent once its steps are small enough.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Sixty ReLU neurons on a line, with a column of ones for the bias, from a small start.
x = np.linspace(-2, 2, 8)
data = bf.Dataset(np.column_stack([x, np.ones(8)]), np.sin(3 * x))
problem = bf.Problem(bf.TwoLayer(60, 2), data, bf.SquareLoss("half-mean"), scale=1e-4, key=1)
end = 1000.0

# %%
# The flow goes from one change of a gate to the next. On the plateau some neurons *slide*: each has
# its kink on a data point, held there from both sides, until one side lets go.
flow = bf.gradient_flow(problem, t1=end)
print(flow)
leave = [event for event in flow.events if event.kind == "slide out" and event.time > 400]
print(f"after t = 400, {len(leave)} slides end, the first at t = {leave[0].time:.1f}")

# %%
# Descent up to the same time. A finite step cannot rest on a kink: it jumps over it and back. With
# steps of 0.01 and 0.002 the loss has not moved from the plateau when the flow has long left it.
runs = {
    step: bf.train(problem, steps=round(end / step), step=step, records=400)
    for step in (0.01, 0.002, 2e-4)
}
print(f"flow: loss {flow.loss[-1]:.4f} at t = {end:g}")
for step, run in runs.items():
    print(f"steps of {step:g}: loss {run.loss[-1]:.4f}")

# %%
# The losses, and the functions at the end.
figure, (losses, fits) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
losses.plot(flow.times, flow.loss, color="black", lw=4, alpha=0.3, label="gradient flow")
line = np.linspace(-2.2, 2.2, 400)
grid = np.column_stack([line, np.ones(400)])
fits.plot(line, flow(grid), color="black", lw=4, alpha=0.3, label="gradient flow")
styles = (("#bb3344", "-"), ("#aa7733", "--"), ("#4477aa", "-"))
for (step, run), (colour, dash) in zip(runs.items(), styles, strict=True):
    label = f"descent, steps of {step:g}"
    losses.plot(run.times, run.loss, dash, color=colour, lw=1.5, label=label)
    fits.plot(line, run(grid), dash, color=colour, lw=1.5, label=label)
fits.plot(x, data.y, "k.", markersize=9, label="data")
losses.set(xlabel="time: sum of the steps", ylabel="loss", ylim=(0, None))
losses.set_title("Usual steps stay on the plateau")
losses.legend(frameon=False, loc="lower left")
fits.set(xlabel="x", ylabel="h(x)", title=f"The functions at t = {end:g}", ylim=(-1.9, 1.4))
fits.legend(frameon=False, ncols=2, fontsize=9, loc="lower center")
keep(figure)
