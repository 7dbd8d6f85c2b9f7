"""Layers of PyTorch whose gradients at one input are made of what comes in and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .gradient_features import Part, Rows, Shared


@dataclass(frozen=True)
class Layer:
    """A kind of module. parts(module, leaves, incoming, back): parts of its gradient from what came
    in (b, …) and ∂f/∂z (m, b, …); leaves: numbers of its tensors by their names in the module.
    taken: what is kept of what came in. repeats: whether it may be called several times."""

    parts: Callable[[Any, dict[str, int], Any, Any], list[Part]]
    serves: Callable[[Any], bool] = lambda module: True
    taken: Callable[[Any, Any], Any] = lambda module, incoming: incoming
    repeats: bool = True


def _linear(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    b, m = incoming.shape[0], back.shape[0]
    A = incoming.reshape(b, -1, incoming.shape[-1])
    G = back.swapaxes(0, 1).reshape(b, m, -1, back.shape[-1])
    return _weight_and_bias(leaves, A, G, turned=not hasattr(module, "nf"))


def _convolution(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    b, m, q = incoming.shape[0], back.shape[0], back.shape[2]
    G = back.swapaxes(0, 1).reshape(b, m, q, -1).swapaxes(-1, -2)
    return _weight_and_bias(leaves, incoming, G, lambda raw: patches(module, raw))


def patches(module: Any, raw: Any) -> Any:
    """What the kernel of a convolution meets at each place, (b, P, p)."""
    import torch

    if all(size == 1 for size in module.kernel_size) and not _padded(module):
        steps = tuple(slice(None, None, step) for step in module.stride)
        return raw[(slice(None), slice(None), *steps)].flatten(2).swapaxes(1, 2)
    padding = module._reversed_padding_repeated_twice
    mode = module.padding_mode if module.padding_mode != "zeros" else "constant"
    raw = torch.nn.functional.pad(raw, padding, mode=mode)
    if raw.dim() == 4:
        unfolded: Any = torch.nn.functional.unfold(
            raw, module.kernel_size, module.dilation, 0, module.stride
        )
        return unfolded.swapaxes(1, 2)
    for axis, (size, step, dilation) in enumerate(
        zip(module.kernel_size, module.stride, module.dilation, strict=True)
    ):
        raw = raw.unfold(2 + axis, (size - 1) * dilation + 1, step)[..., ::dilation]
    axes = len(module.kernel_size)  # (b, C, places…, kernel…)
    raw = raw.movedim(1, axes + 1)
    return raw.flatten(1, axes).flatten(2)


def _padded(module: Any) -> bool:
    return any(module._reversed_padding_repeated_twice)


def _weight_and_bias(
    leaves: dict[str, int],
    A: Any,
    G: Any,
    unfold: Callable[[Any], Any] | None = None,
    turned: bool = True,
) -> list[Part]:
    found: list[Part] = []
    if "weight" in leaves:
        found.append(Shared(leaves["weight"], A, G, unfold, turned=turned))
    if "bias" in leaves:
        found.append(Rows(leaves["bias"], G.sum(-2)))
    return found


def _embedding(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
    b, m = incoming.shape[0], back.shape[0]
    tokens = incoming.reshape(b, -1)
    G = back.swapaxes(0, 1).reshape(b, m, -1, back.shape[-1])
    if module.padding_idx is not None:
        G = G * (tokens != module.padding_idx)[:, None, :, None]
    return [Shared(leaves["weight"], tokens, G, places=True)]


def _normed(channels_first: bool) -> Callable[[Any, dict[str, int], Any, Any], list[Part]]:
    """A layer that multiplies standardised numbers by its weight, and adds its bias."""

    def parts(module: Any, leaves: dict[str, int], incoming: Any, back: Any) -> list[Part]:
        back = back.swapaxes(0, 1)  # (b, m, …)
        length = next(value for value in module._parameters.values() if value is not None).numel()

        def rows(values: Any) -> Any:
            if channels_first:
                return values.flatten(3).sum(-1) if values.dim() > 3 else values
            return values.reshape(*values.shape[:2], -1, length).sum(-2)

        found: list[Part] = []
        if "weight" in leaves:
            found.append(Rows(leaves["weight"], rows(back * incoming[:, None])))
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


def _ungrouped(module: Any) -> bool:
    return bool(module.groups == 1)


def layer_of(module: Any) -> Layer | None:
    """The kind of a module, or None where its gradients are taken as they are."""
    import torch

    nn = torch.nn
    if type(module).__name__ == "Conv1D" and hasattr(module, "nf"):  # of transformers
        return Layer(_linear)
    convolution = Layer(_convolution, _ungrouped, repeats=False)
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


def merged(calls: list[list[Part]]) -> list[Part]:
    """Parts of one layer that was called several times: further places, or sums."""
    import torch

    found = []
    for same in zip(*calls, strict=True):
        first: Any = same[0]
        if len(same) > 1 and isinstance(first, Rows):
            first = Rows(first.leaf, torch.stack([part.rows for part in same]).sum(0))
        elif len(same) > 1:
            first = first.with_arrays(
                [
                    torch.cat([part.incoming for part in same], dim=1),
                    torch.cat([part.back for part in same], dim=2),
                ]
            )
        found.append(first)
    return found


def slim(part: Part) -> Part:
    """The gradients themselves, where they are fewer numbers than what they are made of."""
    if not isinstance(part, Shared) or part.places:
        return part
    b, m, _, q = part.back.shape
    p = part.came_in(slice(0, 1)).shape[-1]
    return part.formed() if m * p * q * b < sum(a.numel() for a in part.arrays()) else part


def pulled_by(part: Any, cotangent: Any, shape: Any) -> Any:
    """Σ_io c_io∇f_o(x_i) in the part's tensor, of its shape; c (b, m)."""
    if isinstance(part, Rows):
        return (cotangent[:, :, None] * part.rows).sum((0, 1)).reshape(shape)
    G = (cotangent[:, :, None, None] * part.back).sum(1)  # (b, P, q)
    if part.places:
        found = G.new_zeros(shape)
        return found.index_add_(0, part.incoming.reshape(-1), G.reshape(-1, G.shape[-1]))
    A = part.came_in()
    found = (A.swapaxes(-1, -2) @ G).sum(0)
    return (found.T if part.turned else found).reshape(shape)


def along(part: Any, direction: Any) -> Any:
    """⟨∇f_o(x_i), v⟩, (b, m), v of the shape of the part's tensor."""
    if isinstance(part, Rows):
        return part.rows @ direction.reshape(-1)
    if part.places:
        moved = direction[part.incoming]
    else:
        W = direction.reshape(direction.shape[0], -1) if part.turned else direction
        moved = part.came_in() @ (W.T if part.turned else W)
    return (moved[:, None] * part.back).sum((-1, -2))
