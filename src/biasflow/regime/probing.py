"""The regime probe: does this network train like a kernel machine, or does it learn features?
Measured, with error bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, one_of, positive_int, vector
from .._core.facts import Fact, Facts, Shown
from .._core.former_names import renamed
from .._core.progress import doing
from ..errors import InputError
from ..limits.homogeneous import Homogeneity, measured_homogeneity
from ..limits.tangent.functions import Leaves, check_alone
from ..limits.tangent.inputs import Inputs, read_inputs
from ..limits.tangent.outputs import Sketch
from ..limits.tangent.tangent_kernels import MEMORY, Tangent, tangent
from ..models import Model
from .alignment_times import AlignmentTime, alignment_time
from .conserved import Conservation, conservation
from .kernel_machines import check_apart
from .kernel_spectra import KernelSpectrum, kernel_spectrum
from .measures import (
    LAYER_MEASURES,
    MEASURES,
    MOVEMENTS,
    Estimate,
    estimates,
    measures_of,
    read_labels,
)
from .views import Looked, Pair, View, pair, view

KERNEL_BELOW = 0.1
"""Every movement below this, two standard errors included: the kernel regime. A linear gap of 0.1
leaves 1% of the variance of what was learned to features. `python -m biasflow.regime.calibration`:
up to 0.2 no verdict is wrong on networks whose regime is known."""
RICH_ABOVE = 0.5
"""Linear gap and kernel movement both above this: the rich regime. The linearised network misses
half of what was learned, and the kernel is another one. `python -m biasflow.regime.calibration`:
the least of the thresholds tried with no wrong verdict."""
SHOWN_MEASURES = ("linear_gap", "kernel_movement", "gradient_distance", "weight_movement")
"""Measures that a probe shows by itself; `final` has them all."""
SHUFFLED = "by shuffling the initial weights within each tensor"
FEWEST_INPUTS = 4
"""Inputs below which an error over inputs means nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Probe(Shown):
    """How far a network has moved from its first checkpoint, and how far that is.

    along: for every later checkpoint, each measure by name, with a standard error (jackknife over
    inputs; where several runs are given, their spread too). The measures, w₀ the first and w the
    later weights, f₀ = f(w₀, ·), on inputs X:
        kernel_movement    ‖K − K₀‖_F/‖K₀‖_F
        kernel_turn        1 − ⟨K, K₀⟩_F/(‖K‖_F‖K₀‖_F), both centred
        gradient_distance  mean over x of 1 − cos(∇f₀(x), ∇f(x)) (W, §7)
        linear_gap         ‖f − f₀ − ⟨∇f₀, w − w₀⟩‖/‖f − f₀‖
        weight_movement    ‖w − w₀‖/‖w₀‖
        degree             Σf⟨w, ∇f⟩/Σf², the degree of homogeneity by Euler's identity
        label_alignment    ⟨K, yyᵀ⟩/(‖K‖_F‖y‖²), both centred; label_gain: the same less its value
        at the start
        loss               mean of (f − y)², or cross-entropy where labels are classes
        effective_rank     (tr K)²/‖K‖²_F, centred: how many eigenvalues carry the kernel
    and with `trained_on=`, on inputs that were held out,
        machine_gap        ‖f − h‖/‖f − f₀‖, h the kernel machine of the start through the network's
        predictions on what it was trained on
    start: the same at the first checkpoint itself. null: the same with the later weights replaced
    by those of an untrained
    network of another seed: mean and standard deviation over seeds; `drawn` says how those were
    drawn.
    homogeneity: of the last checkpoint. trained, linear: f and the linearised network at the last
    checkpoint, (n,).
    verdict: 'kernel' where kernel movement, gradient distance and linear gap are all below 0.1,
    'rich' where kernel movement and linear gap are above 0.5, each by two standard errors (from a
    start whose kernel vanishes, the kernel movement is NaN and the linear gap alone counts);
    'between' otherwise; 'unmoved' where f is what it was; 'dead' where no weight moves f any more.

    Of m outputs, K sums ⟨∇f_o(x), ∇f_o(x')⟩ over them, cosines are of all gradients at an input
    together, and the linear gap is that of the whole output; initial, trained and linear are
    (n, m). Where labels are numbers of outputs there are also
        margin_gap         the linear gap of the true class's output less the largest other one
        linear_agreement   share of inputs that the linearised network puts into the same class
    and with `full=` full_kernel_movement, that of the kernel between all pairs of those outputs.
    layers: the measures that a layer has on its own, for every later checkpoint, by name;
    layer_null: their null reference; outputs: the measures of single outputs at the last
    checkpoint; both where they were asked for. notes: what to know of these numbers.
    alignment: when the kernel turned to the labels, and when the loss fell; None without labels.
    spectrum: rank and eigenvalues of the kernel; conserved: what gradient flow keeps, and how far
    it moved; both where they were asked for.
    """

    times: Array
    along: tuple[Mapping[str, Estimate], ...]
    start: Mapping[str, Estimate]
    null: Mapping[str, Estimate]
    drawn: str
    homogeneity: Homogeneity | None
    initial: Array
    trained: Array
    linear: Array
    parameters: int
    runs: int
    layers: Mapping[str, tuple[Mapping[str, Estimate], ...]] = field(default_factory=dict)
    layer_null: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    outputs: tuple[Mapping[str, Estimate], ...] = ()
    notes: tuple[str, ...] = ()
    alignment: AlignmentTime | None = None
    spectrum: KernelSpectrum | None = None
    conserved: Conservation | None = None

    @property
    def final(self) -> Mapping[str, Estimate]:
        """The measures at the last checkpoint."""
        return self.along[-1]

    @property
    def verdict(self) -> str:
        return judged(self.final)

    def facts(self) -> Facts:
        from .words import SAME_MEMORY, SENTENCES

        lines = [Fact("verdict", SENTENCES[self.verdict])]
        lines += [
            Fact(name.replace("_", " "), f"{self.final[name]} ({self.null[name]} between seeds)")
            for name in SHOWN_MEASURES
        ]
        if self.verdict == "unmoved" and self.final["weight_movement"].value == 0:
            lines.append(Fact("note", SAME_MEMORY))
        if "margin_gap" in self.final:
            lines.append(Fact("margin gap", str(self.final["margin_gap"])))
        if self.layers:
            turns = {name: along[-1]["kernel_movement"] for name, along in self.layers.items()}
            most = max(turns, key=lambda name: np.nan_to_num(turns[name].value, nan=-1.0))
            least = min(turns, key=lambda name: np.nan_to_num(turns[name].value, nan=np.inf))
            moved = f"kernel movement from {turns[least]} ({least}) to {turns[most]} ({most})"
            lines.append(Fact("layers", f"{len(turns)}, {moved}"))
        if "machine_gap" in self.final:
            told = f"{self.final['machine_gap']} ({self.null['machine_gap']} between seeds)"
            lines.append(Fact("machine gap", told))
        if self.alignment is not None and not self.alignment.reason:
            lines.append(Fact("alignment", self.alignment.describe()))
        if self.conserved is not None:
            lines.append(Fact("conserved", self.conserved.describe()))
        lines += [Fact("note", note) for note in self.notes]
        counts = f"{len(self.trained)}, {len(self.times)} checkpoints, {self.parameters} weights"
        return Facts(f"Probe: {self.verdict}", (*lines, Fact("inputs", counts)))

    def describe(self) -> str:
        """One paragraph for someone who trained the network."""
        from .words import paragraph

        return paragraph(self)

    def plot(self) -> Any:
        """A matplotlib figure: every movement beside its null reference, and f beside the
        linearised network."""
        from .probe_drawing import draw

        return draw(self)

    def plot_layers(self, measure: str = "kernel_movement") -> Any:
        """A heat map of one measure, layer by layer through the checkpoints; needs `layers=True`.

        Parameters
        ----------
        measure : str
            One of those in `layers`.
        """
        from .probe_drawing import draw_layers

        if not self.layers:
            raise InputError("layers: not measured; probe with layers=True")
        measured = next(iter(self.layers.values()))[0]
        return draw_layers(self, one_of("measure", measure, tuple(measured)))

    def scalars(self) -> dict[str, float]:
        """The last checkpoint's numbers by name, for any logger: `linear_gap`, `linear_gap_error`,
        `layer/NAME/kernel_movement`, …"""
        found = {}
        for name, estimate in self.final.items():
            found[name] = estimate.value
            found[f"{name}_error"] = estimate.error
        for layer, along in self.layers.items():
            for name, estimate in along[-1].items():
                found[f"layer/{layer}/{name}"] = estimate.value
        for one in () if self.conserved is None else self.conserved.found:
            found[f"drift/{one.into}/{one.out}"] = one.drift[-1].value
        return found


