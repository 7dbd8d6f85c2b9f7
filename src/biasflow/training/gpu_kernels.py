"""A training iteration's two passes over (samples × neurons) as GPU kernels that keep no array of
that size (Pallas, Triton).

float32 products on tensor cores: a float32 is the sum of three bfloat16s. ⟨x, w⟩ takes the six
products of parts that exceed float32 rounding, each exact and added in float32. A gate is 0 or 1
and needs no parts, so that Σ_i gate_ij(q_ix_i) takes three. Outputs are added in float32 over the
neurons of a block and in float64 over blocks; the second pass recomputes the gates, by the same
code.
"""

from __future__ import annotations

import functools
from typing import Any

PARTS = 3
"""bfloat16s in a float32: 3 × 8 bits of mantissa."""
PRODUCTS = ((0, 2), (1, 1), (2, 0), (0, 1), (1, 0), (0, 0))
"""Pairs of parts, the smallest products first; those left out are below 2⁻²⁴ of the largest."""
NEURONS = 64
"""Neurons of a block."""
SAMPLES = 128
"""Samples a block treats at a time."""
WARPS = 4
LEAST = 16
"""Smallest side of a product on tensor cores."""


def available() -> bool:
    """Whether this JAX has what the kernels are written in."""
    try:
        from jax.experimental.pallas.triton import CompilerParams, dot  # noqa: F401
    except ImportError:
        return False
    return True


def power_of_two(size: int, least: int = LEAST) -> int:
    return max(least, 1 << (size - 1).bit_length())


def padded_sizes(samples: int, neurons: int, columns: int) -> tuple[int, int, int]:
    """Shapes the kernels take: samples, neurons, columns."""
    some = power_of_two(samples)
    return (
        some if some <= SAMPLES else -(-samples // SAMPLES) * SAMPLES,
        -(-neurons // NEURONS) * NEURONS,
        power_of_two(columns),
    )


def parts(x: Any) -> Any:
    """A float32 array as three bfloat16 arrays whose sum it is, stacked in front."""
    import jax
    import jax.numpy as jnp

    rest, found = x.astype(jnp.float32), []
    for _ in range(PARTS):
        # a mere cast back and forth is optimised away
        part = jax.lax.reduce_precision(rest, exponent_bits=8, mantissa_bits=7)
        found.append(part.astype(jnp.bfloat16))
        rest = rest - part
    return jnp.stack(found)


def outputs(a: Any, W: Any, X: Any, interpret: bool = False) -> tuple[Any, Any]:
    """h(x_i) = Σ_ja_j(⟨w_j, x_i⟩)₊ of one run, (n,) in float64, and what `pulls` needs."""
    import jax.numpy as jnp

    split = parts(X), parts(W)
    return jnp.sum(
        _outputs(*X.shape, W.shape[0], interpret)(*split, a).astype(jnp.float64), axis=0
    ), split


def pulls(split: Any, q: Any, X: Any, interpret: bool = False) -> Any:
    """G_j = Σ_i1[⟨w_j, x_i⟩ > 0]q_ix_i, (m, d)."""
    return _pulls(*X.shape, split[1].shape[1], interpret)(*split, parts(q[:, None] * X))


def _projected(x: Any, w: Any) -> Any:
    """⟨x_i, w_j⟩ from parts, in float32."""
    from jax.experimental.pallas import triton

    total = None
    for i, j in PRODUCTS:
        product = triton.dot(x[i], w[j], trans_b=True)
        total = product if total is None else total + product
    return total


@functools.cache
def _outputs(n: int, d: int, m: int, interpret: bool) -> Any:
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    some = min(n, SAMPLES)
    made: Any = jax.ShapeDtypeStruct

    def kernel(x_ref: Any, w_ref: Any, a_ref: Any, out_ref: Any) -> None:
        w, a = [w_ref[k] for k in range(PARTS)], a_ref[...]
        for low in range(0, n, some):
            rows = pl.ds(low, some)
            pre = _projected([x_ref[k, rows, :] for k in range(PARTS)], w)
            out_ref[0, rows] = jnp.sum(jnp.maximum(pre, 0.0) * a[None, :], axis=1)

    return pl.pallas_call(
        kernel,
        grid=(m // NEURONS,),
        in_specs=[
            pl.BlockSpec((PARTS, n, d), lambda j: (0, 0, 0)),
            pl.BlockSpec((PARTS, NEURONS, d), lambda j: (0, j, 0)),
            pl.BlockSpec((NEURONS,), lambda j: (j,)),
        ],
        out_specs=pl.BlockSpec((1, n), lambda j: (j, 0)),
        out_shape=made((m // NEURONS, n), jnp.float32),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
    )


@functools.cache
def _pulls(n: int, d: int, m: int, interpret: bool) -> Any:
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    some = min(n, SAMPLES)
    made: Any = jax.ShapeDtypeStruct

    def kernel(x_ref: Any, w_ref: Any, r_ref: Any, out_ref: Any) -> None:
        w = [w_ref[k] for k in range(PARTS)]
        sums = [jnp.zeros((NEURONS, d), jnp.float32) for _ in range(PARTS)]
        for low in range(0, n, some):
            rows = pl.ds(low, some)
            gates = (_projected([x_ref[k, rows, :] for k in range(PARTS)], w) > 0).astype(
                jnp.bfloat16
            )
            sums = [
                total + triton.dot(gates, r_ref[k, rows, :], trans_a=True)
                for k, total in enumerate(sums)
            ]
        out_ref[...] = (sums[2] + sums[1]) + sums[0]

    return pl.pallas_call(
        kernel,
        grid=(m // NEURONS,),
        in_specs=[
            pl.BlockSpec((PARTS, n, d), lambda j: (0, 0, 0)),
            pl.BlockSpec((PARTS, NEURONS, d), lambda j: (0, j, 0)),
            pl.BlockSpec((PARTS, n, d), lambda j: (0, 0, 0)),
        ],
        out_specs=pl.BlockSpec((NEURONS, d), lambda j: (j, 0)),
        out_shape=made((m, d), jnp.float32),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
    )
