"""Claims, verdicts and comparisons as HTML and as pictures."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from .._core.look import BAD, FAIR, GOOD, LINE, MUTED, NEUTRAL, panels, titled
from .._core.markup import Markup, badge, below, beside, card, folded
from .verdicts import Check, Claim, Status, Verdict

STATUS_COLOURS = {
    Status.HOLDS: GOOD,
    Status.CONSISTENT: LINE,
    Status.VIOLATED: BAD,
    Status.INCONCLUSIVE: FAIR,
    Status.HYPOTHESES_FAIL: NEUTRAL,
    Status.DOES_NOT_APPLY: NEUTRAL,
}
RELATIONS = {"<=": "≤", ">=": "≥", "==": "="}
LINE_LETTERS, MOST_LINES = 44, 2
"""Of a quantity beside its bar."""
EDGE = 0.6
"""Beyond this the numbers of a check are written towards the middle."""


def status_badge(status: Status) -> Markup:
    return badge(status, STATUS_COLOURS[status])


def claim_card(claim: Claim) -> Markup:
    """Statement, reference, and what must hold."""
    rows = [
        ("states", claim.statement),
        ("reference", claim.reference),
        ("evidence", f"{claim.kind}: {claim.kind.evidence}"),
        ("hypotheses", below(*(f"{h.id}: {h.statement}" for h in claim.hypotheses)) or "none"),
    ]
    rows += [("witness", claim.witness)] if claim.witness else []
    rows += [("null model", claim.null)] if claim.null else []
    return card(f"Claim {claim.id}", rows)


def verdict_card(verdict: Verdict) -> Markup:
    """The status with its reason, and every check."""
    claim = verdict.claim
    rows: list[tuple[Any, Any]] = [
        ("verdict", beside(status_badge(verdict.status), verdict.why)),
        ("states", claim.statement),
        ("reference", claim.reference),
    ]
    if verdict.informative is False:
        null = claim.null or "the null model"
        rows.append(("note", f"not informative here: {null} passes too"))
    failures = [(h, failure) for h, failure in verdict.hypotheses if failure is not None]
    rows += [("hypothesis fails", f"{h.id}: {failure}") for h, failure in failures]
    rows += [("check" if k == 0 else "", _check_cell(c)) for k, c in enumerate(verdict.checks)]
    if verdict.witnesses:
        told = below(*verdict.witnesses)
        rows.append(("witnesses", folded(f"{len(verdict.witnesses)} of them", told)))
    return card(f"Verdict on {claim.id}", rows)


def _check_cell(check: Check) -> Markup:
    numbers = (
        f"{check.measured:.6g} {RELATIONS[check.relation]} {check.bound:.6g} (± {check.error:.1g})"
    )
    return below(check.quantity, beside(status_badge(check.status), numbers, check.why))


def verdict_picture(verdict: Verdict) -> Any:
    """A dot for what was measured, a line at the bound, the side that the claim allows shaded."""
    drawn = [check for check in verdict.checks if np.isfinite(check.measured - check.bound)]
    height = 1.5 + 0.6 * max(len(drawn), 1)
    figure, (axis,) = panels(1, height=height, width=8.4)
    axis.set_title("", loc="left")
    if not drawn:
        axis.text(0.5, 0.5, verdict.why or "no check was made", ha="center", wrap=True)
        axis.set_axis_off()
    for place, check in enumerate(reversed(drawn)):
        _draw_check(axis, place, check)
    if drawn:
        axis.axvline(0.0, color="black", linewidth=1.2)
        axis.set(
            yticks=range(len(drawn)),
            yticklabels=[in_lines(check.quantity) for check in reversed(drawn)],
            ylim=(-0.6, len(drawn) - 0.4),
            xlim=(-1.08, 1.08),
            xlabel="measured less bound, over the sum of their sizes\n(of equalities: over twice "
            "the error)",
        )
    titled(axis, f"{verdict.claim.id}: {verdict.status}")
    return figure


def _draw_check(axis: Any, place: int, check: Check) -> None:
    equal = check.relation == "=="
    size = 2 * check.error if equal else abs(check.measured) + abs(check.bound)
    size = max(size, np.finfo(float).tiny)
    off = float(np.clip((check.measured - check.bound) / size, -1.0, 1.0))
    reach = 0.0 if equal or not np.isfinite(check.error) else min(check.error / size, 1.0)
    allowed = {"<=": (-1.08, 0.0), ">=": (0.0, 1.08), "==": (-0.5, 0.5)}[check.relation]
    colour = STATUS_COLOURS[check.status]
    axis.barh(place, allowed[1] - allowed[0], left=allowed[0], height=0.6, color=GOOD, alpha=0.12)
    axis.errorbar(off, place, xerr=reach, fmt="o", color=colour, capsize=3)
    must = "is to be" if equal else RELATIONS[check.relation]
    text = f"{check.measured:.4g} {must} {check.bound:.4g}"
    axis.annotate(
        text,
        (off, place),
        (0, 5),
        textcoords="offset points",
        ha="left" if off < -EDGE else "right" if off > EDGE else "center",
        fontsize=7.5,
        color=MUTED,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
    )


def in_lines(text: str) -> str:
    """Broken between words; what is beyond the last line is cut."""
    lines = textwrap.wrap(text, LINE_LETTERS, max_lines=MOST_LINES, placeholder=" …")
    return "\n".join(lines)
