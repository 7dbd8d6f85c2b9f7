"""One PyTorch network on handwritten digits, from a large start a kernel machine, from a small one
a learner of features."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import biasflow as bf

X, odd = (
    torch.tensor(a[:300])
    for a in (load_digits().data / 16, 2.0 * (load_digits().target[:, None] % 2) - 1)
)
(figure, panels), _ = (
    plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained"),
    torch.manual_seed(0),
)
for panel, scale, rate in zip(panels, (6.0, 0.3), (2e-5, 3e-2), strict=True):
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 200), torch.nn.ReLU(), torch.nn.Linear(200, 1)
    ).double()
    start = {name: scale * tensor for name, tensor in network.state_dict().items()}
    network.load_state_dict(start)
    descent = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    for _ in range(600):
        descent.zero_grad()
        descent.step(lambda network=network: torch.mean((network(X) - odd) ** 2).backward())
    found = bf.probe(network, [start, network], X, odd[:, 0])
    panel.plot(found.trained - found.initial, found.linear - found.initial, ".", alpha=0.7)
    panel.axline((0, 0), slope=1, color="black", lw=1, ls="--")
    title = f"start × {scale:g}: {found.verdict}, linear gap {found.final['linear_gap']}"
    panel.set(
        title=title,
        xlabel="change of f by training",
        ylabel="change of the linearised network (dashed: equal)",
    )
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "probe_torch.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