def judged(
    final: Mapping[str, Estimate],
    kernel_below: float = KERNEL_BELOW,
    rich_above: float = RICH_ABOVE,
) -> str:
    """The verdict on the measures of a training."""
    gap, moved = final["linear_gap"], final["kernel_movement"]
    turns = final["kernel_turn"].value, final["gradient_distance"].value
    if np.isnan(gap.value):
        return "unmoved"
    if np.isfinite(moved.value) and np.all(np.isnan(turns)):
        return "dead"
    if all(final[measure.__name__].high <= kernel_below for measure in MOVEMENTS):
        return "kernel"
    far = moved.low >= rich_above or np.isnan(moved.value)
    return "rich" if gap.low >= rich_above and far else "between"


@renamed(fn="network", memory="memory_b", seeds="keys")
@doing("probe")
def probe(
    network: Any,
    checkpoints: Sequence[Any],
    X: ArrayLike | Mapping[str, ArrayLike],
    y: ArrayLike | None = None,
    *,
    init: Callable[[int], Any] | None = None,
    runs: Sequence[Sequence[Any]] = (),
    keys: int = 5,
    times: ArrayLike | None = None,
    output: int | Sequence[int] | str | Sketch | None = None,
    full: Sequence[int] = (),
    parameters: str | Sequence[str] | Callable[[str], bool] | None = None,
    layers: bool = False,
    by_output: bool = False,
    trained_on: ArrayLike | Mapping[str, ArrayLike] | None = None,
    spectrum: bool = False,
    conserved: bool = False,
    buffers: str = "same",
    memory_b: float = MEMORY,
) -> Probe:
    """Kernel or rich? How far a network's tangent kernel, gradients and linearisation moved between
    checkpoints, with error bars.

    Parameters
    ----------
    network
        A JAX function network(params, X) -> (n,) or (n, outputs), a biasflow model, or a module of
        equinox, Flax (linen or nnx), Keras (on JAX or PyTorch) or PyTorch. PyTorch modules may
        return objects with `logits`.
    checkpoints : sequence
        Its parameters at two times or more, the first the initialisation: as the function takes
        them; modules; for PyTorch also state dictionaries or paths of `.safetensors` or `.pt`
        files; for linen variables; for Keras what `get_weights()` returns.
    X : array of shape (n, …), or dictionary of arrays
        Inputs to look at, n from 4 to a few thousand (kernels are n × n). Whole numbers, such as
        tokens, stay whole; of a dictionary's `attention_mask` padding is left out of predictions
        for each position.
    y : array of shape (n,) or (n, outputs), optional
        Their labels; whole numbers are classes, each of them an output.
    init : callable, optional
        key -> parameters of an untrained network, for the null reference; without it the first
        checkpoint's entries are shuffled within each tensor, which is another draw where entries
        were drawn independently.
    runs : sequence of sequences
        Checkpoints of the same training from other seeds, first and last at least, for an error
        over seeds.
    keys : int
        How many untrained networks.
    times : array, optional
        Of the checkpoints, for the picture.
    output : int, sequence of int, 'all' or regime.Sketch, optional
        The outputs looked at: by default all of up to 32, and random signed sums of more.
    full : sequence of int
        Outputs between all pairs of which the kernel is compared too.
    parameters : str, sequence of str or callable, optional
        Patterns of the names of weights that are looked at, as `*.lora_A.*`, or what says so of a
        name. Kernels, gradients and weight movements are then theirs; the linear gap stays that of
        all weights that are trained.
    layers : bool
        Measure every layer too: all weights whose names differ in the last word alone.
    by_output : bool
        Measure every output too.
    trained_on : array of shape (n', …), or dictionary of arrays, optional
        All inputs of a small training set, none of them in X: does the network predict on X what
        the kernel machine of its start makes of its predictions there? All outputs that were
        trained have to be looked at.
    spectrum : bool
        Rank and leading eigenvalues of the kernel too.
    conserved : bool
        Also look for units that can be rescaled, and for the drift of what gradient flow keeps of
        them.
    buffers : {'same', 'first', 'last'}
        Which checkpoint's tensors that are not trained, such as running means, hold for all; 'same'
        refuses where they differ.
    memory_b : float
        Bytes for blocks of gradients.

    Returns
    -------
    regime.Probe
        Prints as a verdict with a table of measures; `plot()` draws them.

    Raises
    ------
    InputError
        Where checkpoints do not fit the network, or inputs are too few, among others. Checkpoints
        that share memory with the network are no error: the probe says so.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> for scale in (100.0, 0.01):
    ...     problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=scale)
    ...     checkpoints = problem.start, bf.gradient_flow(problem).final
    ...     print(scale, bf.probe(problem.model, checkpoints, data.X).verdict)
    100.0 kernel
    0.01 rich
    """
    inputs = read_inputs(X)
    if len(inputs) < FEWEST_INPUTS:
        raise InputError(f"X: expected at least {FEWEST_INPUTS} inputs, found {len(inputs)}")
    if len(checkpoints) < 2:
        raise InputError(f"checkpoints: expected at least two, found {len(checkpoints)}")
    when = (
        np.arange(float(len(checkpoints)))
        if times is None
        else vector("times", times, len(checkpoints))
    )
    held = {"same": None, "first": checkpoints[0], "last": checkpoints[-1]}
    fixed = held[one_of("buffers", buffers, tuple(held))]
    asked = "auto" if output is None and not isinstance(network, Model) else output
    opened = tangent(network, checkpoints[0], inputs, asked, memory_b, "checkpoints[0]", fixed)
    with _inference_mode_named():
        count = opened.function.values(opened.leaves, inputs[:1]).shape[1]
    groups, names = layer_groups(opened.function.names, parameters, layers)
    some = (
        tangent(network, checkpoints[0], inputs, list(full), memory_b, "checkpoints[0]", fixed)
        if len(full)
        else None
    )
    labels, classes = _targets(y, opened, inputs, count)
    fitted = None if trained_on is None else read_inputs(trained_on, "trained_on")
    if fitted is not None:
        check_apart(inputs, fitted)
    looked = Looked(groups, names, by_output, some, fitted)
    looking = _Looking(opened, inputs, looked, labels, classes)
    first = looking.view("checkpoints[0]", checkpoints[0], first=True)
    later = [
        looking.pair(first, f"checkpoints[{k}]", c) for k, c in enumerate(checkpoints) if k > 0
    ]
    along: list[Mapping[str, Estimate]] = [estimates(p) for p in later]
    others = [estimates(looking.run(f"runs[{k}]", run)) for k, run in enumerate(runs)]
    along[-1] = _over_runs(along[-1], others)
    same = looking.beside(first, first)
    draws = positive_int("keys", keys)
    unlike = _others(looking, first, init, draws)
    null, layer_null = _null(looking, [looking.beside(first, other) for other in unlike], layers)
    end = later[-1]
    degree = measured_homogeneity(end.end.at, inputs) if np.any(end.end.values) else None
    return Probe(
        when,
        tuple(along),
        estimates(same),
        null,
        SHUFFLED if init is None else "by init",
        degree,
        _one_if_one(first.values),
        _one_if_one(end.end.values),
        _one_if_one(end.linear),
        sum(int(np.size(leaf)) for leaf in first.weights),
        1 + len(others),
        {
            name: tuple(estimates(p.layer(k, looked), LAYER_MEASURES) for p in later)
            for k, name in enumerate(names)
        }
        if layers
        else {},
        layer_null,
        tuple(estimates(end.output(k), MEASURES) for k in range(count)) if by_output else (),
        _notes(opened, inputs),
        alignment_time(when, same, later, draws),
        kernel_spectrum(when, [first, *(p.end for p in later)], unlike) if spectrum else None,
        conservation(
            opened,
            inputs,
            [first.at.leaves, *(p.end.at.leaves for p in later)],
            [other.at.leaves for other in unlike],
        )
        if conserved
        else None,
    )


