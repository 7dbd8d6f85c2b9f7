"""
Which layers learned features?
==============================

A small convolutional network in PyTorch learns ten digits. Its checkpoints, layer by layer through
time: how far each layer's part of the tangent kernel moved, beside how far apart two seeds are.
"""

import copy
from collections import OrderedDict

import torch
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

# %%
# Ten classes, ten outputs: all of them are looked at.
digits = load_digits()
images = torch.tensor(digits.images[:400, None] / 16, dtype=torch.float32)
labels = torch.tensor(digits.target[:400])
torch.manual_seed(0)
layers = {
    "conv1": torch.nn.Conv2d(1, 12, 3, padding=1),
    "relu1": torch.nn.ReLU(),
    "conv2": torch.nn.Conv2d(12, 16, 3, stride=2, padding=1),
    "relu2": torch.nn.ReLU(),
    "conv3": torch.nn.Conv2d(16, 24, 3, stride=2, padding=1),
    "relu3": torch.nn.ReLU(),
    "flat": torch.nn.Flatten(),
    "read": torch.nn.Linear(96, 10),
}
network = torch.nn.Sequential(OrderedDict(layers))

# %%
# Training, and copies of the network on the way.
descent = torch.optim.Adam(network.parameters(), lr=1e-3)
times, checkpoints = [0], [copy.deepcopy(network)]
for step in range(1, 101):
    descent.zero_grad()
    torch.nn.functional.cross_entropy(network(images), labels).backward()
    descent.step()
    if step in (1, 3, 10, 30, 100):
        times.append(step)
        checkpoints.append(copy.deepcopy(network))

# %%
# The verdict, and the story of the layers.
seen = images[:80], labels[:80]
found = bf.probe(network, checkpoints, *seen, times=times, layers=True, keys=2)
print(found)
keep(found.plot_layers())
