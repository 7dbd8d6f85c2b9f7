"""The numbers that a user wants of their data, whatever the theorems say: where the flow ends, what
the ends of the scale are, and how large the margin is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .._core.problems import Dataset, Problem
from .._core.results import Limit
from ..errors import BiasflowError

SECONDS = 10.0
"""For each limit: what one waits for beside verdicts, which take longer."""
HALVINGS = 12
"""Of the bracket of the transition, nine decades of α at depth 2: it is known to half a percent,
and two digits are printed."""
BRACKET = (1e-12, 1e6)
"""α^D, over the largest |β_L2|, between which the transition is looked for: at the lower end of D =
2 the excess over ℓ1 is a few percent, at the upper that over ℓ2 is below rounding."""
TOO_MANY = 300_000
"""Entries of X above which the transition, which takes a dozen limits, is not looked for."""


class Figure(NamedTuple):
    """A number with its name; `value` is None where `words` say why there is none."""

    name: str
    value: float | None
    words: str = ""

    def __str__(self) -> str:
        number = "" if self.value is None else f" {self.value:.6g}"
        return f"{self.name}:{number}{' ' + self.words if self.words else ''}"


def numbers_of(problem: Problem, data: Dataset, network: str) -> list[Figure]:
    """Of the data first, then of the network on them. data: without a bias column."""
    rank = int(np.linalg.matrix_rank(data.X))
    shape = Figure("samples and columns", None, f"n = {data.n}, d = {data.d}, X has rank {rank}")
    return [shape, *NUMBERS[network](problem, data)]


def _found(name: str, compute: Callable[[], Limit]) -> tuple[Limit | None, Figure]:
    try:
        limit = compute()
    except BiasflowError as reason:
        return None, Figure(name, None, f"none: {reason}")
    certificate = limit.certificate
    words = f"(relative gap {certificate.gap:.1g}, {certificate.kind})"
    return limit, Figure(name, float(limit.objective), words)


def _margins(problem: Problem, data: Dataset) -> Iterator[Figure]:
    from ..limits import f1_max_margin, f2_max_margin

    for name, solver in (("γ₁", f1_max_margin), ("γ₂", f2_max_margin)):
        meaning = "both layers trained" if name == "γ₁" else "output layer alone, a kernel"
        yield _found(
            f"{name}, the largest margin, {meaning}",
            lambda solver=solver: solver(data.X, data.y, time_s=SECONDS),  # type: ignore[misc]
        )[1]


def _norms(problem: Problem, data: Dataset) -> Iterator[Figure]:
    from ..limits import min_l1, min_l2

    least, rich = _found("least ℓ1 norm of an interpolator", lambda: min_l1(data.X, data.y))
    nearest, kernel = _found("least ℓ2 norm of an interpolator", lambda: min_l2(data.X, data.y))
    if least is None or nearest is None:
        yield Figure("interpolators", None, rich.words)
        return
    yield from _ends(problem)
    yield rich
    yield kernel
    yield from _transition(problem, least.objective, nearest.value)


def _ends(problem: Problem) -> Iterator[Figure]:
    from ..flows import limit

    try:
        beta = np.asarray(limit(problem, time_s=SECONDS).value)
    except BiasflowError as reason:
        yield Figure("limit of the flow", None, f"none: {reason}")
        return
    yield Figure("‖β‖₁ at the end of the flow", float(np.sum(np.abs(beta))))
    yield Figure("‖β‖₂ at the end of the flow", float(np.linalg.norm(beta)))


def _transition(problem: Problem, rich: float, kernel: np.ndarray) -> Iterator[Figure]:
    """α at which ‖β̂_α‖₁ is halfway from its least to that of the least ℓ2 norm."""
    from ..flows import limit

    name = "transition from rich to kernel, at α"
    model, data, ends = problem.model, problem.data, float(np.sum(np.abs(kernel)))
    if data.X.size > TOO_MANY:
        return
    if ends <= (1 + 1e-6) * rich:
        yield Figure(name, None, "none: one interpolator has the least norm of both kinds")
        return
    low, high = (np.log(b * np.max(np.abs(kernel))) / model.depth for b in BRACKET)
    try:
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            start = model.init(float(np.exp(middle)), dim=data.d)
            beta = limit(Problem(model, data, problem.loss, start), time_s=SECONDS).value
            if np.sum(np.abs(beta)) < (rich + ends) / 2:
                low = middle
            else:
                high = middle
    except BiasflowError as reason:
        yield Figure(name, None, f"not found: {reason}")
        return
    yield Figure(name, float(np.exp((low + high) / 2)), "(‖β‖₁ is halfway between both ends there)")


def _directions(problem: Problem, data: Dataset) -> Iterator[Figure]:
    return _ends(problem)


def _relu(problem: Problem, data: Dataset) -> Iterator[Figure]:
    from ..limits import min_norm_interpolator

    yield _found(
        "least ‖θ‖² of a ReLU network that fits",
        lambda: min_norm_interpolator(data.X, data.y, time_s=SECONDS),
    )[1]
    start = sum(float(np.sum(np.square(leaf))) for leaf in problem.start)
    yield Figure("‖θ‖² at the start", start)


NUMBERS: dict[str, Callable[[Problem, Dataset], Iterator[Figure]]] = {
    "diagonal": _norms,
    "directions": _directions,
    "margin": _margins,
    "relu": _relu,
}
