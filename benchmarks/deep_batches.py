"""Batches of trainings against a PyTorch loop over the runs: run-steps per second on one core.

The networks of W, figure 4 (30 units a layer, 10 points on the circle, ‖f − y‖², full-batch
gradient descent in float64) from different starts. PyTorch trains one run after another, with
autograd and torch.optim.SGD, or with the gradient written out and no autograd ('by hand'); a share
of its steps is timed. Compilation is timed apart.
"""

from __future__ import annotations

import time

from timing import arguments, best_of, missing, table

STEP = 1e-3


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import numpy as np

    import biasflow as bf

    missing("torch", "The PyTorch loop")
    data, loss, rows = bf.data.circle_teacher(key=0), bf.SquareLoss("sum"), []
    for depth, runs, steps in [(2, 64, 5000), (2, 512, 1000), (3, 64, 2000), (5, 64, 500)][
        : 2 if quick else None
    ]:
        model = bf.DeepNetwork((2, *[30] * (depth - 1)))
        starts = [model.init(0.5, key=key) for key in range(runs)]

        def ours(count, model=model, starts=starts):
            return bf.training.train_batch(model, data, loss, starts, STEP, count, threshold=1e-30)

        first = time.process_time()
        ours(1)
        first = time.process_time() - first
        seconds, _ = best_of(3, lambda f=ours, k=steps: f(k))
        rate = runs * steps / seconds
        cells = [str(depth), str(runs), f"{first:.1f}", f"{rate:,.0f}"]
        for by_hand in (False, True):
            peer, weights = pytorch(data, starts[0], 1000 if depth < 5 else 500, by_hand)
            check = bf.training.train_batch(
                model, data, loss, starts[:1], STEP, 1000 if depth < 5 else 500, threshold=1e-30
            )[0]
            pairs = zip(weights, check.params.weights, strict=True)
            off = max(float(np.max(np.abs(a - b))) for a, b in pairs) if weights else float("nan")
            cells += [f"{peer:,.0f}", f"{rate / peer:.0f}x", f"{off:.0e}"]
        rows.append(cells)
    columns = [
        "depth",
        "runs",
        "compile s",
        "ours/s",
        "PyTorch/s",
        "ratio",
        "differs",
        "by hand/s",
        "ratio",
        "differs",
    ]
    note = (
        "Run-steps per second of processor time. differs: largest difference of any weight "
        "after the same steps."
    )
    table("Batched gradient descent against a PyTorch loop over runs", columns, rows, note)


def pytorch(data, start, steps: int, by_hand: bool):
    """Steps per second of one run, and where it ended; NaN without PyTorch."""
    try:
        import torch
    except ImportError:
        return float("nan"), []
    torch.set_num_threads(1)
    X, y = torch.tensor(data.X), torch.tensor(data.y)
    train = _by_hand if by_hand else _with_autograd
    train(torch, X, y, start, 50)
    seconds, weights = best_of(3, lambda: train(torch, X, y, start, steps))
    return steps / seconds, [weight.detach().numpy() for weight in weights]


def _with_autograd(torch, X, y, start, steps):
    weights = [torch.nn.Parameter(torch.tensor(leaf)) for leaf in start.weights]
    optimiser = torch.optim.SGD(weights, lr=STEP)
    for _ in range(steps):
        optimiser.zero_grad()
        hidden = X
        for weight in weights[:-1]:
            hidden = torch.relu(hidden @ weight.T)
        ((hidden @ weights[-1][0] - y) ** 2).sum().backward()
        optimiser.step()
    return weights


def _by_hand(torch, X, y, start, steps):
    weights = [torch.tensor(leaf) for leaf in start.weights]
    with torch.no_grad():
        for _ in range(steps):
            inputs = [X]
            for weight in weights[:-1]:
                inputs.append(torch.relu(inputs[-1] @ weight.T))
            delta = 2 * (inputs[-1] @ weights[-1].T - y[:, None])
            for layer in range(len(weights) - 1, -1, -1):
                slope = delta.T @ inputs[layer]
                if layer:
                    delta = (delta @ weights[layer]) * (inputs[layer] > 0)
                weights[layer] -= STEP * slope
    return weights


if __name__ == "__main__":
    main()
