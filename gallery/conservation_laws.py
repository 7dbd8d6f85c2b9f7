"""
What does training conserve?
============================

Laws that gradient flow keeps whatever the data, and how far your own checkpoints are from them.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# How many laws, and which: two sides meet, formulas and brackets, both in exact arithmetic.
for model in (
    bf.DiagonalNetwork(3),
    bf.MatrixFactorisation((3, 2), rank=2),
    bf.TwoLayer(width=4, dim=3),
    bf.DeepNetwork((2, 3, 3), activation="linear"),
):
    print(bf.conservation_laws(model, dim=3 if isinstance(model, bf.DiagonalNetwork) else None))

# %%
# A guess is tested without rounding: depth three does not conserve w₊w₋.
guess = {"w₊w₋": lambda p: p.plus * p.minus, "1/w₊ + 1/w₋": lambda p: 1 / p.plus + 1 / p.minus}
print(bf.conservation_laws(bf.DiagonalNetwork(3), dim=1, candidates=guess).refuted)


# %%
# Checkpoints of anybody's network, as a dict of arrays each: what steps, momentum and weight decay
# do to the laws of a small classifier.
def train(step, momentum=0.0, decay=0.0, time=4.0):
    """State dicts of a ReLU network with three outputs, trained by gradient descent."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 5)), rng.standard_normal((30, 3))
    state = {"0.weight": rng.standard_normal((8, 5)) / 2, "2.weight": rng.standard_normal((3, 8))}
    velocity = {name: np.zeros_like(w) for name, w in state.items()}
    states = [state]
    for _ in range(round(time / step)):
        before = X @ state["0.weight"].T
        hidden = np.maximum(before, 0)
        error = (hidden @ state["2.weight"].T - Y) / len(X)
        back = (before > 0) * (error @ state["2.weight"])
        gradient = {"0.weight": back.T @ X, "2.weight": error.T @ hidden}
        for name, w in state.items():
            force = (1 - momentum) * (gradient[name] + decay * w)
            velocity[name] = momentum * velocity[name] - step * force
        state = {name: w + velocity[name] for name, w in state.items()}
        states.append(state)
    return states


runs = {
    "step 0.05": (0.05, train(0.05)),
    "step 0.01": (0.01, train(0.01)),
    "step 0.002": (0.002, train(0.002)),
    "step 0.002, momentum 0.99": (0.002, train(0.002, momentum=0.99)),
    "step 0.002, decay 0.1": (0.002, train(0.002, decay=0.1)),
}
laws = bf.conservation_laws(runs["step 0.05"][1][0])
figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, (step, states) in runs.items():
    drift = laws.drift(states, times=step * np.arange(len(states)))
    axis.plot(drift.times[1:], np.median(drift.drift[1:], axis=1), label=name)
    print(f"{name}: {drift.worst:.2e}")
decayed = laws.drift(states, times=drift.times, weight_decay=0.1)
axis.plot(
    decayed.times[1:],
    np.median(decayed.drift[1:], axis=1),
    ":k",
    label="the same, from C(0)·exp(−2κt)",
)
axis.set(
    xlabel="time (step × steps)",
    ylabel="drift of ‖into a unit‖² − ‖out of it‖²\nrelative to their sum, median",
    yscale="log",
    ylim=(1e-6, 1),
    title="How far a training is from gradient flow",
)
axis.legend(fontsize=8)
keep(figure)
