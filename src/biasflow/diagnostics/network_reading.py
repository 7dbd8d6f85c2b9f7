"""Which function a network is: Σ_ja_j(⟨w_j, x⟩ + b_j)₊ with the tensors that are a, w and b, or a
positively homogeneous function of some degree. Found by evaluating it, not from names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.results import Limit
from ..errors import AssumptionError, InputError
from ..limits.homogeneous import HOMOGENEOUS, Homogeneity, measured_homogeneity
from ..limits.tangent.functions import Leaves
from ..limits.tangent.inputs import Batch, Inputs
from ..limits.tangent.tangent_kernels import MEMORY, Tangent, tangent
from ..models import Model, Particles

TRIED = 24
"""Random inputs at which a network is compared with what it is taken for."""
SHAKEN = 0.3
"""By how much of their size weights are moved, to look at the function elsewhere too: an output
bias that is zero, or a slope that no input sees, shows there."""
SHAKES = 3
"""Other weights that are tried."""
SAME = {True: 1e-9, False: 1e-4}
"""Error of a prediction over the sum of the moduli of its terms, in double precision and in
single."""
SCALE_FREE = 1e-6
"""|⟨w_l, ∇_lf⟩| over |f| below which a tensor's size does not matter to the network."""
PLAIN = 1e-9
"""How far from one a constant factor may be that is taken for one: what SAME can tell."""
SEED = 61


@dataclass(frozen=True, eq=False)
class TwoLayerRead:
    """factor·Σ_ja_j(⟨w_j, x̃⟩)₊: a (m,), W (m, d+1) with biases as their last column, or (m, d)
    without any."""

    a: Array
    W: Array
    biased: bool
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class HomogeneousRead:
    """A function of degree L in its weights, and where it is looked at."""

    at: Tangent
    homogeneity: Homogeneity


def read_classifier(
    network: Any, params: Any, X: Inputs, memory: float = MEMORY
) -> TwoLayerRead | HomogeneousRead:
    """What `network` is as a function of its weights, or an AssumptionError that says what it is
    not, and what to change."""
    plain = None if params is not None else _given_weights(network, X)
    if plain is not None:
        return plain
    if params is None:
        params = _own_weights(network)
    at = tangent(network, params, X, "all", memory)
    outputs = at.predictions(X[:1]).size
    if outputs > 1:
        raise InputError(
            f"network: {outputs} outputs, and a margin of labels ±1 is that of one: for two "
            "classes wrap it in a function, or a module, that returns their difference f₁ − f₀, "
            "for more in one that returns one class less another"
        )
    at = tangent(network, params, X, None, memory)
    others = [_shaken(at.leaves, key) for key in range(SHAKES)]
    return _two_layers(at, X, others) or _homogeneous(at, X, others)


def _given_weights(network: Any, X: Inputs) -> TwoLayerRead | None:
    """A network that is its weights: `Particles`, a limit that has them, or (a, W)."""
    if isinstance(network, Limit):
        network = network.value
    if isinstance(network, Particles):
        size = np.sqrt(network.shares / 2)
        return _fitting(network.signs * size, size[:, None] * network.directions, X)
    if isinstance(network, tuple) and len(network) == 2 and not callable(network):
        a, W = (np.asarray(part) for part in network)
        if a.dtype.kind not in "fiu" or W.dtype.kind not in "fiu":
            raise InputError("network: expected numbers in (a, W)")
        if a.ndim != 1 or W.ndim != 2 or W.shape[0] != a.size:
            raise InputError(
                f"network: expected (a, W) of shapes (m,) and (m, d) or (m, d+1), found {a.shape} "
                f"and {W.shape}"
            )
        return _fitting(a.astype(float), W.astype(float), X)
    return None


