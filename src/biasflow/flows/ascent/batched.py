"""Many runs of gradient ascent on the smooth margin in one compiled JAX call, padded to one shape.

Padding changes nothing: masked samples have no weight, zero columns meet zero weights, zero neurons stay zero. Matrix products are in
the chosen type at JAX's highest precision (float32 is float32, not TF32); the sums over neurons, the soft-min, the
norms and log β are in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...inputs import Array
from .softmin import FAR, soft_min
from .steps import Schedule
from .trainings import Arrays, Start

HIGHEST = "highest"
"""Precision of matrix products."""


def both_layers(squared: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """One run with moving (a, W), fixed (X, y): the margins, and the weights after a step, not yet back at β = 1."""
    import jax.numpy as jnp

    def margins(moving: Any, fixed: Any) -> tuple[Any, Any]:
        (a, W), (X, y) = moving, fixed
        pre = jnp.matmul(X, W.T, precision=HIGHEST)
        active = jnp.maximum(pre, 0)
        outputs = jnp.sum((a * (active * active if squared else active)).astype(jnp.float64), axis=1)
        return y.astype(jnp.float64) * outputs, pre

    def moved(moving: Any, fixed: Any, pre: Any, p: Any, rate: Any, width: Any) -> tuple[Any, Any]:
        (a, W), (X, y) = moving, fixed
        q = (p * y).astype(W.dtype)
        slope = 2 * q[:, None] * pre if squared else q[:, None]
        G = jnp.matmul(jnp.where(pre > 0, slope, 0).T, X, precision=HIGHEST)
        rate = rate.astype(W.dtype)
        along = 0 if squared else jnp.sum(W * G, axis=1)
        a, W = a + rate * along, W + rate * a[:, None] * G
        square = jnp.sum(W.astype(jnp.float64) ** 2) + (0.0 if squared else jnp.sum(a.astype(jnp.float64) ** 2))
        shrink = (1 / jnp.sqrt(square)).astype(W.dtype)
        return (a if squared else a * shrink, W * shrink), square

    return margins, moved


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
    """Runs side by side on one device. moving, fixed: one padded array each; log_beta, best: (runs,)."""

    def __init__(self, starts: Sequence[Start], traced: Any, decay: int, loss: str, schedules: Sequence[Schedule], dtype: str,
                 device: Any) -> None:  # fmt: skip
        import jax

        jax.config.update("jax_enable_x64", True)
        place = functools.partial(jax.device_put, device=chosen_device(device))
        self.sizes = [(start.fixed[0].shape[0], start.moving[0].shape[0]) for start in starts]
        samples = max(n for n, _ in self.sizes)
        self.shapes = [tuple(leaf.shape for leaf in start.moving) for start in starts]
        self.moving = tuple(place(leaf) for leaf in _padded([start.moving for start in starts], dtype))
        self.fixed = tuple(place(leaf) for leaf in _padded([start.fixed for start in starts], dtype))
        self.mask = place(np.array([np.arange(samples) < n for n, _ in self.sizes]))
        self.width = place(np.array([float(m) for _, m in self.sizes]))
        self.log_beta = place(np.array([start.log_beta for start in starts]))
        self.best = place(np.full(len(starts), -np.inf))
        self.rule = tuple(place(np.array([float(getattr(s, name)) for s in schedules])) for name in ("size", "power", "offset"))
        if self.log_beta.dtype != np.float64 or self.moving[0].dtype != np.dtype(dtype):
            raise InputError(f"dtype: asked for {dtype} and a float64 soft-min, JAX gave {self.moving[0].dtype}")
        self.run = _loop(traced, loss, int(schedules[0].with_norm) - decay)

    def advance(self, first: int, last: int) -> None:
        """Steps first … last − 1."""
        self.moving, self.log_beta, self.best = self.run(
            self.moving, self.log_beta, self.best, self.fixed, self.mask, self.width, self.rule, first, last
        )
        self.log_beta.block_until_ready()

    def now(self) -> list[tuple[Arrays, float, float]]:
        """What moves, in float64 and without padding, log β and the best margin, of every run."""
        leaves = [np.asarray(leaf).astype(float) for leaf in self.moving]
        cut = [
            tuple(leaf[k][tuple(slice(s) for s in shape)] for leaf, shape in zip(leaves, shapes, strict=True))
            for k, shapes in enumerate(self.shapes)
        ]
        return list(zip(cut, np.asarray(self.log_beta).tolist(), np.asarray(self.best).tolist(), strict=True))


@functools.lru_cache(maxsize=32)
def _loop(traced: Any, loss: str, exponent: int) -> Any:
    """The compiled loop; the rate of a step at β = 1 is η(t)·β^exponent."""
    import jax
    import jax.numpy as jnp

    margins, moved = traced()

    def step(t: Any, moving: Any, log_beta: Any, best: Any, fixed: Any, mask: Any, width: Any, rule: Any) -> Any:
        size, power, offset = rule
        u, pre = margins(moving, fixed)
        p, _, least = soft_min(jnp, u, log_beta, mask, loss)
        rate = size * (t + offset) ** -power * jnp.exp(jnp.clip(exponent * log_beta, -FAR, FAR))
        moving, growth = moved(moving, fixed, pre, p, rate, width)
        return moving, log_beta + jnp.log(growth), jnp.maximum(best, least)

    every = jax.vmap(step, in_axes=(None, 0, 0, 0, 0, 0, 0, 0))

    def loop(moving: Any, log_beta: Any, best: Any, fixed: Any, mask: Any, width: Any, rule: Any, first: Any, last: Any) -> Any:
        def body(t: Any, state: Any) -> Any:
            return every(jnp.float64(t), *state, fixed, mask, width, rule)

        return jax.lax.fori_loop(first, last, body, (moving, log_beta, best))

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


def _padded(runs: Sequence[Arrays], dtype: str) -> list[Array]:
    """Leaf by leaf, all runs in one array with zeros where a run is smaller."""
    leaves = []
    for parts in zip(*runs, strict=True):
        shape = np.max([part.shape for part in parts], axis=0)
        full = np.zeros((len(parts), *shape), dtype=dtype)
        for k, part in enumerate(parts):
            full[k][tuple(slice(s) for s in part.shape)] = part
        leaves.append(full)
    return leaves
