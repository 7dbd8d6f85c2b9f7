"""What gradient flow conserves, model by model: formulas, and the fields that they are held
against.

Every formula is kept by θ̇ = −Σ_i c_i(t)∇f(θ, x_i) for any inputs and any c, hence for all data
and losses, flows and stochastic flows alike (Marcotte, Gribonval and Peyré 2023). A layer l of a
network moves by Ẇ_l = −δ_lh_{l−1}ᵀ, and h_l ∘ δ_l is the same seen from below and from above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from .._core.arguments import Array, positive_int, real_array
from .._core.trees import leaf_map, leaves
from ..errors import InputError, RefusedError
from ..models import (
    DeepNetwork,
    DeepParams,
    DiagonalNetwork,
    DiagonalParams,
    FactorParams,
    FixedDirections,
    FixedDirectionsParams,
    MatrixFactorisation,
    Model,
    ProductNetwork,
    ProductParams,
    SignedTwoLayer,
    SignedTwoLayerParams,
    TwoLayer,
    TwoLayerParams,
)
from .lie_spans import exact

LARGEST_INPUT = 1000
"""Inputs are drawn from whole numbers up to this size: their products with gates stay exact."""
COUNTED_SLOPE = 3.0
"""Of leaky ReLUs while laws are counted: whole numbers stay whole, and what brackets span is the
same for all slopes but exceptional ones, such as 0 and 1."""
FRUITLESS_DRAWS = 12
"""Inputs in a row whose gradients lie in the span of those before; then no more are drawn."""
BESIDE_EDGE = 2.0**-12
"""Distance from an edge, in units of the inputs, of those on its sides."""
ROUNDED_TO = 2.0**-24
"""To which these are rounded, so that exact numbers stay short."""


@dataclass(frozen=True, eq=False)
class Law:
    """A formula that gradient flow conserves, one number for every label.

    formula: in words and symbols. degree: k with C(cθ) = c^k·C(θ). quadratic: whether C is a
    quadratic form, so that a step of descent changes it by step²·C(∇L). values: parameters to the
    numbers (K,); sizes: parameters to what each is small or large against, the sum of the absolute
    terms of which it is made (K,).
    """

    formula: str
    labels: tuple[str, ...]
    degree: int
    quadratic: bool
    values: Callable[[Any], Any]
    sizes: Callable[[Any], Array]

    def __repr__(self) -> str:
        return f"Law({self.formula!r}, {len(self.labels)} numbers of degree {self.degree})"


@dataclass(frozen=True, eq=False)
class System:
    """A model as the counting of laws sees it.

    shape: parameters of any values, for their shapes and types. positive: leaf by leaf, whether
    weights are positive where the model is used. gradient: parameters and an input (1, d) to the
    gradient of one output. outputs: how many there are. degree: of the fields, as polynomials.
    laws: the formulas at these parameters. edges: where gates decide which polynomials, the
    hyperplanes ⟨w, x⟩ + b = 0 at which those of the first layer change, (m, d) and (m,).
    """

    shape: Any
    positive: tuple[bool, ...]
    gradient: Callable[[Any, Array, int], Any]
    inputs: int
    degree: int
    laws: Callable[[Any], tuple[Law, ...]]
    outputs: int = 1
    edges: Callable[[Any], tuple[Any, Any]] | None = None

    def inputs_drawn(self, rng: np.random.Generator, params: Any) -> Iterator[Array]:
        """Random inputs, whole numbers, without end: anywhere, and in turn on both sides of every
        edge, since a cone between two edges may be narrow."""
        normals, offsets = self._unit_edges(params)
        count = 0
        while True:
            yield rng.integers(-LARGEST_INPUT, LARGEST_INPUT + 1, (1, self.inputs)).astype(float)
            if len(normals):
                normal, offset = normals[count % len(normals)], offsets[count % len(normals)]
                point = rng.standard_normal(self.inputs) + offset * normal
                point = point - (point @ normal + offset) * normal
                for side in (BESIDE_EDGE, -BESIDE_EDGE):
                    yield np.rint((point + side * normal) / ROUNDED_TO)[None] * ROUNDED_TO
                count += 1

    @property
    def fruitless(self) -> int:
        """Inputs in a row that add nothing, after which no more are drawn."""
        if self.edges is None or self.inputs == 1:
            return FRUITLESS_DRAWS
        return FRUITLESS_DRAWS + 6 * len(self.edges(self.shape)[1])

    def _unit_edges(self, params: Any) -> tuple[Array, Array]:
        if self.edges is None:
            return np.zeros((0, self.inputs)), np.zeros(0)
        weights, offsets = (np.asarray(part, float) for part in self.edges(params))
        lengths = np.linalg.norm(weights, axis=1)
        lengths = np.where(lengths > 0, lengths, 1.0)
        return weights / lengths[:, None], offsets / lengths


def system_of(model: Any, params: Any, dim: int | None) -> System:
    """What is known of a model, or of the checkpoint of a fully connected network."""
    if isinstance(model, Mapping):
        return _dense(model)
    for kind, builder in BUILDERS:
        if type(model) is kind:
            return builder(model, _dimension(params, dim))
    if isinstance(model, Model):
        return _unknown(model, params, dim)
    raise InputError(
        "model: expected a model, a checkpoint of a fully connected network by name of its "
        f"tensors, or a function in JAX with params and X, found {type(model).__name__}"
    )


def _dimension(params: Any, dim: int | None) -> int | None:
    if dim is not None:
        return positive_int("dim", dim)
    try:
        return int(np.shape(params[0])[-1])
    except (TypeError, IndexError, KeyError, ValueError):
        return None


def _gradient(model: Model) -> Callable[[Any, Array, int], Any]:
    return lambda params, x, _: model.gradient(params, x, np.ones(1))


def _unknown(model: Model, params: Any, dim: int | None) -> System:
    """A user's own model, of which no law is known."""
    if params is None or dim is None:
        raise InputError(
            f"params, dim: {type(model).__name__} is not one of ours; give parameters, and the "
            "dimension of its inputs as dim"
        )
    count = positive_int("dim", dim)
    shape = model.checked(params, count)
    return System(shape, (), _gradient(model), count, 0, lambda _: ())


