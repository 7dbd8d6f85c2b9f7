"""W, §6, α → 0: from small starts the factorisation recovers the planted matrix.

From a start of size α the first direction of UVᵀ grows at the rate of the largest singular value σ₁
of what is observed, the
others more slowly: when it has left the saddle, after a time ~ log(1/α)/σ₁, they are smaller by a
power of α², about 1 − σ₂/σ₁. So the limit has rank one up to that power; and where the observed
entries determine a matrix of rank one, it is that one. In general this is not the completion of
least nuclear norm.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...data import observed_entries
from ..evidence import Evidence
from ..fits import fitted_exponent
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .matrix_completion import (
    FACTORISED,
    INDICATORS,
    RAW,
    UNBIASED,
    completion_problem,
    matched,
    narrowed,
    raw_limit,
    started,
)

SMALL = tuple(float(unit) for unit in np.geomspace(1e-5, 9e-9, 5))
"""WWᵀ of the starts over the largest label: three decades, where the power law rules."""
FLOW_RTOL = 1e-8
"""Tolerance of these flows; what is compared is the share of other directions, which is far
larger."""
RANK_ONE_RESIDUAL = 1e-9
"""Relative residual up to which entries are those of a matrix of rank one."""


def rank_one_completion(problem: Problem) -> Array | str:
    """The matrix of rank one with the observed entries, or why there is not exactly one."""
    rows, cols = problem.model.shape
    i, j, values = observed_entries(problem.data, problem.model.shape)
    if np.any(values == 0):
        return "an observed entry is zero: a matrix of rank one is not determined"
    design = np.zeros((len(values), rows + cols))
    design[np.arange(len(values)), i] = design[np.arange(len(values)), rows + j] = 1.0
    if np.linalg.matrix_rank(design) < rows + cols - 1:
        return (
            "the observed entries do not connect all rows and columns: a matrix of rank one is "
            "not determined"
        )
    logs = np.linalg.lstsq(design, np.log(np.abs(values)), rcond=None)[0]
    signs = np.zeros(rows + cols)
    signs[0] = 1.0
    while np.any(signs == 0):  # each pass reaches at least one more row or column
        for r, c, value in zip(i, rows + j, values, strict=True):
            if signs[r] and not signs[c]:
                signs[c] = signs[r] * np.sign(value)
            elif signs[c] and not signs[r]:
                signs[r] = signs[c] * np.sign(value)
    vector = signs * np.exp(logs)
    M = np.outer(vector[:rows], vector[rows:])
    off = float(np.max(np.abs(M[i, j] - values))) / float(np.max(np.abs(values)))
    return (
        M
        if off <= RANK_ONE_RESIDUAL
        else f"the observed entries are not those of a matrix of rank one: off by {off:.2g}"
    )


def _recovery(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    M = rank_one_completion(problem)
    if isinstance(M, str):
        return (unknown_check("the planted matrix", M),)
    checks: list[Check] = []
    for name, start in (("own start", narrowed(problem)), ("identity start", started(problem))):
        quantity = f"{name}: exponent in α² of the distance of M(∞) from the planted matrix"
        checks += part(quantity, partial(_approaches, evidence, start, M, quantity))
    return tuple(checks)


def _approaches(evidence: Evidence, start: Problem, M: Array, quantity: str) -> Check:
    ends = [
        raw_limit(start, matched(start, unit), FLOW_RTOL, evidence.time_left / 4) for unit in SMALL
    ]
    size = float(np.max(np.abs(M)))
    away = np.array([float(np.max(np.abs(end - M))) / size for end, _ in ends])
    errors = np.array([error / size for _, error in ends])
    if np.any(away <= 3 * errors):
        raise Unmeasured("the distance is below the flow's error")
    slope, spread, decades = fitted_exponent(SMALL, away, errors / away)
    return Check(quantity, slope, ">=", 0.0, spread, decades=decades, witness=RAW, null=0.0)


def _determined(problem: Any) -> str | None:
    found = rank_one_completion(problem)
    return found if isinstance(found, str) else None


def _planted(key: int) -> Problem:
    return completion_problem(key, (4, 4), 12)


def _family(key: int) -> Problem:
    """Other shapes, more than half of the entries, labels over four decades."""
    rng = np.random.default_rng((73, key))
    rows, cols = (int(size) for size in rng.integers(2, 6, 2))
    observed = int(rng.integers(rows * cols // 2 + 1, rows * cols)) if rows * cols > 4 else 3
    problem = completion_problem(key, (rows, cols), observed)
    data = dataclasses.replace(problem.data, y=problem.data.y * 10 ** rng.uniform(-2, 2))
    return dataclasses.replace(problem, data=data)


DETERMINED = Hypothesis(
    "determined", "the observed entries determine a matrix of rank one", on_problem(_determined)
)

recovery = Claim(
    "W/sec6-rich",
    "In completion of a rank-one matrix from entries that determine it, the limit from α[U₀, −U₀], "
    "α[V₀, V₀] tends to the planted matrix as α → 0, with a power of α.",
    'W, Section 6 ("for α → 0 recovers the ground truth"; the power is ours)',
    (FACTORISED, SQUARE, CONSISTENT, INDICATORS, NONTRIVIAL, UNBIASED, DETERMINED),
    _planted,
    _recovery,
    kind=Kind.ASYMPTOTIC,
    witness=RAW,
    null="any other limit, from which the distance does not fall",
    family=_family,
)

CLAIMS = (recovery,)
