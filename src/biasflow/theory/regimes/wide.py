"""W, §8: infinitely wide networks may start at random without doubling, nearly unbiased, and still
be in the kernel regime.

For UVᵀ with k columns of Gaussian entries of size α = k^{−s}, F(w(0)) is of order k^{1/2−2s}, and
UUᵀ = kα²(1 + O(k^{−1/2})): the labels are fitted by a relative movement 1/(kα²), which changes the
kernel at second order, by k^{−2(1−2s)}, for s between 1/4 and 1/2; below, the bias exceeds the
labels, and undoing it changes the kernel by 1/k. So s = 1/4 is where the start stops exploding, s =
1/2 where the kernel starts to change for good; between the two both vanish. An orthogonal matrix on
the right of U and V changes nothing, so that k columns are drawn as the triangular factor of a
Wishart matrix.

At s = 1/2 and k = ∞ both UUᵀ = VVᵀ = c·1 and UVᵀ = 0. With Z = (U; V) and G̃ = (0, G; Gᵀ, 0), G =
−∇_M L, the flow is Ż = G̃Z, and J = diag(1, −1) turns G̃ into −G̃: so N = ZZᵀ/c keeps N⁻¹ = JNJ,
which is UUᵀ = √(c² + MMᵀ), VVᵀ = √(c² + MᵀM) at all times. The kernel there is a function of M
alone, and changes for good as soon as M does.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...data import observed_entries
from ...limits import tangent_kernel
from ...models import FactorParams, MatrixFactorisation
from ..evidence import Evidence
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import witness_flow
from .kernel import CLEAR_OF_ERROR, PREDICTOR_ROUNDING, Departure, departure
from .matrix_completion import (
    FACTORISED,
    INDICATORS,
    RAW,
    SHARP,
    completion_problem,
    narrowed,
    scaled,
    started,
)

EXPONENTS = (0.25, 0.375, 0.5)
"""s: where the start stops exploding, between, and where the kernel starts to change for good."""
STRENGTHS = tuple(float(u) for u in np.geomspace(30, 1000, 4))
"""kα² over the largest label: k is this to the power 1/(1−2s), over three decades and more."""
RICH_WIDTHS = tuple(float(k) for k in np.geomspace(1e3, 1.1e6, 4))
"""k for s = 1/2, where kα² does not depend on it."""
DRAWS = 64
"""Random starts over which the size of F(w(0)) is averaged, the same for every k."""
STARTS_FOLLOWED = 2
"""Random starts whose flows are followed, for every k."""
COLUMNS = 40
"""Of the factors that are followed as they are."""


def wishart_factor(rows: int, k: float, key: int) -> Array:
    """A triangular matrix whose LLᵀ is that of `rows` Gaussian rows of k entries (Bartlett); a draw
    is alike for every k."""
    rng = np.random.default_rng((103, key))
    L = np.tril(rng.standard_normal((rows, rows)), -1)
    free = k - np.arange(rows)
    # χ² of many degrees, to relative 1/k
    squares = free + np.sqrt(2 * free) * rng.standard_normal(rows)
    L[np.diag_indices(rows)] = np.sqrt(squares)
    return L


def wide_start(problem: Problem, k: float, s: float, key: int) -> Problem:
    """Gaussian factors of k columns and size α = k^{−s}, times the root of the largest label, in
    fewer columns."""
    rows, cols = problem.model.shape
    W = wishart_factor(rows + cols, k, key) * k**-s * np.sqrt(float(np.max(np.abs(problem.data.y))))
    model = MatrixFactorisation(problem.model.shape, rows + cols)
    return Problem(model, problem.data, problem.loss, FactorParams(W[:rows], W[rows:]))


def predicted_bias(s: float) -> float:
    """Exponent in k of F(w(0))."""
    return 0.5 - 2 * s


def predicted_change(s: float) -> float:
    """Exponent in k of the kernel's relative change, for 1/4 ≤ s ≤ 1/2."""
    return -2 * (1 - 2 * s)


def _widths(s: float) -> Array:
    return np.array(RICH_WIDTHS) if s == 0.5 else np.array(STRENGTHS) ** (1 / (1 - 2 * s))


