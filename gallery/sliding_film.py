"""A film of sixty neurons learning five points: their kinks wander, stick to data points and
merge, and two large ones are left."""

import sys
from pathlib import Path

import biasflow as bf

data, model = bf.data.five_points(), bf.TwoLayer(60, 2)
start = model.init(1e-4 / 60**0.5, key=1)
flow = bf.gradient_flow(bf.Problem(model, data, bf.SquareLoss("half-mean"), start))
print(flow)
print("\n".join(f"a kink at {kink}" for kink in bf.diagnostics.kinks(flow.final)))

name = Path(__file__).parent / "out" / "sliding_film.png"
out = Path(sys.argv[1]) if len(sys.argv) > 1 else name
out.parent.mkdir(parents=True, exist_ok=True)
flow.plot().savefig(out, dpi=110)
flow.animate(out.with_suffix(".gif"), frames=60)
