"""What is seen of a network at one set of weights, and of two beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._core.arguments import Array
from ..errors import InputError
from ..limits.tangent.inputs import Inputs
from ..limits.tangent.tangent_kernels import Tangent
from .kernel_machines import machine_of

LARGEST_KERNEL_ENTRY = 1e150
"""Entries of kernels beyond which products of their norms overflow."""


@dataclass(frozen=True, eq=False)
class Looked:
    """What is looked at of a network. groups: the layer of every leaf, by number, or None where it
    is left out; layers: their names; outputs: whether kernels of single outputs are kept; full:
    outputs between which the whole kernel is looked at; fitted: inputs that the kernel machine is
    fitted on."""

    groups: tuple[int | None, ...]
    layers: tuple[str, ...]
    outputs: bool = False
    full: Tangent | None = None
    fitted: Inputs | None = None

    def chosen(self, leaves: Sequence[Array], layer: int | None = None) -> list[Array]:
        """The tensors looked at, or those of one layer."""
        return [
            leaf
            for leaf, group in zip(leaves, self.groups, strict=True)
            if group is not None and layer in (None, group)
        ]


@dataclass(frozen=True, eq=False)
class View:
    """What is seen of a network at one set of weights, on inputs X: the kernel summed over outputs,
    predictions and ⟨w, ∇f⟩ (n, m), kernels by layer and by output, and between some outputs.
    fitted: predictions on the inputs that the kernel machine is fitted on, (n', m); machine: of a
    start, what makes its predictions on X of what it fits there, (n·m, n'·m)."""

    at: Tangent
    kernel: Array
    values: Array
    radial: Array
    weights: Sequence[Array]
    by_layer: Array
    by_output: Array
    full: Array | None = None
    fitted: Array | None = None
    machine: Array | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """A start and an end on the same inputs. dots: Σ_o ⟨∇f_o(w₀, x), ∇f_o(w, x)⟩; linear: f(w₀, x)
    + ⟨∇f(w₀, x), w − w₀⟩, (n, m). labels: (n, c); classes: (n,), where labels are numbers of
    outputs. machine: predictions of the kernel machine at w₀ through the end's predictions where it
    is fitted, (n, m)."""

    start: View
    end: View
    dots: Array
    linear: Array
    labels: Array | None
    classes: Array | None = None
    dots_by_layer: Array | None = None
    dots_by_output: Array | None = None
    machine: Array | None = None

    def layer(self, k: int, looked: Looked) -> Pair:
        """The same of one layer's weights."""
        start, end = (
            replace(v, kernel=v.by_layer[k], weights=looked.chosen(v.at.leaves, k), full=None)
            for v in (self.start, self.end)
        )
        assert self.dots_by_layer is not None
        return replace(self, start=start, end=end, dots=self.dots_by_layer[k])

    def output(self, k: int) -> Pair:
        """The same of one output."""
        start, end = (
            replace(
                v,
                kernel=v.by_output[k],
                values=v.values[:, k : k + 1],
                radial=v.radial[:, k : k + 1],
                full=None,
            )
            for v in (self.start, self.end)
        )
        assert self.dots_by_output is not None
        labels = self.labels
        if labels is not None and labels.shape[1] == self.linear.shape[1]:
            labels = labels[:, k : k + 1]
        return replace(
            self,
            start=start,
            end=end,
            dots=self.dots_by_output[k],
            linear=self.linear[:, k : k + 1],
            labels=labels,
            classes=None,
            machine=None if self.machine is None else self.machine[:, k : k + 1],
        )


def view(at: Tangent, X: Inputs, looked: Looked, first: bool = False) -> View:
    """Kernels, predictions and radial derivatives; of a start its kernel machine too."""
    by_layer, by_output = at.kernels(X, None, looked.groups, looked.outputs)
    kernel = np.sum(by_layer, axis=0) if len(by_layer) > 1 else by_layer[0]
    largest = float(np.max(np.abs(kernel)))
    if largest > LARGEST_KERNEL_ENTRY:
        raise InputError(
            f"network: gradients of length up to {np.sqrt(largest):.3g}, whose kernel's norm "
            "overflows; training diverged?"
        )
    full = None
    if looked.full is not None:
        some = Tangent(looked.full.function, at.leaves, at.memory).full_kernel(X)
        m = len(some) // len(X)
        full = some.reshape(len(X), m, len(X), m)
    return View(
        at,
        kernel,
        at.function.values(at.leaves, X),
        _pushed(at, X, at.leaves),
        looked.chosen(at.leaves),
        by_layer,
        by_output,
        full,
        None if looked.fitted is None else at.function.values(at.leaves, looked.fitted),
        machine_of(at, X, looked.fitted) if first and looked.fitted is not None else None,
    )


def pair(
    start: View,
    end: View,
    X: Inputs,
    looked: Looked,
    labels: Array | None,
    classes: Array | None,
) -> Pair:
    by_leaf, by_output = start.at.dots(end.at, X, looked.groups)
    by_layer = np.zeros((len(looked.layers), len(X)))
    for leaf, group in enumerate(looked.groups):
        if group is not None:
            by_layer[group] += by_leaf[leaf]
    step = tuple(b - a for a, b in zip(start.at.leaves, end.at.leaves, strict=True))
    linear = start.values + _pushed(start.at, X, step)
    machine = None
    if start.machine is not None and start.fitted is not None and end.fitted is not None:
        learned = start.machine @ np.ravel(end.fitted - start.fitted)
        machine = start.values + learned.reshape(start.values.shape)
    dots = np.sum(by_layer, axis=0)
    return Pair(start, end, dots, linear, labels, classes, by_layer, by_output, machine)


def _pushed(at: Tangent, X: Inputs, direction: tuple[Array, ...]) -> Array:
    return np.concatenate(
        [at.function.slopes(at.leaves, X[block], direction) for block in at.blocks(X)]
    )
