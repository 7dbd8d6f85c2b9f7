"""What training conserves: how many laws, which, and how far anybody's checkpoints are from them.

C is conserved for all data and losses where ∇C is orthogonal to ∇_θf(θ, x) for all x and θ. Near a
generic θ there are P − dim Lie(θ) such functions that are independent, Lie(θ) the directions of
these fields and of their iterated brackets (Marcotte, Gribonval and Peyré 2023, Theorem 3.3). Two
sides meet here: formulas, whose gradients are independent, are laws; brackets, of exact rank, leave
no room for more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field as entry, replace
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import (
    Array,
    matrix,
    positive_float,
    positive_int,
    real_array,
    real_number,
    vector,
)
from .._core.facts import Fact, Facts, Shown, brief
from .._core.results import Trajectory
from .._core.trees import leaf_map, leaves
from .._numerics.deadlines import Deadline
from .._numerics.double_precision import jax_in_double
from ..errors import InputError, RefusedError
from ..models import DeepParams, Model, TwoLayerParams
from .commuting import flatten
from .law_formulas import Law, System, dense_params, system_of
from .lie_spans import (
    PRIME,
    Echelon,
    Field,
    FloatSpan,
    LieSpan,
    generators_at,
    grown_span,
    moved,
)

LARGEST_WEIGHT = 2**31
"""Random weights are whole numbers up to this size: as many as there are residues."""
DISPLACEMENT = 0.01
"""Relative size of the random displacement of given parameters, which makes them generic."""
GRID = 2.0**-45
"""Given parameters are rounded to this part of the largest: the displacement has more values than
there are residues."""
REGIONS = 24
"""Random places tried in networks with gates, of which the one with the fewest laws counts: a unit
that no input reaches is conserved with all its weights, and two of a layer whose gates are equal at
all inputs have a law of their own."""
PATIENCE = 40
"""Fruitless brackets in a row after which such a place is left for the next."""
SHOWN_LAWS = 6
"""Lines of laws before they are only counted."""


@dataclass(frozen=True, eq=False, repr=False)
class LawDrift(Shown):
    """The laws along checkpoints.

    times (T,); values (T, K): each law at each checkpoint; expected (T, K): its first value, times
    e^{−kκt} under weight decay; units (K,): the largest sum of the absolute terms that the law is
    made of, over all checkpoints; drift (T, K): |values − expected|/units; labels: of the laws.
    """

    times: Array
    values: Array
    expected: Array
    units: Array
    labels: tuple[str, ...]

    @property
    def drift(self) -> Array:
        with np.errstate(invalid="ignore"):
            return np.abs(self.values - self.expected) / np.where(self.units > 0, self.units, 1.0)

    @property
    def worst(self) -> float:
        """The largest drift of all."""
        return float(np.max(self.drift, initial=0.0))

    def facts(self) -> Facts:
        drift = self.drift
        if not drift.size:
            return Facts("Drift: no law to follow", ())
        k = int(np.argmax(np.max(drift, axis=0)))
        last = drift[-1]
        lines = (
            Fact("largest", f"{self.worst:.3g} of its unit, {self.labels[k]}"),
            Fact("last", f"{np.max(last):.3g}, median {np.median(last):.3g}"),
            Fact("unit", "the sum of the absolute terms of a law, at its largest"),
        )
        return Facts(f"Drift of {len(self.labels)} laws along {len(self.times)} checkpoints", lines)

    def plot(self, axis: Any = None) -> Any:
        """Drift against time, a line for every law.

        Parameters
        ----------
        axis : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        import matplotlib.pyplot as plt

        if axis is None:
            _, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
        for k, label in enumerate(self.labels):
            axis.plot(self.times, self.drift[:, k], lw=1, label=label)
        axis.set(xlabel="time", ylabel="drift, relative to the law's terms", yscale="log")
        if len(self.labels) <= SHOWN_LAWS:
            axis.legend(fontsize=8)
        return axis