def _fitting(a: Array, W: Array, X: Inputs) -> TwoLayerRead:
    d = X.shape[1] if not isinstance(X, Batch) and X.ndim == 2 else -1
    if d < 0 or W.shape[1] not in (d, d + 1):
        raise InputError(
            f"X: inputs with one of {W.shape[1]} columns, or of {W.shape[1] - 1} where the "
            f"last weights are biases, are expected; found {getattr(X, 'shape', 'a dictionary')}"
        )
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(W))):
        raise InputError("network: weights that are not finite")
    return TwoLayerRead(a, W, W.shape[1] == d + 1)


def _own_weights(network: Any) -> Any:
    """Of a network that carries its weights: itself."""
    linen = str(getattr(type(network), "__mro__", ())).find("flax.linen.module.Module") >= 0
    if (
        isinstance(network, Model)
        or linen
        or not (hasattr(network, "parameters") or _is_module(network))
    ):
        raise InputError(
            f"params: a {type(network).__name__} does not carry its weights; give them as params="
        )
    return network


def _is_module(network: Any) -> bool:
    import sys

    for package, name in (("equinox", "Module"), ("flax.nnx", "Module"), ("keras", "Model")):
        module = sys.modules.get(package)
        if module is not None and isinstance(network, getattr(module, name)):
            return True
    return False


def _shaken(leaves: Leaves, key: int) -> Leaves:
    """Weights nearby, none of them zero; further away each time."""
    rng = np.random.default_rng([SEED, key])
    sizes = [float(np.sqrt(np.mean(leaf**2))) for leaf in leaves]
    usual = max(sizes) or 1.0
    return tuple(
        leaf + (key + 1) * SHAKEN * (size or usual) * rng.standard_normal(leaf.shape)
        for leaf, size in zip(leaves, sizes, strict=True)
    )


def _inputs_like(X: Array) -> Array:
    """Random inputs of the sizes of X, column by column."""
    rng = np.random.default_rng([SEED, SHAKES])
    size = np.sqrt(np.mean(X.astype(float) ** 2, axis=0))
    drawn = rng.standard_normal((TRIED, X.shape[1])) * np.where(size > 0, size, 1.0)
    return np.vstack([drawn, X[:TRIED].astype(float)])


Roles = tuple[int, int, int | None, bool]
"""Numbers of the tensors W, a and b, and whether W is (d, m)."""


def _two_layers(at: Tangent, X: Inputs, others: list[Leaves]) -> TwoLayerRead | None:
    """The roles of the tensors with which the network is that function, here and at other
    weights; None where there are none."""
    if isinstance(X, Batch) or X.ndim != 2 or not 2 <= len(at.leaves) <= 3:
        return None
    inputs = _inputs_like(X)
    tolerance = SAME[bool(getattr(at.function, "double", True))]
    points = [*others, at.leaves]
    seen = [at.function.predictions(leaves, inputs) for leaves in points]
    for roles in _possible_roles(at.leaves, X.shape[1]):
        factor = _factor(roles, points, seen, inputs, tolerance)
        if factor is not None:
            a, W = _weights(roles, at.leaves)
            exact = 1.0 if abs(abs(factor) - 1) <= PLAIN else abs(factor)
            return TwoLayerRead(np.sign(factor) * a, W, roles[2] is not None, exact)
    return None


def _possible_roles(leaves: Leaves, d: int) -> Iterator[Roles]:
    for order in itertools.permutations(range(len(leaves))):
        weights, outer = order[:2]
        bias = order[2] if len(order) == 3 else None
        m = leaves[outer].size
        if leaves[outer].shape not in ((m,), (1, m), (m, 1)):
            continue
        if bias is not None and leaves[bias].shape not in ((m,), (1, m), (m, 1)):
            continue
        for turned in (False, True):
            if leaves[weights].shape == ((d, m) if turned else (m, d)):
                yield weights, outer, bias, turned


def _weights(roles: Roles, leaves: Leaves) -> tuple[Array, Array]:
    weights, outer, bias, turned = roles
    W = leaves[weights].T if turned else leaves[weights]
    if bias is not None:
        W = np.column_stack([W, leaves[bias].ravel()])
    return leaves[outer].ravel().astype(float), W.astype(float)


