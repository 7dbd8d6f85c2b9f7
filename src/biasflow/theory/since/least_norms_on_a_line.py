"""Interpolants of least norm on a line (Savarese et al. 2019; Boursier & Flammarion 2023,
arXiv:2303.01353), with biases that are penalised or free and an affine part that is free or not.

With kinks k_i at t_i: ∫√(1+t²)|f″| = Σ|k_i|√(1+t_i²) is the least Σ|a_j|‖(w_j, b_j)‖ of networks
for f where an affine part is free. Without it, x = (x)₊ − (−x)₊ costs two: see
`PiecewiseLinear.norm`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ...errors import InconsistentError
from ...limits import (
    LineInterpolants,
    PiecewiseLinear,
    line_interpolants,
    min_norm_interpolator,
)
from ...limits.line.line_samples import read_line
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from .line_programs import (
    PROGRAM_ERROR,
    SLACK,
    cost_on_grid,
    grid_error,
    least_on_grid,
    range_on_grid,
)

VARIANTS = ((False, True), (False, False), (True, True), (True, False))
"""(penalise_bias, skip)."""
SOLVER_ERROR = 1e-8
"""Relative error of a solver that stops at a gap of 1e-9."""
AFFINE = ((1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (0.2, 1.0), (0.0, 1.0))
"""(α, β) of affine functions, on both sides of |β| = |α|/√3."""
MOST_SAMPLES = 40
"""Up to which the linear programs take seconds."""
WIDEST = 1e3
"""Largest |x|, and inverse distance of inputs, that a grid of directions resolves."""
ROUNDED = 1e-15
"""Of values of a line, relative to the labels."""
PROGRAMS = "a linear program over neurons on a grid"


def words_of(penalise_bias: bool, skip: bool) -> str:
    return (
        f"{'penalised' if penalise_bias else 'free'} biases, "
        f"{'an affine part for free' if skip else 'no affine part'}"
    )


def formula(f: PiecewiseLinear, penalise_bias: bool, skip: bool) -> float:
    """What is claimed of the norm of a function."""
    return f.norm(penalise_bias=penalise_bias, skip=skip)


def chords(x: Array, y: Array) -> PiecewiseLinear:
    """The linear spline, which knows nothing of norms."""
    slopes = np.diff(y) / np.diff(x)
    return PiecewiseLinear.through(x, y, float(slopes[0]), float(slopes[-1]))


def _least(evidence: Evidence) -> tuple[Check, ...]:
    data = evidence.problem
    found = {
        variant: line_interpolants(
            data.X, data.y, penalise_bias=variant[0], skip=variant[1], time_s=evidence.time_left / 2
        )
        for variant in VARIANTS
    }
    one = found[True, False]
    x, y = one.x, one.y
    checks = [_value(found[variant], variant, x, y) for variant in VARIANTS]
    checks += [_norm(found[variant], variant) for variant in VARIANTS]
    generated = f"½ of the least ‖θ‖² by column generation over the same, {words_of(True, False)}"

    def by_columns() -> Check:
        time_s = evidence.time_left / 2
        whole = need(min_norm_interpolator(data.X, data.y, bias="append", time_s=time_s))
        return Check(
            generated,
            whole.objective / 2 / one.objective,
            "==",
            1.0,
            SOLVER_ERROR + whole.certificate.relative_gap,
            witness="column generation over arcs of directions",
            null=formula(chords(x, y), True, False) / one.objective,
        )

    checks += part(generated, by_columns)
    checks += [_set(found[False, skip], skip, x, y) for skip in (True, False)]
    checks.append(_affine())
    checks.append(_whole_line(found[True, True].value))
    return tuple(checks)


def _value(found: LineInterpolants, variant: tuple[bool, bool], x: Array, y: Array) -> Check:
    """The least norm against the grid's, which is larger by less than the grid's error."""
    grid = least_on_grid(x, y, *variant)
    return Check(
        f"least norm by linear programming over the least norm, {words_of(*variant)}",
        grid / found.objective,
        "==",
        1.0,
        (grid_error() if variant[0] else 0.0) + PROGRAM_ERROR,
        witness=PROGRAMS,
        # with free biases and an affine part the linear spline is a minimiser
        null=None
        if variant == (False, True)
        else formula(chords(x, y), *variant) / found.objective,
    )


def _norm(found: LineInterpolants, variant: tuple[bool, bool]) -> Check:
    """The function's norm by the formula, and Σ|a_j|‖(w_j, b_j)‖ of the network, a sum."""
    a, W = found.network
    lengths = np.linalg.norm(W, axis=1) if variant[0] else np.abs(W[:, 0])
    return Check(
        f"the formula for f over Σ|a|‖(w, b)‖ of its network, {words_of(*variant)}",
        formula(found.value, *variant) / float(np.abs(a) @ lengths),
        "==",
        1.0,
        SOLVER_ERROR,
        witness="a sum over neurons",
    )


def _set(found: LineInterpolants, skip: bool, x: Array, y: Array) -> Check:
    """Least and largest values of minimisers between samples, and outside of them."""
    reach = float(x[-1] - x[0])
    at = np.concatenate([[x[0] - reach / 2], (x[:-1] + x[1:]) / 2, [x[-1] + reach / 2]])
    low, high = range_on_grid(x, y, skip, found.objective, at)
    lower, upper = found.envelope(at)
    size = float(np.ptp(y))
    off = np.max(np.abs(np.concatenate([low - lower, high - upper])))
    spline = chords(x, y)(at)
    # a kink of SLACK times the norm moves values by that times the distance; programs see labels
    # less what is free, at most twice their range
    error = SLACK * found.objective * 4 * reach / size + 2 * PROGRAM_ERROR
    error += ROUNDED * float(np.max(np.abs(y))) / size
    return Check(
        f"range of all minimisers, how far off over that of labels, {words_of(False, skip)}",
        float(off) / size,
        "==",
        0.0,
        10 * error,
        witness=PROGRAMS,
        null=float(np.max(np.abs(np.concatenate([low - spline, high - spline])))) / size,
    )


