"""The trainings behind W/fig4e, fig4f and fig6: one point trains a batch of runs, and says how each
of them ended."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import one_of
from .._core.results import Result
from ..data import Images, images
from .classifier_training import (
    HISTORY,
    Arrays,
    EpochSchedule,
    Run,
    TrainedClassifier,
    train_classifiers,
)
from .classifiers import ClassifierParams, Readout, VggNetwork, WideNetwork
from .wide_kernels import LAYERS, WideKernel, kernel_classifier

if TYPE_CHECKING:
    import xarray

STARTS = ("as drawn", "unbiased")
"""'as drawn': W's, whose network computes a random function at first; 'unbiased': that function is
subtracted."""
KERNELS = dict(zip(("tangent kernel", "random features"), LAYERS, strict=True))
SUBSET_KEY = 0
RULES = ("1e-4", "between", "scaled", "output layer")
"""Step sizes on CIFAR-10: W's; the geometric mean of it and the next; `scaled_step`; the same for
the output layer alone."""
PAPER_STEP = 1e-4
LARGEST_STEP = 0.05
READOUT_STEP = 1e-3
"""W's step where only the output layer is trained, at α = 1."""


@functools.lru_cache(maxsize=2)
def chosen_images(data: str, train: int, test: int) -> Images:
    """All images, or a fixed random subset; 0 means all."""
    whole = images(data)
    if not train and not test:
        return whole
    return whole.subset(train or len(whole.train_y), test or len(whole.test_y), key=SUBSET_KEY)


@functools.lru_cache(maxsize=2)
def wide_arrays(
    data: str, width: int, train: int, test: int, pixels: str = "unit"
) -> tuple[WideNetwork, Arrays]:
    """A network that fits the images, and they as it takes them."""
    import jax.numpy as jnp

    held = chosen_images(data, train, test)
    network = WideNetwork(width, int(np.prod(held.train_x.shape[1:])), pixels=pixels)
    x, t = network.prepared(held.train_x, held.test_x)
    return network, Arrays(jnp.asarray(x), held.train_y, jnp.asarray(t), held.test_y)


def wide_point(
    data: str,
    start: str,
    alpha: float,
    width: int,
    train: int,
    test: int,
    steps: Sequence[float],
    seeds: Sequence[int],
    readout_steps: Sequence[float],
    readout_epochs: int,
    probes: int,
    batch: int,
    epochs: int,
    every: int,
    precision: str,
) -> xarray.Dataset:
    """One scale α: every step size with every seed in one batch; the output layer alone, and the
    exact kernels, beside it."""
    one_of("start", start, STARTS)
    network, arrays = wide_arrays(data, width, train, test)
    schedule = EpochSchedule(
        batch, epochs, every, precision=precision, lanes=len(steps) * len(seeds)
    )
    runs = [Run(alpha, step, seed, start == "unbiased") for step in steps for seed in seeds]
    trained = train_classifiers(network, arrays, runs, schedule)
    found = _outcomes(
        network, trained, arrays.test_x[:probes], (len(steps), len(seeds)), ("step", "seed")
    )
    readout = np.full((2, len(readout_steps), len(seeds)), np.nan)
    kernels = np.full((2, len(KERNELS)), np.nan)
    if start == "as drawn":
        for k, seed in enumerate(seeds):
            readout[:, :, k] = _wide_readout(
                network, arrays, alpha, seed, readout_steps, readout_epochs, schedule
            )
        kernels = _kernel_errors(data, width, train, test)
    found["readout_train_error"] = ("readout_step", "seed"), readout[0]
    found["readout_test_error"] = ("readout_step", "seed"), readout[1]
    found["kernel_test_error"], found["kernel_residual"] = (
        ("kernel", kernels[0]),
        ("kernel", kernels[1]),
    )
    return _dataset(
        found,
        {
            "step": list(steps),
            "seed": list(seeds),
            "readout_step": list(readout_steps),
            "kernel": list(KERNELS),
        },
    )


def _wide_readout(
    network: WideNetwork,
    arrays: Arrays,
    alpha: float,
    seed: int,
    steps: Sequence[float],
    epochs: int,
    schedule: EpochSchedule,
) -> Any:
    """Training and test error with the hidden layer frozen, for each step.

    Features are those at α = 1: with b = α·a the run is the same at step size α²·step from b₀ =
    α²·a₀.
    """
    start = network.init(1.0, key=seed)
    fixed = _features(network, start, arrays)
    runs = [Run(alpha, step * alpha**2, seed) for step in steps]
    plan = EpochSchedule(
        schedule.batch, epochs, epochs, precision=schedule.precision, lanes=len(runs)
    )
    begin = ClassifierParams((), start.output * np.float32(alpha**2))
    trained = train_classifiers(Readout(), fixed, runs, plan, start=lambda run: begin)
    return np.array([[t.final["train_error"], t.final["test_error"]] for t in trained]).T


