"""Gradient ascent on the smooth margin of ReLU networks as one GPU kernel (Pallas, Triton): a block
of threads takes a run through all its steps, and no array of samples × neurons is ever written.

float32 products on tensor cores: a float32 is the sum of three bfloat16s. ⟨x, w⟩ takes the six
products of parts that exceed float32 rounding, each exact and added in float32. A gate is 0 or 1
and needs no parts, so that Σ_i gate_ij(q_ix_i) takes three. Outputs are added in float32 over the
neurons of a tile and in float64 over tiles; the second pass recomputes the gates, by the same code.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._numerics.float_ranges import LARGEST_EXPONENT as LIMIT
from ..losses import soft_minimum

if TYPE_CHECKING:
    from ..losses import MarginLoss

PARTS = 3
"""bfloat16s in a float32: 3 × 8 bits of mantissa."""
PRODUCTS = ((0, 2), (1, 1), (2, 0), (0, 1), (1, 0), (0, 0))
"""Pairs of parts, the smallest products first; those left out are below 2⁻²⁴ of the largest."""
NEURONS = 128
"""Neurons of a tile."""
SAMPLES = 256
"""Samples of a tile: as many as fit into registers with them."""
WARPS = 8
LEAST_SIDE = 16
"""Smallest side of a product on tensor cores."""
RUNS_WORTHWHILE = 16
"""A run has one of the GPU's processors to itself: below so many, programs that share a run among
all of them are faster."""


class Shape(NamedTuple):
    """Samples, neurons and columns, as padded."""

    n: int
    m: int
    d: int


def available() -> bool:
    """Whether this JAX has what the kernel is written in."""
    try:
        from jax.experimental.pallas.triton import CompilerParams, debug_barrier, dot  # noqa: F401
    except ImportError:
        return False
    return True


def power_of_two(size: int, least: int = LEAST_SIDE) -> int:
    return max(least, 1 << (size - 1).bit_length())


def padded_sizes(samples: int, neurons: int, columns: int) -> Shape:
    """Shapes the kernel takes."""
    return Shape(power_of_two(samples), -(-neurons // NEURONS) * NEURONS, power_of_two(columns))


def parts(x: Any) -> list[Any]:
    """A float32 array as three bfloat16 arrays whose sum it is: each the upper half of the bits,
    rounded, of what is left."""
    import jax
    import jax.numpy as jnp

    rest, found = x.astype(jnp.float32), []
    for _ in range(PARTS):
        bits = jax.lax.bitcast_convert_type(rest, jnp.int32)
        upper = jnp.bitwise_and(bits + np.int32(1 << 15), np.int32(-(1 << 16)))
        part = jax.lax.bitcast_convert_type(upper, jnp.float32)
        found.append(part.astype(jnp.bfloat16))
        rest = rest - part
    return found


def projected(x: list[Any], w: list[Any]) -> Any:
    """Inner products of rows from parts, in float32."""
    from jax.experimental.pallas import triton

    total = None
    for i, j in PRODUCTS:
        product = triton.dot(x[i], w[j], trans_b=True)
        total = product if total is None else total + product
    return total


@functools.lru_cache(maxsize=32)
def ascent(
    loss: MarginLoss, with_norm: int, decay: int, runs: int, shape: Shape, interpret: bool = False
) -> Any:
    """The loop of `ascent_batches` for both layers of ReLU networks, compiled: takes and returns
    what that loop does."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    n, m, d = shape
    some = min(n, SAMPLES)
    zero, tiles, chunks = np.int32(0), np.int32(m // NEURONS), np.int32(n // some)
    made: Any = jax.ShapeDtypeStruct

    def wait() -> None:
        """What one thread has written, the others read."""
        if not interpret:
            triton.debug_barrier()

    def kernel(span: Any, counts: Any, x: Any, X: Any, y: Any, numbers: Any, *arrays: Any) -> None:
        a, W, reached, margins, q = arrays[2:]
        size, power, offset = numbers[0], numbers[1], numbers[2]
        counted = jnp.arange(n, dtype=jnp.int32) < counts[0]

        def step(t: Any, state: Any) -> Any:
            shrink, log_beta, best, clock = state

            def outputs(s: Any, nothing: Any) -> Any:
                rows = pl.ds(s * some, some)
                inputs = [x[k, rows, :] for k in range(PARTS)]

                def add(j: Any, total: Any) -> Any:
                    tile = pl.ds(j * NEURONS, NEURONS)
                    pre = projected(inputs, parts(W[tile, :] * shrink))
                    active = jnp.maximum(pre, 0.0) * (a[tile] * shrink)[None, :]
                    return total + jnp.sum(active, axis=1).astype(jnp.float64)

                found = jax.lax.fori_loop(zero, tiles, add, jnp.zeros(some, jnp.float64))
                margins[rows] = y[rows] * found
                return nothing

            jax.lax.fori_loop(zero, chunks, outputs, zero)
            wait()
            _, p, least = soft_minimum(loss, margins[...], log_beta, counted)
            q[...] = (p * y[...]).astype(jnp.float32)
            share = size * (t.astype(jnp.float64) + offset) ** -power
            bounded = jnp.clip(log_beta, -LIMIT, LIMIT)
            rate = (share * jnp.exp((with_norm - decay) * bounded)).astype(jnp.float32)
            wait()

            def chunk(s: Any) -> Any:
                """x_i and q_ix_i of some samples."""
                rows = pl.ds(s * some, some)
                return [x[k, rows, :] for k in range(PARTS)], parts(q[rows][:, None] * X[rows, :])

            held = chunk(zero) if n == some else None

            def move(j: Any, squares: Any) -> Any:
                tile = pl.ds(j * NEURONS, NEURONS)
                w, c = W[tile, :] * shrink, a[tile] * shrink
                split = parts(w)

                def pull(s: Any, sums: Any) -> Any:
                    inputs, weighted = chunk(s) if held is None else held
                    # neurons × samples: as it comes out of one product, it goes into the next
                    gates = (projected(split, inputs) > 0).astype(jnp.bfloat16)
                    return tuple(
                        total + triton.dot(gates, part)
                        for total, part in zip(sums, weighted, strict=True)
                    )

                none = jnp.zeros((NEURONS, d), jnp.float32)
                sums = jax.lax.fori_loop(zero, chunks, pull, (none,) * PARTS)
                G = (sums[2] + sums[1]) + sums[0]
                w1, c1 = w + rate * c[:, None] * G, c + rate * jnp.sum(w * G, axis=1)
                W[tile, :], a[tile] = w1, c1
                return (
                    squares
                    + jnp.sum(w1.astype(jnp.float64) ** 2, axis=1)
                    + c1.astype(jnp.float64) ** 2
                )

            none = jnp.zeros(NEURONS, jnp.float64)
            square = jnp.sum(jax.lax.fori_loop(zero, tiles, move, none))
            wait()
            return (
                (1 / jnp.sqrt(square)).astype(jnp.float32),
                log_beta + jnp.log(square),
                jnp.maximum(best, least),
                clock + share * jnp.exp(with_norm * bounded),
            )

        start = (jnp.float32(1.0), numbers[3], numbers[4], numbers[5])
        shrink, *end = jax.lax.fori_loop(span[0], span[1], step, start)
        reached[0] = shrink.astype(jnp.float64)
        for k, value in enumerate(end):
            reached[k + 1] = value

    def of_run(*sizes: int) -> Any:
        return pl.BlockSpec((None, *sizes), lambda run: (run,) + (0,) * len(sizes))

    call = pl.pallas_call(
        kernel,
        grid=(runs,),
        in_specs=[
            pl.BlockSpec((2,), lambda run: (0,)),
            of_run(1),
            of_run(PARTS, n, d),
            of_run(n, d),
            of_run(n),
            of_run(8),
            of_run(m),
            of_run(m, d),
        ],
        out_specs=[of_run(m), of_run(m, d), of_run(4), of_run(n), of_run(n)],
        out_shape=[
            made((runs, m), jnp.float32),
            made((runs, m, d), jnp.float32),
            made((runs, 4), jnp.float64),
            made((runs, n), jnp.float64),
            made((runs, n), jnp.float32),
        ],
        input_output_aliases={6: 0, 7: 1},
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
    )

    def loop(
        moving: Any,
        log_beta: Any,
        best: Any,
        clock: Any,
        fixed: Any,
        mask: Any,
        width: Any,
        rule: Any,
        first: Any,
        last: Any,
    ) -> Any:
        (a, W), (X, y) = moving, fixed
        unused = jnp.zeros_like(log_beta)
        numbers = jnp.stack([*rule, log_beta, best, clock, unused, unused], axis=1)
        counts = jnp.sum(mask, axis=1, dtype=jnp.int32)[:, None]
        a, W, reached, _, _ = call(
            jnp.array([first, last], jnp.int32),
            counts,
            jnp.stack(parts(X), axis=1),
            X,
            y.astype(jnp.float64),
            numbers,
            a,
            W,
        )
        shrink, log_beta, best, clock = reached.T
        shrink = shrink.astype(a.dtype)[:, None]
        return (a * shrink, W * shrink[:, :, None]), log_beta, best, clock

    return jax.jit(loop)
