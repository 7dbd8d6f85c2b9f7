"""What you get shows itself: a flow, a limit and their comparison in a few lines, as pictures, as
a film, and as tables for a notebook."""

import sys
from pathlib import Path

import numpy as np

import biasflow as bf

name = Path(__file__).parent / "out" / "objects_show_themselves.png"
out = Path(sys.argv[1]) if len(sys.argv) > 1 else name
out.parent.mkdir(parents=True, exist_ok=True)

x = np.array([-1.2, -0.6, 0.1, 0.9])
data = bf.Dataset(np.column_stack([x, np.ones(4)]), [0.5, -0.3, 0.4, -0.2], "four points")
model = bf.TwoLayer(30, 2)
problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), model.init(1e-3, key=3))
flow = bf.gradient_flow(problem)
least = bf.min_norm(data, norm="relu")
compared = bf.compare(flow, least)
print(flow, least, compared, sep="\n")
print("between the points, flow and limit:", flow([[0.5, 1.0]]), least([[0.5, 1.0]]))
print(flow.to_xarray().sizes)

flow.plot().savefig(out, dpi=150)
flow.animate(out.with_suffix(".gif"), frames=25)
tables = [one._repr_html_() for one in (data, problem, flow, least, compared)]
out.with_suffix(".html").write_text("<meta charset=utf-8>" + "<br>".join(tables), encoding="utf-8")
