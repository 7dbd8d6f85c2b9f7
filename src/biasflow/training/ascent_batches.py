"""Many runs of gradient ascent on the smooth margin in one compiled JAX call, padded to one shape.

Padding changes nothing: masked samples have no weight, zero columns meet zero weights, zero neurons
stay zero. Matrix products are in the chosen type at JAX's highest precision (float32 is float32,
not TF32; on a GPU by that of `gpu_kernels`); sums over neurons, the soft-min, the norms and log
β are in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._numerics.float_ranges import LARGEST_EXPONENT as LIMIT
from ..errors import InputError
from ..losses import MarginLoss, margin_loss, soft_minimum
from .gpu_kernels import RUNS_WORTHWHILE, Shape, ascent, available, padded_sizes
from .step_rules import Schedule
from .trainables import Arrays, Start, Training

HIGHEST = "highest"
"""Precision of matrix products."""


GPUS = ("gpu", "cuda")
"""What JAX calls the devices that run Triton kernels."""


def both_layers(squared: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """One run with moving (a, W), fixed (X, y): the margins, and the weights after a step, back at
    β = 1."""
    import jax.numpy as jnp

    forward, backward = _passes(squared)

    def margins(moving: Any, fixed: Any) -> tuple[Any, Any]:
        (a, W), (X, y) = moving, fixed
        outputs, kept = forward(a, W, X)
        return y.astype(jnp.float64) * outputs, kept

    def moved(moving: Any, fixed: Any, kept: Any, p: Any, rate: Any, width: Any) -> tuple[Any, Any]:
        (a, W), (X, y) = moving, fixed
        G = backward(kept, (p * y).astype(W.dtype), X)
        rate = rate.astype(W.dtype)
        along = 0 if squared else jnp.sum(W * G, axis=1)
        a, W = a + rate * along, W + rate * a[:, None] * G
        square = jnp.sum(W.astype(jnp.float64) ** 2) + (
            0.0 if squared else jnp.sum(a.astype(jnp.float64) ** 2)
        )
        shrink = (1 / jnp.sqrt(square)).astype(W.dtype)
        return (a if squared else a * shrink, W * shrink), square

    return margins, moved


def _passes(squared: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """h(x_i) with what the second pass needs, and G_j = Σ_iσ'(⟨x_i, w_j⟩)q_ix_i."""
    import jax.numpy as jnp

    def forward(a: Any, W: Any, X: Any) -> tuple[Any, Any]:
        pre = jnp.matmul(X, W.T, precision=HIGHEST)
        active = jnp.maximum(pre, 0)
        return jnp.sum(
            (a * (active * active if squared else active)).astype(jnp.float64), axis=1
        ), pre

    def backward(pre: Any, q: Any, X: Any) -> Any:
        slopes = 2 * jnp.maximum(pre, 0) if squared else pre > 0
        return jnp.matmul((slopes * q[:, None]).T, X, precision=HIGHEST)

    return forward, backward