def _factor(
    roles: Roles, points: list[Leaves], seen: list[Array], inputs: Array, tolerance: float
) -> float | None:
    """The constant by which the network is the two-layer function, at all points."""
    factor: float | None = None
    for leaves, values in zip(points, seen, strict=True):
        a, W = _weights(roles, leaves)
        Z = np.column_stack([inputs, np.ones(len(inputs))]) if roles[2] is not None else inputs
        own = np.maximum(Z @ W.T, 0.0) @ a
        size = np.abs(Z) @ np.abs(W).T @ np.abs(a)
        if factor is None:
            if not np.any(own / size):
                return None
            factor = float((own / size) @ (values / size) / np.sum((own / size) ** 2))
            if not (np.isfinite(factor) and factor):
                return None
        if np.any(np.abs(values - factor * own) > tolerance * abs(factor) * size):
            return None
    return factor


def _homogeneous(at: Tangent, X: Inputs, others: list[Leaves]) -> HomogeneousRead:
    found = measured_homogeneity(at, X)
    points = [Tangent(at.function, leaves, at.memory) for leaves in others]
    elsewhere = [measured_homogeneity(point, X) for point in points]
    tolerance = max(HOMOGENEOUS, SAME[bool(getattr(at.function, "double", True))] * 10)
    degrees = np.array([one.degree for one in (found, *elsewhere)])
    worst = max((found, *elsewhere), key=lambda one: one.defect)
    if worst.defect > tolerance or np.ptp(degrees) > tolerance * abs(degrees[0]):
        repaired = _repaired_without(points[0], X, tolerance)
        told = f": it would hold without {repaired}" if repaired else ""
        raise AssumptionError(
            "homogeneous",
            "f(c·weights) = c^L·f(weights) fails, at these weights or near them, by "
            f"{worst.defect:.2g}, so that no margin of it is normalised{told}. An output bias, "
            "biases beyond the first layer, normalisation layers and smooth activations do that; "
            "leave them out (bias=False). The output bias of one hidden layer is a neuron "
            "(⟨0, x⟩ + 1)₊ as well: give bf.certify the weights (a, W) with it",
        )
    if found.degree <= 0:
        raise AssumptionError(
            "homogeneous", f"the degree {found.degree:.3g} is not positive: nothing grows"
        )
    _refuse_scale_free(points[0], X)
    return HomogeneousRead(at, found)


def _repaired_without(at: Tangent, X: Inputs, tolerance: float) -> str:
    """The tensor, the smallest first, without which the network would be homogeneous; empty where
    no single one is, or nothing that depends on the inputs would be left."""
    for k in sorted(range(len(at.leaves)), key=lambda k: at.leaves[k].size):
        without = tuple(np.zeros_like(leaf) if i == k else leaf for i, leaf in enumerate(at.leaves))
        point = Tangent(at.function, without, at.memory)
        if np.ptp(point.predictions(X)) and measured_homogeneity(point, X).defect <= tolerance:
            return str(at.function.names[k])
    return ""


def _refuse_scale_free(at: Tangent, X: Inputs) -> None:
    """A tensor whose size does not matter is normalised away, and the margin problem has no KKT
    point with it: ⟨w_l, ∇_lf⟩ = 0 asks for w_l = 0."""
    values = at.predictions(X)
    size = float(np.linalg.norm(values))
    for k, name in enumerate(at.function.names):
        alone = tuple(leaf if i == k else np.zeros_like(leaf) for i, leaf in enumerate(at.leaves))
        slopes = at.function.pushforward(at.leaves, X, alone)
        if float(np.linalg.norm(slopes)) <= SCALE_FREE * size:
            raise AssumptionError(
                "homogeneous",
                f"the size of {name} does not matter to the network: a normalisation layer, or a "
                "tensor that is not used; the margin problem has no KKT point there, leave the "
                "layer out",
            )