def _diagonal(model: DiagonalNetwork, d: int | None) -> System:
    shape = DiagonalParams(*np.ones((2, _needed(model, d))))
    return System(
        shape,
        (True, True),
        _gradient(model),
        _needed(model, d),
        model.depth - 1,
        lambda _: (_diagonal_law(model.depth, _needed(model, d)),),
    )


def _diagonal_law(depth: int, d: int) -> Law:
    """d/dt w±^{2−D} = ±D(D−2)⟨x, g⟩: the sum is conserved; for D = 2 the logarithms' sum is, hence
    w₊w₋.

    For D ≥ 3 no polynomial is: its homogeneous parts would be laws, of degree k ≥ 1 and functions
    of C, hence multiples of C^{−k/(D−2)}, which have a pole where w₊^{D−2} + w₋^{D−2} = 0.
    """
    if depth == 2:
        return Law(
            "w₊,i·w₋,i",
            _indexed("w₊w₋", d),
            2,
            True,
            lambda p: p.plus * p.minus,
            lambda p: np.abs(p.plus * p.minus),
        )

    def sizes(p: DiagonalParams) -> Array:
        return np.abs(p.plus) ** (2.0 - depth) + np.abs(p.minus) ** (2.0 - depth)

    power = str(2 - depth).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return Law(
        f"w₊,i{power} + w₋,i{power}",
        _indexed(f"w₊{power}+w₋{power}", d),
        2 - depth,
        False,
        lambda p: _power(p.plus, 2 - depth) + _power(p.minus, 2 - depth),
        sizes,
    )


def _power(weights: Any, power: int) -> Any:
    """Exact numbers stay exact, whole numbers become floats."""
    return weights**power if weights.dtype == object else np.asarray(weights, float) ** power