def fixed_features(output: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """One run with moving (x,), fixed (Z,)."""
    import jax.numpy as jnp

    def margins(moving: Any, fixed: Any) -> tuple[Any, Any]:
        (x,), (Z,) = moving, fixed
        return jnp.sum((Z * (x if output else x * x)).astype(jnp.float64), axis=1), None

    def moved(moving: Any, fixed: Any, pre: Any, p: Any, rate: Any, width: Any) -> tuple[Any, Any]:
        (x,), (Z,) = moving, fixed
        g = jnp.matmul(p.astype(Z.dtype), Z, precision=HIGHEST)
        rate = rate.astype(Z.dtype)
        x = x + (rate / width.astype(Z.dtype)) * g if output else x * (1 + 2 * rate * g)
        square = jnp.sum(x.astype(jnp.float64) ** 2)
        growth = jnp.maximum(1.0, jnp.sqrt(width * square)) if output else square
        return (x * (1 / (growth if output else jnp.sqrt(growth))).astype(x.dtype),), growth

    return margins, moved


class Batch:
    """Runs side by side on one device. moving, fixed: one padded array each; log_beta, best:
    (runs,)."""

    def __init__(
        self,
        training: Training,
        starts: Sequence[Start],
        schedules: Sequence[Schedule],
        loss: MarginLoss | str,
        dtype: str,
        device: Any = None,
        fused: bool | None = None,
    ) -> None:
        import jax

        where = chosen_device(device)
        place = functools.partial(jax.device_put, device=where)
        possible = (
            training.fusible
            and dtype == "float32"
            and where.platform in GPUS
            and len(starts) >= RUNS_WORTHWHILE
            and available()
        )
        self.fused = possible if fused is None else fused
        self.sizes = [(start.fixed[0].shape[0], start.moving[0].shape[0]) for start in starts]
        self.shapes = [tuple(leaf.shape for leaf in start.moving) for start in starts]
        frame = padded_sizes if self.fused else None
        moving, fixed = _padded(
            [start.moving for start in starts], [start.fixed for start in starts], dtype, frame
        )
        self.moving, self.fixed = tuple(map(place, moving)), tuple(map(place, fixed))
        self.mask = place(np.array([np.arange(self.fixed[0].shape[1]) < n for n, _ in self.sizes]))
        self.width = place(np.array([float(m) for _, m in self.sizes]))
        self.log_beta = place(np.array([start.log_beta for start in starts]))
        self.best = place(np.full(len(starts), -np.inf))
        self.clock = place(np.zeros(len(starts)))
        self.rule = tuple(
            place(np.array([float(getattr(s, name)) for s in schedules]))
            for name in ("size", "power", "offset")
        )
        if self.log_beta.dtype != np.float64 or self.moving[0].dtype != np.dtype(dtype):
            raise InputError(
                f"dtype: asked for {dtype} and a float64 soft-min, JAX gave {self.moving[0].dtype}"
            )
        risk, with_norm = margin_loss(loss), int(schedules[0].with_norm)
        (runs, n, d), m = self.fixed[0].shape, self.moving[0].shape[1]
        self.run = (
            ascent(
                risk, with_norm, training.decay, runs, Shape(n, m, d), where.platform not in GPUS
            )
            if self.fused
            else _loop(training, risk, with_norm)
        )

    def advance(self, first: int, last: int) -> None:
        """Steps first … last − 1."""
        self.moving, self.log_beta, self.best, self.clock = self.run(
            self.moving,
            self.log_beta,
            self.best,
            self.clock,
            self.fixed,
            self.mask,
            self.width,
            self.rule,
            first,
            last,
        )
        self.log_beta.block_until_ready()

    def now(self) -> list[tuple[Arrays, float, float, float]]:
        """What moves, in float64 and without padding, log β, the best margin and Ση, of every
        run."""
        leaves = [np.asarray(leaf).astype(float) for leaf in self.moving]
        cut = [
            tuple(
                leaf[k][tuple(slice(s) for s in shape)]
                for leaf, shape in zip(leaves, shapes, strict=True)
            )
            for k, shapes in enumerate(self.shapes)
        ]
        return list(
            zip(
                cut,
                *(np.asarray(each).tolist() for each in (self.log_beta, self.best, self.clock)),
                strict=True,
            )
        )


@functools.lru_cache(maxsize=32)
def _loop(training: Training, loss: MarginLoss, with_norm: int) -> Any:
    """The compiled loop; the rate of a step at β = 1 is η(t)·β^(−decay)."""
    import jax
    import jax.numpy as jnp

    margins, moved = training.traced()

    def step(
        t: Any,
        moving: Any,
        log_beta: Any,
        best: Any,
        clock: Any,
        fixed: Any,
        mask: Any,
        width: Any,
        rule: Any,
    ) -> Any:
        size, power, offset = rule
        u, pre = margins(moving, fixed)
        _, p, least = soft_minimum(loss, u, log_beta, mask)
        share, bounded = size * (t + offset) ** -power, jnp.clip(log_beta, -LIMIT, LIMIT)
        clock = clock + share * jnp.exp(with_norm * bounded)
        rate = share * jnp.exp((with_norm - training.decay) * bounded)
        moving, growth = moved(moving, fixed, pre, p, rate, width)
        return moving, log_beta + jnp.log(growth), jnp.maximum(best, least), clock

    every: Any = jax.vmap(step, in_axes=(None, 0, 0, 0, 0, 0, 0, 0, 0))

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
        def body(t: Any, state: Any) -> Any:
            return every(jnp.float64(t), *state, fixed, mask, width, rule)

        return jax.lax.fori_loop(first, last, body, (moving, log_beta, best, clock))

    return jax.jit(loop)


def chosen_device(device: Any) -> Any:
    """A JAX device from None, 'cpu', 'gpu' or a device itself."""
    import jax

    if not isinstance(device, str):
        return jax.devices()[0] if device is None else device
    try:
        return jax.devices(device)[0]
    except RuntimeError as reason:
        raise InputError(f"device: JAX has none of the kind {device!r}: {reason}") from None


def _padded(
    moving: Sequence[Arrays],
    fixed: Sequence[Arrays],
    dtype: str,
    frame: Callable[[int, int, int], tuple[int, int, int]] | None,
) -> tuple[list[Array], list[Array]]:
    """Leaf by leaf, all runs in one array with zeros where a run is smaller; with `frame`, (a, W)
    and (X, y) in its sizes."""
    if frame is None:
        return _stacked(moving, dtype), _stacked(fixed, dtype)
    (samples, columns), neurons = (
        np.max([X.shape for X, _ in fixed], axis=0).tolist(),
        max(a.size for a, _ in moving),
    )
    n, m, d = frame(samples, neurons, columns)
    return _stacked(moving, dtype, [(m,), (m, d)]), _stacked(fixed, dtype, [(n, d), (n,)])


def _stacked(
    runs: Sequence[Arrays], dtype: str, shapes: Sequence[tuple[int, ...]] | None = None
) -> list[Array]:
    leaves = []
    for k, parts in enumerate(zip(*runs, strict=True)):
        shape = np.max([part.shape for part in parts], axis=0) if shapes is None else shapes[k]
        full = np.zeros((len(parts), *shape), dtype=dtype)
        for row, part in zip(full, parts, strict=True):
            row[tuple(slice(s) for s in part.shape)] = part
        leaves.append(full)
    return leaves
