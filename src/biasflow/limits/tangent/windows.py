"""What the kernel of a convolution meets, place by place."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Window:
    """How a kernel moves over an image. size, step: of the kernel, along every axis; spread: the
    distance of its entries; padding: zeros before and after the image; gaps: the distance of the
    image's own pixels (a transposed convolution has zeros between them)."""

    size: tuple[int, ...]
    step: tuple[int, ...]
    spread: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    gaps: tuple[int, ...]

    @property
    def channel(self) -> int:
        """Entries of the kernel for one channel."""
        return math.prod(self.size)

    def unfolded(self, images: Any, xp: Any = np) -> Any:
        """(b, C, …) to (b, C·entries, places), in NumPy or JAX's NumPy (xp)."""
        images = self._framed(images, xp)
        counts = [
            (length - (size - 1) * spread - 1) // step + 1
            for length, size, spread, step in zip(
                images.shape[2:], self.size, self.spread, self.step, strict=True
            )
        ]
        met = []
        for entry in itertools.product(*(range(size) for size in self.size)):
            cut = (
                slice(k * spread, k * spread + (count - 1) * step + 1, step)
                for k, spread, count, step in zip(
                    entry, self.spread, counts, self.step, strict=True
                )
            )
            met.append(images[(slice(None), slice(None), *cut)])
        shape = len(images), images.shape[1] * self.channel, math.prod(counts)
        return xp.stack(met, axis=2).reshape(shape)

    def patches(self, raw: Any, rows: slice) -> Any:
        """What some rows of the kernel meet at every place of every call, (b, P, p), of images
        (b, calls, C, …)."""
        first, last, _ = rows.indices(raw.shape[2] * self.channel)
        calls = raw[:, :, first // self.channel : -(-last // self.channel)]
        found = self.unfolded(calls.reshape(-1, *calls.shape[2:]))
        found = found.reshape(*raw.shape[:2], *found.shape[1:])  # (b, calls, p, P)
        return found.swapaxes(-1, -2).reshape(len(raw), -1, found.shape[2])

    def _framed(self, images: Any, xp: Any) -> Any:
        """With gaps, and padded or, where padding is negative, cut."""
        for axis, gap in enumerate(self.gaps, start=2):
            if gap > 1:
                images = xp.stack([images, *[xp.zeros_like(images)] * (gap - 1)], axis=axis + 1)
                shape = list(images.shape)
                shape[axis : axis + 2] = [shape[axis] * gap]
                cut = [slice(None)] * axis + [slice(0, shape[axis] - gap + 1)]
                images = images.reshape(shape)[tuple(cut)]
        widths = [(max(a, 0), max(b, 0)) for a, b in self.padding]
        images = xp.pad(images, [(0, 0), (0, 0), *widths])
        cuts = (
            slice(max(-a, 0), length - max(-b, 0))
            for (a, b), length in zip(self.padding, images.shape[2:], strict=True)
        )
        return images[(slice(None), slice(None), *cuts)]