def _product(model: ProductNetwork, d: int | None) -> System:
    count = _needed(model, d)
    law = _difference_law("u_i² − v_i²", _indexed("u²−v²", count), lambda p: (p.u**2, p.v**2))
    shape = ProductParams(*np.ones((2, count)))
    return System(shape, (False, False), _gradient(model), count, 1, lambda _: (law,))


def _difference_law(formula: str, labels: tuple[str, ...], terms: Callable[[Any], Any]) -> Law:
    """A quadratic law that is one sum of squares less another."""

    def values(params: Any) -> Any:
        first, second = terms(params)
        return first - second

    return Law(formula, labels, 2, True, values, lambda params: np.asarray(sum(terms(params))))


def _gram_law(formula: str, name: str, size: int, factors: Callable[[Any], Any]) -> Law:
    """The entries i ≤ j of AᵀA − BᵀB, A and B with `size` columns."""
    rows, cols = np.triu_indices(size)

    def values(params: Any) -> Any:
        A, B = factors(params)
        return (A.T @ A - B.T @ B)[rows, cols]

    def sizes(params: Any) -> Array:
        lengths = [np.linalg.norm(factor, axis=0) for factor in factors(params)]
        return np.asarray(sum(length[rows] * length[cols] for length in lengths))

    labels = tuple(f"{name}[{i},{j}]" for i, j in zip(rows, cols, strict=True))
    return Law(formula, labels, 2, True, values, sizes)


def _factorisation(model: MatrixFactorisation, _: int | None) -> System:
    """UᵀU − VᵀV (W, §6): r(r+1)/2 entries, all independent for r ≤ N = rows + cols, else as many as
    symmetric (r, r) matrices of rank N have: Nr − N(N−1)/2. The fields and their brackets are
    Θ ↦ SΘ, Θ = (U; V), S in so(rows, cols): its orbits have that codimension."""
    rows, cols = model.shape
    law = _gram_law("UᵀU − VᵀV", "UᵀU−VᵀV", model.rank, lambda p: (p.U, p.V))
    shape = FactorParams(np.ones((rows, model.rank)), np.ones((cols, model.rank)))
    return System(shape, (False, False), _gradient(model), rows * cols, 1, lambda _: (law,))


def _fixed(model: FixedDirections, d: int | None) -> System:
    """a_j² − b_j² (R, Lemma A.2), and a_ia_j − b_ib_j where two directions are equal."""
    m = model.width
    groups = np.unique(model.directions, axis=0, return_inverse=True)[1]
    directions = np.array([[exact(c) for c in row] for row in model.directions], dtype=object)

    def gradient(params: FixedDirectionsParams, x: Array, _: int) -> FixedDirectionsParams:
        """Of Σ_j (⟨θ_j, x⟩)₊a_jb_j, the features not rounded: they may depend on each other."""
        features = np.maximum(directions @ np.array([exact(c) for c in x[0]], dtype=object), 0)
        return FixedDirectionsParams(params.b * features, params.a * features)

    laws = _grouped_laws(
        np.ravel(groups), ("a_i·a_j − b_i·b_j", "aa−bb"), lambda p: (p.a[None], p.b[None])
    )
    shape = FixedDirectionsParams(*np.ones((2, m)))
    return System(shape, (True, False), gradient, model.directions.shape[1], 1, lambda _: laws)


def _grouped_laws(
    groups: Any, names: tuple[str, str], factors: Callable[[Any], Any]
) -> tuple[Law, ...]:
    """One Gram law for every group of neurons that see the same feature."""
    formula, name = names

    def restricted(chosen: Any) -> Callable[[Any], Any]:
        return lambda params: tuple(factor[:, chosen] for factor in factors(params))

    found = []
    for group in dict.fromkeys(np.asarray(groups).tolist()):
        chosen = np.flatnonzero(groups == group)
        law = _gram_law(formula, name, len(chosen), restricted(chosen))
        rows, cols = np.triu_indices(len(chosen))
        labels = tuple(f"{name}[{chosen[i]},{chosen[j]}]" for i, j in zip(rows, cols, strict=True))
        found.append(Law(formula, labels, 2, True, law.values, law.sizes))
    return tuple(found)


