"""PyTorch modules, where PyTorch is installed, and other functions of PyTorch tensors."""

from __future__ import annotations

import contextlib
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ...errors import InputError
from .functions import (
    DOUBLE_UP_TO,
    FLOAT,
    OTHER_FUNCTION,
    Leaves,
    Portion,
    TangentFunction,
    check_alone,
    check_shapes,
    cut,
    single_note,
)
from .gradient_features import WORKING, Features, Part, Rows, as_array
from .inputs import Batch, Inputs, has_integers, shape_of, two_inputs, words_of
from .outputs import Outputs, array_of, without_padding
from .torch_layers import Filled, Layer, along, layer_of, merged, pulled_by
from .weight_files import HALVES, half_note, is_path, read_weights

SAME = {"float64": 1e-6, "float32": 2e-3}
"""Relative difference between a tensor's gradient and what its layer's parts give, beyond which the
parts are not used."""

SHAKEN = 0.3
"""By how much of their size weights are moved to try the parts of layers a second time: enough to
be felt beside SAME, and not so far that predictions overflow."""


@dataclass(frozen=True)
class Unit:
    """Tensors whose gradients come together: those of a layer, or one that is taken as it is.
    need: bytes that an input's features hold; taps: bytes of ∂f/∂z of all outputs."""

    leaves: tuple[int, ...]
    layer: str | None
    need: float
    taps: float = 0.0


@dataclass(frozen=True)
class Plan:
    """units in the order in which the network meets them. passing: bytes of an input on its way
    through the network; outputs: how many are looked at."""

    units: tuple[Unit, ...]
    passing: float
    outputs: int


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """Without fused attention, which has no second derivatives and hides its layers, and without
    convolutions in ten bits."""
    import torch

    attention, mha, cudnn = torch.nn.attention, torch.backends.mha, torch.backends.cudnn
    fast, short = mha.get_fastpath_enabled(), cudnn.allow_tf32
    mha.set_fastpath_enabled(False)
    cudnn.allow_tf32 = False
    try:
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            yield
    finally:
        mha.set_fastpath_enabled(fast)
        cudnn.allow_tf32 = short


