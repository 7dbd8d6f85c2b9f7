"""Gradient ascent on the smooth margin on a GPU: many runs in one batch, microseconds per run and
iteration, against its floor.

Both layers, m = 1000 neurons, n = 256 samples, 15 columns, C's figure 2. Rows: this package's GPU
kernels (float32 products as three bfloat16 parts on tensor cores); the peer, plain JAX in float32
at highest precision (no TF32); and the same in float64. The soft-min is in float64 in all. The
floor of a row is what its arithmetic and its traffic would take at the rates of the device: the two
numbers beside it are operations over peak rate, and bytes over memory bandwidth, both measured
here. A run has one processor of the GPU to itself, so that a batch should have as many as the GPU
has, or several times so many. How accurate the rows are is measured after a few steps, against
float64. Needs a GPU; `--runs` sets the sizes of the batches.
"""

from __future__ import annotations

import argparse
import time

from timing import table

WIDTH, SAMPLES, COLUMNS = 1000, 256, 15
FIRST = 20
"""Steps after which the weights are compared."""


def batch_of(runs):
    import numpy as np

    import biasflow as bf
    from biasflow.training.trainables import BothLayers

    starts = []
    for key in range(runs):
        data = bf.data.with_bias(bf.data.clusters(SAMPLES, COLUMNS - 1, 3, key=key))
        starts.append(
            BothLayers(False).start(
                bf.TwoLayer(WIDTH, COLUMNS).init(1 / np.sqrt(WIDTH), key=key, balanced=False), data
            )
        )
    schedules = [bf.training.InverseRootStep(0.5).schedule(1.0)] * runs

    def make(dtype, fused):
        from biasflow.training.ascent_batches import Batch

        return Batch(BothLayers(False), starts, schedules, "exponential", dtype, None, fused)

    return make


def timed(batch, runs, steps):
    """Weights after the first steps, and microseconds per run and iteration: the best of three."""
    import numpy as np

    batch.advance(0, FIRST)
    weights = np.array([moving[1] for moving, *_ in batch.now()])
    best, at = float("inf"), FIRST
    for _ in range(3):
        begin = time.perf_counter()
        batch.advance(at, at + steps)
        best, at = min(best, time.perf_counter() - begin), at + steps
    return weights, 1e6 * best / steps / runs


def rates():
    """Measured: bytes a second of a copy, operations a second of products in bfloat16, float32 and
    float64."""
    import jax
    import jax.numpy as jnp

    def seconds(function, *arguments):
        function(*arguments).block_until_ready()
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            function(*arguments).block_until_ready()
            best = min(best, time.perf_counter() - begin)
        return best

    x = jnp.ones(2**29, jnp.float32)
    found = {"bytes": 2 * x.nbytes / seconds(jax.jit(lambda v: v + 1), x)}
    for name, size in (("bfloat16", 8192), ("float32", 8192), ("float64", 8192)):
        A = jax.random.normal(jax.random.key(0), (size, size), name)
        product = jax.jit(lambda B: jnp.matmul(B, B, precision="highest"))
        found[name] = 2 * size**3 / seconds(product, A)
    return found


def work(kind):
    """Operations by type, and bytes, of one run's iteration: what its method must do and move,
    weights and samples included."""
    pass_over = 2 * WIDTH * SAMPLES * COLUMNS
    state = 4 * WIDTH * (COLUMNS + 1)
    # two passes of six products, one of three; the array of activations never leaves a processor;
    # the weights are read twice and written once, the samples' parts stay
    if kind == "fused":
        return "bfloat16", 15 * pass_over, 3 * state
    size = 4 if kind == "float32" else 8
    # written, read twice, and gates read once more
    return kind, 2 * pass_over, size / 4 * 2 * state + 4 * size * WIDTH * SAMPLES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    parser.add_argument("--runs", type=int, nargs="+", default=[100, 400])
    chosen = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() == "cpu":
        print("margin_ascent_gpu: JAX sees no GPU here; nothing to measure")
        return
    steps, measured = 200 if chosen.quick else 2000, rates()
    for runs in chosen.runs:
        print_table(runs, steps, measured)


def print_table(runs, steps, measured) -> None:
    import jax
    import numpy as np

    make = batch_of(runs)
    exact, double = timed(make("float64", False), runs, steps)
    plain_weights, plain = timed(make("float32", False), runs, steps)
    fused_weights, fused = timed(make("float32", True), runs, steps)
    rows = []
    for name, kind, micro, weights in (
        ("GPU kernel, float32", "fused", fused, fused_weights),
        ("plain JAX, float32", "float32", plain, plain_weights),
        ("plain JAX, float64", "float64", double, exact),
    ):
        rate, operations, moved = work(kind)
        arithmetic, traffic = 1e6 * operations / measured[rate], 1e6 * moved / measured["bytes"]
        apart = np.max(np.abs(weights - exact)) / np.max(np.abs(exact))
        rows.append(
            [
                name,
                f"{micro:.2f}",
                f"{plain / micro:.1f}x",
                f"{arithmetic:.3f}",
                f"{traffic:.3f}",
                f"{micro / max(arithmetic, traffic):.1f}x",
                f"{apart:.0e}",
            ]
        )
    tera = {name: value / 1e12 for name, value in measured.items()}
    note = (
        f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, {runs} runs, {steps} "
        "iterations, best of three.\n"
        f"Measured here: copy {tera['bytes']:.2f} TB/s, products {tera['bfloat16']:.0f} "
        "(bfloat16), "
        f"{tera['float32']:.0f} (float32), {tera['float64']:.0f} (float64) TFLOP/s.\n"
        "arithmetic, traffic: µs that a run's iteration takes at these rates; floor: time over "
        "the larger of the two.\n"
        f"apart: largest difference of a weight after {FIRST} steps from float64, relative to the "
        "largest weight."
    )
    columns = ["", "µs", "against plain float32", "arithmetic µs", "traffic µs", "floor", "apart"]
    table(
        f"One iteration of one run, m = {WIDTH}, n = {SAMPLES}, {COLUMNS} columns",
        columns,
        rows,
        note,
    )


if __name__ == "__main__":
    main()
