"""Seconds per epoch of W's 5000-unit network on MNIST-sized data on a GPU, against the matrix peak
that the GPU shows here.

Random images: timings do not depend on what they show. Without a GPU it says so and stops.
"""

from __future__ import annotations

import argparse
import time

LANES = (1, 4, 12)
PEAK_SIZE = 8192
EPOCHS = 5


def seconds(function) -> float:
    """Of the faster of two calls, after one that compiles; the device's work waited for."""
    import jax

    jax.block_until_ready(function())
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        jax.block_until_ready(function())
        best = min(best, time.perf_counter() - start)
    return best


def matrix_peak(precision: str) -> float:
    """TFLOP/s of a large square product in float32 arrays."""
    import jax

    A = jax.random.normal(jax.random.key(0), (PEAK_SIZE, PEAK_SIZE), "float32")
    with jax.default_matmul_precision(precision):
        product = jax.jit(lambda A: A @ A @ A @ A @ A)
        return 4 * 2 * PEAK_SIZE**3 / seconds(lambda: product(A)) / 1e12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer lanes")
    quick = parser.parse_args().quick
    import jax
    import numpy as np
    from timing import advancing, table

    if jax.default_backend() == "cpu":
        print("no GPU here: benchmarks/images_cpu.py measures the same program on a CPU")
        return
    from biasflow.images.classifier_training import Arrays, Run, Schedule
    from biasflow.images.classifiers import WideNetwork

    rng, network = np.random.default_rng(0), WideNetwork(5000)
    arrays = Arrays(
        *(
            a
            for n in (60_000, 10_000)
            for a in (rng.random((n, 784), np.float32), rng.integers(10, size=n))
        )
    )
    per_image = 2 * 2 * network.inputs * network.width + 3 * 2 * network.width * network.classes
    rows = []
    for precision in ("tensorfloat32", "float32"):
        peak = matrix_peak(precision)
        for lanes in LANES[:1] if quick else LANES:
            runs = [Run(1.0, 0.1, key) for key in range(lanes)]
            advance = advancing(
                network, arrays, runs, Schedule(256, EPOCHS, EPOCHS, precision=precision)
            )
            epoch = seconds(advance) / EPOCHS
            rate = lanes * per_image * (60_000 // 256 * 256) / epoch / 1e12
            cells = [
                f"{epoch:.4f}",
                f"{epoch / lanes:.4f}",
                f"{rate:.0f}",
                f"{peak:.0f}",
                f"{100 * rate / peak:.0f}%",
            ]
            rows.append([precision, str(lanes), *cells])
    columns = [
        "precision",
        "runs",
        "s / epoch",
        "s / epoch and run",
        "TFLOP/s",
        "matrix peak",
        "share",
    ]
    table(
        f"One epoch of 60,000 images, 5000 units, batch 256, on {jax.devices()[0].device_kind}",
        columns,
        rows,
    )


if __name__ == "__main__":
    main()