@dataclass(frozen=True, eq=False, repr=False)
class ConservationLaws(Shown):
    """How many laws a model's training has, and which.

    number: of independent laws at generic parameters, for all data and losses; None where only
    lower ≤ number ≤ upper is known. lower: independent formulas in `laws`, whose gradients are
    orthogonal to the fields; upper: parameters less the directions that fields and brackets span.
    kind: 'exact' where both meet; 'closed' where further brackets add nothing, which is wrong with
    a chance of at most `doubt`; 'heuristic', the same in floats, where `doubt` is the largest part
    outside the span that was neglected; 'bound' where the time was over. Where gates decide, the
    brackets are those of the inputs that were drawn: on every side of the first layer's edges, and
    at random beyond.

    laws: the formulas. refuted: names of the candidates that are no laws. span: what the brackets
    spanned. parameters: P.
    """

    model: str
    parameters: int
    number: int | None
    lower: int
    upper: int
    kind: str
    doubt: float
    laws: tuple[Law, ...]
    refuted: tuple[str, ...]
    span: LieSpan
    shape: Any = entry(repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers in `values`."""
        return tuple(label for law in self.laws for label in law.labels)

    @property
    def degrees(self) -> Array:
        """k with C(cθ) = c^k·C(θ), for every number in `values`."""
        return np.array([law.degree for law in self.laws for _ in law.labels], float)

    @property
    def quadratic(self) -> Any:
        """Which numbers in `values` are quadratic forms of the parameters."""
        return np.array([law.quadratic for law in self.laws for _ in law.labels], bool)

    def values(self, params: Any) -> Array:
        """All laws at parameters, (K,).

        Parameters
        ----------
        params
            Of the model, or a checkpoint by name of its tensors.

        Returns
        -------
        array of shape (K,)
        """
        return self._values(_read(self.shape, "params", params))

    def drift(
        self,
        checkpoints: Trajectory[Any] | Sequence[Any],
        *,
        times: ArrayLike | None = None,
        weight_decay: float = 0.0,
    ) -> LawDrift:
        """How far checkpoints are from the laws of gradient flow.

        Under the penalty (κ/2)‖θ‖² a law of degree k turns into C(0)·e^{−kκt}, by Euler's
        identity ⟨∇C, θ⟩ = kC: quadratic laws decay, those of deep diagonal networks, k = 2 − D,
        grow. Steps w ← w − γg change a quadratic law by γ²·C(g), exactly.

        Parameters
        ----------
        checkpoints : Trajectory or sequence
            Parameters of the model; or dicts of arrays by name, as state dicts are.
        times : array of shape (T,), optional
            Of the checkpoints, in the flow's time: step size times steps. Needed with weight decay;
            a trajectory brings its own.
        weight_decay : float
            κ.

        Returns
        -------
        diagnostics.LawDrift

        Examples
        --------
        >>> laws = bf.conservation_laws(bf.TwoLayer(width=2, dim=2))
        >>> first, last = {"1": np.eye(2), "2": [[1.0, 2.0]]}, {"1": np.eye(2), "2": [[1.0, 1.0]]}
        >>> laws.drift([first, last]).drift
        array([[0. , 0. ],
               [0. , 0.6]])
        """
        states, own_times = self._states(checkpoints)
        kappa = real_number("weight_decay", weight_decay)
        if not 0 <= kappa < np.inf:
            raise InputError(f"weight_decay: expected a finite number ≥ 0, found {kappa:g}")
        if times is None and kappa != 0 and own_times is None:
            raise InputError("times: weight decay acts in time; give the checkpoints' times")
        counted = np.arange(float(len(states))) if own_times is None else own_times
        when = counted if times is None else vector("times", times, len(states))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = np.array([self._values(state) for state in states]).reshape(len(states), -1)
            sizes = np.array([self._sizes(state) for state in states]).reshape(len(states), -1)
            decay = np.exp(-kappa * np.outer(when - when[0], self.degrees))
            expected = values[0] * decay
        return LawDrift(when, values, expected, np.max(sizes, axis=0), self.labels)

    def facts(self) -> Facts:
        number = f"{self.lower} to {self.upper}" if self.number is None else str(self.number)
        counted = f"{number} independent law{'' if number == '1' else 's'}"
        why = {
            "exact": "exact: the formulas are independent, brackets leave no room for more",
            "closed": f"brackets close, seen at random weights; doubt below {self.doubt:.1g}",
            "heuristic": f"in floats; parts up to {self.doubt:.1g} were neglected",
            "bound": "the time was over between these bounds",
        }
        span = self.span
        count = span.rank - span.generators
        brackets = f", {count} of brackets of up to {span.depth}" if count else ""
        known: dict[str, int] = {}
        for law in self.laws:
            known[law.formula] = known.get(law.formula, 0) + len(law.labels)
        shown = [f"{formula} ({count})" for formula, count in list(known.items())[:SHOWN_LAWS]]
        lines = (
            Fact("how known", why[self.kind]),
            Fact(
                "moves along", f"{span.rank} directions: {span.generators} of gradients{brackets}"
            ),
            Fact("formulas", "; ".join(shown) or "none"),
            Fact("no laws", ", ".join(self.refuted)),
        )
        return Facts(f"{self.model}: {counted} of {self.parameters} parameters", lines)

    def _values(self, state: Any) -> Array:
        return _stacked(law.values(state) for law in self.laws)

    def _sizes(self, state: Any) -> Array:
        return _stacked(law.sizes(state) for law in self.laws)

    def _states(self, checkpoints: Any) -> tuple[list[Any], Array | None]:
        if isinstance(checkpoints, Trajectory):
            states = checkpoints.states
            count = len(checkpoints.times)
            parts = [leaf_map(itemgetter(k), states) for k in range(count)]
            times: Array | None = checkpoints.times
        else:
            try:
                parts, times = list(checkpoints), None
            except TypeError:
                raise InputError(
                    "checkpoints: expected a Trajectory or a sequence of parameters, found "
                    f"{type(checkpoints).__name__}"
                ) from None
        if len(parts) < 2:
            raise InputError(f"checkpoints: expected at least two, found {len(parts)}")
        return [_read(self.shape, f"checkpoints[{k}]", part) for k, part in enumerate(parts)], times


def _read(shape: Any, name: str, params: Any) -> Any:
    """Parameters of the model's own type and shapes."""
    found = _by_name(shape, name, params) if isinstance(params, Mapping) else params
    expected = [np.shape(leaf) for leaf in leaves(shape)]
    arrays = [real_array(name, leaf) for leaf in leaves(_as_tuples(found))]
    if [array.shape for array in arrays] != expected:
        raise InputError(
            f"{name}: expected arrays of shapes {expected}, found "
            f"{[array.shape for array in arrays]}"
        )
    parts = iter(arrays)
    return leaf_map(lambda _: next(parts), shape)


def _by_name(shape: Any, name: str, state: Mapping[str, Any]) -> Any:
    """Tensors by name: by the fields of the parameters, or as fully connected layers."""
    fields = getattr(type(shape), "_fields", ())
    if set(state) == set(fields):
        return tuple(state[part] for part in fields)
    if isinstance(shape, DeepParams):
        return dense_params(state)
    if isinstance(shape, TwoLayerParams):
        weights = dense_params(state).weights
        if len(weights) == 2 and len(weights[1]) == 1:
            return weights[1][0], weights[0]
    raise InputError(
        f"{name}: expected arrays named {', '.join(fields)}, found {', '.join(map(str, state))}"
    )


def conservation_laws(
    model: Model | Mapping[str, Any] | Callable[..., Any],
    params: Any = None,
    X: ArrayLike | None = None,
    *,
    dim: int | None = None,
    candidates: Mapping[str, Callable[[Any], Any]] | None = None,
    key: int = 0,
    time_s: float = 30.0,
) -> ConservationLaws:
    """The laws that gradient flow on a model conserves, whatever data and loss: their number and
    their formulas.

    C is a law where ⟨∇C(θ), ∇_θf(θ, x)⟩ = 0 for all θ and x. Their number is P − dim Lie(θ) at
    generic θ, Lie(θ) spanned by the ∇_θf(·, x) and their iterated brackets (Marcotte, Gribonval
    and Peyré 2023). Our models are polynomials, ReLU networks are while no gate changes, and are
    counted without rounding; other functions in floats.

    Parameters
    ----------
    model : Model, mapping or callable
        One of ours; a checkpoint of a fully connected ReLU network with any number of outputs, a
        mapping from names to matrices (out, in) and biases (out,) in order; or a function
        f(params, X) in JAX, with `params` and `X`, of which no formula is known.
    params : optional
        Near which parameters; anywhere, by default. It matters where gates decide what a unit sees:
        neurons on a line, and deep networks with units that no input reaches.
    X : array of shape (n, d), optional
        Laws for all labels and losses on these inputs; by default on all inputs.
    dim : int, optional
        Of the inputs, where neither model nor params tell.
    candidates : mapping, optional
        Functions of the parameters by name, made of sums, products and quotients: those that are
        conserved are counted as laws, the others are listed in `refuted`.
    key : int
        Of the random weights and inputs.
    time_s : float
        Seconds for the count, after which bounds are given; drift does not need it.

    Returns
    -------
    diagnostics.ConservationLaws

    Raises
    ------
    RefusedError
        Where a model is no polynomial.

    Examples
    --------
    >>> laws = bf.conservation_laws(bf.MatrixFactorisation((3, 2), rank=2))
    >>> laws.number, laws.kind, laws.labels
    (3, 'exact', ('UᵀU−VᵀV[0,0]', 'UᵀU−VᵀV[0,1]', 'UᵀU−VᵀV[1,1]'))
    >>> guess = {"w₊·w₋": lambda p: p.plus * p.minus}
    >>> bf.conservation_laws(bf.DiagonalNetwork(3), dim=1, candidates=guess).refuted
    ('w₊·w₋',)
    """
    key = positive_int("key", key, least=0)
    over = Deadline(time_s).over
    guesses = _named(candidates)
    inputs = None if X is None else matrix("X", X)
    if not isinstance(model, (Model, Mapping)) and callable(model):
        rng = np.random.default_rng(key)
        return _in_floats(model, params, inputs, guesses, rng, over)
    system = system_of(model, params, dim)
    name = "fully connected network" if isinstance(model, Mapping) else brief(model)
    if isinstance(model, Mapping) and params is None:
        params = system.shape
    if params is not None:
        params = _read(system.shape, "params", params)
    half_over = Deadline(positive_float("time_s", time_s) / 2).over
    question = _Question(name, system, params, inputs, guesses, over, half_over)
    several = system.edges is not None and params is None and inputs is None
    return _fewest(question, key) if several else question.answer([key, 0])


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of one model."""

    name: str
    system: System
    params: Any
    X: Array | None
    guesses: Mapping[str, Callable[[Any], Any]]
    over: Callable[[], bool]
    half_over: Callable[[], bool]

    def answer(self, seed: list[int], patience: float = np.inf) -> ConservationLaws:
        """Formulas against brackets, at one generic point."""
        rng = np.random.default_rng(seed)
        system, over = self.system, self.over
        _, unflatten = flatten(system.shape)
        place = _place(system, self.params, rng)
        P = len(place)
        rows: Iterable[Array] = system.inputs_drawn(rng, unflatten(place))
        draws_in_vain: float = system.fruitless * system.outputs
        if self.X is not None:
            rows, draws_in_vain = self._given(self.X), np.inf
        span = Echelon(P)
        try:
            draws = _fields(system, unflatten, rows)
            fields, values = generators_at(draws, place, span, over, draws_in_vain)
        except (TypeError, AttributeError) as reason:
            raise RefusedError(
                f"conservation_laws: the gradient of {self.name} is no polynomial that exact "
                "numbers go through; write it as a function f(params, X) in JAX"
            ) from reason
        candidates = [*system.laws(unflatten(place)), *_guessed(self.guesses, unflatten, place)]
        laws, refuted = _sorted_out(candidates, unflatten, place, values, rng)
        known = _independent(laws, unflatten, place, P - span.rank, rng, over)
        grown = grown_span(fields, place, span, P - known, over, patience)
        upper = P - grown.rank
        kind = "exact" if known == upper else "closed" if grown.closed else "bound"
        degree = max(system.degree, 1) * grown.depth
        doubt = grown.tests * (grown.rank + 1) * degree / PRIME if kind == "closed" else 0.0
        number = None if kind == "bound" else upper
        return ConservationLaws(
            self.name, P, number, known, upper, kind, doubt, laws, refuted, grown, system.shape
        )

    def _given(self, X: Array) -> list[Array]:
        if X.shape[1] != self.system.inputs:
            raise InputError(
                f"X: inputs have dimension {X.shape[1]}, the model takes {self.system.inputs}"
            )
        return [row[None] for row in X for _ in range(self.system.outputs)]


def _fewest(question: _Question, key: int) -> ConservationLaws:
    """Of several random places the one with the fewest laws, by short looks in half of the time,
    then at length."""
    found: list[ConservationLaws] = []
    half = replace(question, over=question.half_over)
    for region in range(REGIONS):
        found.append(half.answer([key, region], PATIENCE))
        if found[-1].kind == "exact" and question.system.inputs > 1:
            return found[-1]  # on a line the formulas themselves depend on the place
        if half.over():
            break
    region = min(range(len(found)), key=lambda k: found[k].upper)
    at_length = question.answer([key, region])
    return min(at_length, found[region], key=lambda laws: laws.upper)


def _place(system: System, params: Any, rng: np.random.Generator) -> Any:
    """Generic parameters in whole numbers, (P,): anywhere, or near those given, in units of their
    largest."""
    flat, _ = flatten(system.shape)
    if params is None:
        drawn = rng.integers(1, LARGEST_WEIGHT, flat.size)
        signs = np.where(_leafwise(system), 1, rng.choice([-1, 1], flat.size))
        return np.array([int(s) * int(w) for s, w in zip(signs, drawn, strict=True)], dtype=object)
    given, _ = flatten(params)
    top = float(np.max(np.abs(given), initial=0.0)) or 1.0
    near = given / top
    near = near + DISPLACEMENT * (np.abs(near) + DISPLACEMENT) * rng.uniform(-1, 1, near.size)
    # a common factor changes no gate, but with biases
    unit = Fraction(GRID) * Fraction(top) if getattr(params, "biases", ()) else 1
    return np.array([int(w) * unit for w in np.rint(near / GRID)], dtype=object)


def _leafwise(system: System) -> Any:
    """Which entries of the flat parameters are positive where the model is used."""
    parts = leaves(system.shape)
    marks = system.positive or (False,) * len(parts)
    return np.concatenate([np.full(np.size(p), mark) for p, mark in zip(parts, marks, strict=True)])


def _fields(system: System, unflatten: Any, rows: Iterable[Array]) -> Iterator[Field]:
    """θ ↦ ∇f_k(θ, x), input by input, the outputs k in turn."""
    for count, row in enumerate(rows):

        def field(
            place: Any, row: Array = row, output: int = count % system.outputs
        ) -> Iterable[Any]:
            gradient = system.gradient(unflatten(place), row, output)
            return np.concatenate([np.ravel(leaf) for leaf in leaves(gradient)])

        yield field


def _sorted_out(
    candidates: Sequence[Law],
    unflatten: Any,
    place: Any,
    values: list[Any],
    rng: np.random.Generator,
) -> tuple[tuple[Law, ...], tuple[str, ...]]:
    """Candidates that are laws and formulas of those that are not. One direction decides: a random
    combination of the fields, to which ∇C is orthogonal by accident once in 2³¹ times."""
    weights = [int(w) for w in rng.integers(1, LARGEST_WEIGHT, len(values))]
    direction: Any = sum((w * v for w, v in zip(weights, values, strict=True)), 0 * place)
    kept, refuted = [], []
    for law in candidates:
        if any(slope != 0 for slope in moved(_flat_law(law, unflatten), place, direction)[1]):
            refuted.append(law.formula)
        else:
            kept.append(law)
    return tuple(kept), tuple(refuted)


def _flat_law(law: Law, unflatten: Any) -> Field:
    return lambda point: law.values(unflatten(point))


def _guessed(guesses: Mapping[str, Callable[[Any], Any]], unflatten: Any, place: Any) -> list[Law]:
    """Candidates as laws; their degree is not known, so that weight decay is not predicted."""
    return [_guess(name, _guarded(name, f), unflatten, place) for name, f in guesses.items()]


def _guess(name: str, values: Callable[[Any], Any], unflatten: Any, place: Any) -> Law:
    count = len(moved(lambda point: values(unflatten(point)), place, place)[0])
    labels = (name,) if count == 1 else tuple(f"{name}[{k}]" for k in range(count))
    return Law(name, labels, 0, False, values, lambda params: np.abs(values(params)))


def _guarded(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A user's function of the parameters, its numbers in one array; its own errors are told."""

    def values(params: Any) -> Any:
        try:
            return np.ravel(np.asarray(function(params)))
        except Exception as reason:  # it is the user's, and raises what it likes
            said = f"{type(reason).__name__}: {(str(reason) or 'without a word').splitlines()[0]}"
            raise InputError(
                f"candidates[{name!r}]: fails on exact numbers: {said}; use sums, products, whole "
                "powers and quotients of the parameters"
            ) from reason

    return values


def _independent(
    laws: tuple[Law, ...],
    unflatten: Any,
    place: Any,
    most: int,
    rng: np.random.Generator,
    over: Callable[[], bool],
) -> int:
    """The rank of the laws' gradients, from below: of their derivatives along random directions."""
    if not laws:
        return 0

    def everything(point: Any) -> Any:
        params = unflatten(point)
        return np.concatenate([np.ravel(law.values(params)) for law in laws])

    count = sum(len(law.labels) for law in laws)
    found = Echelon(count)
    while found.rank < min(count, most) and not over():
        direction = [int(h) for h in rng.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT, len(place))]
        if not found.add(moved(everything, place, direction)[1]):
            break  # a random direction that adds nothing: once in 2³¹ times by accident
    return found.rank


