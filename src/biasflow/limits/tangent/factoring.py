"""Gradients of a JAX function of one input, taken apart: which weights enter by one product, and
the two factors there.

A weight θ that meets the network in a single contraction z = ⟨θ, a⟩ has the gradient a ⊗ ∂f/∂z
(Novak, Sohl-Dickstein and Schoenholz 2022 call this structured derivatives). The function's own
list of primitive operations shows where that is so: it is evaluated operation by operation, with
tags on values that are a weight up to a permutation of its entries, and at each such product a zero
is added to z, whose gradient is the second factor.
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

    products: the leaf, the length of the factor that comes in and the shape of z, for every product
    met; other: leaves that are used in any other way; inputs: the factors that come in, in the
    order of `zeros`; numbers: of the values met, weights apart.
    """

    zeros: dict[int, Any] | None = None
    products: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
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
        self.products.append((leaf, math.prod(factor.shape), tuple(results[0].shape)))
        if self.zeros is not None and number in self.zeros:
            self.inputs.append(factor.ravel())
            return [(results[0] + self.zeros[number], None)]
        return [(results[0], None)]


def _factor(equation: Any, operands: Sequence[Any], marked: Sequence[int]) -> Any:
    """The vector that a weight is contracted with, or None where the operation is no such
    product."""
    if equation.primitive.name != "dot_general" or len(marked) != 1:
        return None
    contracted, batched = equation.params["dimension_numbers"]
    factor = operands[1 - marked[0]]
    length = math.prod(factor.shape[axis] for axis in contracted[1 - marked[0]])
    together = math.prod(factor.shape[axis] for axis in batched[1 - marked[0]])
    return factor if math.prod(factor.shape) == length and together == 1 else None


@dataclass(frozen=True)
class Plan:
    """How the gradient of one function falls apart: products taken apart by number, leaves
    differentiated as they are.

    length: of the numbers that one input needs: values met, forth and back, and the parts of its
    gradient.
    """

    closed: Any
    split: dict[int, tuple[int, ...]]
    whole: tuple[int, ...]
    length: int

    def features(self, leaves: Sequence[Any], x: Any) -> tuple[Any, Any, Any]:
        """f(w, x), the pairs of factors, and the gradients in whole leaves."""
        import jax
        import jax.numpy as jnp

        def evaluated(zeros: dict[int, Any], whole: dict[int, Any]) -> tuple[Any, Any]:
            given = [whole.get(k, leaf) for k, leaf in enumerate(leaves)]
            walk = Walk(zeros)
            (value,), _ = walk.run(self.closed, [*given, x], [*range(len(given)), None])
            return value, (value, walk.inputs)

        zeros = {number: jnp.zeros(shape, x.dtype) for number, shape in self.split.items()}
        whole = {k: leaves[k] for k in self.whole}
        (back, rows), (value, inputs) = jax.grad(evaluated, argnums=(0, 1), has_aux=True)(
            zeros, whole
        )
        pairs = [(a, back[number].ravel()) for a, number in zip(inputs, self.split, strict=True)]
        return value, pairs, [rows[k].ravel() for k in self.whole]


def plan(function: Callable[[Sequence[Any], Any], Any], leaves: Sequence[Any], x: Any) -> Plan:
    """The plan for function(leaves, x) -> number, from the shapes of its arguments alone."""
    import jax

    closed = jax.make_jaxpr(function)(leaves, x)
    looked = Walk()

    def look(*values: Any) -> Any:
        outputs, tags = looked.run(closed, values, [*range(len(leaves)), None])
        looked.other.update(tag for tag in tags if tag is not None)
        return outputs

    jax.eval_shape(look, *leaves, x)
    uses = [leaf for leaf, _, _ in looked.products]
    split, length = {}, 2 * looked.numbers
    for number, (leaf, incoming, shape) in enumerate(looked.products):
        cheaper = incoming + math.prod(shape) < math.prod(leaves[leaf].shape)
        if cheaper and uses.count(leaf) == 1 and leaf not in looked.other:
            split[number] = shape
            length += incoming + math.prod(shape)
    apart = {looked.products[number][0] for number in split}
    whole = tuple(k for k in range(len(leaves)) if k not in apart)
    return Plan(closed, split, whole, length + sum(math.prod(leaves[k].shape) for k in whole))