def _two_layer(model: TwoLayer, _: int | None) -> System:
    """‖w_j‖² − a_j² (B, Lemma 1). On a line, neurons of one side see the same feature, and
    w_iw_j − a_ia_j is conserved for each pair of them while they keep their side."""
    m, d = model.width, model.dim
    law = _difference_law(
        "‖w_j‖² − a_j²", _indexed("‖w‖²−a²", m), lambda p: ((p.W**2).sum(-1), p.a**2)
    )

    def laws(params: TwoLayerParams) -> tuple[Law, ...]:
        if d > 1:
            return (law,)
        sides = (params.W[:, 0] > 0).astype(int)
        return _grouped_laws(sides, ("w_i·w_j − a_i·a_j", "ww−aa"), lambda p: (p.W.T, p.a[None]))

    shape = TwoLayerParams(np.ones(m), np.ones((m, d)))

    def leaky(p: TwoLayerParams, x: Array, output: int) -> TwoLayerParams:
        found = _dense_gradient(DeepParams((p.W, p.a[None])), x, output, COUNTED_SLOPE)
        return TwoLayerParams(found.weights[1][0], found.weights[0])

    gradient = leaky if model.activation == "leaky_relu" else _gradient(model)
    return System(shape, (False, False), gradient, d, 1, laws, edges=_own_edges)


def _signed(model: SignedTwoLayer, _: int | None) -> System:
    """None for d ≥ 2. On a line, d log|w_j|/dt = ε_j·(the same) for the neurons of one side, so
    that w_j/w_i is conserved where signs ε agree, and w_jw_i where they do not."""
    m, d = model.width, model.dim
    signs = np.asarray(model.signs)

    def laws(params: SignedTwoLayerParams) -> tuple[Law, ...]:
        if d > 1:
            return ()
        found = []
        for side in (True, False):
            chosen = np.flatnonzero((params.W[:, 0] > 0) == side)
            found += [_side_law(int(chosen[0]), int(j), signs) for j in chosen[1:]]
        return tuple(found)

    shape = SignedTwoLayerParams(np.ones((m, d)))
    return System(shape, (False,), _gradient(model), d, 1, laws, edges=_own_edges)


def _own_edges(p: Any) -> tuple[Any, Any]:
    return p.W, np.zeros(len(p.W))


def _side_law(i: int, j: int, signs: Array) -> Law:
    if signs[i] == signs[j]:

        def ratio(p: SignedTwoLayerParams) -> Any:
            return p.W[j] / p.W[i]

        return Law("w_j/w_i", (f"w{j}/w{i}",), 0, False, ratio, lambda p: np.abs(ratio(p)))

    def product(p: SignedTwoLayerParams) -> Any:
        return p.W[j] * p.W[i]

    return Law("w_j·w_i", (f"w{j}w{i}",), 2, True, product, lambda p: np.abs(product(p)))


def _deep(model: DeepNetwork, _: int | None) -> System:
    if model.rounding:
        raise RefusedError(
            "conservation_laws: with rounded kinks σ(z) ≠ z·σ'(z), and what ReLU networks conserve "
            "is not; use rounding=0"
        )
    copies = (2,) if model.symmetric else ()
    shape = DeepParams(
        tuple(np.ones((*copies, *layer)) for layer in model.layers),
        tuple(np.ones((*copies, out)) for out, _ in model.layers) if model.bias else (),
    )
    return System(
        shape,
        (False,) * (len(shape.weights) + len(shape.biases)),
        _leaky_gradient(model) if model.activation == "leaky_relu" else _gradient(model),
        model.widths[0],
        max(model.depth - 1, 1),
        lambda _: _deep_laws(model),
        edges=None if model.activation == "linear" or model.depth == 1 else _first_edges,
    )


def _first_edges(p: DeepParams) -> tuple[Any, Any]:
    """Of the first layer, both copies of a symmetric network."""
    weights = np.reshape(p.weights[0], (-1, p.weights[0].shape[-1]))
    return weights, np.ravel(p.biases[0]) if p.biases else np.zeros(len(weights))


