"""Problems near others: the moves by which a search for counterexamples goes, and the lineage that
names where it got to.

Each move returns the problem changed a little, or None where there is nothing of the kind to
change.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.arguments import instance
from .._core.problems import Dataset, MirrorProblem, Problem
from .._core.trees import leaf_map
from ..errors import InputError
from .margin.margin_setting import Alternating, Scores
from .mirror.ablations import PowerProblem
from .verdicts import Claim

SIZES = (0.5, 0.2, 0.05, 0.01)
"""Relative sizes of moves, by the last digit of their seed."""


def _noise(array: Any, rng: np.random.Generator, size: float) -> Any:
    """Every column moved by a share of its own spread, or of its size where it has none."""
    spread = np.std(array, axis=0)
    return array + size * np.where(
        spread > 0, spread, np.max(np.abs(array), axis=0)
    ) * rng.standard_normal(np.shape(array))


def _moved_data(data: Dataset, move: str, rng: np.random.Generator, size: float) -> Dataset | None:
    if move == "x":
        return Dataset(_noise(data.X, rng, size), data.y)
    if move == "c":
        return Dataset(data.X * np.exp(size * rng.standard_normal(data.d)), data.y)
    if move == "y" and not np.all(np.abs(data.y) == 1):
        return Dataset(data.X, data.y * np.exp(size * rng.standard_normal(data.n)))
    return None


def _moved_network(
    problem: Problem, move: str, rng: np.random.Generator, size: float
) -> Problem | None:
    if move in "xcy":
        data = _moved_data(problem.data, move, rng, size)
        return None if data is None else dataclasses.replace(problem, data=data)
    if move == "s":  # the whole start, so that uniform and balanced ones stay so
        factor = float(np.exp(2 * size * rng.standard_normal()))
        if not problem.in_floats:
            return dataclasses.replace(problem, log_scale=problem.log_scale * factor)
        return dataclasses.replace(
            problem, start=leaf_map(lambda leaf: factor * leaf, problem.start)
        )
    if move == "w":
        return dataclasses.replace(
            problem,
            start=leaf_map(
                lambda leaf: leaf * np.exp(size * rng.standard_normal(np.shape(leaf))),
                problem.start,
            ),
        )
    return None


def _moved_mirror(
    problem: MirrorProblem, move: str, rng: np.random.Generator, size: float
) -> MirrorProblem | None:
    if move in "xcy":
        # ±1 are labels like any here
        data = _moved_data(Dataset(problem.X, 2.0 * problem.y), move, rng, size)
        return None if data is None else dataclasses.replace(problem, X=data.X, y=data.y / 2)
    if move == "s" and problem.beta0 is not None:
        return dataclasses.replace(
            problem, beta0=problem.beta0 * np.exp(size * rng.standard_normal(problem.beta0.shape))
        )
    return None


def _moved_scores(
    problem: Scores, move: str, rng: np.random.Generator, size: float
) -> Scores | None:
    return (
        Scores(
            problem.margins * np.exp(size * rng.standard_normal(problem.margins.shape)),
            problem.loss,
        )
        if move == "y"
        else None
    )


def _moved_power(
    problem: PowerProblem, move: str, rng: np.random.Generator, size: float
) -> PowerProblem | None:
    mu, beta0 = np.exp(size * rng.standard_normal(2)) * (problem.mu, problem.beta0)
    return PowerProblem(problem.n, float(mu), float(beta0)) if move == "s" else None


def _moved_grid(
    problem: Alternating, move: str, rng: np.random.Generator, size: float
) -> Alternating | None:
    angle, centre = size * rng.standard_normal(2)
    return (
        dataclasses.replace(problem, angle=problem.angle + angle, centre=problem.centre + centre)
        if move == "x"
        else None
    )


MOVES: tuple[tuple[type, Callable[..., Any]], ...] = (
    (Problem, _moved_network),
    (MirrorProblem, _moved_mirror),
    (Dataset, _moved_data),
    (Scores, _moved_scores),
    (PowerProblem, _moved_power),
    (Alternating, _moved_grid),
)
LETTERS = "xcysw"
LINEAGE = re.compile(rf"\d+( [{LETTERS}]\d+)*")


def problem_at(statement: Claim, lineage: str) -> Any:
    """The problem that a lineage names."""
    if not LINEAGE.fullmatch(instance("lineage", lineage, str)):
        raise InputError(
            f"lineage: expected a number and moves, such as '17 y3 s8', found {lineage!r}"
        )
    first, *moves = lineage.split()
    problem = (statement.family or statement.example)(int(first))
    for move in moves:
        seed = int(move[1:])
        changed = _moved(
            problem, move[0], np.random.default_rng((seed, 29)), SIZES[seed % len(SIZES)]
        )
        problem = problem if changed is None else changed
    return problem


def _moved(problem: Any, move: str, rng: np.random.Generator, size: float) -> Any:
    for kind, moved in MOVES:
        if isinstance(problem, kind):
            return moved(problem, move, rng, size)
    return None