def _affine() -> Check:
    """αx + β on the whole line."""
    lines = [PiecewiseLinear.through([0.0], [beta], alpha, alpha) for alpha, beta in AFFINE]
    ratios = [formula(line, True, False) / cost_on_grid(line) for line in lines]
    return Check(
        "2√(α²+β²), √3|α| + |β| from |β| = |α|/√3 on, over the norm of αx + β by linear "
        "programming",
        max(ratios, key=lambda ratio: abs(ratio - 1)),
        "==",
        1.0,
        grid_error() + PROGRAM_ERROR,
        witness=PROGRAMS,
    )


def _whole_line(f: PiecewiseLinear) -> Check:
    """A function with kinks, without the affine part; null: ‖√(1+t²)f″‖, which needs it."""
    whole = cost_on_grid(f)
    return Check(
        "‖√(1+t²)f″‖ and what its affine part adds over the norm of f by linear programming",
        formula(f, True, False) / whole,
        "==",
        1.0,
        grid_error() + PROGRAM_ERROR,
        witness=PROGRAMS,
        null=formula(f, True, True) / whole,
    )


def _on_a_line(data: Any) -> str | None:
    if not isinstance(data, Dataset):
        return f"found {type(data).__name__}, needs a Dataset of inputs on a line"
    return None if data.d == 1 else f"found {data.d} columns, needs one"


def _one_label(data: Any) -> str | None:
    try:
        read_line(data.X, data.y)
    except InconsistentError as reason:
        return str(reason)
    return None


def _resolved(data: Any) -> str | None:
    x = np.unique(data.X[:, 0])
    if not 3 <= x.size <= MOST_SAMPLES:
        return f"found {x.size} inputs, needs 3 to {MOST_SAMPLES}"
    closest = float(np.min(np.diff(x)))
    if max(float(np.max(np.abs(x))), 1 / closest) > WIDEST:
        return f"inputs up to {np.max(np.abs(x)):.3g}, {closest:.3g} apart, are too fine for a grid"
    return None


def _bent(data: Any) -> str | None:
    order = np.argsort(data.X[:, 0])
    x, first = np.unique(data.X[order, 0], return_index=True)
    slopes = np.diff(data.y[order][first]) / np.diff(x)
    bends = float(np.sum(np.abs(np.diff(slopes))))
    return None if bends > SOLVER_ERROR * np.max(np.abs(slopes)) else "the labels are affine"


LINE = Hypothesis("line", "samples on a line", on_problem(_on_a_line), structural=True)
ONE_LABEL = Hypothesis("one label", "equal inputs have equal labels", on_problem(_one_label))
RESOLVED = Hypothesis(
    "resolved", "few inputs, which a grid of directions tells apart", on_problem(_resolved)
)
BENT = Hypothesis("bent", "the labels are not affine", on_problem(_bent))


def line_data(key: int) -> Dataset:
    """Seven inputs, labels with a slope and a convex part: all four norms differ."""
    rng = np.random.default_rng((211, key))
    x = np.sort(rng.uniform(0.2, 0.6, 7).cumsum() - 1.0 + rng.uniform(-0.5, 0.5))
    y = 2.0 + 3.0 * x + 0.4 * np.maximum(x, 0.0) ** 2 + 0.02 * rng.standard_normal(7)
    return Dataset(x[:, None], y, f"line key={key}")


def line_family(key: int) -> Dataset:
    """Three to nine inputs of any extent and offset, labels of any size, slopes or none."""
    rng = np.random.default_rng((223, key))
    n = int(rng.integers(3, 10))
    x = rng.uniform(0.1, 1.0, n).cumsum() * 10.0 ** rng.uniform(-0.5, 1.0)
    x = x - rng.uniform(-0.5, 1.5) * x[-1]
    y = rng.standard_normal(n) + rng.choice([0.0, 3.0]) * x + rng.choice([0.0, 1.0]) * np.abs(x)
    return Dataset(x[:, None], y * 10.0 ** rng.uniform(-2, 2), f"line family key={key}")


line = Claim(
    "S/line",
    "Among two-layer ReLU networks through samples on a line the least norm of a function is ∫|f″| "
    "where biases and an affine part are free, max(∫|f″|, |f′(−∞)+f′(∞)|) without the affine part, "
    "∫√(1+t²)|f″| with penalised biases, and, without the affine part, more: αx + β alone costs "
    "2√(α²+β²) where |β| ≤ |α|/√3 and √3|α| + |β| beyond. `line_interpolants` has the least "
    "values, and with free biases all minimisers.",
    "Savarese et al. 2019; Boursier & Flammarion 2023, arXiv:2303.01353; without its skip "
    "connection ours",
    (LINE, ONE_LABEL, RESOLVED, BENT),
    line_data,
    _least,
    kind=Kind.STATIC,
    witness="linear programs over neurons on a grid, and column generation over arcs",
    null="the linear spline",
    family=line_family,
)
CLAIMS = (line,)