def _leaky_gradient(model: DeepNetwork) -> Callable[[Any, Array, int], Any]:
    """The model's own, but for the slope and for rounding in σ."""
    if not model.symmetric:
        return lambda p, x, output: _dense_gradient(p, x, output, COUNTED_SLOPE)

    def gradient(p: DeepParams, x: Array, output: int) -> DeepParams:
        plus, minus = (
            _dense_gradient(leaf_map(itemgetter(k), p), x, output, COUNTED_SLOPE) for k in range(2)
        )
        pairs = zip(leaves(plus), leaves(minus), strict=True)
        stacked = iter([np.stack([first, -second]) for first, second in pairs])
        return leaf_map(lambda _: next(stacked), p)

    return gradient


def _deep_laws(model: DeepNetwork) -> tuple[Law, ...]:
    """Layer by layer; a symmetric network has those of both copies, and what is linear in both is
    conserved in the sum, or mixes them."""
    linear = model.activation == "linear"
    if not model.symmetric:
        return _layer_laws(model.layers, linear, lambda p: (p.weights, p.biases), "")
    laws: tuple[Law, ...] = ()
    if model.depth == 2 and linear:
        laws = (_mixed_law(model),)
    elif model.depth > 1:
        for copy, sign in enumerate("⁺⁻"):

            def part(p: DeepParams, copy: int = copy) -> Any:
                return [w[copy] for w in p.weights], [b[copy] for b in p.biases]

            laws += _layer_laws(model.layers, linear, part, sign)
    return laws + _sum_laws(model)


def _mixed_law(model: DeepNetwork) -> Law:
    """W₁W₁ᵀ (+ b₁b₁ᵀ) − W₂ᵀW₂ for the units of both copies at once: f is UVᵀ with [W₂⁺, −W₂⁻]."""

    def factors(p: DeepParams) -> Any:
        first = np.concatenate([*p.weights[0]], axis=0).T
        if model.bias:
            first = np.concatenate([first, np.concatenate([*p.biases[0]])[None]], axis=0)
        return first, np.concatenate([p.weights[1][0], -p.weights[1][1]], axis=1)

    formula = "W₁W₁ᵀ + b₁b₁ᵀ − W₂ᵀW₂" if model.bias else "W₁W₁ᵀ − W₂ᵀW₂"
    return _gram_law(f"{formula} of both copies", "layer 1", 2 * model.widths[1], factors)


def _sum_laws(model: DeepNetwork) -> tuple[Law, ...]:
    """The bias of the output enters f as b⁺ − b⁻, the weights of a single layer likewise: their
    sums stay."""
    found = []
    if model.depth == 1:
        found.append(
            Law(
                "w⁺ + w⁻",
                _indexed("w⁺+w⁻", model.widths[0]),
                1,
                False,
                lambda p: p.weights[0].sum(0)[0],
                lambda p: np.abs(p.weights[0]).sum(0)[0],
            )
        )
    if model.bias:
        found.append(
            Law(
                "b⁺ + b⁻ of the output",
                ("b⁺+b⁻",),
                1,
                False,
                lambda p: p.biases[-1].sum(0),
                lambda p: np.abs(p.biases[-1]).sum(0),
            )
        )
    return tuple(found)


def _layer_laws(
    layers: tuple[tuple[int, int], ...],
    linear: bool,
    parts: Callable[[Any], tuple[Any, Any]],
    mark: str,
) -> tuple[Law, ...]:
    """Of every hidden layer l: W_lW_lᵀ + b_lb_lᵀ − W_{l+1}ᵀW_{l+1} where σ is linear, its diagonal
    where σ(z) = z·σ'(z): what enters a unit squared, less what leaves it."""
    return tuple(
        _layer_law(layer, layers[layer][0], linear, parts, mark) for layer in range(len(layers) - 1)
    )


