"""Verdicts as lines, as JSON, and as JUnit's XML."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

if TYPE_CHECKING:
    from ..theory import Check, Verdict
    from .data_numbers import Figure

Case: TypeAlias = "tuple[str, Verdict | str]"
"""What was judged, by name, and its verdict, or why there is none."""
WIDTHS = (16, 17)
"""Of an id and of a status: the longest of ours, and two spaces."""
REFERRING = ("the same", "its ", "their ", "that ")
"""Beginnings of quantities that speak about the one before."""
SKIPPED = ("inconclusive", "hypotheses fail", "does not apply")
"""Statuses that are no test of the claim: JUnit calls them skipped."""


def verdict_line(verdict: Verdict) -> str:
    """A claim on one line: id, status, what it says, and its tightest number or what failed."""
    from ..theory.claim_words import title_of

    title = title_of(verdict.claim)
    found = verdict.why if verdict.why or not verdict.checks else _numbers(_tightest(verdict))
    if verdict.informative is False:
        found += "; not informative here"
    return f"{verdict.claim.id:<{WIDTHS[0]}}{verdict.status:<{WIDTHS[1]}}{title} ({found})"


def _tightest(verdict: Verdict) -> Check:
    """A check that is outside its bound, else the tightest bound, else the first; of those that can
    be read alone."""
    outside = [check for check in verdict.checks if check.status == "violated"]
    if outside:
        return outside[0]
    alone = [check for check in verdict.checks if not check.quantity.startswith(REFERRING)]
    bounds = [check for check in alone if check.sharpness is not None]
    if bounds:
        return min(bounds, key=lambda check: check.sharpness or 0.0)
    return (alone or list(verdict.checks))[0]


def _numbers(check: Check) -> str:
    sign = {"<=": "≤", ">=": "≥", "==": "="}[check.relation]
    error = f" ± {check.error:.1g}" if check.relation == "==" else ""
    return f"{check.quantity}: {check.measured:.4g} {sign} {check.bound:.4g}{error}"


def failing_lines(verdicts: Iterable[Verdict]) -> list[str]:
    """Claims whose hypotheses fail, those of one reason on one line."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.why, []).append(verdict.claim.id)
    return [f"hypotheses fail: {why}: {', '.join(ids)}" for why, ids in reasons.items()]


def as_json(cases: Sequence[Case], numbers: Sequence[Figure] = (), **about: Any) -> dict[str, Any]:
    """What a program reads: numbers that are not finite are null; without a verdict, failed."""
    statuses = Counter("failed" if isinstance(v, str) else str(v.status) for _, v in cases)
    return {
        **about,
        "numbers": {f.name: {"value": _finite(f.value), "words": f.words} for f in numbers},
        "claims": [
            {"case": name, "status": "failed", "why": verdict}
            if isinstance(verdict, str)
            else {"case": name, **_claim_json(verdict)}
            for name, verdict in cases
        ],
        "counts": dict(statuses),
    }


def _claim_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.claim.id,
        "status": str(verdict.status),
        "why": verdict.why,
        "statement": verdict.claim.statement,
        "reference": verdict.claim.reference,
        "informative": verdict.informative,
        "sharpness": _finite(verdict.sharpness),
        "checks": [
            {
                "quantity": check.quantity,
                "measured": _finite(check.measured),
                "relation": check.relation,
                "bound": _finite(check.bound),
                "error": _finite(check.error),
                "status": str(check.status),
                "witness": check.witness,
                "why": check.why,
                "null": _finite(check.null),
            }
            for check in verdict.checks
        ],
    }


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)


def json_text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def write_junit(path: Path, cases: Sequence[Case]) -> None:
    """Violated is a failure, what does not test the claim is skipped, no verdict an error."""
    suite = ElementTree.Element("testsuite", name="biasflow", tests=str(len(cases)))
    outcomes: Counter[str] = Counter()
    for name, verdict in cases:
        case = ElementTree.SubElement(suite, "testcase", classname="biasflow.claims", name=name)
        if isinstance(verdict, str):
            ElementTree.SubElement(case, "error", message=verdict)
            outcomes["errors"] += 1
        elif verdict.status == "violated":
            ElementTree.SubElement(case, "failure", message="violated").text = str(verdict)
            outcomes["failures"] += 1
        elif verdict.status in SKIPPED:
            message = f"{verdict.status}: {verdict.why}"
            ElementTree.SubElement(case, "skipped", message=message)
            outcomes["skipped"] += 1
    for outcome in ("errors", "failures", "skipped"):
        suite.set(outcome, str(outcomes[outcome]))
    ElementTree.indent(suite)
    path.write_bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
