"""Is your model's gradient flow a mirror flow? The Lie brackets of its coordinate gradients
decide."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf

rng = np.random.default_rng(0)
X = rng.standard_normal((4, 5))
models = {
    "diagonal, depth 2": (
        bf.DiagonalNetwork(2),
        bf.models.DiagonalParams(*rng.uniform(0.1, 1, (2, 5))),
    ),
    "fixed directions": bf.models.random_network(8, 5, 1.0),
    "linear": (lambda w: X @ w, rng.standard_normal(5)),
    "matrix factorisation": (
        lambda w: (w[0] @ w[1].T).ravel(),
        tuple(rng.standard_normal((2, 3, 3))),
    ),
    "two-layer ReLU": (
        lambda w: np.maximum(X @ w[1].T, 0) @ w[0],
        (rng.standard_normal(8), rng.standard_normal((8, 5))),
    ),
}
found = {name: bf.diagnostics.commuting_defect(*model) for name, model in models.items()}
print(*(f"{name}: {defect}" for name, defect in found.items()), sep="\n")
figure, panel = plt.subplots(figsize=(8, 3.4), layout="constrained")
colours = ["#3a7d44" if defect else "#bb3344" for defect in found.values()]
panel.barh(list(found), [max(f.defect, 1e-16) for f in found.values()], color=colours)
panel.set(
    xscale="log",
    xlabel="largest relative Lie bracket",
    title="Green: commuting gradients, a mirror flow. Red: none",
)
panel.invert_yaxis()
out = Path(
    sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "is_it_a_mirror_flow.png"
)
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
