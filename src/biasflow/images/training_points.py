"""What trainings on images share: the images, what is told of a run that ended, and how far tangent
features moved."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.results import Result
from ..data import Images, images
from ..sweeps.assembly import DTYPE
from .classifier_programs import Arrays
from .classifier_training import (
    HISTORY,
    EpochSchedule,
    TrainedClassifier,
)

if TYPE_CHECKING:
    import xarray

SUBSET_KEY = 0


@functools.lru_cache(maxsize=2)
def chosen_images(data: str, train: int, test: int) -> Images:
    """All images, or a fixed random subset; 0 means all."""
    whole = images(data)
    if not train and not test:
        return whole
    return whole.subset(train or len(whole.train_y), test or len(whole.test_y), key=SUBSET_KEY)


def features_of(network: Any, params: Any, arrays: Arrays) -> Arrays:
    """What the output layer sees of every image."""
    import jax
    import jax.numpy as jnp

    program = jax.jit(network.features)

    def all_of(x: Any) -> Any:
        return jnp.concatenate([program(params, x[k : k + 1000]) for k in range(0, len(x), 1000)])

    return Arrays(all_of(arrays.train_x), arrays.train_y, all_of(arrays.test_x), arrays.test_y)


OUTCOMES = (
    "test_error",
    "train_error",
    "train_loss",
    "epochs_used",
    "converged",
    "diverged",
    "gradient_distance",
    "kernel_distance",
)
"""What is told of a run that ended."""


def outcome(network: Any, one: TrainedClassifier, probe: Any) -> list[float]:
    """Where a run ended, by `OUTCOMES`; distances are NaN where it diverged, or without a probe."""
    moved = np.nan, np.nan
    if probe is not None and one.result is not Result.DIVERGED:
        movement = tangent_movement(network, one.start, one.params, probe)
        moved = movement.gradient, movement.kernel
    final = [one.final[name] for name in ("test_error", "train_error", "train_loss", "epoch")]
    ended = [one.result is Result.CONVERGED, one.result is Result.DIVERGED]
    return [*final, *map(float, ended), *moved]


def padded_history(history: Any, schedule: EpochSchedule) -> Any:
    """Measurements at every tick of the schedule, NaN after the end."""
    measured = np.full((schedule.epochs // schedule.every + 1, len(HISTORY)), np.nan)
    measured[: len(history)] = history
    return measured


def used_dtype(precision: str) -> str:
    """In which precision trainings compute here."""
    import jax

    narrow = precision == "bfloat16" or jax.default_backend() != "cpu"
    used = precision if narrow else "float32"
    return f"float32, products in training {used}"


def dataset(variables: dict[str, Any], coords: dict[str, Any], precision: str) -> xarray.Dataset:
    import xarray

    return xarray.Dataset(variables, coords=coords, attrs={DTYPE: used_dtype(precision)})


@dataclass(frozen=True)
class Movement:
    """gradient: W's gradient distance, 1 − cos between ∇_w f_c(w₀, x) and ∇_w f_c(w, x), averaged
    over inputs x and outputs c.

    kernel: 1 − ⟨K₀, K⟩/(‖K₀‖‖K‖) for K(x, x') = Σ_c⟨∇f_c(x), ∇f_c(x')⟩, Frobenius. Both are free of
    scale: a network in the kernel regime has zero.
    """

    gradient: float
    kernel: float


def tangent_movement(network: Any, start: Any, end: Any, probe: Any) -> Movement:
    """Compare the tangent features of two settings of the weights on the inputs `probe` (n, ...).

    One output at a time: the largest array holds n gradients, never the whole Jacobian.
    """
    import jax.numpy as jnp

    gradient, kernel = _program(network)(start, end, jnp.asarray(probe, jnp.float32))
    return Movement(float(gradient), float(kernel))


@functools.lru_cache(maxsize=8)
def _program(network: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def gradients(params: Any, probe: Any, c: Any) -> tuple[list[Any], Any]:
        """Of output c, divided by their largest entry, and that entry: fourth powers of them
        overflow float32 at large scales."""
        slopes = jax.vmap(jax.grad(lambda params, x: network(params, x[None])[0, c]), (None, 0))(
            params, probe
        )
        leaves = [leaf.reshape(len(probe), -1) for leaf in jax.tree.leaves(slopes)]
        size = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in leaves]))
        return [leaf / jnp.where(size == 0, 1, size) for leaf in leaves], size

    def gram(left: list[Any], right: list[Any]) -> Any:
        return sum(a @ b.T for a, b in zip(left, right, strict=True))

    def one_output(params: tuple[Any, Any], probe: Any, c: Any) -> tuple[Any, Any, Any]:
        (before, size0), (after, size1) = (gradients(w, probe, c) for w in params)
        K0, K1 = gram(before, before), gram(after, after)
        cross = sum(jnp.sum(a * b, axis=1) for a, b in zip(before, after, strict=True))
        lengths = jnp.sqrt(jnp.diag(K0)) * jnp.sqrt(jnp.diag(K1))
        died = lengths == 0
        return (K0, size0), (K1, size1), 1 - jnp.where(died, 0, cross / jnp.where(died, 1, lengths))

    def total(K: Any, sizes: Any) -> Any:
        """Σ_c K_c, of Frobenius norm one."""
        K = jnp.sum((sizes / jnp.max(sizes))[:, None, None] ** 2 * K, axis=0)
        return K / jnp.linalg.norm(K)

    def movement(start: Any, end: Any, probe: Any) -> tuple[Any, Any]:
        with jax.default_matmul_precision("float32"):
            outputs = jnp.arange(start.output.shape[0])
            before, after, distances = jax.lax.map(
                lambda c: one_output((start, end), probe, c), outputs
            )
        return jnp.mean(distances), 1 - jnp.sum(total(*before) * total(*after))

    return jax.jit(movement)
