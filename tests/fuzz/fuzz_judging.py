"""Whether what came back makes sense: against the base, a law, or on its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz_material import Entry
from fuzz_mutations import BAD, SAME, SCALED, Mutation

import biasflow as bf

CLOSE = 1e-6
"""Relative: certificates here ask for 1e-9, and a result that is wrong is wrong by more."""
ROUNDING = 1e-9
"""Of the data's own size: a margin of zero is known to rounding, not relative to itself."""
EXACT_KINDS = ("exact", "closed-form")


def fault(
    entry: Entry, mutation: Mutation, given: Mapping[str, Any], argument: str, base: Any, found: Any
) -> str:
    """What is wrong with a result, or nothing."""
    if mutation.kind == BAD and not (mutation.name == "a generator" and _alike(base, found)):
        return "returned where the argument is no data"
    if mutation.kind == SAME and not _alike(base, found):
        return "differs from the result for the same data"
    if (
        isinstance(found, tuple)
        and found
        and all(isinstance(part, bf.Trajectory) for part in found)
    ):
        return next(filter(None, (_of_trajectory(part, entry.descends) for part in found)), "")
    if isinstance(found, bf.training.TrainedBatch) and not all(
        result.success for result in found.results
    ):
        return ""
    if isinstance(found, bf.Trajectory):
        return _of_trajectory(found, entry.descends)
    if isinstance(found, bf.Limit | bf.Bracket) and (wrong := _of_limit(entry, given, found)):
        return wrong
    if (
        mutation.kind == SCALED
        and argument in entry.degree
        and (wrong := _of_law(entry.degree[argument], mutation, base, found))
    ):
        return wrong
    if entry.finite and not all(math.isfinite(number) for number in numbers(found)):
        return "not finite"
    return ""


def _of_trajectory(flow: Any, descends: bool) -> str:
    if not flow.result.success:
        return ""  # it says that it gave up
    for name, values in (
        ("times", flow.times),
        ("loss", flow.loss),
        ("error", flow.error),
        ("states", flow.states),
    ):
        if not all(math.isfinite(number) for number in numbers(values)):
            return f"success with {name} that are not finite"
    if descends and flow.loss[-1] > flow.loss[0] + CLOSE * abs(flow.loss[0]):
        return "success with a loss that grew"
    if np.min(flow.error) < 0 or np.any(np.diff(flow.times) < 0):
        return "a negative error, or times that go back"
    return ""


def _of_limit(entry: Entry, given: Mapping[str, Any], limit: Any) -> str:
    certificate = limit.certificate
    if any(
        math.isnan(number)
        for number in (limit.objective, certificate.primal, certificate.dual, certificate.residual)
    ):
        return "NaN in the certificate"
    if certificate.kind not in EXACT_KINDS:
        return ""
    ends = certificate.primal, certificate.dual
    if entry.finite and not all(map(math.isfinite, (limit.objective, *ends))):
        return f"kind {certificate.kind!r} with a bracket that is not finite"
    sizes = [_size(given[name]) ** power for name, power in entry.unit.items()]
    asked = given.get("gap", CLOSE)
    room = max(CLOSE, float(asked)) * max(map(abs, ends)) + ROUNDING * max(sizes, default=0.0)
    if all(map(math.isfinite, ends)) and abs(ends[0] - ends[1]) > room:
        return f"kind {certificate.kind!r} with an open bracket"
    if entry.residual is not None and entry.residual(limit, given) > CLOSE:
        return f"kind {certificate.kind!r} with a residual above 1e-6 of the labels"
    return ""


def _size(array: Any) -> float:
    return float(np.max(np.abs(np.asarray(array, dtype=float)), initial=0.0))


def _of_law(degree: float, mutation: Mutation, base: Any, found: Any) -> str:
    """The objective grows by 2^(degree·power); beyond floats it cannot be told."""
    one, other = (
        float(result.objective) if isinstance(result, bf.Limit | bf.Bracket) else float(result)
        for result in (base, found)
    )
    if not one:
        return ""
    log_expected = math.log2(abs(one)) + degree * mutation.power
    if not -1020 < log_expected < 1020:
        return ""
    return (
        ""
        if other and abs(math.log2(abs(other)) - log_expected) <= CLOSE
        else "breaks the scaling law"
    )


def _alike(base: Any, found: Any) -> bool:
    """Within the results' own errors, or rounding that an iteration grew."""
    if isinstance(base, bf.Trajectory) and isinstance(found, bf.Trajectory):
        room = 10 * float(base.error[-1] + found.error[-1])
        ends = np.array(numbers(base.final)), np.array(numbers(found.final))
        return ends[0].shape == ends[1].shape and bool(
            np.all(np.abs(ends[0] - ends[1]) <= room + CLOSE * np.max(np.abs(ends[0])))
        )
    if isinstance(base, bf.Limit | bf.Bracket) and isinstance(found, bf.Limit | bf.Bracket):
        base, found = (
            (base.objective, base.certificate.primal),
            (found.objective, found.certificate.primal),
        )
    one, other = np.array(numbers(base)), np.array(numbers(found))
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True)
    )


def numbers(found: Any, depth: int = 0) -> list[float]:
    """Every number in a result, in order; texts and functions have none."""
    if depth > 6 or found is None or isinstance(found, (str, bytes, bool)) or callable(found):
        return []
    if isinstance(found, (int, float, np.number)):
        return [float(found)] if np.isrealobj(found) else []
    if isinstance(found, np.ndarray):
        return found.astype(float).ravel().tolist() if found.dtype.kind in "fiu" else []
    if isinstance(found, Mapping):
        return [number for part in found.values() for number in numbers(part, depth + 1)]
    # its stats may hold bounds that nobody has yet; what is only a bound may be open from above
    if isinstance(found, bf.Limit | bf.Bracket):
        certificate = found.certificate
        above = (
            0.0
            if certificate.kind == "bound" and certificate.primal == math.inf
            else certificate.primal
        )
        return numbers(
            (found.value, found.objective, certificate.dual, above, certificate.residual), depth + 1
        )
    if isinstance(found, (tuple, list)):
        return [number for part in found for number in numbers(part, depth + 1)]
    if hasattr(found, "data_vars"):
        return [
            number
            for variable in found.data_vars.values()
            for number in numbers(variable.values, depth + 1)
        ]
    if hasattr(found, "__dataclass_fields__"):
        names = [name for name in found.__dataclass_fields__ if not name.startswith("_")]
        return [number for name in names for number in numbers(getattr(found, name), depth + 1)]
    return []
