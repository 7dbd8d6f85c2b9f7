"""PyTorch modules, where PyTorch is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ...errors import InputError
from .functions import Leaves, TangentFunction, along, check_alone, check_shapes, column, two_inputs
from .gradient_features import Features


class TorchModule(TangentFunction):
    """module(X) -> (n,), or (n, k) with `output` the column looked at; parameters are modules or
    state dictionaries.

    Computed in float64 on a copy of the weights, buffers included, in the mode (training or not)
    that the module is in. Buffers, such as running means, are those of the first parameters given;
    parameters with others are refused.
    """

    def __init__(self, module: Any, params: Any, output: int | None = None) -> None:
        self.module, self.output = module, output
        self.names = [
            name for name, parameter in module.named_parameters() if parameter.requires_grad
        ]
        weights = {id(parameter) for parameter in module.parameters() if parameter.requires_grad}
        tied = {
            name
            for name, tensor in module.named_parameters(remove_duplicate=False)
            if id(tensor) in weights
        }
        state = {**dict(module.named_buffers()), **_state(module if params is None else params)}
        self.static = {name: _double(tensor) for name, tensor in state.items() if name not in tied}
        self._alone: set[tuple[int, ...]] = set()
        self.shapes = [
            tuple(parameter.shape) for parameter in module.parameters() if parameter.requires_grad
        ]
        if not self.names:
            raise InputError("network: the module has no parameter that requires a gradient")

    @staticmethod
    def serves(fn: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(fn, torch.nn.Module)

    def leaves(self, name: str, params: Any) -> Leaves:
        state = _state(params)
        missing = [word for word in self.names if word not in state]
        if missing:
            raise InputError(
                f"{name}: no tensor {missing[0]!r}, which the module has; give a module or its "
                "state_dict()"
            )
        changed = [
            k
            for k, t in self.static.items()
            if k in state and t.is_floating_point() and not t.equal(_double(state[k]))
        ]
        if changed:
            raise InputError(
                f"{name}: {changed[0]!r}, which is not trained by gradients, differs from the "
                "first parameters': the same weights"
                " mean another function there; give all of them the same one, say that of the "
                "trained network"
            )
        found = tuple(
            real_array(f"{name}[{word!r}]", state[word].detach().cpu().double().numpy())
            for word in self.names
        )
        check_shapes(name, [leaf.shape for leaf in found], self.shapes, self.names)
        return found

    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        return {**self.static, **self._tensors(leaves)}

    def predictions(self, leaves: Leaves, X: Array) -> Array:
        import torch

        with torch.no_grad():
            return self._column(self._tensors(leaves), torch.as_tensor(X)).numpy()

    def features(self, leaves: Leaves, X: Array) -> Features:
        import torch

        self._check(leaves, X)
        weights = self._tensors(leaves)
        one = torch.func.grad_and_value(lambda w, x: self._column(w, x[None])[0])
        try:
            gradients, values = torch.func.vmap(one, in_dims=(None, 0), randomness="same")(
                weights, torch.as_tensor(X)
            )
        except RuntimeError as error:
            raise InputError(
                f"network: PyTorch has no gradients of it, input by input: {_first_line(error)}"
            ) from None
        rows = tuple(gradients[name].detach().reshape(len(X), -1).numpy() for name in self.names)
        return Features(values.detach().numpy(), (), rows)

    def pushforward(self, leaves: Leaves, X: Array, direction: Leaves) -> Array:
        return along(self.features(leaves, X), direction)

    def pullback(self, leaves: Leaves, X: Array, cotangent: Array) -> Leaves:
        import torch

        vjp: Any = torch.func.vjp
        _, pull = vjp(lambda w: self._column(w, torch.as_tensor(X)), self._tensors(leaves))
        (found,) = pull(torch.as_tensor(cotangent))
        return tuple(found[name].detach().numpy() for name in self.names)

    def cost(self, leaves: Leaves, X: Array) -> int:
        return 2 * sum(leaf.size for leaf in leaves)

    def _tensors(self, leaves: Sequence[Array]) -> dict[str, Any]:
        import torch

        return {
            name: torch.as_tensor(np.asarray(leaf))
            for name, leaf in zip(self.names, leaves, strict=True)
        }

    def _column(self, weights: dict[str, Any], X: Any) -> Any:
        import torch

        static = {name: tensor.clone() for name, tensor in self.static.items()}
        try:
            values = torch.func.functional_call(self.module, {**static, **weights}, (X,))
        except (RuntimeError, ValueError, IndexError) as error:
            mode = "training" if self.module.training else "evaluation"
            raise InputError(
                f"network: the module fails on float64 inputs, in {mode} mode: {_first_line(error)}"
            ) from None
        return column(values, X.shape[0], self.output)

    def _check(self, leaves: Leaves, X: Array) -> None:
        """Refuse inputs that influence each other, once for a shape."""
        if X.shape[1:] in self._alone:
            return
        two = two_inputs(X)
        check_alone(
            float(self.predictions(leaves, two)[0]), float(self.predictions(leaves, two[:1])[0])
        )
        self._alone.add(X.shape[1:])


def _double(tensor: Any) -> Any:
    """A copy on the CPU, in double precision."""
    tensor = tensor.detach().cpu().clone()
    return tensor.double() if tensor.is_floating_point() else tensor


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _state(params: Any) -> dict[str, Any]:
    """Tensors by name: of a module, or as given."""
    if TorchModule.serves(params):
        return dict(params.state_dict())
    if not isinstance(params, dict):
        raise InputError(
            f"params: expected a module or its state_dict(), found {type(params).__name__}"
        )
    return params