@contextmanager
def _inference_mode_named() -> Iterator[None]:
    """What to do, where Flax says that a layer is in training mode."""
    try:
        yield
    except InputError as error:
        if any(word in str(error) for word in ("ModifyScopeVariableError", "InvalidRngError")):
            raise InputError(
                "network: batch normalisation or dropout is in training mode; build the module for "
                f"inference (use_running_average=True, deterministic=True). Flax says: {error}"
            ) from None
        raise


def _one_if_one(values: Array) -> Array:
    return values[:, 0] if values.shape[1] == 1 else values


def layer_groups(
    names: Sequence[str], parameters: Any, layers: bool
) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    """The group of every tensor that is looked at, and the groups' names: layers, or one for all.

    parameters: patterns of names, or what says so of a name.
    """
    if parameters is None:
        chosen = list(names)
    elif callable(parameters):
        chosen = [name for name in names if parameters(name)]
    else:
        patterns = [parameters] if isinstance(parameters, str) else list(parameters)
        chosen = [name for name in names if any(fnmatchcase(name, p) for p in patterns)]
    if not chosen:
        listed = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        raise InputError(
            f"parameters: none of the {len(names)} trained tensors is chosen; they are {listed}"
        )
    of = {name: (name.rpartition(".")[0] or name) if layers else "all" for name in chosen}
    found = tuple(dict.fromkeys(of.values()))
    return tuple(found.index(of[name]) if name in of else None for name in names), found


