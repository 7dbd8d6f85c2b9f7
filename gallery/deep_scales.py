"""
Deep networks from small and large starts
=========================================

Forty-two deep ReLU networks trained in one call: small starts learn the teacher, large ones stay
near their kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

import biasflow as bf
from pictures import keep

# %%
# Ten points on a circle, labelled by a small network; 400 more for the test. Each network of
# depth 3 starts unbiased (`symmetric=True`: its output is zero at first).
data = bf.data.circle_teacher(n=10, key=4)
test = bf.data.circle_teacher(n=400, key=4, spaced=True)
model = bf.DeepNetwork((2, 30, 30), symmetric=True)

# %%
# Seven scales times six seeds. Under the sum of squares a step is stable below 1/λ, λ the largest
# eigenvalue of the tangent kernel: each run takes half of that, and at most 0.01.
scales, keys = np.geomspace(0.01, 10, 7), range(6)
starts = [model.init(unit ** (1 / model.depth), key=key) for unit in scales for key in keys]
largest = [np.linalg.eigvalsh(bf.tangent_kernel(model, w, data.X))[-1] for w in starts]
steps = [min(0.01, 0.5 / eigenvalue) for eigenvalue in largest]
batch = bf.training.train_batch(
    model, data, bf.SquareLoss("sum"), starts, steps, 6000, threshold=1e-5
)
predictions = model(batch.params, test.X).reshape(7, 6, -1)
print(f"{batch.fraction_converged:.0%} of the runs reached a loss of 1e-5")

# %%
# The functions learned from the smallest and the largest start, and the test error at all scales.
figure, (curves, error) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
angle = np.linspace(0, 360, 400, endpoint=False)
for k, colour in ((0, "#bb3344"), (6, "#4477aa")):
    labels = [f"from α³ = {scales[k]:g}"] + [None] * 5
    curves.plot(angle, predictions[k].T, color=colour, lw=1, alpha=0.7, label=labels)
curves.plot(angle, test.y, "k--", lw=1.5, label="teacher, 3 units")
where = np.degrees(np.arctan2(data.X[:, 1], data.X[:, 0])) % 360
curves.plot(where, data.y, "ko", ms=6, label="training points")
curves.set(xlabel="angle of the input, degrees", ylabel="prediction")
curves.set_title("What six networks of depth 3 learn from two scales")
curves.legend(frameon=False)
error.loglog(scales, np.mean((predictions - test.y) ** 2, axis=-1), "o-", ms=4, lw=1)
error.set(xlabel="scale of the start, α³", ylabel="test error (one line for each start, scaled)")
error.set_title("Small starts generalise")
keep(figure)
