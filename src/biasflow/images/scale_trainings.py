"""One small convolutional network over initialisation scales, widths and depths, trained on images
and probed on the way: where does it leave the kernel regime?

Images of 14 × 14 pixels, convolutions of 3 × 3 without biases (the first two with a stride of two),
ReLU, and a dense layer to ten outputs; He's start times α. What is trained is f(w) − f(w₀), by
`paced_descent` on the square loss, to a given share of its first value. All scales and seeds of a
shape are one program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._core.arguments import Array
from ..regime.measures import (
    Measure,
    effective_rank,
    estimates,
    gradient_distance,
    kernel_movement,
    kernel_turn,
    label_alignment,
    linear_gap,
)
from ..regime.views import Pair, View
from ..training.paced_descent import Lane, PacedDescent, paced_descent, tree_length
from .training_points import chosen_images

if TYPE_CHECKING:
    import xarray

SIDE, CLASSES, PATCH = 14, 10, 3
STRIDES = (2, 2, 1, 1, 1, 1)
"""Of the convolutions, the first ones first: 14, 7 and 4 pixels a side."""
TOGETHER = 32
"""Images whose gradients are computed in one go."""
PROBED: tuple[Measure, ...] = (
    linear_gap,
    kernel_movement,
    kernel_turn,
    gradient_distance,
    label_alignment,
    effective_rank,
)
CURVES = ("train_loss", "test_error", "weight_movement", "step")


@dataclass(frozen=True)
class Shape:
    """depth: layers of weights, the dense one included; width: channels."""

    depth: int
    width: int

    def sizes(self) -> list[tuple[int, int]]:
        """Inputs and outputs of every layer of weights."""
        side, found, incoming = SIDE, [], 1
        for stride in STRIDES[: self.depth - 1]:
            side = -(-side // stride)
            found.append((PATCH * PATCH * incoming, self.width))
            incoming = self.width
        return [*found, (side * side * self.width, CLASSES)]

    def start(self, key: int, scale: float) -> tuple[Array, ...]:
        """He's start times the scale."""
        rng = np.random.default_rng([self.depth, self.width, key])
        return tuple(
            (scale * np.sqrt(2 / into) * rng.standard_normal((into, out))).astype(np.float32)
            for into, out in self.sizes()
        )


def predictions(weights: Sequence[Any], images: Any) -> Any:
    """f(w, x), (n, 10), for images (n, 14, 14, 1). Convolutions are products with patches, so that
    many networks at once are batched products."""
    import jax.numpy as jnp

    hidden = images
    for matrix, stride in zip(weights[:-1], STRIDES, strict=False):
        hidden = jnp.maximum(_patches(hidden, stride) @ matrix, 0.0)
    return hidden.reshape(len(hidden), -1) @ weights[-1]


