"""Seconds per epoch of W's 5000-unit network on MNIST-sized data on a GPU, against the matrix peak
that the GPU shows here.

Random images: timings do not depend on what they show. Without a GPU it says so and stops.
--variants: other ways to write the same step, twelve runs in tensorfloat32, and what bounds them;
a minute. --flags FILE writes the flags of XLA with which the present step is fastest.
--network vgg: W's VGG11-like network on CIFAR-10-sized data, one run, in each precision; with
--quick a tiny one, which a CPU can do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

LANES = (1, 4, 12)
PEAK_SIZE = 8192
EPOCHS = 5
VARIANT_EPOCHS = 2
IMAGES, TESTS, BATCH, WIDTH, PIXELS = 60_000, 10_000, 256, 5000, 784
FLAGS = "--xla_gpu_enable_cublaslt=true"
"""Lets a product add to a matrix that others read too."""
WORTH_IT = 0.95
"""A flag is advised where it takes less than this share of the time."""


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


def copy_rate() -> float:
    """Bytes a second, read and written, of a large sum."""
    import jax

    x, times = jax.numpy.zeros(2**28, "float32"), 20
    add = jax.jit(lambda x: jax.lax.fori_loop(0, times, lambda _, x: x + 1, x))
    return 2 * times * x.nbytes / seconds(lambda: add(x))


def made_arrays():
    import numpy as np

    from biasflow.images.classifier_training import Arrays

    rng = np.random.default_rng(0)
    pairs = [
        (rng.random((n, PIXELS), np.float32), rng.integers(10, size=n)) for n in (IMAGES, TESTS)
    ]
    return Arrays(*pairs[0], *pairs[1])


def flops_an_epoch(network) -> float:
    """Of one run."""
    per_image = 2 * 2 * network.inputs * network.width + 3 * 2 * network.width * network.classes
    return per_image * (IMAGES // BATCH * BATCH)


def variants(lanes: int, epochs: int, least: bool) -> dict[str, float]:
    """Seconds per epoch of one step written in several ways, in tensorfloat32; or of the two that
    flags may change most."""
    import jax
    import jax.numpy as jnp
    from timing import advancing

    from biasflow.images.classifier_training import EpochSchedule, Run
    from biasflow.images.classifiers import WideNetwork

    arrays, network = made_arrays(), WideNetwork(WIDTH, PIXELS)
    runs = [Run(1.0, 0.1, key) for key in range(lanes)]
    schedule = EpochSchedule(BATCH, epochs, epochs, precision="tensorfloat32")
    found = {}

    def tell(name, function):
        found[name] = seconds(function) / epochs
        print(json.dumps({name: found[name]}), flush=True)

    tell("as the package has it", advancing(network, arrays, runs, schedule))
    X, Y = jnp.asarray(arrays.train_x), jnp.asarray(arrays.train_y)
    XT = X.T.copy()
    W = jnp.stack([network.init(1.0, key=k).hidden[0] for k in range(lanes)])
    A = jnp.stack([network.init(1.0, key=k).output for k in range(lanes)])
    step = jnp.full(lanes, 0.1, "float32")

    def slopes(f, y):
        return (jax.nn.softmax(f) - jax.nn.one_hot(y, 10)) / BATCH

    def gradient_first(W, A, step, rows):
        def risk(W, A):
            f = jax.nn.relu(X[rows] @ W.T) @ A.T
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(f), Y[rows][:, None], 1))

        dW, dA = jax.grad(risk, (0, 1))(W, A)
        return W - step * dW, A - step * dA

    def transposed(W, A, step, rows):
        """The long side of every operand that is summed over lies in memory in one piece."""
        hT = jax.nn.relu(jax.lax.dot_general(W, X[rows], (((1,), (1,)), ((), ()))))
        gT = -step * slopes((A @ hT).T, Y[rows]).T
        dT = (A.T @ gT) * (hT > 0)
        move = jax.lax.dot_general(dT, XT[:, rows], (((1,), (1,)), ((), ())))
        return W + move, A + jax.lax.dot_general(gT, hT, (((1,), (1,)), ((), ())))

    def together(count):
        """Weights are read and written once in so many batches: what earlier ones of them changed
        reaches a later one through the products of their inputs."""

        def steps(W, A, step, rows):
            x = X[rows.reshape(-1)]
            before = jax.lax.dot_general(W, x, (((1,), (1,)), ((), ())))
            inner = x @ x.T
            moved = []
            for k, some in enumerate(rows):
                here = slice(k * BATCH, (k + 1) * BATCH)
                units = before[:, here]
                if k:
                    units = units + jnp.concatenate(moved, 1) @ inner[: k * BATCH, here]
                hT = jax.nn.relu(units)
                gT = -step * slopes((A @ hT).T, Y[some]).T
                moved.append((A.T @ gT) * (hT > 0))
                A = A + jax.lax.dot_general(gT, hT, (((1,), (1,)), ((), ())))
            return W + jnp.concatenate(moved, 1) @ x, A

        steps.__name__, steps.count = f"{count} batches a product", count
        return steps

    def products_alone(W, A, step, rows):
        """Two of the three products, and nothing else."""
        x = X[rows]
        return W + (-1e-9 * (x @ W.T)).T @ x, A

    rest = [together(6), products_alone, gradient_first]
    for one in (transposed,) if least else (transposed, *rest):
        shape = (-1, one.count, BATCH) if hasattr(one, "count") else (-1, BATCH)

        def epoch(W, A, step, key, one=one, shape=shape):
            order = jax.random.permutation(key, IMAGES)[: IMAGES // BATCH * BATCH]

            def body(params, rows):
                return one(*params, step, rows), None

            return jax.lax.scan(body, (W, A), order.reshape(shape))[0]

        def many(W, A, keys, epoch=epoch):
            def body(params, keys):
                return jax.vmap(epoch)(*params, step, keys), None

            with jax.default_matmul_precision("tensorfloat32"):
                return jax.lax.scan(body, (W, A), keys)[0]

        keys = jax.random.split(jax.random.key(0), (epochs, lanes))
        program = jax.jit(many)
        tell(one.__name__.replace("_", " "), lambda program=program, keys=keys: program(W, A, keys))
    return found


def all_variants(lanes: int, flags: Path | None, epochs: int) -> None:
    """With and without flags of XLA, each in a process of its own."""
    import jax
    from timing import table

    from biasflow.images.classifiers import WideNetwork

    rows, ours = [], {}
    peak, rate = matrix_peak("tensorfloat32"), copy_rate()
    for given in ("", FLAGS):
        sizes = [str(lanes), str(epochs), str(int(bool(given)))]
        called = [sys.executable, __file__, "--one-process", *sizes]
        ran = subprocess.Popen(
            called, stdout=subprocess.PIPE, text=True, env={**os.environ, "XLA_FLAGS": given}
        )
        for line in ran.stdout:
            print(given, line, end="", file=sys.stderr, flush=True)
            for name, epoch in json.loads(line).items():
                if name == "as the package has it":
                    ours[given] = epoch
                share = lanes * flops_an_epoch(WideNetwork(WIDTH, PIXELS)) / epoch / 1e12 / peak
                rows.append([name, given or "none", f"{epoch:.4f}", f"{100 * share:.0f}%"])
        if ran.wait():
            rows.append([f"ended with {ran.returncode}", given or "none", "", ""])
    steps, weights = IMAGES // BATCH, 4 * WIDTH * PIXELS
    hidden = 4 * BATCH * WIDTH
    least = lanes * steps * (3 * weights + 6 * hidden) / rate
    products = lanes * flops_an_epoch(WideNetwork(WIDTH, PIXELS)) / peak / 1e12
    table(
        f"{lanes} runs, one epoch, tensorfloat32, on {jax.devices()[0].device_kind}",
        ["step", "XLA_FLAGS", "s / epoch", f"share of {peak:.0f} TFLOP/s"],
        rows,
        f"At the copy's {rate / 1e12:.2f} TB/s, weights read twice and written once and hidden "
        f"units read or written six times a batch take {least:.4f} s an epoch; at the matrix peak "
        f"the products take {products:.4f} s.",
    )
    if flags is not None and ours:
        best = FLAGS if ours.get(FLAGS, float("inf")) < WORTH_IT * ours.get("", 0.0) else ""
        flags.write_text(best)


VGG_IMAGES, VGG_BATCH = 50_000, 128
TINY = {"blocks": ((4,), (4,), (4, 4), (4, 4))}


def vgg_arrays(images):
    import numpy as np

    from biasflow.images.classifier_training import Arrays

    rng = np.random.default_rng(0)
    pairs = [
        (rng.random((n, 32, 32, 3), np.float32), rng.integers(10, size=n)) for n in (images, 1000)
    ]
    return Arrays(*pairs[0], *pairs[1])


def vgg_flops_an_epoch(network, images) -> float:
    """Of one run: three products a layer."""
    side, below, total = network.side, network.colours, 0
    for block in network.blocks:
        for width in block:
            total += side**2 * 9 * below * width
            below = width
        side //= 2
    total += side**2 * below * network.classes
    return 3 * 2 * total * (images // VGG_BATCH * VGG_BATCH)


def vgg_table(quick: bool) -> None:
    import jax
    from timing import advancing, table

    from biasflow.images.classifier_training import PRECISIONS, EpochSchedule, Run
    from biasflow.images.classifiers import VggNetwork

    images = 2 * VGG_BATCH if quick else VGG_IMAGES
    arrays, network, rows = vgg_arrays(images), VggNetwork(**(TINY if quick else {})), []
    for precision in PRECISIONS:
        schedule = EpochSchedule(VGG_BATCH, 1, 1, precision=precision, summed_apart=True)
        epoch = seconds(advancing(network, arrays, [Run(1.0, 1e-4)], schedule))
        rate = vgg_flops_an_epoch(network, images) / epoch / 1e12
        rows.append([precision, f"{epoch:.3f}", f"{rate:.0f}"])
    table(
        f"VGG11-like network, one epoch of {images:,} images, batch {VGG_BATCH}, on "
        f"{jax.devices()[0].device_kind}",
        ["precision", "s / epoch", "TFLOP/s"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer lanes")
    parser.add_argument("--variants", action="store_true", help="other ways to write the step")
    parser.add_argument("--flags", type=Path, help="with --variants: where to write flags of XLA")
    parser.add_argument("--one-process", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--network", choices=("wide", "vgg"), default="wide")
    chosen = parser.parse_args()
    if chosen.one_process:
        lanes, epochs, least = chosen.one_process
        variants(lanes, epochs, bool(least))
        return
    # processes of --variants share the device
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from timing import advancing, table

    if jax.default_backend() == "cpu" and not (chosen.quick and chosen.network == "vgg"):
        print("no GPU here: benchmarks/images_cpu.py measures the same program on a CPU")
        return
    if chosen.network == "vgg":
        vgg_table(chosen.quick)
        return
    if chosen.variants:
        all_variants(LANES[-1], chosen.flags, VARIANT_EPOCHS)
        return
    from biasflow.images.classifier_training import EpochSchedule, Run
    from biasflow.images.classifiers import WideNetwork

    arrays, network = made_arrays(), WideNetwork(WIDTH, PIXELS)
    rows = []
    for precision in ("tensorfloat32", "float32"):
        peak = matrix_peak(precision)
        for lanes in LANES[:1] if chosen.quick else LANES:
            runs = [Run(1.0, 0.1, key) for key in range(lanes)]
            advance = advancing(
                network, arrays, runs, EpochSchedule(BATCH, EPOCHS, EPOCHS, precision=precision)
            )
            epoch = seconds(advance) / EPOCHS
            rate = lanes * flops_an_epoch(network) / epoch / 1e12
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
