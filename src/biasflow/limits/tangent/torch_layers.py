"""Layers of PyTorch whose gradients at one input are made of what comes in and what comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .gradient_features import Part, Rows, Shared


@dataclass(frozen=True)
class Layer:
    """A kind of module. parts(module, leaves, incoming, back): parts of its gradient from what came
    in (b, …) and ∂f/∂z (b, …) of one output; leaves: numbers of its tensors by their names in the
    module. taken: what is kept of what came in."""

    parts: Callable[[Any, dict[str, int], Any, Any], list[Part]]
    serves: Callable[[Any], bool] = lambda module: True
    taken: Callable[[Any, Any], Any] = lambda module, incoming: incoming


def _linear(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    b = len(incoming)
    A = incoming.reshape(b, -1, incoming.shape[-1])
    G = back.reshape(b, -1, back.shape[-1]).swapaxes(1, 2)
    return _weight_and_bias(leaves, A, G, turned=not hasattr(module, "nf"))


def _convolution(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    return _weight_and_bias(
        leaves,
        incoming[:, None],  # one call; further ones are further places
        back.flatten(2),
        patches=partial(patches, module),
        channel=math.prod(module.kernel_size),
        groups=module.groups,
    )


def patches(module: Any, raw: Any, rows: slice) -> Any:
    """What some rows of a convolution's kernel meet at each place of its calls, (b, P, p)."""
    channel = math.prod(module.kernel_size)
    first, last, _ = rows.indices(raw.shape[2] * channel)
    calls = raw[:, :, first // channel : -(-last // channel)]
    found = _unfolded(module, calls.flatten(0, 1))  # (b·calls, p, P)
    found = found.unflatten(0, raw.shape[:2]).swapaxes(1, 2).flatten(2)
    return found.swapaxes(1, 2)


def _unfolded(module: Any, raw: Any) -> Any:
    """Patches of images (b, C, …), channel by channel, (b, p, P)."""
    import torch

    if all(size == 1 for size in module.kernel_size) and not _padded(module):
        steps = tuple(slice(None, None, step) for step in module.stride)
        return raw[(slice(None), slice(None), *steps)].flatten(2)
    padding = module._reversed_padding_repeated_twice
    mode = module.padding_mode if module.padding_mode != "zeros" else "constant"
    raw = torch.nn.functional.pad(raw, padding, mode=mode)
    if raw.dim() == 4:
        return torch.nn.functional.unfold(
            raw, module.kernel_size, module.dilation, 0, module.stride
        )
    axes = len(module.kernel_size)
    for axis, (size, step, dilation) in enumerate(
        zip(module.kernel_size, module.stride, module.dilation, strict=True)
    ):
        raw = raw.unfold(2 + axis, (size - 1) * dilation + 1, step)[..., ::dilation]
    raw = raw.flatten(2 + axes).movedim(-1, 2)  # (b, C, kernel, places…)
    return raw.flatten(1, 2).flatten(2)


def _padded(module: Any) -> bool:
    return any(module._reversed_padding_repeated_twice)


def _weight_and_bias(leaves: dict[str, int], A: Any, G: Any, **settings: Any) -> list[Part]:
    """From A (b, …) and ∂f/∂z (b, q, P)."""
    found: list[Part] = []
    if "weight" in leaves:
        found.append(Shared(leaves["weight"], A, G[:, None], **{"turned": True, **settings}))
    if "bias" in leaves:
        found.append(Rows(leaves["bias"], G.sum(-1)[:, None]))
    return found


def _embedding(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    tokens = incoming.reshape(len(incoming), -1)
    G = back.reshape(*tokens.shape, -1).swapaxes(1, 2)
    if module.padding_idx is not None:
        G = G * (tokens != module.padding_idx)[:, None]
    return [Shared(leaves["weight"], tokens, G[:, None], places=True)]


def _normed(channels_first: bool) -> Callable[[Any, dict[str, int], Any, Any], list[Part]]:
    """A layer that multiplies standardised numbers by its weight, and adds its bias."""

    def parts(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
        length = next(value for value in module._parameters.values() if value is not None).numel()

        def rows(values: Any) -> Any:
            if channels_first:
                return values.reshape(*values.shape[:2], -1).sum(-1)[:, None]
            return values.reshape(len(values), -1, length).sum(1)[:, None]

        found: list[Part] = []
        if "weight" in leaves:
            found.append(Rows(leaves["weight"], rows(back * incoming)))
        if "bias" in leaves:
            found.append(Rows(leaves["bias"], rows(back)))
        return found

    return parts


def _by_layer(module: Any, incoming: Any) -> Any:
    import torch

    return torch.nn.functional.layer_norm(incoming, module.normalized_shape, eps=module.eps)


def _by_group(module: Any, incoming: Any) -> Any:
    import torch

    return torch.nn.functional.group_norm(incoming, module.num_groups, eps=module.eps)


def _by_batch(module: Any, incoming: Any) -> Any:
    import torch

    return torch.nn.functional.batch_norm(
        incoming, module.running_mean, module.running_var, eps=module.eps
    )


def _evaluates(module: Any) -> bool:
    return not module.training and module.running_mean is not None


def layer_of(module: Any) -> Layer | None:
    """The kind of a module, or None where its gradients are taken as they are."""
    import torch

    nn = torch.nn
    if type(module).__name__ == "Conv1D" and hasattr(module, "nf"):  # of transformers
        return Layer(_linear)
    convolution = Layer(_convolution)
    batch_norm = Layer(_normed(True), _evaluates, _by_batch)
    kinds: dict[Any, Layer] = {
        nn.Linear: Layer(_linear),
        nn.Conv1d: convolution,
        nn.Conv2d: convolution,
        nn.Conv3d: convolution,
        nn.Embedding: Layer(_embedding, lambda module: module.max_norm is None),
        nn.LayerNorm: Layer(_normed(False), taken=_by_layer),
        nn.GroupNorm: Layer(_normed(True), taken=_by_group),
        nn.BatchNorm1d: batch_norm,
        nn.BatchNorm2d: batch_norm,
        nn.BatchNorm3d: batch_norm,
    }
    found = kinds.get(type(module))
    return found if found is not None and found.serves(module) else None


def merged(calls: Sequence[Sequence[Part]]) -> list[Part]:
    """Parts of one layer that was called several times: sums, or further places where every call
    has inputs of the same shape."""
    import torch

    found: list[Part] = []
    for same in zip(*calls, strict=True):
        first: Any = same[0]
        if len(same) == 1:
            found.append(first)
        elif _side_by_side(same):
            parts: Any = same
            incoming = torch.cat([part.incoming for part in parts], dim=1)
            back = torch.cat([part.back for part in parts], dim=3)
            found.append(replace(first, incoming=incoming, back=back))
        else:
            rows: list[Any] = [part.formed() if isinstance(part, Shared) else part for part in same]
            found.append(replace(rows[0], rows=sum(part.rows for part in rows[1:]) + rows[0].rows))
    return found


def _side_by_side(parts: Sequence[Any]) -> bool:
    shapes = {part.incoming.shape[2:] for part in parts if isinstance(part, Shared)}
    return len(shapes) == 1


class Filled:
    """Parts of one layer for n inputs and m outputs, filled output by output as inputs pass through
    the network. Gradients are formed, at the end of a pass, where they are fewer numbers than what
    they are made of. waits: whether a part is."""

    def __init__(self, n: int, outputs: int) -> None:
        self.n, self.m, self.waits = n, outputs, False
        self._parts: dict[int, Any] = {}
        self._waiting: dict[int, Any] = {}

    @property
    def parts(self) -> list[Part]:
        return list(self._parts.values())

    def add(self, start: int, output: int, found: Sequence[Part]) -> None:
        """What came of the inputs of a pass, from `start` on, for one output."""
        for k, part in enumerate(found):
            if not (isinstance(part, Shared) and part.longer_than_gradients(self.m)):
                room = self._parts.get(k) or self._room(part)
                self._parts[k] = _put(room, start, output, part)
                continue
            self.waits = True
            waiting = self._waiting.pop(k, None) or self._room(part, len(part.back))
            self._waiting[k] = _put(waiting, 0, output, part)
            if output + 1 == self.m:
                formed = self._waiting.pop(k).formed()
                room = self._parts.get(k) or self._room(formed)
                room.rows[start : start + len(formed.rows)] = formed.rows
                self._parts[k] = room

    def _room(self, part: Any, n: int | None = None) -> Any:
        """The same of n inputs, all where not said, and m outputs."""
        n = self.n if n is None else n
        *others, last = part.arrays()
        last = last.new_empty(n, self.m, *last.shape[2:])
        if isinstance(part, Rows):
            return replace(part, rows=last)
        return replace(part, incoming=others[0].new_empty(n, *others[0].shape[1:]), back=last)


def _put(room: Any, start: int, output: int, part: Any) -> Any:
    """`part`, of one output, written into the inputs from `start` on."""
    *others, mine = part.arrays()
    rows = slice(start, start + len(mine))
    room.arrays()[-1][rows, output] = mine[:, 0]
    if others and output == 0:
        room.incoming[rows] = others[0]
    return room


def pulled_by(part: Any, cotangent: Any, shape: Any) -> Any:
    """Σ_io c_io∇f_o(x_i) in the part's tensor, of its shape; c (b, m)."""
    if not isinstance(part, Rows):
        part = replace(part, back=(cotangent[:, :, None, None] * part.back).sum(1, keepdim=True))
        if part.places:
            G = part.back[:, 0].swapaxes(1, 2)  # (b, P, q)
            found = G.new_zeros(shape)
            return found.index_add_(0, part.incoming.reshape(-1), G.reshape(-1, G.shape[-1]))
        return part.formed().rows.sum((0, 1)).reshape(shape)
    return (cotangent[:, :, None] * part.rows).sum((0, 1)).reshape(shape)


def along(part: Any, direction: Any) -> Any:
    """⟨∇f_o(x_i), v⟩, (b, m), v of the shape of the part's tensor."""
    if isinstance(part, Rows):
        return part.rows @ direction.reshape(-1)
    if part.places:
        moved = direction[part.incoming]
    elif part.groups > 1:
        return along(part.formed(), direction)
    else:
        W = direction.reshape(direction.shape[0], -1) if part.turned else direction
        moved = part.came_in() @ (W.T if part.turned else W)
    return (moved.swapaxes(1, 2)[:, None] * part.back).sum((-1, -2))
