"""The regime probe: does this network train like a kernel machine, or does it learn features?
Measured, with error bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, positive_int, vector
from .._core.facts import Fact, Facts, Shown
from .._core.former_names import renamed
from ..errors import InputError
from ..limits.homogeneous import Homogeneity, measured_homogeneity
from ..limits.tangent.functions import Leaves, read_inputs
from ..limits.tangent.tangent_kernels import MEMORY, Tangent, tangent
from .measures import MEASURES, MOVEMENTS, Estimate, Pair, View, estimates, pair, read_labels, view

KERNEL_BELOW = 0.1
"""Every movement below this, two standard errors included: the kernel regime. A linear gap of 0.1
leaves 1% of the variance of what was learned to features."""
RICH_ABOVE = 0.5
"""Linear gap and kernel movement both above this: the rich regime. The linearised network misses
half of what was learned, and the kernel is another one."""
SHOWN_MEASURES = ("linear_gap", "kernel_movement", "gradient_distance", "weight_movement")
"""Measures that a probe shows by itself; `final` has them all."""
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

    @property
    def final(self) -> Mapping[str, Estimate]:
        """The measures at the last checkpoint."""
        return self.along[-1]

    @property
    def verdict(self) -> str:
        gap, moved = self.final["linear_gap"], self.final["kernel_movement"]
        if np.isnan(gap.value):
            return "unmoved"
        if (
            np.isfinite(moved.value)
            and np.isnan(self.final["kernel_turn"].value)
            and np.isnan(self.final["gradient_distance"].value)
        ):
            return "dead"
        if all(self.final[measure.__name__].high <= KERNEL_BELOW for measure in MOVEMENTS):
            return "kernel"
        return (
            "rich"
            if gap.low >= RICH_ABOVE and (moved.low >= RICH_ABOVE or np.isnan(moved.value))
            else "between"
        )

    def facts(self) -> Facts:
        from .words import SAME_MEMORY, SENTENCES

        lines = [Fact("verdict", SENTENCES[self.verdict])]
        lines += [
            Fact(name.replace("_", " "), f"{self.final[name]} ({self.null[name]} between seeds)")
            for name in SHOWN_MEASURES
        ]
        if self.verdict == "unmoved" and self.final["weight_movement"].value == 0:
            lines.append(Fact("note", SAME_MEMORY))
        counts = f"{self.trained.size}, {len(self.times)} checkpoints, {self.parameters} weights"
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


@renamed(fn="network", memory="memory_b", seeds="keys")
def probe(
    network: Any,
    checkpoints: Sequence[Any],
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    init: Callable[[int], Any] | None = None,
    runs: Sequence[Sequence[Any]] = (),
    keys: int = 5,
    times: ArrayLike | None = None,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> Probe:
    """Kernel or rich? How far a network's tangent kernel, gradients and linearisation moved between
    checkpoints, with error bars.

    Parameters
    ----------
    network
        A JAX function network(params, X) -> (n,), a biasflow model, an equinox module or a PyTorch
        module (of a batch).
    checkpoints : sequence
        Its parameters (modules, for equinox; modules or state dictionaries, for PyTorch) at two
        times or more, the first the initialisation.
    X : array of shape (n, …)
        Inputs to look at, n from 4 to a few thousand (kernels are n × n).
    y : array of shape (n,), optional
        Their labels; class numbers where `output` says which class it is for.
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
    output : int, optional
        The column looked at of a network with several.
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
    opened = tangent(network, checkpoints[0], inputs, output, memory_b, "checkpoints[0]")
    looking = _Looking(opened, inputs, _target(y, output, len(inputs)))
    first = looking.view("checkpoints[0]", checkpoints[0])
    later = [
        looking.pair(first, f"checkpoints[{k}]", c) for k, c in enumerate(checkpoints) if k > 0
    ]
    along: list[Mapping[str, Estimate]] = [estimates(p) for p in later]
    others = [estimates(looking.run(f"runs[{k}]", run)) for k, run in enumerate(runs)]
    along[-1] = _over_runs(along[-1], others)
    starts = estimates(pair(first, first, inputs, looking.labels))
    null, drawn = _null(looking, first, init, positive_int("keys", keys))
    end = later[-1]
    degree = measured_homogeneity(end.end.at, inputs) if np.any(end.end.values) else None
    size = sum(leaf.size for leaf in first.at.leaves)
    return Probe(
        when,
        tuple(along),
        starts,
        null,
        drawn,
        degree,
        first.values,
        end.end.values,
        end.linear,
        size,
        1 + len(others),
    )


@dataclass(frozen=True, eq=False)
class _Looking:
    """One function on one set of inputs, at any parameters."""

    first: Tangent
    X: Array
    labels: Array | None

    def view(self, name: str, params: Any) -> View:
        try:
            leaves = self.first.function.leaves(name, params)
        except InputError as error:
            if "finite" in str(error):
                raise InputError(
                    f"{error}. Training diverged before this checkpoint: lower the step size"
                ) from None
            raise
        return self.seen(name, leaves)

    def seen(self, name: str, leaves: Leaves) -> View:
        try:
            return view(Tangent(self.first.function, leaves, self.first.memory), self.X)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    def pair(self, first: View, name: str, params: Any) -> Pair:
        return pair(first, self.view(name, params), self.X, self.labels)

    def run(self, name: str, checkpoints: Sequence[Any]) -> Pair:
        if len(checkpoints) < 2:
            raise InputError(f"{name}: expected at least two checkpoints, found {len(checkpoints)}")
        return self.pair(
            self.view(f"{name}[0]", checkpoints[0]),
            f"{name}[{len(checkpoints) - 1}]",
            checkpoints[-1],
        )


def _target(y: ArrayLike | None, output: int | None, n: int) -> Array | None:
    """Labels for the output looked at: ±1 for class numbers."""
    labels = read_labels(y, n)
    if labels is None or output is None or np.asarray(y).dtype.kind not in "iu":
        return labels
    return np.where(labels == output, 1.0, -1.0)


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


def _null(
    looking: _Looking, first: View, init: Any, keys: int
) -> tuple[Mapping[str, Estimate], str]:
    """The measures between the first checkpoint and untrained networks of other seeds."""
    drawn = "by init" if init is not None else "by shuffling the initial weights within each tensor"
    fresh = (
        _initialised(looking, init, keys) if init is not None else _shuffled(first.at.leaves, keys)
    )
    found = []
    for k, leaves in enumerate(fresh):
        other = looking.seen(f"init({k + 1})", leaves)
        everything = np.arange(len(looking.X))
        compared = pair(first, other, looking.X, looking.labels)
        found.append({m.__name__: m(compared, everything) for m in MEASURES})
    return {
        name: Estimate(
            float(np.mean(values)),
            float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
        )
        for name, values in ((name, [f[name] for f in found]) for name in found[0])
    }, drawn


def _initialised(looking: _Looking, init: Callable[[int], Any], keys: int) -> Iterator[Leaves]:
    for key in range(1, keys + 1):
        yield looking.first.function.leaves(f"init({key})", init(key))


def _shuffled(leaves: Leaves, keys: int) -> Iterator[Leaves]:
    for key in range(1, keys + 1):
        rng = np.random.default_rng(key)
        yield tuple(rng.permutation(leaf.ravel()).reshape(leaf.shape) for leaf in leaves)