class TorchFunction(TangentFunction):
    """A function of tensors and inputs; computed on the device of the network, in double precision
    up to a million weights and in single beyond."""

    def __init__(self, shapes: Sequence[Any], weights: int, outputs: Outputs, device: Any) -> None:
        self.shapes, self.outputs, self.device = list(shapes), outputs, device
        self.double = weights <= DOUBLE_UP_TO
        if not self.double:
            self.notes = (single_note(weights),)
        self._plans: dict[Any, Plan] = {}
        self._real = False

    @property
    def dtype(self) -> Any:
        import torch

        return torch.float64 if self.double else torch.float32

    @abstractmethod
    def returned(self, tensors: Sequence[Any], X: Any) -> Any:
        """What the network returns for a tensor or a dictionary of tensors, with these leaves."""

    def layers(self) -> dict[str, tuple[Any, Layer, dict[str, int]]]:
        """Modules that are looked into, with their kind and the leaves that they own, by name."""
        return {}

    @_plainly()
    def values(self, leaves: Leaves, X: Inputs) -> Array:
        import torch

        tensors = self._tensors(leaves)
        with torch.no_grad():
            found = [as_array(self._columns(tensors, X[block])) for block in self._passes(X)]
        return np.concatenate(found)

    @_plainly()
    def slopes(self, leaves: Leaves, X: Inputs, direction: Leaves) -> Array:
        import torch

        self._planned(leaves, X)
        weights, step = tuple(self._tensors(leaves)), tuple(self._tensors(direction))
        jvp: Any = torch.func.jvp
        found = []
        for block in self._passes(X):
            part = X[block]
            try:
                with warnings.catch_warnings():  # PyTorch's own, when it first pushes forward:
                    # a DeprecationWarning of earlier releases, a FutureWarning from 2.15 on
                    warnings.filterwarnings("ignore", message=r".*torch\.jit")
                    pushed = jvp(lambda *w, part=part: self._columns(w, part), weights, step)[1]
            except (RuntimeError, NotImplementedError):  # no forward derivative
                pushed = self._along(leaves, part, step)
            found.append(as_array(pushed))
        return np.concatenate(found)

    def _along(self, leaves: Leaves, X: Inputs, step: Sequence[Any]) -> Any:
        parts = self.features(leaves, X).parts
        return sum(along(part, step[part.leaf]) for part in parts)

    @_plainly()
    def pulled(self, leaves: Leaves, X: Inputs, cotangent: Array) -> Leaves:
        import torch

        total: Any = None
        for block in self._passes(X):
            weights = [tensor.requires_grad_() for tensor in self._tensors(leaves)]
            with torch.enable_grad():
                values = self._columns(weights, X[block])
            c = torch.as_tensor(cotangent[block], dtype=values.dtype, device=values.device)
            found = torch.autograd.grad(values, weights, c, allow_unused=True)
            found = [
                torch.zeros_like(w) if g is None else g for g, w in zip(found, weights, strict=True)
            ]
            total = found if total is None else [a + b for a, b in zip(total, found, strict=True)]
        return tuple(as_array(part) for part in total)

    @_plainly()
    def features(self, leaves: Leaves, X: Inputs, parts: Any = None) -> Features:
        plan = self._planned(leaves, X)
        units = plan.units if parts is None else [plan.units[k] for k in parts]
        whole = [unit.leaves[0] for unit in units if unit.layer is None]
        tensors = self._tensors(leaves)
        names = {unit.layer for unit in units if unit.layer}
        values, filled = self._gathered(tensors, X, names, sum(unit.taps for unit in units))
        rows = self._rows(tensors, X, whole) if whole else []
        parts_of = (part for layer in filled.values() for part in layer.parts)
        return Features(values, (*parts_of, *rows))

    def cost(self, leaves: Leaves, X: Inputs) -> int:
        plan = self._planned(leaves, X)
        return max(1, int(sum(unit.need for unit in plan.units) / FLOAT))

    def portions(self, leaves: Leaves, X: Inputs, memory: float) -> list[Portion]:
        return cut([unit.need for unit in self._planned(leaves, X).units], len(X), memory)

    @property
    def _bytes(self) -> int:
        return 8 if self.double else 4

    def _tensors(self, leaves: Sequence[Array]) -> list[Any]:
        import torch

        return [
            torch.as_tensor(np.asarray(leaf), dtype=self.dtype, device=self.device)
            for leaf in leaves
        ]

    def _given(self, X: Inputs) -> Any:
        """Inputs as tensors: whole numbers whole, unless the network takes floats alone."""
        import torch

        if isinstance(X, Batch):
            return {name: self._given_part(part) for name, part in X.parts.items()}
        if self._real and has_integers(X):
            return torch.as_tensor(X).to(self.device, self.dtype)
        return self._given_part(X)

    def _given_part(self, part: Array) -> Any:
        import torch

        tensor = torch.as_tensor(np.ascontiguousarray(part)).to(self.device)
        if tensor.is_floating_point():
            return tensor.to(self.dtype)
        return tensor if tensor.dtype == torch.bool else tensor.long()

    def _columns(self, tensors: Sequence[Any], X: Inputs) -> Any:
        """The outputs looked at, (n, m)."""
        values = without_padding(array_of(self.returned(tensors, self._given(X))), X)
        self.shape = tuple(values.shape)
        return self.outputs.looked_at(values, len(X))

    def _passes(self, X: Inputs, waiting: float = 0.0) -> list[slice]:
        """Blocks of inputs that go through the network together; waiting: further bytes of one."""
        plan = self._plans.get(shape_of(X))
        size = len(X) if plan is None else max(1, int(2 * WORKING / (plan.passing + waiting)))
        return [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]

    @_plainly()
    def _planned(self, leaves: Leaves, X: Inputs) -> Plan:
        """Which tensors' gradients are taken apart, for inputs of this shape. Inputs that influence
        each other are refused."""
        shape = shape_of(X)
        if shape not in self._plans:
            two = two_inputs(X)
            together = self._tried(leaves, two)
            check_alone(together[0], self.values(leaves, two[:1])[0])
            self._plans[shape] = self._plan(self._tensors(leaves), two, together.shape[1])
        return self._plans[shape]

    def _tried(self, leaves: Leaves, X: Inputs) -> Array:
        """Predictions; whole numbers become floats where the network fails on them."""
        try:
            return self.values(leaves, X)
        except InputError:
            if not has_integers(X):
                raise
            self._real = True
            try:
                return self.values(leaves, X)
            except InputError:
                self._real = False
            raise

    def _plan(self, tensors: Sequence[Any], X: Inputs, outputs: int) -> Plan:
        """Layers whose parts give the gradients that PyTorch gives, on two inputs, here and at
        other weights; whatever is left is taken as it is."""
        calls, values = self._tapped(tensors, X, None)
        passing = sum(z.numel() for uses in calls.values() for _, z in uses) / len(X)
        units: list[Unit] = []
        covered: set[int] = set()
        filled = self._gathered(tensors, X, set(self.layers()))[1]
        told = self._told(tensors, X, filled)
        with contextlib.suppress(InputError):  # weights that the network does not take
            other = _shaken(tensors)
            told &= self._told(other, X, self._gathered(other, X, told)[1])
        for name, layer in filled.items():
            if name not in told:
                continue
            parts = layer.parts
            need = sum(array.nbytes for part in parts for array in part.arrays())
            leaves = tuple(part.leaf for part in parts)
            taps = self._bytes * outputs * sum(z.numel() for _, z in calls[name])
            units.append(Unit(leaves, name, need / len(X), layer.waits * taps / len(X)))
            covered.update(leaves)
        sizes = {k: int(np.prod(shape)) for k, shape in enumerate(self.shapes)}
        whole = [
            Unit((k,), None, 2.0 * self._bytes * outputs * size)
            for k, size in sizes.items()
            if k not in covered
        ]
        if whole:
            passing = max(passing, outputs * max(sizes[unit.leaves[0]] for unit in whole))
        return Plan((*units, *whole), 4.0 * self._bytes * (passing + values.shape[1]), outputs)

    def _told(self, tensors: Sequence[Any], X: Inputs, filled: Mapping[str, Filled]) -> set[str]:
        """The layers whose parts give the gradients that PyTorch gives."""
        import torch

        weights = [tensor.clone().requires_grad_() for tensor in tensors]
        with torch.enable_grad():
            values = self._columns(weights, X)
            cotangent = torch.linspace(0.7, 1.3, values.numel(), dtype=values.dtype)
            cotangent = cotangent.reshape(values.shape).to(values.device)
            exact = torch.autograd.grad(values, weights, cotangent, allow_unused=True)
        return {
            name
            for name, layer in filled.items()
            if all(
                self._agrees(pulled_by(part, cotangent, self.shapes[part.leaf]), exact[part.leaf])
                for part in layer.parts
            )
        }

    def _agrees(self, found: Any, exact: Any) -> bool:
        if exact is None:
            return not bool(found.any())
        size = float(exact.norm())
        if not np.isfinite(size):  # says nothing
            return True
        return float((found - exact).norm()) <= SAME[str(self.dtype).rpartition(".")[2]] * size

    def _gathered(
        self, tensors: Sequence[Any], X: Inputs, names: set[str], waiting: float = 0.0
    ) -> tuple[Array, dict[str, Filled]]:
        """Predictions, and the parts of these layers, one pass through the network after the
        other and one output at a time. waiting: bytes of an input's ∂f/∂z that are kept for the
        end of a pass."""
        import torch

        known, found = self.layers(), []
        filled: dict[str, Filled] = {}
        for block in self._passes(X, waiting):
            calls, values = self._tapped(tensors, X[block], names)
            found.append(as_array(values))
            if not filled:
                filled = {name: Filled(len(X), values.shape[1]) for name in calls}
            zeros = [z for uses in calls.values() for _, z in uses]
            for o in range(values.shape[1] if calls else 0):
                last = o + 1 == values.shape[1]
                grads = torch.autograd.grad(
                    values[:, o].sum(), zeros, retain_graph=not last, allow_unused=True
                )
                arrived = iter(zip(grads, zeros, strict=True))
                for name, uses in calls.items():
                    module, kind, leaves = known[name]
                    made = []
                    for (incoming, _), (back, z) in zip(uses, arrived, strict=False):
                        back = torch.zeros_like(z) if back is None else back
                        made.append(kind.parts(module, leaves, incoming, back))
                    filled[name].add(block.start, o, merged(made))
        return np.concatenate(found), filled

    def _tapped(
        self, tensors: Sequence[Any], X: Inputs, names: set[str] | None
    ) -> tuple[dict[str, list[tuple[Any, Any]]], Any]:
        """What comes into these layers, all where none are named, and a zero added to what comes
        out, call by call; and the predictions."""
        import torch

        calls: dict[str, list[tuple[Any, Any]]] = {}
        with contextlib.ExitStack() as hooks, torch.enable_grad():
            for name, (module, kind, _) in self.layers().items():
                if names is not None and name not in names:
                    continue

                def tap(
                    module: Any,
                    given: Any,
                    named: Any,
                    out: Any,
                    name: str = name,
                    kind: Layer = kind,
                ) -> Any:
                    incoming = (*given, *named.values())[0].detach()
                    zero = torch.zeros_like(out, requires_grad=True)
                    calls.setdefault(name, []).append((kind.taken(module, incoming), zero))
                    return out + zero

                handle = module.register_forward_hook(tap, with_kwargs=True)
                hooks.callback(handle.remove)
            values = self._columns(tensors, X)
        return calls, values

    def _rows(self, tensors: Sequence[Any], X: Inputs, whole: Sequence[int]) -> list[Part]:
        """Gradients in these tensors as they are, input by input."""
        import torch

        def one(chosen: Sequence[Any], k: int) -> Any:
            given = list(tensors)
            for place, tensor in zip(whole, chosen, strict=True):
                given[place] = tensor
            return self._columns(given, X[k : k + 1])[0]

        found: list[list[Any]] = [[] for _ in whole]
        for k in range(len(X)):
            chosen = [tensors[place].detach().clone().requires_grad_() for place in whole]
            with torch.enable_grad():
                values = one(chosen, k)
            rows = [
                torch.autograd.grad(
                    value, chosen, retain_graph=o + 1 < len(values), allow_unused=True
                )
                for o, value in enumerate(values)
            ]
            for place, tensor in enumerate(chosen):
                found[place].append(
                    torch.stack(
                        [
                            (torch.zeros_like(tensor) if row[place] is None else row[place]).ravel()
                            for row in rows
                        ]
                    )
                )
        return [Rows(place, torch.stack(rows)) for place, rows in zip(whole, found, strict=True)]