def _start_size(problem: Problem, s: float) -> Check:
    """Mean of the largest entry of UVᵀ over draws, for each k."""
    widths, sizes = _widths(s), []
    for k in widths:
        starts = [wide_start(problem, float(k), s, key) for key in range(DRAWS)]
        sizes.append(
            np.mean([float(np.max(np.abs(start.model.effective(start.start)))) for start in starts])
        )
    error = np.sqrt(2.0 / widths) + 1e-6  # of χ², the same draws at every k
    name = f"s = {s:g}: exponent in k of F(w(0))"
    if not min(sizes) > 0:
        return unknown_check(name, "the start is unbiased")
    return exponent_check(
        name, widths, np.array(sizes), predicted_bias(s), error, witness=f"{DRAWS} draws", size=1.0
    )


def _followed(
    problem: Problem, k: float, s: float, key: int, time_s: float
) -> tuple[Trajectory, Departure]:
    start = wide_start(problem, k, s, key)
    run = need(witness_flow(start, rtol=SHARP, time_s=time_s))
    return run, departure(start, run, np.eye(problem.data.d))


def _lazy(problem: Problem, s: float, time_s: float) -> list[Check]:
    """For s < 1/2: the kernel's change against k; and, where F(w(0)) vanishes, the distance of M(∞)
    from zeros elsewhere."""
    words = (
        f"s = {s:g}: exponent in k of the kernel's change",
        f"s = {s:g}: exponent in k of the distance of M(∞) from zeros elsewhere",
    )
    widths, rows = _widths(s), []
    i, j, values = observed_entries(problem.data, problem.model.shape)
    filled = np.zeros(problem.model.shape)
    filled[i, j] = values
    for k in widths:
        runs = []
        for key in range(STARTS_FOLLOWED):
            flow, away = _followed(problem, float(k), s, key, time_s)
            M = wide_start(problem, float(k), s, key).model.effective(flow.final)
            runs.append(
                (
                    away.kernel,
                    away.kernel_error,
                    float(np.max(np.abs(M - filled))),
                    float(flow.predictor_error[-1]),
                )
            )
        rows.append(np.mean(runs, axis=0))
    change, change_error, apart, apart_error = np.array(rows).T
    checks = []
    if np.any(change < CLEAR_OF_ERROR * change_error):
        checks.append(unknown_check(words[0], "the change is below the flow's error"))
    else:
        relative = change_error / change + 1 / np.sqrt(widths)
        checks.append(
            exponent_check(
                words[0], widths, change, predicted_change(s), relative, witness=RAW, null=0.0
            )
        )
    if predicted_bias(s) < 0:
        # what the kernel's change still adds
        relative = apart_error / apart + 1 / np.array(STRENGTHS)
        checks.append(
            exponent_check(
                words[1],
                widths,
                apart,
                predicted_bias(s),
                relative,
                witness=RAW,
                null=0.0,
                size=1.0,
            )
        )
    return checks


def _rich(problem: Problem, time_s: float) -> list[Check]:
    """s = 1/2: the kernel's change at the largest k against that from U₀U₀ᵀ = V₀V₀ᵀ = 1, U₀V₀ᵀ = 0,
    which is that of k = ∞."""
    name, k = "s = 0.5: the kernel's change at the largest k over that of k = ∞", RICH_WIDTHS[-1]
    # the identity start has two columns for each direction
    unit = float(np.sqrt(np.max(np.abs(problem.data.y)) / 2))
    identity = started(problem)
    whole = dataclasses.replace(identity, start=scaled(identity.start, unit))
    run = need(witness_flow(whole, rtol=SHARP, time_s=time_s))
    wide = _followed(problem, k, 0.5, 0, time_s)
    limit = departure(whole, run, np.eye(problem.data.d))
    spread = 10 / np.sqrt(k)  # standard deviations of WWᵀ/k, and what the flow makes of them
    return [
        Check(name, wide[1].kernel / limit.kernel, "==", 1.0, spread, witness=RAW, null=0.0),
        _formed(whole, run),
    ]