def _features(network: Any, params: Any, arrays: Arrays) -> Arrays:
    """What the output layer sees of every image."""
    import jax
    import jax.numpy as jnp

    program = jax.jit(network.features)

    def all_of(x: Any) -> Any:
        return jnp.concatenate([program(params, x[k : k + 1000]) for k in range(0, len(x), 1000)])

    return Arrays(all_of(arrays.train_x), arrays.train_y, all_of(arrays.test_x), arrays.test_y)


@functools.lru_cache(maxsize=4)
def _kernel_errors(data: str, width: int, train: int, test: int) -> Any:
    """Test error and residual of the exact kernel classifiers."""
    _, arrays = wide_arrays(data, width, train, test)
    held = (arrays.train_x, arrays.train_y), (arrays.test_x, arrays.test_y)
    errors = [kernel_classifier(WideKernel(width, layers), *held) for layers in KERNELS.values()]
    return np.array([[e.test_error for e in errors], [e.residual for e in errors]])


def scaled_step(alpha: float, depth: int, largest: float = LARGEST_STEP) -> float:
    """The same relative change of the weights in a step at every scale: gradients grow like
    α^(D−1), weights like α.

    Not above `largest`: a start from small weights grows to the size where that is the limit.
    """
    return largest * min(1.0, alpha ** -(depth - 2.0))


def step_by_rule(rule: str, alpha: float, depth: int) -> float:
    """The step size of a rule in `RULES`."""
    scaled = scaled_step(alpha, depth, READOUT_STEP if rule == "output layer" else LARGEST_STEP)
    return {"1e-4": PAPER_STEP, "between": float(np.sqrt(PAPER_STEP * scaled))}.get(rule, scaled)


def vgg_point(
    alpha: float,
    rule: str,
    seed: int,
    blocks: Sequence[Sequence[int]],
    train: int,
    test: int,
    probes: int,
    batch: int,
    epochs: int,
    every: int,
    loss: float,
    precision: str,
) -> xarray.Dataset:
    """One network on CIFAR-10: its training curve, where it ended, how far its tangent kernel
    moved."""
    one_of("rule", rule, RULES)
    schedule = EpochSchedule(batch, epochs, every, loss, precision, lanes=1)
    network, arrays = _vgg_arrays(tuple(map(tuple, blocks)), train, test)
    run = Run(alpha, step_by_rule(rule, alpha, network.homogeneity), seed)
    if rule == "output layer":
        begin = network.init(alpha, key=seed)
        fixed = _features(network, begin, arrays)
        output = ClassifierParams((), begin.output)
        (trained,) = train_classifiers(Readout(), fixed, [run], schedule, start=lambda run: output)
    else:
        (trained,) = train_classifiers(network, arrays, [run], schedule)
    probe = arrays.test_x[:probes] if rule != "output layer" else None
    found = _outcomes(network, [trained], probe, (), ())
    measured = np.full((epochs // every + 1, len(HISTORY)), np.nan)
    measured[: len(trained.history)] = trained.history
    for column, name in enumerate(HISTORY[1:], start=1):
        found[f"{name}_history"] = "epoch", measured[:, column]
    return _dataset(
        {**found, "step_size": ((), run.step)}, {"epoch": np.arange(0, epochs + 1, every)}
    )


@functools.lru_cache(maxsize=1)
def _vgg_arrays(
    blocks: tuple[tuple[int, ...], ...], train: int, test: int
) -> tuple[VggNetwork, Arrays]:
    import jax.numpy as jnp

    held = chosen_images("cifar10", train, test)
    network = VggNetwork(blocks)
    x, t = network.prepared(held.train_x, held.test_x)
    return network, Arrays(jnp.asarray(x), held.train_y, jnp.asarray(t), held.test_y)


def _outcomes(
    network: Any,
    trained: Sequence[TrainedClassifier],
    probe: Any,
    shape: tuple[int, ...],
    dims: tuple[str, ...],
) -> dict[str, Any]:
    """Where runs ended, as variables of this shape; distances are NaN for runs that diverged, or
    without a probe."""
    rows = []
    for one in trained:
        moved = np.nan, np.nan
        if probe is not None and one.result is not Result.DIVERGED:
            movement = tangent_movement(network, one.start, one.params, probe)
            moved = movement.gradient, movement.kernel
        final = one.final
        ended = [one.result is Result.CONVERGED, one.result is Result.DIVERGED]
        rows.append(
            [
                final["test_error"],
                final["train_error"],
                final["train_loss"],
                final["epoch"],
                *ended,
                *moved,
            ]
        )
    names = (
        "test_error",
        "train_error",
        "train_loss",
        "epochs_used",
        "converged",
        "diverged",
        "gradient_distance",
        "kernel_distance",
    )
    table = np.array(rows, dtype=np.float64).T
    return {name: (dims, column.reshape(shape)) for name, column in zip(names, table, strict=True)}


def _dataset(variables: dict[str, Any], coords: dict[str, Any]) -> xarray.Dataset:
    import xarray

    return xarray.Dataset(variables, coords=coords)


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