class TorchModule(TorchFunction):
    """module(X), or module(**X) for a dictionary; parameters are modules, state dictionaries or
    paths of files that hold one.

    Computed on a copy of the weights, buffers included, in the mode (training or not) that the
    module is in. Buffers, such as running means, and frozen parameters are those of the first
    parameters given, or of `fixed`; without it, parameters with others are refused.
    """

    def __init__(self, module: Any, params: Any, outputs: Outputs, fixed: Any = None) -> None:
        self.module, self.fixed = module, fixed is not None
        trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not trained:
            raise InputError("network: the module has no parameter that requires a gradient")
        self.names = [name for name, _ in trained]
        self._ids = {id(parameter): k for k, (_, parameter) in enumerate(trained)}
        everything = list(module.parameters())
        super().__init__(
            [tuple(parameter.shape) for _, parameter in trained],
            sum(parameter.numel() for parameter in everything),
            outputs,
            everything[0].device,
        )
        self.tied = {
            name
            for name, tensor in module.named_parameters(remove_duplicate=False)
            if id(tensor) in self._ids
        }
        self.own = {**dict(module.named_buffers()), **dict(module.state_dict(keep_vars=True))}
        given = params if fixed is None else fixed
        state = {**self.own, **({} if given is None else self._state("params", given))}
        self.static = {
            name: self._kept(tensor) for name, tensor in state.items() if name not in self.tied
        }
        self._layers = dict(self._looked_into())

    @staticmethod
    def serves(fn: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(fn, torch.nn.Module)

    def layers(self) -> dict[str, tuple[Any, Layer, dict[str, int]]]:
        return self._layers

    def _looked_into(self) -> Iterator[tuple[str, tuple[Any, Layer, dict[str, int]]]]:
        owners: dict[int, int] = {}
        for module in self.module.modules():
            for parameter in module._parameters.values():
                owners[id(parameter)] = owners.get(id(parameter), 0) + 1
        for name, module in self.module.named_modules():
            kind = layer_of(module)
            leaves = {
                word: self._ids[id(parameter)]
                for word, parameter in module._parameters.items()
                if id(parameter) in self._ids and owners[id(parameter)] == 1
            }
            if kind is not None and leaves:
                yield name, (module, kind, leaves)

    def leaves(self, name: str, params: Any) -> Leaves:
        state = self._state(name, params)
        missing = [word for word in self.names if word not in state]
        if missing:
            raise InputError(
                f"{name}: no tensor {missing[0]!r}, which the module has; give a module or its "
                "state_dict()"
            )
        unknown = [word for word in state if word not in self.own]
        if unknown:
            raise InputError(
                f"{name}: a tensor {unknown[0]!r}, which the module has not: weights of another "
                "architecture?"
            )
        changed = [
            k
            for k, t in self.static.items()
            if not self.fixed
            and k in state
            and t.is_floating_point()
            and not t.equal(self._kept(state[k]))
        ]
        if changed:
            raise InputError(f"{name}: {changed[0]!r}{OTHER_FUNCTION}")
        found = tuple(
            real_array(f"{name}[{word!r}]", state[word].detach().cpu().double().numpy())
            for word in self.names
        )
        check_shapes(name, [leaf.shape for leaf in found], self.shapes, self.names)
        halves = {str(state[word].dtype).rpartition(".")[2] for word in self.names} & HALVES.keys()
        if halves:
            self.notes = tuple(dict.fromkeys((*self.notes, half_note(halves.pop()))))
        return found

    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        return {**self.static, **dict(zip(self.names, self._tensors(leaves), strict=True))}

    def returned(self, tensors: Sequence[Any], X: Any) -> Any:
        import torch

        static = {name: tensor.clone() for name, tensor in self.static.items()}
        weights = dict(zip(self.names, tensors, strict=True))
        args, named = ((), X) if isinstance(X, dict) else ((X,), {})
        try:
            return torch.func.functional_call(self.module, {**static, **weights}, args, named)
        except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
            if "jvp" in str(error) or "forward AD" in str(error):
                raise
            mode = "training" if self.module.training else "evaluation"
            advice = " (try module.eval())" if self.module.training else ""
            words = words_of(Batch(X)) if named else words_of_tensor(X)
            raise InputError(
                f"network: the module fails on {words}, in {mode} mode{advice}: "
                f"{_first_line(error)}"
            ) from None

    def _kept(self, tensor: Any) -> Any:
        """A copy in the precision that is computed in."""
        tensor = tensor.detach().to(self.device).clone()
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _state(self, name: str, params: Any) -> dict[str, Any]:
        """Tensors by the module's names: of a module, a state dictionary or a file."""
        import torch

        if TorchModule.serves(params):
            return {**dict(params.named_buffers()), **dict(params.state_dict())}
        if is_path(params):
            params = read_weights(name, params)
        if not isinstance(params, Mapping) or not all(
            isinstance(tensor, (torch.Tensor, np.ndarray)) for tensor in params.values()
        ):
            raise InputError(
                f"{name}: expected a module, its state_dict() or the path of one, found "
                f"{type(params).__name__}"
            )
        return {
            self._renamed(str(word)): torch.as_tensor(tensor) for word, tensor in params.items()
        }

    def _renamed(self, word: str) -> str:
        """Names as wrappers and adapters write them, in the module's own words."""
        for prefix in ("_orig_mod.", "module."):
            if word not in self.own and word.removeprefix(prefix) in self.own:
                return word.removeprefix(prefix)
        stem, _, last = word.rpartition(".")
        adapter = f"{stem}.default.{last}"  # as PEFT leaves it out of its files
        return adapter if word not in self.own and adapter in self.own else word


class TorchTree(TorchFunction):
    """fn({'params': …, 'rest': …}, X) on tensors by name; opened(name, given) makes such a tree of
    arrays."""

    def __init__(
        self, fn: Any, params: Any, outputs: Outputs, opened: Callable[[str, Any], Any], fixed: Any
    ) -> None:
        import torch

        first = opened("params", params if fixed is None else fixed)
        self.fn, self.opened, self.fixed = fn, opened, fixed is not None
        self.names = list(first["params"])
        shapes = [array.shape for array in first["params"].values()]
        super().__init__(
            shapes, sum(int(np.prod(shape)) for shape in shapes), outputs, torch.device("cpu")
        )
        self.rest = first["rest"]

    def leaves(self, name: str, params: Any) -> Leaves:
        tree = self.opened(name, params)
        for word, array in tree["rest"].items():
            if not self.fixed and not np.array_equal(array, self.rest[word]):
                raise InputError(f"{name}: {word!r}{OTHER_FUNCTION}")
        found = tuple(
            real_array(f"{name}[{word!r}]", array) for word, array in tree["params"].items()
        )
        check_shapes(name, [leaf.shape for leaf in found], self.shapes, self.names)
        return found

    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        return {"params": dict(zip(self.names, leaves, strict=True)), "rest": self.rest}

    def returned(self, tensors: Sequence[Any], X: Any) -> Any:
        import torch

        rest = {
            word: torch.as_tensor(
                array, dtype=self.dtype if array.dtype.kind == "f" else None, device=self.device
            )
            for word, array in self.rest.items()
        }
        try:
            return self.fn({"params": dict(zip(self.names, tensors, strict=True)), "rest": rest}, X)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            words = words_of(Batch(X)) if isinstance(X, dict) else words_of_tensor(X)
            raise InputError(f"network: fails on {words}: {_first_line(error)}") from None


def _shaken(tensors: Sequence[Any]) -> list[Any]:
    """Weights nearby at which no tensor vanishes: behind a layer that starts at zero, such as the
    second of an adapter, all gradients vanish, and say nothing of who has them right."""
    rng = np.random.default_rng(0)
    found = []
    for tensor in tensors:
        size = float(tensor.square().mean().sqrt()) or max(1, np.prod(tensor.shape[1:])) ** -0.5
        noise = tensor.new_tensor(rng.standard_normal(tuple(tensor.shape)))
        found.append(tensor + SHAKEN * size * noise)
    return found


def words_of_tensor(X: Any) -> str:
    return f"{str(X.dtype).rpartition('.')[2]} inputs of shape {tuple(X.shape)}"


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