@dataclass(frozen=True, eq=False)
class _Looking:
    """One function on one set of inputs, at any parameters."""

    first: Tangent
    X: Inputs
    looked: Looked
    labels: Array | None
    classes: Array | None

    def view(self, name: str, params: Any, first: bool = False) -> View:
        try:
            leaves = self.first.function.leaves(name, params)
        except InputError as error:
            if "finite" in str(error):
                raise InputError(
                    f"{error}. Training diverged before this checkpoint: lower the step size"
                ) from None
            raise
        return self.seen(name, leaves, first)

    def seen(self, name: str, leaves: Leaves, first: bool = False) -> View:
        try:
            at = Tangent(self.first.function, leaves, self.first.memory)
            with doing(name):
                self._check_chance(at)
                return view(at, self.X, self.looked, first)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    def _check_chance(self, at: Tangent) -> None:
        """The second input predicted beside the first and on its own, at every checkpoint: behind
        weights that start at zero, such as those of an adapter, chance is not seen at the start;
        and modules of nnx hold the key of their random numbers, so that the first input meets the
        same ones either way."""
        values = at.function.values
        check_alone(values(at.leaves, self.X[:2])[1], values(at.leaves, self.X[1:2])[0])

    def beside(self, first: View, end: View) -> Pair:
        return pair(first, end, self.X, self.looked, self.labels, self.classes)

    def pair(self, first: View, name: str, params: Any) -> Pair:
        return self.beside(first, self.view(name, params))

    def run(self, name: str, checkpoints: Sequence[Any]) -> Pair:
        if len(checkpoints) < 2:
            raise InputError(f"{name}: expected at least two checkpoints, found {len(checkpoints)}")
        return self.pair(
            self.view(f"{name}[0]", checkpoints[0], first=True),
            f"{name}[{len(checkpoints) - 1}]",
            checkpoints[-1],
        )