def _patches(hidden: Any, stride: int) -> Any:
    """(n, side', side', 9·channels), padded with zeros."""
    import jax.numpy as jnp

    side = hidden.shape[1]
    out = -(-side // stride)
    padded = jnp.pad(hidden, ((0, 0), (1, 1), (1, 1), (0, 0)))
    ends = stride * (out - 1) + 1
    return jnp.concatenate(
        [
            padded[:, i : i + ends : stride, j : j + ends : stride]
            for i in range(PATCH)
            for j in range(PATCH)
        ],
        axis=-1,
    )


@dataclass(frozen=True, eq=False)
class StudyImages:
    """Images (n, 14, 14, 1) and labels (n, 10), one less its mean for the class: to train on, to
    test, and to probe, which are test images too."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array
    probe_x: Array
    probe_y: Array


@functools.lru_cache(maxsize=1)
def study_images(data: str, train: int, test: int, probe: int) -> StudyImages:
    """Means of 2 × 2 pixels, shifted and scaled to mean zero and deviation one over all of them."""
    chosen = chosen_images(data, train, test + probe)
    small = [
        x.reshape(len(x), SIDE, 2, SIDE, 2).mean(axis=(2, 4))[..., None]
        for x in (chosen.train_x.astype(np.float64), chosen.test_x.astype(np.float64))
    ]
    shift, unit = small[0].mean(), small[0].std()
    x_train, x_test = (((x - shift) / unit).astype(np.float32) for x in small)
    y_train, y_test = (
        (np.eye(CLASSES)[y] - 1 / CLASSES).astype(np.float32)
        for y in (chosen.train_y, chosen.test_y)
    )
    return StudyImages(
        x_train, y_train, x_test[probe:], y_test[probe:], x_test[:probe], y_test[:probe]
    )


@dataclass(frozen=True, eq=False)
class _Programs:
    """What is compiled for one shape: the descent, curves and what the probe sees."""

    descent: PacedDescent
    curves: Callable[..., Any]
    probed: Callable[..., Any]


def _programs(images: StudyImages, target: float) -> _Programs:
    import jax
    import jax.numpy as jnp

    def curve(lane: Lane) -> Any:
        weights, start = lane.weights, lane.start
        tested = predictions(weights, images.test_x) - predictions(start, images.test_x)
        wrong = jnp.argmax(tested, axis=1) != jnp.argmax(jnp.asarray(images.test_y), axis=1)
        moved = tree_length(jax.tree.map(jnp.subtract, weights, start)) / tree_length(start)
        return jnp.stack([descent.loss(lane), jnp.mean(wrong), moved, 1 / lane.top])

    descent = paced_descent(predictions, images.train_x, images.train_y, target)
    return _Programs(
        descent,
        jax.jit(lambda lanes: jax.lax.map(curve, lanes)),
        jax.jit(lambda starts, ends: jax.lax.map(_seen(images.probe_x), (starts, ends))),
    )


def _seen(images: Array) -> Callable[[Any], Any]:
    """What a probe sees of a start and an end: f and its linearisation (n, 10), kernels of every
    layer at both (layers, n, n), and products of gradients (layers, n). In full precision."""
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(images)

    def gradients(weights: Any) -> Any:
        """(n, 10, …) of every layer, input by input."""

        def one(image: Any) -> Any:
            return jax.jacrev(lambda w: predictions(w, image[None])[0])(weights)

        return jax.lax.map(one, x, batch_size=TOGETHER)

    def seen(both: Any) -> Any:
        start, end = both
        with jax.default_matmul_precision("highest"):
            first, last = gradients(start), gradients(end)
            step = jax.tree.map(jnp.subtract, end, start)
            before, slope = jax.jvp(lambda w: predictions(w, x), (start,), (step,))
            flat = [[g.reshape(len(x), -1) for g in part] for part in (first, last)]
            kernels = [jnp.stack([g @ g.T for g in part]) for part in flat]
            dots = jnp.stack([jnp.sum(a * b, axis=1) for a, b in zip(*flat, strict=True)])
            return predictions(end, x) - before, slope, *kernels, dots

    return seen


def scale_trainings(
    depth: int,
    width: int,
    scales: Sequence[float],
    seeds: Sequence[int],
    data: str,
    train: int,
    test: int,
    probe: int,
    target: float,
    times: Sequence[int],
    tell: Callable[[str], None] = lambda _: None,
) -> xarray.Dataset:
    """All scales and seeds of one shape: curves and measures at every time, with errors over
    images, (scale, seed, time); movements of the kernel of every layer."""
    import jax.numpy as jnp
    import xarray

    images, shape = study_images(data, train, test, probe), Shape(depth, width)
    programs = _programs(images, target)
    drawn = [shape.start(seed, scale) for scale in scales for seed in seeds]
    starts = tuple(jnp.asarray(np.stack(layer)) for layer in zip(*drawn, strict=True))
    lanes, begun = programs.descent.opened(starts), 0
    curves, seen = [], []
    for time in times:
        lanes = programs.descent.advance(lanes, begun, time)
        begun = time
        curves.append(np.asarray(programs.curves(lanes)))
        seen.append([np.asarray(part) for part in programs.probed(starts, lanes.weights)])
        ended = int(np.sum(np.asarray(lanes.ended)))
        tell(f"depth {depth}, width {width}: step {time}, {ended} of {len(drawn)} ended")
    lead = len(scales), len(seeds), len(times)
    stacked = np.stack(curves, axis=1).reshape(*lead, len(CURVES))
    found: dict[str, Any] = {
        name: (("scale", "seed", "time"), stacked[..., k]) for k, name in enumerate(CURVES)
    }
    measured = [
        [_measures(images, [part[lane] for part in at]) for at in seen]
        for lane in range(len(drawn))
    ]
    for name in measured[0][0][0]:
        values = np.array([[at[0][name] for at in lane] for lane in measured]).reshape(lead)
        found[name] = ("scale", "seed", "time"), values
    layers = np.array([[at[1] for at in lane] for lane in measured])
    for k, name in enumerate(("layer_movement", "layer_turn")):
        found[name] = ("scale", "seed", "time", "layer"), layers[..., k, :].reshape(*lead, depth)
    coords = {"scale": list(scales), "seed": list(seeds), "time": list(times)}
    return xarray.Dataset(found, coords=coords)


def _measures(images: StudyImages, seen: Sequence[Any]) -> tuple[dict[str, float], Array]:
    """The measures with their errors, and the movement and turn of every layer's kernel."""
    learned, slope, first, last, dots = (np.asarray(part, dtype=np.float64) for part in seen)
    nothing = np.zeros_like(learned)

    def pair(start: Array, end: Array, dots: Array) -> Pair:
        views = [
            View(cast(Any, None), kernel, values, nothing, (), kernel[None], kernel[None])
            for kernel, values in ((start, nothing), (end, learned))
        ]
        return Pair(views[0], views[1], dots, slope, np.asarray(images.probe_y, dtype=np.float64))

    if not all(np.all(np.isfinite(part)) for part in (learned, last)):
        names = [m.__name__ for m in PROBED]
        missing = dict.fromkeys([*names, *(f"{name}_error" for name in names)], float("nan"))
        return missing, np.full((2, len(first)), np.nan)
    whole = estimates(pair(first.sum(axis=0), last.sum(axis=0), dots.sum(axis=0)), PROBED)
    told = {name: one.value for name, one in whole.items()}
    told |= {f"{name}_error": one.error for name, one in whole.items()}
    everything = np.arange(len(learned))
    layers = [pair(*part) for part in zip(first, last, dots, strict=True)]
    moved = [[measure(p, everything) for p in layers] for measure in (kernel_movement, kernel_turn)]
    return told, np.array(moved)
