"""
The story of a training
=======================

A callback in a plain PyTorch loop copies the weights at steps that grow like powers. It changes
nothing of the training, and afterwards one call draws the loss, the movement of the tangent kernel,
its alignment with the labels, and which layers moved when.
"""

import torch
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

digits = load_digits()
images = torch.tensor(digits.images[:500, None] / 16, dtype=torch.float32)
labels = torch.tensor(digits.target[:500])
torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Conv2d(1, 12, 3, padding=1),
    torch.nn.BatchNorm2d(12),
    torch.nn.ReLU(),
    torch.nn.Conv2d(12, 16, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Dropout(0.2),
    torch.nn.Linear(256, 10),
)

# %%
# Make the callback before training, on inputs that were held out. Numbers for a logger come during
# training, within a time limit a call and a share of the whole.
held_out = images[400:460], labels[400:460]
logged = {}
callback = bf.regime.ProbeCallback(
    network, *held_out, log=lambda numbers, step: logged.update({step: numbers}), time_s=2.0, keys=2
)

# %%
# Train as ever.
descent = torch.optim.Adam(network.parameters(), lr=2e-3)
for step in range(1, 151):
    rows = torch.randperm(400)[:100]
    descent.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(images[rows]), labels[rows])
    loss.backward()
    descent.step()
    callback(step, loss)

# %%
# What was found, and what it cost.
print(callback.found)
print(f"measured during training at steps {list(logged)}")
print(f"{callback.spent.calls} calls, {callback.spent.copying:.2f} s for copies of the weights")
keep(callback.plot())
