"""
A film of sliding neurons
=========================

Sixty neurons learn five points: their kinks wander, stick to data points and merge, and two large
ones are left. `flow.animate("film.gif", frames=60)` makes the film.
"""

import biasflow as bf
from pictures import keep

# %%
# B's five points, from a small start.
data = bf.data.five_points()
model = bf.TwoLayer(60, 2)
start = model.init(1e-4 / 60**0.5, key=1)
flow = bf.gradient_flow(bf.Problem(model, data, bf.SquareLoss("half-mean"), start))
print(flow)
for kink in bf.diagnostics.kinks(flow.final):
    print(f"a kink at {kink}")

# %%
# The picture of a flow: its loss with phases and events, and its neurons by size.
figure = flow.plot()
keep(figure, film=flow)
