"""
Objects that show themselves
============================

What you get says what it is: a flow, a limit and their comparison in a few lines, as pictures, as
tables and as a film.
"""

import tempfile
from pathlib import Path

import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Four points on a line, with a column of ones for the bias, and a ReLU network from a small start.
x = np.array([-1.2, -0.6, 0.1, 0.9])
data = bf.Dataset(np.column_stack([x, np.ones(4)]), [0.5, -0.3, 0.4, -0.2], "four points")
problem = bf.Problem(bf.TwoLayer(30, 2), data, bf.SquareLoss("half-mean"), scale=1e-3, key=3)
flow = bf.gradient_flow(problem)
print(flow)

# %%
# The interpolator of least norm, and how far the flow ended from it.
least = bf.min_norm(data, norm="relu")
print(least)
print(bf.compare(flow, least))

# %%
# Both are functions of inputs, and arrays with names.
print("between the points, flow and limit:", flow([[0.5, 1.0]]), least([[0.5, 1.0]]))
print(flow.to_xarray().sizes)

# %%
# In a notebook objects show tables; here they go into a page, and the film into a GIF beside it.
folder = Path(tempfile.mkdtemp())
tables = [one._repr_html_() for one in (data, problem, flow, least)]
page = "<meta charset=utf-8>" + "<br>".join(tables)
(folder / "tables.html").write_text(page, encoding="utf-8")
flow.animate(folder / "film.gif", frames=25)

# %%
# Each has one picture.
figure = flow.plot()
keep(figure)