def _in_floats(
    network: Callable[..., Any],
    params: Any,
    X: Array | None,
    guesses: Mapping[str, Callable[[Any], Any]],
    rng: np.random.Generator,
    over: Callable[[], bool],
) -> ConservationLaws:
    """Of any function in JAX, on the inputs given."""
    if params is None or X is None:
        raise InputError("params, X: a function f(params, X) needs parameters and inputs")
    if guesses:
        raise RefusedError(
            "candidates: are held against exact gradients of a model; against a function in JAX "
            "follow them along checkpoints instead"
        )
    flat, unflatten = flatten(params)
    size = float(np.max(np.abs(flat), initial=0.0)) or 1.0
    near = flat + DISPLACEMENT * (np.abs(flat) + DISPLACEMENT * size) * rng.uniform(
        -1, 1, flat.size
    )
    span = FloatSpan(flat.size)
    with jax_in_double():
        import jax

        place, inputs = jax.numpy.asarray(near), jax.numpy.asarray(X)

        def predictions(w: Any) -> Any:
            try:
                return jax.numpy.ravel(network(unflatten(w), inputs))
            except Exception as reason:  # it is the user's, and raises what it likes
                said = f"{type(reason).__name__}: {(str(reason) or 'no word').splitlines()[0]}"
                raise InputError(f"model: fails on these parameters and inputs: {said}") from reason

        count = predictions(place).size

        def draws() -> Iterator[Field]:
            for row in np.eye(count):
                yield jax.grad(lambda w, row=row: predictions(w) @ row)

        fields, _ = generators_at(draws(), place, span, over, np.inf)
        grown = grown_span(fields, place, span, flat.size, over)
    upper = flat.size - grown.rank
    kind = "heuristic" if grown.closed or upper == 0 else "bound"
    return ConservationLaws(
        getattr(network, "__name__", type(network).__name__),
        flat.size,
        upper if kind == "heuristic" else None,
        upper if kind == "heuristic" else 0,
        upper,
        kind,
        span.best_dropped,
        (),
        (),
        grown,
        params,
    )


def _named(candidates: Any) -> Mapping[str, Callable[[Any], Any]]:
    guesses = {} if candidates is None else candidates
    if not isinstance(guesses, Mapping) or not all(callable(f) for f in guesses.values()):
        raise InputError("candidates: expected functions of the parameters by name")
    return guesses


def _stacked(parts: Iterable[Any]) -> Array:
    found = [np.ravel(part) for part in parts]
    return np.concatenate(found).astype(float) if found else np.zeros(0)


def _as_tuples(params: Any) -> Any:
    """Lists as tuples, so that leaves are found in both."""
    if isinstance(params, (list, tuple)):
        return tuple(_as_tuples(part) for part in params)
    return params
