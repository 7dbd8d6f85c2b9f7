"""
One PyTorch network, two regimes
================================

On handwritten digits the same network is a kernel machine from a large start, and learns features
from a small one.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

# %%
# Odd or even?
digits = load_digits()
X = torch.tensor(digits.data[:300] / 16)
odd = torch.tensor(2.0 * (digits.target[:300, None] % 2) - 1)
torch.manual_seed(0)


def train(scale, rate):
    """The start, multiplied by `scale`, and the network after 600 steps."""
    layers = torch.nn.Linear(64, 200), torch.nn.ReLU(), torch.nn.Linear(200, 1)
    network = torch.nn.Sequential(*layers).double()
    start = {name: scale * tensor for name, tensor in network.state_dict().items()}
    network.load_state_dict(start)
    descent = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9)
    for _ in range(600):
        descent.zero_grad()
        torch.mean((network(X) - odd) ** 2).backward()
        descent.step()
    return start, network


# %%
# What training changed, against what it would have changed in the network linearised at its start.
figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for panel, scale, rate in zip(panels, (6.0, 0.3), (2e-5, 3e-2), strict=True):
    start, network = train(scale, rate)
    found = bf.probe(network, [start, network], X, odd[:, 0])
    panel.plot(found.trained - found.initial, found.linear - found.initial, ".", alpha=0.7)
    panel.axline((0, 0), slope=1, color="black", lw=1, ls="--")
    title = f"start × {scale:g}: {found.verdict}, linear gap {found.final['linear_gap']}"
    panel.set(title=title, xlabel="change of f by training")
    panel.set_ylabel("change of the linearised network (dashed: equal)")
keep(figure)
