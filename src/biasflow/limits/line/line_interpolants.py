"""All two-layer ReLU networks of least norm through samples on a line, with biases that are
penalised or not, with an affine part that is free or missing."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, instance, label_size, positive_float, real_array
from ..._core.facts import Fact, Facts
from ..._core.result_facts import bracket_of, proof_fact
from ..._core.results import Certificate, Limit
from ..._numerics.exact_sums import (
    root_sum_bounds,
    rounded_down,
    rounded_up,
    sum_bounds,
)
from ...models import TwoLayerParams
from .bends import Bend, free_bends
from .line_functions import PiecewiseLinear
from .line_proofs import Kink, Multipliers, kinks_of, length_bounds, multipliers_of_path
from .line_samples import LineSamples, read_line
from .opposed_neurons import Candidates, opposed_neurons, shares_of_sides
from .taut_paths import taut_path

ZERO = Fraction(0)


@dataclass(frozen=True, eq=False, repr=False)
class LineInterpolants(Limit[PiecewiseLinear]):
    """All interpolants of least norm on a line: one with the fewest kinks known, and what the
    others look like. `found(x)` evaluates that one; `plot()` draws it with the set.

    Parameters
    ----------
    value : PiecewiseLinear
        A minimiser; where all minimisers are known, one with the fewest kinks.
    objective : float
    certificate : Certificate
        Around the least norm, in exact arithmetic.
    x, y : array of shape (n,)
        The samples, sorted, each input once.
    penalise_bias, skip : bool
        As asked.
    unique : bool or None
        Whether every minimiser is this function; None where that is not known.
    bends : tuple of Bend
        Where minimisers have a choice: (start, stop, sign), any function that is convex (sign 1) or
        concave (−1) there and passes through the samples, with slopes between those outside.
    spare : float
        Where a bend reaches to infinity: by how much the slopes at both ends together differ from
        those of the outermost chords, split in any way.
    network : models.TwoLayerParams
        Balanced neurons of inputs (x, 1) that give the value; with `affine` added where `skip`.
    affine : array of shape (2,)
        Slope and offset of the free affine part; zeros without one.

    Examples
    --------
    >>> found = bf.limits.line_interpolants([0, 1, 2, 3], [0, 0, 1, 3], penalise_bias=False)
    >>> print(found.objective, found.unique, found.bends[0])
    2.0 False Bend(start=1.0, stop=2.0, sign=1)
    >>> found.value.kinks, [bound.tolist() for bound in found.envelope([1.5])]
    (array([1.5]), [[0.0], [0.5]])
    """

    x: Array = field(default_factory=lambda: np.zeros(0))
    y: Array = field(default_factory=lambda: np.zeros(0))
    penalise_bias: bool = True
    skip: bool = False
    unique: bool | None = None
    bends: tuple[Bend, ...] = ()
    spare: float = 0.0
    network: TwoLayerParams = field(
        default_factory=lambda: TwoLayerParams(np.zeros(0), np.zeros((0, 2)))
    )
    affine: Array = field(default_factory=lambda: np.zeros(2))

    def __call__(self, X: ArrayLike) -> Array:
        """The value at inputs (m,) or (m, 1); (m,)."""
        return self.value(X)

    def envelope(self, x: ArrayLike) -> tuple[Array, Array]:
        """The least and the largest value of any minimiser at inputs (m,); NaN where minimisers
        are not all known."""
        x = np.atleast_1d(real_array("x", x)).ravel()
        here = self.value(x)
        if self.unique is None:
            return np.full(x.shape, np.nan), np.full(x.shape, np.nan)
        if self.unique:
            return here, here.copy()
        if self.x.size == 1:  # every line through the sample
            far = np.where(x == self.x[0], self.y[0], np.inf)
            return np.where(x == self.x[0], self.y[0], -np.inf), far
        bounds = [self._range(float(at)) for at in x]
        return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])

    def _range(self, at: float) -> tuple[float, float]:
        """Between the chord and the lines of the chords on both sides, where a choice is."""
        x, y, slopes = self.x, self.y, np.diff(self.y) / np.diff(self.x)
        i = int(np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2))
        chord = float(y[i] + slopes[i] * (at - x[i]))
        sign = next((bend.sign for bend in self.bends if bend.start <= at <= bend.stop), 0)
        if not sign or at in (x[i], x[i + 1]):
            return chord, chord
        lean = self.bends[0].sign if math.isinf(self.bends[0].start) else 0
        lean = lean or (-self.bends[-1].sign if math.isinf(self.bends[-1].stop) else 0)
        change = lean * self.spare
        if at < x[0]:
            others = [float(y[0] + (slopes[0] - change) * (at - x[0]))]
            return min(chord, *others), max(chord, *others)
        if at > x[-1]:
            others = [float(y[-1] + (slopes[-1] - change) * (at - x[-1]))]
            return min(chord, *others), max(chord, *others)
        before = (slopes[i - 1] if i else slopes[0] - change) * (at - x[i]) + y[i]
        after = (slopes[i + 1] if i + 2 < x.size else slopes[-1] - change) * (at - x[i + 1])
        after += y[i + 1]
        other = float(max(before, after) if sign > 0 else min(before, after))
        return min(chord, other), max(chord, other)

    def facts(self) -> Facts:
        which = {True: "unique", False: "a set", None: "not known to be unique"}[self.unique]
        count = len(self.bends)
        free = f", {count} bend{'s are' if count > 1 else ' is'} free" if count else ""
        norm = "Σ|a|‖(w, b)‖" if self.penalise_bias else "Σ|a||w|"
        lines = [
            Fact("norm", f"{norm}{', affine part free' if self.skip else ''}"),
            Fact("objective", f"{self.objective:.8g} in {bracket_of(self.certificate)}"),
            proof_fact(self.certificate.gap, self.certificate.kind, self.certificate.residual),
            Fact("interpolants", f"{which}{free}; {self.value.kinks.size} kinks in the one shown"),
            Fact("samples", f"{self.x.size}"),
        ]
        return Facts("LineInterpolants", tuple(lines))


def line_interpolants(
    x: ArrayLike,
    y: ArrayLike,
    *,
    penalise_bias: bool = True,
    skip: bool = False,
    gap: float = 1e-9,
    time_s: float = 60.0,
) -> LineInterpolants:
    """All interpolants f(x_i) = y_i of least Σ|a_j|‖(w_j, b_j)‖ among two-layer ReLU networks f(x)
    = Σ_j a_j(w_jx + b_j)₊ of any width on a line, half of the least ‖θ‖²; exactly.

    Free biases (`penalise_bias=False`): the norm Σ|a_j||w_j| of a function is ∫|f″| with a free
    affine part (`skip=True`), max(∫|f″|, |f′(−∞) + f′(∞)|) without (Savarese et al. 2019). A closed
    form in rationals; the minimisers are a set as a rule. O(n log n).

    Penalised biases with a free affine part: ∫√(1+t²)|f″| (Boursier & Flammarion 2023). The
    tangents of f trace a curve of that length in the plane of lines, which is a taut string: O(n),
    and unique for n ≥ 2. Without the affine part that formula is too small: (x−t)₊ − (t−x)₊ = x − t
    costs 2√(1+t²) and not zero (see `PiecewiseLinear.norm`). Where the string's kinks can be shared
    out between (x−t)₊ and (t−x)₊ such that it starts from zero it is the answer; elsewhere sparse
    linear programs with O(n) columns find the neurons, to `gap`.

    Every bracket holds in exact arithmetic for the floats given, whatever their offsets and units.

    Parameters
    ----------
    x : array of shape (n,) or (n, 1)
        Inputs, in any order; equal ones need equal labels.
    y : array of shape (n,)
    penalise_bias : bool
        Whether b_j counts in the norm. (`bias=` elsewhere says who adds the column of ones.)
    skip : bool
        Whether an affine function αx + β may be added for free.
    gap : float
        Relative gap to reach, by the linear programs; the other ways need none.
    time_s : float
        For them.

    Returns
    -------
    LineInterpolants
        A `Limit`; value: a `PiecewiseLinear`.

    Raises
    ------
    InconsistentError
        Of samples with one input and different labels; it names them.
    ConvergenceError
        Where a linear program fails.

    Examples
    --------
    >>> x, y = [-2.0, -1.0, 0.0, 1.0, 2.0], [1.0, 0.0, 0.0, 1.0, 3.0]
    >>> found = bf.limits.line_interpolants(x, y)
    >>> print(round(found.objective, 6), found.certificate.kind, found.unique)
    3.650282 exact True
    >>> found.value.kinks.round(6), found.value.jumps.round(6)
    (array([-1. ,  0.5]), array([1., 2.]))
    """
    penalise_bias = bool(instance("penalise_bias", penalise_bias, (bool, np.bool_)))
    skip = bool(instance("skip", skip, (bool, np.bool_)))
    gap, deadline = positive_float("gap", gap), time.monotonic() + positive_float("time_s", time_s)
    samples = read_line(x, y)
    if samples.n == 1:
        return _of_one(samples, penalise_bias, skip)
    if not penalise_bias:
        return _with_free_biases(samples, skip)
    path = taut_path(samples)
    kinks = kinks_of(samples, path.slopes)
    lower = multipliers_of_path(samples, path.tightness).proven(samples, True)
    upper = length_bounds(kinks)[1]
    function = _function(samples, kinks, path.slopes[0], path.slopes[-1])
    if skip:
        plain = _one_sided(function)
        return _found(samples, function, (lower, upper), plain, True, True, True)
    shares = shares_of_sides(samples, kinks, path.slopes[-1])
    if shares is not None:
        upper = upper + _left_by_shares(samples, kinks, shares, path.slopes[-1])
        if rounded_up(upper) - lower <= gap * rounded_up(upper):
            sides = _two_sided(kinks, shares)
            return _found(samples, function, (lower, upper), sides, True, False, True)
    if all(label == 0 for label in samples.y):
        nothing = TwoLayerParams(np.zeros(0), np.zeros((0, 2))), np.zeros(2)
        return _found(samples, function, (0.0, ZERO), nothing, True, False, True)
    return _without_skip(samples, kinks, gap, deadline)


def _found(
    samples: LineSamples,
    function: PiecewiseLinear,
    bounds: tuple[float, Fraction],
    network: tuple[TwoLayerParams, Array],
    penalise_bias: bool,
    skip: bool,
    unique: bool | None,
    gap: float = 1e-9,
    **more: Any,
) -> LineInterpolants:
    """The record; both bounds in floats, rounded outwards."""
    upper = rounded_up(bounds[1])
    lower = min(bounds[0], upper)
    kind = "exact" if upper - lower <= gap * upper else "bound"
    off = np.abs(function(samples.inputs) - samples.labels)
    proof = Certificate(upper, lower, float(np.max(off)) / label_size(samples.labels), kind)
    return LineInterpolants(
        function,
        upper if kind == "bound" else (lower + upper) / 2,
        proof,
        {"neurons": network[0].a.size, **more.pop("stats", {})},
        "Savarese et al. 2019" if not penalise_bias else "Boursier & Flammarion 2023",
        x=samples.inputs,
        y=samples.labels,
        penalise_bias=penalise_bias,
        skip=skip,
        unique=unique,
        network=network[0],
        affine=network[1],
        **more,
    )


def _function(
    samples: LineSamples, kinks: list[Kink], left: Fraction, right: Fraction
) -> PiecewiseLinear:
    known = {float(t): float(y) for t, y in zip(samples.x, samples.y, strict=True)}
    for kink in kinks:
        known.setdefault(float(kink.t), float(kink.value))
    points = np.array(sorted(known))
    return PiecewiseLinear(
        points,
        np.array([known[t] for t in points.tolist()]),
        float(left),
        float(right),
        np.array([float(kink.t) for kink in kinks]),
        np.array([float(kink.jump) for kink in kinks]),
    )


def _balanced(masses: Array, w: Array, b: Array, lengths: Array) -> TwoLayerParams:
    """mass_j·((w_jx + b_j)/length_j)₊ with |a_j| equal to the length of the weights that count."""
    size = np.sqrt(np.abs(masses))
    return TwoLayerParams(
        np.sign(masses) * size, (size / lengths)[:, None] * np.column_stack([w, b])
    )


def _one_sided(function: PiecewiseLinear) -> tuple[TwoLayerParams, Array]:
    """(x − t)₊ for every kink, and the first asymptote."""
    t, lengths = function.kinks, np.hypot(1.0, function.kinks)
    params = _balanced(function.jumps * lengths, np.ones_like(t), -t, lengths)
    offset = function.values[0] - function.left * function.points[0]
    return params, np.array([function.left, offset])


def _two_sided(kinks: list[Kink], shares: tuple[Fraction, ...]) -> tuple[TwoLayerParams, Array]:
    t = np.array([float(kink.t) for kink in kinks])
    jumps = np.array([float(kink.jump) for kink in kinks])
    r, lengths = np.array([float(share) for share in shares]), np.hypot(1.0, t)
    ones = np.ones_like(t)
    masses = np.concatenate([r, 1 - r]) * np.tile(jumps * lengths, 2)
    params = _balanced(
        masses, np.concatenate([ones, -ones]), np.concatenate([-t, t]), np.tile(lengths, 2)
    )
    kept = masses != 0
    return TwoLayerParams(params.a[kept], params.W[kept]), np.zeros(2)


def _left_by_shares(
    samples: LineSamples, kinks: list[Kink], shares: tuple[Fraction, ...], last: Fraction
) -> Fraction:
    """At most what the affine rest costs that rounded shares leave: 2|α|√(1+c²) + |β| for α(x−c) +
    β."""
    centre = samples.x[samples.n // 2]
    height = samples.y[-1] + last * (centre - samples.x[-1])
    parts = [share * kink.jump for share, kink in zip(shares, kinks, strict=True)]
    slope = sum_bounds([*parts, -last])
    arms = [part * (centre - kink.t) for part, kink in zip(parts, kinks, strict=True)]
    offset = sum_bounds([*arms, -height])
    along, up = (max(abs(low), abs(high)) for low, high in (slope, offset))
    return 2 * along * root_sum_bounds([1 + centre**2])[1] + up


def _of_one(samples: LineSamples, penalise_bias: bool, skip: bool) -> LineInterpolants:
    """One sample: any line for free with an affine part, a constant where biases are free, else the
    neuron along (x, 1)."""
    (x,), (y,) = samples.x, samples.y
    if skip or not penalise_bias or not y:
        function = _function(samples, [], ZERO, ZERO)
        constant = TwoLayerParams(np.ones(1), np.array([[0.0, float(y)]]))
        if float(y) < 0:
            constant = TwoLayerParams(-constant.a, -constant.W)
        network = (
            (TwoLayerParams(np.zeros(0), np.zeros((0, 2))), np.array([0.0, float(y)]))
            if skip or not y
            else (constant, np.zeros(2))
        )
        unique = not skip
        return _found(samples, function, (0.0, ZERO), network, penalise_bias, skip, unique)
    low, high = root_sum_bounds([y**2 / (1 + x**2)])
    slope = y * x / (1 + x**2)
    kinks = [Kink(-1 / x, abs(slope) if y > 0 else -abs(slope), ZERO)] if x else []
    if kinks and not math.isfinite(_as_float(kinks[0].t)):
        kinks = []
    left, right = (slope, slope) if not kinks else (ZERO, slope) if x > 0 else (slope, ZERO)
    function = _function(samples, kinks, left, right)
    size, length = math.sqrt(abs(float(high))), math.hypot(1.0, float(x))
    params = TwoLayerParams(
        np.array([math.copysign(size, float(y))]),
        np.array([[float(x) / length, 1 / length]]) * size,
    )
    bounds = rounded_down(low), high
    return _found(samples, function, bounds, (params, np.zeros(2)), True, False, True)


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _with_free_biases(samples: LineSamples, skip: bool) -> LineInterpolants:
    known = free_bends(samples, skip)
    kinks, left, right = known.sparsest()
    function = _function(samples, kinks, left, right)
    lower = known.multipliers.proven(samples, False)
    bends = known.bends()
    return _found(
        samples,
        function,
        (lower, known.value[1]),
        _one_sided_free(function) if skip else _two_sided_free(function),
        False,
        skip,
        not bends,
        bends=bends,
        spare=float(known.spare),
    )


def _one_sided_free(function: PiecewiseLinear) -> tuple[TwoLayerParams, Array]:
    t = function.kinks
    params = _balanced(function.jumps, np.ones_like(t), -t, np.ones_like(t))
    offset = function.values[0] - function.left * function.points[0]
    return params, np.array([function.left, offset])


def _two_sided_free(function: PiecewiseLinear) -> tuple[TwoLayerParams, Array]:
    """Shares of (x−t)₊ that sum to the last slope, one of them at most a fraction, and a constant,
    whose bias is free."""
    t, jumps = function.kinks, function.jumps
    # from −Σ of the negative to Σ of the positive jumps, up to the slope wanted
    wanted = function.right - float(np.sum(jumps[jumps < 0]))
    filled = np.clip(wanted - np.concatenate([[0.0], np.cumsum(np.abs(jumps))[:-1]]), 0.0, None)
    r = np.clip(filled / np.where(jumps != 0, np.abs(jumps), 1.0), 0.0, 1.0)
    r = np.where(jumps > 0, r, 1 - r)
    masses = np.concatenate([r * jumps, (1 - r) * jumps])
    ones = np.ones_like(t)
    w, b = np.concatenate([ones, -ones]), np.concatenate([-t, t])
    at = function.points[0]
    rest = function.values[0] - float(masses @ np.maximum(w * at + b, 0.0))
    params = _balanced(masses, w, b, np.ones_like(w))
    kept = masses != 0
    a = np.append(params.a[kept], math.copysign(1.0, rest))
    return TwoLayerParams(a, np.vstack([params.W[kept], [0.0, abs(rest)]])), np.zeros(2)


def _without_skip(
    samples: LineSamples, kinks: list[Kink], gap: float, deadline: float
) -> LineInterpolants:
    found = opposed_neurons(samples, kinks, gap, deadline)
    neurons, factors = found.neurons, found.factors
    upper = _repaired(samples, neurons, factors)
    lower = found.multipliers.proven(samples, True)
    function = _sum_of_neurons(samples, neurons, factors)
    w, b = neurons.directions(float(samples.x[0]))
    masses = factors * neurons.weight
    unique = _unique(samples, np.column_stack([w, b]), masses, found.multipliers)
    if rounded_up(upper) - lower > gap * rounded_up(upper):
        unique = None
    network = _balanced(masses, w, b, np.ones_like(masses)), np.zeros(2)
    stats = {"rounds": found.rounds}
    return _found(samples, function, (lower, upper), network, True, False, unique, gap, stats=stats)


def _repaired(samples: LineSamples, neurons: Candidates, factors: Array) -> Fraction:
    """The norm of the neurons, and at most what the rest of the labels costs that they leave: kinks
    at inputs, and α(x − x_0) + β; in rationals."""
    x, bends = samples.x, list(samples.bends)
    slope, value, squares = samples.slopes[0], samples.y[0], []
    for j, factor in enumerate(Fraction(float(one)) for one in factors):
        if not neurons.side[j]:
            w, v = Fraction(float(neurons.w[j])), Fraction(float(neurons.v[j]))
            slope, value = slope - factor * w, value - factor * v
            squares.append(factor**2 * (w**2 + (v - w * x[0]) ** 2))
            continue
        t, i = Fraction(float(neurons.t[j])), int(neurons.piece[j])
        late = factor * (x[i + 1] - t) / (x[i + 1] - x[i])
        squares.append(factor**2 * (1 + t**2))
        if neurons.side[j] < 0:
            slope, value = slope + factor, value - factor * (t - x[0])
        if i == 0:
            slope -= late
        else:
            bends[i] -= late
        if i + 1 < samples.n - 1:
            bends[i + 1] -= factor - late
    rest = [bends[i] ** 2 * (1 + x[i] ** 2) for i in range(1, samples.n - 1)]
    rest += [4 * slope**2 * (1 + x[0] ** 2), value**2]
    return root_sum_bounds(squares)[1] + root_sum_bounds(rest)[1]


def _sum_of_neurons(samples: LineSamples, neurons: Candidates, factors: Array) -> PiecewiseLinear:
    """The neurons as a function; values at kinks are carried on from the next sample."""
    x, y = samples.inputs, samples.labels
    flat = neurons.side == 0
    bends = flat & (neurons.w != 0)
    # w(x − x_0) + v bends before the first input or after the last
    zero = x[0] - neurons.v[bends] / neurons.w[bends]
    t = np.concatenate([neurons.t[~flat], zero])
    jumps = np.concatenate([factors[~flat], factors[bends] * np.abs(neurons.w[bends])])
    sides = np.concatenate([neurons.side[~flat], np.sign(neurons.w[bends])])
    left, right = -float(np.sum(jumps[sides < 0])), float(np.sum(jumps[sides > 0]))
    t, group = np.unique(t, return_inverse=True)
    sums = np.zeros(t.size)
    np.add.at(sums, group, jumps)
    slopes = np.concatenate([[left], left + np.cumsum(sums)])
    kinks = []
    for at, jump in zip(t, sums, strict=True):
        i = int(np.searchsorted(x, at, side="right")) - 1
        if i >= 0:  # from the sample before, over kinks since
            between = np.flatnonzero((t > x[i]) & (t <= at))
            ends = np.concatenate([[x[i]], t[between]])
            value = y[i] + float(np.sum(slopes[between] * np.diff(ends)))
        else:
            between = np.flatnonzero((t >= at) & (t < x[0]))
            ends = np.concatenate([t[between], [x[0]]])
            value = y[0] - float(np.sum(slopes[between + 1] * np.diff(ends)))
        kinks.append(Kink(Fraction(float(at)), Fraction(float(jump)), Fraction(value)))
    return _function(samples, kinks, Fraction(left), Fraction(right))


MOST_FOR_UNIQUENESS = 300
"""Samples up to which the polytope of minimisers is looked at: some seconds."""


def _unique(
    samples: LineSamples, units: Array, masses: Array, multipliers: Multipliers
) -> bool | None:
    """Whether the neurons that the multipliers leave can be combined in one way only; True is what
    is said, as False cannot be told from rounding."""
    from ..neurons.columns import Neurons
    from ..neurons.listed_cells import ArcsOracle
    from ..neurons.uniqueness import uniqueness

    if samples.n > MOST_FOR_UNIQUENESS:
        return None
    x = samples.inputs
    psi = np.array([float(value) for value in multipliers.psi])
    inner = np.diff(psi) / np.diff(x)
    lam = np.diff(np.concatenate([[-float(multipliers.m0)], inner, [0.0]]))
    lengths = np.hypot(1.0, x)
    rows = np.column_stack([x, np.ones_like(x)]) / lengths[:, None]
    if np.linalg.matrix_rank(rows) < 2:
        return None
    own = Neurons(units, np.sign(masses))
    total = float(np.sum(np.abs(masses)))
    same, _ = uniqueness(ArcsOracle(rows), own, np.abs(masses) / total, lam * lengths)
    return True if same else None