def _targets(
    y: ArrayLike | None, at: Tangent, X: Inputs, count: int
) -> tuple[Array | None, Array | None]:
    """Labels (n, c) for the outputs looked at, and class numbers where each class has its output.

    Class numbers become ±1 for one output, and one column a class for several.
    """
    labels = read_labels(y, len(X))
    if labels is None:
        return None, None
    given: Any = y if hasattr(y, "dtype") else np.asarray(y)
    whole = str(given.dtype).rpartition(".")[2]
    asked = at.function.outputs.asked
    if labels.ndim == 2 or not whole.startswith(("int", "uint")) or asked is None:
        return labels.reshape(len(X), -1), None
    if isinstance(asked, int):
        return np.where(labels == asked, 1.0, -1.0)[:, None], None
    kinds = np.unique(labels)
    table = np.where(labels[:, None] == kinds, 1.0, 0.0)
    if count == 1:
        return labels[:, None], None
    every = at.function.outputs.asked in ("all", "auto") and at.function.sketched is None
    if not every or kinds[0] < 0:
        return table, None
    if kinds[-1] >= count:
        raise InputError(
            f"y: class {int(kinds[-1])}, and the network has {count} outputs, numbered from 0"
        )
    return np.eye(count)[labels.astype(int)], labels.astype(int)


