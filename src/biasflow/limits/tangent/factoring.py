"""Gradients of a JAX function of one input, taken apart: which weights enter by one product, and
the two factors there.

A weight θ that meets the network in a single contraction z = ⟨θ, a⟩, at one place or at several (a
sequence, a convolution), has the gradient Σ a ⊗ ∂f/∂z over the places (Novak, Sohl-Dickstein and
Schoenholz 2022 call this structured derivatives). The function's own list of primitive operations
shows where that is so: it is evaluated operation by operation, with tags on values that are a
weight up to a permutation of its entries, and at each such product a zero is added to z, whose
gradient is the second factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .gradient_features import Part, Rows, Shared
from .windows import Window

INLINED = ("jit", "pjit")
"""Operations that are a function called: their own operations are looked at instead."""
REARRANGED = ("transpose", "reshape", "squeeze", "broadcast_in_dim", "copy")
"""Operations that only move entries, as long as the number of them stays."""


@dataclass
class Walk:
    """One evaluation. zeros: what to add at each product that is taken apart, by its number; None:
    only look.

    products: every product met of a leaf; other: leaves that are used in any other way; inputs: the
    factors that come in, in the order of `zeros`; numbers: of the values met, weights apart.
    """

    zeros: dict[int, Any] | None = None
    products: list[Product] = field(default_factory=list)
    other: set[int] = field(default_factory=set)
    inputs: list[Any] = field(default_factory=list)
    numbers: int = 0

    def run(
        self, closed: Any, values: Sequence[Any], tags: Sequence[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        """The outputs of a jaxpr, each with the leaf it is a rearrangement of, if it is one."""
        from jax.extend.core import Literal

        jaxpr = closed.jaxpr
        known = dict(zip(jaxpr.constvars, ((c, None) for c in closed.consts), strict=True))
        known.update(zip(jaxpr.invars, zip(values, tags, strict=True), strict=True))

        def read(atom: Any) -> tuple[Any, int | None]:
            return (atom.val, None) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            operands, marks = (
                zip(*(read(atom) for atom in equation.invars), strict=True)
                if equation.invars
                else ((), ())
            )
            results = self._step(equation, operands, marks)
            known.update(zip(equation.outvars, results, strict=True))
        outputs = [read(atom) for atom in jaxpr.outvars]
        return [value for value, _ in outputs], [tag for _, tag in outputs]

    def _step(
        self, equation: Any, operands: Sequence[Any], tags: Sequence[int | None]
    ) -> list[tuple[Any, int | None]]:
        name = equation.primitive.name
        if name in INLINED:
            return list(zip(*self.run(equation.params["jaxpr"], operands, tags), strict=True))
        bound = equation.primitive.get_bind_params(equation.params)
        # JAX before 0.10 hands functions apart
        functions, parameters = bound if isinstance(bound, tuple) else ((), bound)
        found = equation.primitive.bind(*functions, *operands, **parameters)
        results = list(found) if equation.primitive.multiple_results else [found]
        marked = [k for k, tag in enumerate(tags) if tag is not None]
        leaf = tags[marked[0]] if marked else None
        if (
            marked
            and name in REARRANGED
            and math.prod(operands[0].shape) == math.prod(results[0].shape)
        ):
            return [(results[0], leaf)]
        self.numbers += sum(math.prod(variable.aval.shape) for variable in equation.outvars)
        if not marked:
            return [(value, None) for value in results]
        factor = _factor(equation, operands, marked)
        if factor is None or leaf is None:
            self.other.update(tag for tag in tags if tag is not None)
            return [(value, None) for value in results]
        number = len(self.products)
        incoming, order, window, groups = factor
        shapes = tuple(incoming.shape), tuple(results[0].shape)
        self.products.append(Product(leaf, *shapes, order, results[0].dtype, window, groups))
        if self.zeros is not None and number in self.zeros:
            self.inputs.append(incoming)
            return [(results[0] + self.zeros[number], None)]
        return [(results[0], None)]


def _factor(equation: Any, operands: Sequence[Any], marked: Sequence[int]) -> Any:
    """What a weight is contracted with, the axes of z that are places, how the weight moves over
    what comes in, and groups; None where the operation is no such product."""
    if len(marked) != 1:
        return None
    if equation.primitive.name == "conv_general_dilated":
        return _image(equation, operands) if marked[0] == 1 else None
    if equation.primitive.name != "dot_general":
        return None
    contracted, batched = equation.params["dimension_numbers"]
    side = 1 - marked[0]
    factor = operands[side]
    if math.prod(factor.shape[axis] for axis in batched[side]) > 1:
        return None
    free = [k for k in range(factor.ndim) if k not in contracted[side]]
    places = factor.transpose([*free, *contracted[side]])
    count = math.prod(factor.shape[k] for k in free)
    rest = len(free) - len(batched[side])
    ndim = len(batched[0]) + sum(
        operand.ndim - len(batched[0]) - len(contracted[0]) for operand in operands
    )
    first = len(batched[0])
    axes = tuple(range(first, first + rest)) if side == 0 else tuple(range(ndim - rest, ndim))
    return places.reshape(count, -1), (*range(first), *axes), None, 1


def _image(equation: Any, operands: Sequence[Any]) -> Any:
    """The same of a convolution of one input, (1, C, …)."""
    settings = equation.params
    numbers = settings["dimension_numbers"]
    image, kernel = operands
    if settings["batch_group_count"] != 1 or image.shape[numbers.lhs_spec[0]] != 1:
        return None
    window = Window(
        tuple(kernel.shape[axis] for axis in numbers.rhs_spec[2:]),
        tuple(settings["window_strides"]),
        tuple(settings["rhs_dilation"]),
        tuple(tuple(pair) for pair in settings["padding"]),
        tuple(settings["lhs_dilation"]),
    )
    places = numbers.out_spec[0], *numbers.out_spec[2:]
    return image.transpose(numbers.lhs_spec), places, window, settings["feature_group_count"]


@dataclass(frozen=True)
class Product:
    """One product of a weight. incoming: shape of what comes in, (P, p), or (1, C, …) under a
    window; places: axes of z, of this shape, that are places, in their order."""

    leaf: int
    incoming: tuple[int, ...]
    shape: tuple[int, ...]
    places: tuple[int, ...]
    dtype: Any
    window: Window | None
    groups: int

    def laid_out(self, back: Any) -> Any:
        """∂f/∂z as (q, P)."""
        others = [k for k in range(len(self.shape)) if k not in self.places]
        count = math.prod(self.shape[k] for k in self.places)
        return back.transpose([*others, *self.places]).reshape(-1, count)

    def formed(self, incoming: Any, back: Any) -> Any:
        """The gradient in the weight, in an order of its own."""
        import jax.numpy as jnp

        G = self.laid_out(back)
        A = incoming.T if self.window is None else self.window.unfolded(incoming, jnp)[0]  # (p, P)
        A, G = (part.reshape(self.groups, -1, part.shape[-1]) for part in (A, G))
        return jnp.einsum("gqP,gpP->gqp", G, A).ravel()


@dataclass(frozen=True)
class Unit:
    """One leaf. products: those that it is in, by number; without any its gradient is taken as it
    is. formed: whether its gradient is formed of the products' factors at once. need: numbers that
    the features of one input hold."""

    leaf: int
    products: tuple[int, ...]
    formed: bool
    need: int


@dataclass(frozen=True)
class Plan:
    """How the gradient of one function falls apart. passing: numbers of one input on its way
    through the network and back; convolves: whether a weight moves over an image; dtype: of the
    weights."""

    closed: Any
    products: dict[int, Product]
    units: tuple[Unit, ...]
    passing: int
    convolves: bool
    dtype: Any

    def features(self, leaves: Sequence[Any], x: Any, chosen: Sequence[int]) -> tuple[Any, Any]:
        """f(w, x) (m,), and of each chosen unit what comes in and back, (P, p) or (calls, C, …) and
        (m, q, P), or nothing and its gradients (m, s). Outputs go back one after the other."""
        import jax
        import jax.numpy as jnp

        units = [self.units[k] for k in chosen]
        apart = sorted(number for unit in units for number in unit.products)

        def evaluated(zeros: dict[int, Any], whole: dict[int, Any]) -> tuple[Any, Any]:
            given = [whole.get(k, leaf) for k, leaf in enumerate(leaves)]
            walk = Walk(zeros)
            inputs = jax.tree_util.tree_leaves(x)
            tags = [*range(len(given)), *(None for _ in inputs)]
            (value,), _ = walk.run(self.closed, [*given, *inputs], tags)
            return value, dict(zip(apart, walk.inputs, strict=True))

        zeros = {k: jnp.zeros(self.products[k].shape, self.products[k].dtype) for k in apart}
        whole = {unit.leaf: leaves[unit.leaf] for unit in units if not unit.products}
        value, pull, inputs = jax.vjp(evaluated, zeros, whole, has_aux=True)

        def of_output(cotangent: Any) -> list[Any]:
            back, rows = pull(cotangent)
            return [
                self._kept(unit, inputs, back) if unit.products else rows[unit.leaf].ravel()
                for unit in units
            ]

        found = jax.lax.map(of_output, jnp.eye(value.size, dtype=value.dtype))
        came = [
            ()
            if unit.formed or not unit.products
            else jnp.concatenate([inputs[k] for k in unit.products])
            for unit in units
        ]
        return value, list(zip(came, found, strict=True))

    def _kept(self, unit: Unit, inputs: Any, back: Any) -> Any:
        import jax.numpy as jnp

        if unit.formed:
            return sum(self.products[k].formed(inputs[k], back[k]) for k in unit.products)
        return jnp.concatenate([self.products[k].laid_out(back[k]) for k in unit.products], axis=1)

    def part(self, unit: Unit, came: Any, back: Any) -> Part:
        """What was found for a block of inputs, as a part."""
        if unit.formed or not unit.products:
            return Rows(unit.leaf, back)
        first = self.products[unit.products[0]]
        if first.window is None:
            return Shared(unit.leaf, came, back)
        window = first.window
        return Shared(unit.leaf, came, back, window.patches, window.channel, groups=first.groups)


def plan(
    function: Callable[[Sequence[Any], Any], Any], leaves: Sequence[Any], x: Any, dtype: Any
) -> Plan:
    """The plan for function(leaves, x) -> (m,), from the shapes of its arguments alone."""
    import jax

    closed = jax.make_jaxpr(function)(leaves, x)
    inputs = jax.tree_util.tree_leaves(x)
    looked = Walk()

    def look(*values: Any) -> Any:
        tags = [*range(len(leaves)), *(None for _ in inputs)]
        outputs, tags = looked.run(closed, values, tags)
        looked.other.update(tag for tag in tags if tag is not None)
        return outputs

    (value,) = jax.eval_shape(look, *leaves, *inputs)
    m = math.prod(value.shape)
    products = dict(enumerate(looked.products))
    units = []
    for leaf in _in_order(len(leaves), products):
        met = {k: one for k, one in products.items() if one.leaf == leaf}
        size = math.prod(leaves[leaf].shape)
        need = sum(math.prod(one.incoming) + m * math.prod(one.shape) for one in met.values())
        if not met or leaf in looked.other:
            units.append(Unit(leaf, (), False, m * size))
            continue
        kinds = {(one.window, one.groups, one.incoming[1:]) for one in met.values()}
        formed = m * size <= need or len(kinds) > 1
        units.append(Unit(leaf, tuple(met), formed, m * size if formed else need))
    convolves = any(one.window is not None for one in products.values())
    return Plan(closed, products, tuple(units), looked.numbers, convolves, dtype)


def _in_order(leaves: int, products: dict[int, Product]) -> list[int]:
    """Leaves in the order in which the network meets them in products, the others first."""
    met = list(dict.fromkeys(one.leaf for one in products.values()))
    return [*(k for k in range(leaves) if k not in met), *met]
