"""Throughput of the batched SGD on a CPU against a plain PyTorch loop: the same network, batches
and steps, one process.

Processor seconds with one thread asked for on both sides; random images, since timings do not
depend on what they show.
"""

from __future__ import annotations

from timing import advancing, arguments, best_of, missing, table

IMAGES, BATCH, EPOCHS = 4096, 256, 2
WIDTHS, LANES = (500, 2000), (1, 4)


def pytorch_epochs(x, y, width: int, runs: int) -> None:
    """The loop that one would write: a module, an optimiser, shuffled batches, one run after the
    other."""
    import torch

    for run in range(runs):
        torch.manual_seed(run)
        first, last = (
            torch.nn.Linear(784, width, bias=False),
            torch.nn.Linear(width, 10, bias=False),
        )
        network = torch.nn.Sequential(first, torch.nn.ReLU(), last)
        optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(x)).split(BATCH):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
                optimiser.step()


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import os

    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax
    import numpy as np

    from biasflow.images.classifier_training import Arrays, EpochSchedule, Run
    from biasflow.images.classifiers import WideNetwork

    if missing("torch", "The comparison with PyTorch"):
        return
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x, y = rng.random((IMAGES, 784), np.float32), rng.integers(10, size=IMAGES)
    tensors = torch.tensor(x), torch.tensor(y)
    rows = []
    for width in WIDTHS[:1] if quick else WIDTHS:
        for lanes in LANES:
            runs = [Run(1.0, 0.1, key) for key in range(lanes)]
            advance = advancing(
                WideNetwork(width),
                Arrays(x, y, x[:10], y[:10]),
                runs,
                EpochSchedule(BATCH, EPOCHS, EPOCHS),
            )
            jax.block_until_ready(advance())
            ours, _ = best_of(3, lambda advance=advance: jax.block_until_ready(advance()))
            theirs, _ = best_of(
                3, lambda width=width, lanes=lanes: pytorch_epochs(*tensors, width, lanes)
            )
            images = lanes * EPOCHS * IMAGES
            rows.append(
                [
                    str(width),
                    str(lanes),
                    f"{images / ours:,.0f}",
                    f"{images / theirs:,.0f}",
                    f"{theirs / ours:.2f}x",
                ]
            )
    columns = ["units", "runs", "ours, images/s", "PyTorch, images/s", "ratio"]
    table(
        "SGD with batches of 256 on 28 × 28 images, processor seconds",
        columns,
        rows,
        "Compilation not counted.",
    )


if __name__ == "__main__":
    main()