def matrix_root(square: Array) -> Array:
    """√ of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(square)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def kernel_from_product(problem: Problem, M: Array) -> Array:
    """⟨V_j, V_j'⟩δ_ii' + ⟨U_i, U_i'⟩δ_jj' on the observed entries with UUᵀ = √(c² + MMᵀ), VVᵀ =
    √(c² + MᵀM), U₀U₀ᵀ = c·1."""
    i, j, _ = observed_entries(problem.data, problem.model.shape)
    c = float(np.sum(problem.start.U[0] ** 2))
    rows, cols = (matrix_root(c**2 * np.eye(len(P)) + P @ P.T) for P in (M, M.T))
    return np.asarray(
        (i[:, None] == i) * cols[np.ix_(j, j)] + (j[:, None] == j) * rows[np.ix_(i, i)]
    )


def _formed(whole: Problem, run: Trajectory) -> Check:
    """The kernel's change at the end of the flow of k = ∞, by the model's derivatives, against what
    M(∞) makes of it."""
    name, X = (
        "s = 0.5: the kernel's change for k = ∞, over that from √(c² + MMᵀ) and √(c² + MᵀM) at "
        "M(∞)",
        whole.data.X,
    )
    K, end = (tangent_kernel(whole.model, at, X) for at in (whole.start, run.final))
    predicted = kernel_from_product(whole, np.asarray(whole.model.effective(run.final)))
    changed = float(np.max(np.abs(predicted - K)))
    largest = max(float(np.max(np.abs(leaf))) for leaf in run.final)
    error = CLEAR_OF_ERROR * largest * float(run.error[-1]) + PREDICTOR_ROUNDING * float(
        np.max(np.abs(end))
    )
    if not changed > error:
        return unknown_check(name, "the labels are too small for the kernel to be seen to change")
    return Check(
        name,
        float(np.max(np.abs(end - K))) / changed,
        "==",
        1.0,
        error / changed,
        witness=RAW,
        null=0.0,
    )


NARROWED = f"{COLUMNS} columns: distance of M(∞) from that in as many columns as rows, relative"


def _narrow(problem: Problem, time_s: float) -> Check:
    """The flow of all its columns against that of as few as there are rows."""
    rng = np.random.default_rng(107)
    unit = float(np.sqrt(np.max(np.abs(problem.data.y)) / COLUMNS))
    start = FactorParams(
        *(unit * rng.standard_normal((size, COLUMNS)) for size in problem.model.shape)
    )
    whole = Problem(
        MatrixFactorisation(problem.model.shape, COLUMNS), problem.data, problem.loss, start
    )
    runs = [need(witness_flow(p, time_s=time_s)) for p in (whole, narrowed(whole))]
    ends, error = [], 0.0
    for run in runs:
        assert isinstance(run.problem, Problem)
        ends.append(np.asarray(run.problem.model.effective(run.final)))
        error += float(run.predictor_error[-1])
    size = float(np.max(np.abs(ends[0])))
    return Check(
        NARROWED,
        float(np.max(np.abs(ends[0] - ends[1]))) / size,
        "==",
        0.0,
        10 * error / size + 1e-9,
        witness=RAW,
    )


def _sec8(evidence: Evidence) -> tuple[Check, ...]:
    problem, share = evidence.network, evidence.time_left / 24
    return (
        *(_start_size(problem, s) for s in EXPONENTS),
        *(
            check
            for s in EXPONENTS[:2]
            for check in part(f"s = {s:g}", partial(_lazy, problem, s, share))
        ),
        *part("s = 0.5", lambda: _rich(problem, share)),
        *part(NARROWED, lambda: _narrow(problem, share)),
    )


def _family(key: int) -> Problem:
    """Other shapes, labels over four decades."""
    rng = np.random.default_rng((109, key))
    rows, cols = (int(size) for size in rng.integers(2, 5, 2))
    problem = completion_problem(key, (rows, cols), int(rng.integers(2, rows * cols)))
    return dataclasses.replace(
        problem, data=dataclasses.replace(problem.data, y=problem.data.y * 10 ** rng.uniform(-2, 2))
    )


sec8 = Claim(
    "W/sec8",
    "Factors of k columns with Gaussian entries of size k^{−s}, without doubling: F(w(0)) ~ "
    "k^{1/2−2s}, and the kernel changes by k^{−2(1−2s)} for 1/4 ≤ s ≤ 1/2. So between them the "
    "start is asymptotically unbiased and the flow in the kernel regime, M(∞) tending to zeros on "
    "unobserved entries; at s = 1/4 starts do not explode, at s = 1/2 the kernel changes for good.",
    "W, Section 8, effect of width (that s exist is W's, which ones is ours)",
    (FACTORISED, SQUARE, CONSISTENT, INDICATORS, NONTRIVIAL),
    lambda key: completion_problem(key, (3, 3), 5),
    _sec8,
    kind=Kind.ASYMPTOTIC,
    witness=f"{RAW}; random starts",
    null="a kernel that changes as much at every k",
    family=_family,
)

CLAIMS = (sec8,)