def _over_runs(
    own: Mapping[str, Estimate], others: Sequence[Mapping[str, Estimate]]
) -> Mapping[str, Estimate]:
    """Means over runs; the error has the spread of the runs added to the error over inputs."""
    if not others:
        return own
    found = {}
    for name, estimate in own.items():
        values = np.array([estimate.value, *(other[name].value for other in others)])
        found[name] = Estimate(
            float(np.mean(values)), float(np.hypot(estimate.error, np.std(values, ddof=1)))
        )
    return found


def _others(
    looking: _Looking, first: View, init: Callable[[int], Any] | None, keys: int
) -> list[View]:
    """Untrained networks of other seeds."""
    fresh = (
        _initialised(looking, init, keys)
        if init is not None
        else _shuffled(first.at.leaves, looking.looked.groups, keys)
    )
    return [looking.seen(f"init({k + 1})", leaves) for k, leaves in enumerate(fresh)]


def _null(
    looking: _Looking, others: Sequence[Pair], layers: bool
) -> tuple[Mapping[str, Estimate], Mapping[str, Mapping[str, Estimate]]]:
    """The measures between the first checkpoint and untrained networks of other seeds, of the whole
    and of each layer."""
    everything = np.arange(len(looking.X))
    found: dict[str, list[dict[str, float]]] = {}
    for compared in others:
        found.setdefault("", []).append(
            {m.__name__: m(compared, everything) for m in measures_of(compared)}
        )
        for number, name in enumerate(looking.looked.layers if layers else ()):
            part = compared.layer(number, looking.looked)
            found.setdefault(name, []).append(
                {m.__name__: m(part, everything) for m in LAYER_MEASURES}
            )
    spreads = {name: _spread(values) for name, values in found.items()}
    return spreads.pop(""), spreads


def _spread(found: Sequence[Mapping[str, float]]) -> Mapping[str, Estimate]:
    """Means and standard deviations over seeds."""
    return {
        name: Estimate(
            float(np.mean(values)),
            float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
        )
        for name, values in ((name, [f[name] for f in found]) for name in found[0])
    }


def _initialised(looking: _Looking, init: Callable[[int], Any], keys: int) -> Iterator[Leaves]:
    for key in range(1, keys + 1):
        yield looking.first.function.leaves(f"init({key})", init(key))


def _shuffled(leaves: Leaves, groups: Sequence[int | None], keys: int) -> Iterator[Leaves]:
    """Tensors that are looked at, shuffled; all others as they are."""
    for key in range(1, keys + 1):
        rng = np.random.default_rng(key)
        yield tuple(
            leaf if group is None else rng.permutation(leaf.ravel()).reshape(leaf.shape)
            for leaf, group in zip(leaves, groups, strict=True)
        )


def _notes(at: Tangent, X: Inputs) -> tuple[str, ...]:
    """What a reader should know of the numbers."""
    sketch = at.function.sketched
    if sketch is None:
        return at.function.notes
    count, draws = sketch
    return (
        *at.function.notes,
        f"{draws} random signed sums stand for {count:,} outputs; the kernel at the start is known "
        f"to ±{100 * at.sketch_error(X):.2g}% of its norm (one standard error over the sums).",
    )
