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
        incoming, order = factor
        self.products.append(
            Product(leaf, tuple(incoming.shape), order, tuple(results[0].shape), results[0].dtype)
        )
        if self.zeros is not None and number in self.zeros:
            self.inputs.append(incoming)
            return [(results[0] + self.zeros[number], None)]
        return [(results[0], None)]


def _factor(equation: Any, operands: Sequence[Any], marked: Sequence[int]) -> Any:
    """What a weight is contracted with at every place, (P, p), and the axes of z that are places;
    None where the operation is no such product."""
    if len(marked) != 1:
        return None
    if equation.primitive.name == "conv_general_dilated":
        return _patches(equation, operands) if marked[0] == 1 else None
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
    return places.reshape(count, -1), (*range(first), *axes)


def _patches(equation: Any, operands: Sequence[Any]) -> Any:
    """The same of a convolution of one input: what the kernel meets at every place."""
    import jax

    settings = equation.params
    numbers = settings["dimension_numbers"]
    image, kernel = operands
    groups = settings["feature_group_count"], settings["batch_group_count"]
    if groups != (1, 1) or image.shape[numbers.lhs_spec[0]] != 1:
        return None
    # patches are laid out with the channels first
    image = image.transpose(numbers.lhs_spec)
    found = jax.lax.conv_general_dilated_patches(
        image,
        tuple(kernel.shape[axis] for axis in numbers.rhs_spec[2:]),
        settings["window_strides"],
        settings["padding"],
        settings["lhs_dilation"],
        settings["rhs_dilation"],
    )
    length = found.shape[1]
    return found[0].reshape(length, -1).T, (numbers.out_spec[0], *numbers.out_spec[2:])


@dataclass(frozen=True)
class Product:
    """One product of a weight: incoming (P, p); axes of z that are places, in their order."""

    leaf: int
    incoming: tuple[int, ...]
    places: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: Any

    def laid_out(self, back: Any) -> Any:
        """∂f/∂z (m, *shape) as (m, P, q)."""
        others = [k for k in range(len(self.shape)) if k not in self.places]
        order = [0, *(1 + k for k in (*self.places, *others))]
        return back.transpose(order).reshape(len(back), self.incoming[0], -1)


@dataclass(frozen=True)
class Plan:
    """How the gradient of one function falls apart: products taken apart by number, leaves
    differentiated as they are.

    length: of the numbers that one input needs: values met, forth and back, and the parts of its
    gradient.
    """

    closed: Any
    split: dict[int, Product]
    whole: tuple[int, ...]
    length: int

    @property
    def leaves(self) -> tuple[int, ...]:
        """Of the products taken apart."""
        return tuple(product.leaf for product in self.split.values())

    def features(self, leaves: Sequence[Any], x: Any) -> tuple[Any, Any, Any]:
        """f(w, x) (m,), the pairs of factors (P, p) and (m, P, q), and gradients (m, s) in whole
        leaves."""
        import jax
        import jax.numpy as jnp

        def evaluated(zeros: dict[int, Any], whole: dict[int, Any]) -> tuple[Any, Any]:
            given = [whole.get(k, leaf) for k, leaf in enumerate(leaves)]
            walk = Walk(zeros)
            inputs = jax.tree_util.tree_leaves(x)
            tags = [*range(len(given)), *(None for _ in inputs)]
            (value,), _ = walk.run(self.closed, [*given, *inputs], tags)
            return value, walk.inputs

        zeros = {k: jnp.zeros(one.shape, one.dtype) for k, one in self.split.items()}
        whole = {k: leaves[k] for k in self.whole}
        value, pull, inputs = jax.vjp(evaluated, zeros, whole, has_aux=True)
        back, rows = jax.vmap(pull)(jnp.eye(value.size, dtype=value.dtype))
        pairs = [
            (a, one.laid_out(back[number]))
            for a, (number, one) in zip(inputs, self.split.items(), strict=True)
        ]
        return value, pairs, [rows[k].reshape(value.size, -1) for k in self.whole]


def plan(function: Callable[[Sequence[Any], Any], Any], leaves: Sequence[Any], x: Any) -> Plan:
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
    uses = [product.leaf for product in looked.products]
    split, length = {}, (1 + m) * looked.numbers
    for number, product in enumerate(looked.products):
        need = math.prod(product.incoming) + m * math.prod(product.shape)
        cheaper = need < m * math.prod(leaves[product.leaf].shape)
        if cheaper and uses.count(product.leaf) == 1 and product.leaf not in looked.other:
            split[number] = product
            length += need
    apart = {product.leaf for product in split.values()}
    whole = tuple(k for k in range(len(leaves)) if k not in apart)
    return Plan(closed, split, whole, length + m * sum(math.prod(leaves[k].shape) for k in whole))