def _layer_law(
    layer: int, units: int, linear: bool, parts: Callable[[Any], tuple[Any, Any]], mark: str
) -> Law:
    def factors(params: Any) -> Any:
        weights, biases = parts(params)
        into = weights[layer].T
        if len(biases):
            into = np.concatenate([into, biases[layer][None]], axis=0)
        return into, weights[layer + 1]

    name = f"layer {layer + 1}{mark}"
    if linear:
        return _gram_law("W_lW_lᵀ (+ b_lb_lᵀ) − W_{l+1}ᵀW_{l+1}", name, units, factors)
    return _difference_law(
        "‖into unit j‖² (+ b_j²) − ‖out of unit j‖²",
        tuple(f"{name}[{j}]" for j in range(units)),
        lambda params: tuple((factor**2).sum(0) for factor in factors(params)),
    )


def _dense(checkpoint: Mapping[str, Any]) -> System:
    """A checkpoint of a fully connected network with any number of outputs, by name of its tensors,
    from the input on: matrices (out, in), each followed by its bias or by none."""
    state = dense_params(checkpoint)
    layers = tuple(weight.shape for weight in state.weights)
    for before, after in pairwise(layers):
        if before[0] != after[1]:
            raise RefusedError(
                "conservation_laws: the matrices are no chain of fully connected layers: one "
                f"of shape {before} is followed by one of shape {after}"
            )
    return System(
        state,
        (False,) * (len(state.weights) + len(state.biases)),
        _dense_gradient,
        layers[0][1],
        max(len(layers) - 1, 1),
        lambda _: _layer_laws(layers, False, lambda p: (p.weights, p.biases), ""),
        outputs=layers[-1][0],
        edges=_first_edges if len(layers) > 1 else None,
    )


def dense_params(checkpoint: Mapping[str, Any]) -> DeepParams:
    """Matrices and biases of a checkpoint in the order of their names, as they were put in."""
    arrays = {name: real_array(f"checkpoint[{name!r}]", part) for name, part in checkpoint.items()}
    odd = [name for name, array in arrays.items() if array.ndim not in (1, 2)]
    weights = [array for array in arrays.values() if array.ndim == 2]
    biases = [array for array in arrays.values() if array.ndim == 1]
    if odd or not weights:
        found = f"{odd[0]!r} of shape {arrays[odd[0]].shape}" if odd else "no matrix"
        raise RefusedError(
            "conservation_laws: a checkpoint is read as fully connected ReLU layers, matrices "
            f"(out, in) and biases (out,); found {found}"
        )
    outs = [weight.shape[0] for weight in weights]
    if biases and [bias.size for bias in biases] != outs:
        raise RefusedError(
            f"conservation_laws: layers of {outs} units have biases of {[b.size for b in biases]}; "
            "either every layer has one or none"
        )
    return DeepParams(tuple(weights), tuple(biases))


def _dense_gradient(params: DeepParams, x: Array, output: int, slope: float = 0.0) -> DeepParams:
    """∇ of one output of a fully connected network of (leaky) ReLUs at one input."""
    hidden, slopes = [x[0]], []
    for layer, weight in enumerate(params.weights):
        before = weight @ hidden[-1] + (params.biases[layer] if params.biases else 0)
        slopes.append(np.where(before > 0, 1.0, slope))
        hidden.append(slopes[-1] * before)
    delta: Any = np.eye(params.weights[-1].shape[0])[output]
    deltas = [delta]
    for weight, gates in zip(params.weights[:0:-1], slopes[-2::-1], strict=True):
        delta = gates * (weight.T @ delta)
        deltas.append(delta)
    deltas.reverse()
    weights = tuple(np.outer(d, h) for d, h in zip(deltas, hidden[:-1], strict=True))
    return DeepParams(weights, tuple(deltas) if params.biases else ())


def _indexed(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}[{i}]" for i in range(count))


def _needed(model: Model, d: int | None) -> int:
    if d is None:
        raise InputError(
            f"dim: {type(model).__name__} takes inputs of any dimension; give dim, or parameters"
        )
    return d


BUILDERS: tuple[tuple[type[Any], Callable[[Any, int | None], System]], ...] = (
    (DiagonalNetwork, _diagonal),
    (ProductNetwork, _product),
    (MatrixFactorisation, _factorisation),
    (FixedDirections, _fixed),
    (TwoLayer, _two_layer),
    (SignedTwoLayer, _signed),
    (DeepNetwork, _deep),
)
