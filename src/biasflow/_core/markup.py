"""Small pieces of HTML for notebooks: everything escaped, legible on light and on dark."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arguments import Array
from .look import FAIR, GOOD, LINE, NEUTRAL

SPARK_WIDTH, SPARK_HEIGHT = 220, 44
MOST_POINTS = 160
"""Points of a sparkline: more than its pixels can tell apart are left out."""
DECADES_FOR_LOG = 2.0
"""A curve that falls by more decades than this is drawn on a logarithmic scale."""
MOST_DIGITS = 16.0
"""Decimal digits of a float, the length of a bar that is full."""
MOST_STEMS = 120
"""Coordinates of a point that are drawn one by one."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value: Any) -> Markup:
    """A value as text that no browser takes for anything else."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def card(title: Any, rows: Iterable[tuple[Any, Any]]) -> Markup:
    """A title and a table of two columns, in the page's own colours."""
    cell = "padding:1px 12px 1px 0;text-align:left;vertical-align:top;background:none;border:0"
    lines = "".join(
        f'<tr style="background:none"><td style="{cell};opacity:.72;white-space:nowrap">'
        f'{escaped(label)}</td><td style="{cell};white-space:pre-wrap">{escaped(value)}</td></tr>'
        for label, value in rows
    )
    return Markup(
        '<div class="biasflow" style="display:inline-block;max-width:100%;border-left:3px solid '
        f"{LINE};padding:2px 0 2px 10px;margin:4px 0;color:inherit;font-size:13px;"
        f'line-height:1.45"><div style="font-weight:600;margin-bottom:2px">{escaped(title)}</div>'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;font-size:inherit">'
        f"{lines}</table></div>"
    )


def badge(text: Any, colour: str = NEUTRAL) -> Markup:
    """A word behind a dot of a colour, which says the same."""
    dot = (
        f'<span style="display:inline-block;width:.65em;height:.65em;border-radius:50%;'
        f'background:{colour};margin-right:.45em"></span>'
    )
    return Markup(f'<span style="white-space:nowrap">{dot}{escaped(text)}</span>')


def beside(*parts: Any) -> Markup:
    """Pieces in one line."""
    return Markup(" ".join(escaped(part) for part in parts))


def below(*parts: Any) -> Markup:
    """Pieces in lines of their own."""
    return Markup("".join(f"<div>{escaped(part)}</div>" for part in parts))


def folded(summary: Any, content: Any) -> Markup:
    """What is seen on a click."""
    return Markup(
        f'<details><summary style="cursor:pointer">{escaped(summary)}</summary>'
        f"{escaped(content)}</details>"
    )


def sparkline(x: ArrayLike, y: ArrayLike, label: str) -> Markup:
    """A small curve, logarithmic where it falls by decades; empty where there is nothing to
    draw."""
    where, heights = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = np.isfinite(where) & np.isfinite(heights)
    where, heights = where[known], heights[known]
    if len(where) < 2 or not where[-1] > where[0]:
        return Markup()
    logarithmic = bool(np.all(heights >= 0)) and _decades(heights) > DECADES_FOR_LOG
    if logarithmic:
        where, heights = where[heights > 0], np.log10(heights[heights > 0])
    places = np.unique(np.linspace(0, len(where) - 1, MOST_POINTS).astype(int))
    across = _into(where[places], 2, SPARK_WIDTH - 2)
    up = SPARK_HEIGHT - _into(heights[places], 3, SPARK_HEIGHT - 3)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    said = f"{label}{' (logarithmic)' if logarithmic else ''}"
    return _drawing(
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.6" '
        'stroke-linejoin="round"/>',
        said,
    )


def stems(values: ArrayLike, label: str) -> Markup:
    """The coordinates of a point as stems on a line; empty where they are too many."""
    heights = np.ravel(np.asarray(values, dtype=float))
    if not 1 < heights.size <= MOST_STEMS or not np.all(np.isfinite(heights)):
        return Markup()
    reach = float(np.max(np.abs(heights))) or 1.0
    middle = SPARK_HEIGHT / 2
    step = (SPARK_WIDTH - 6) / heights.size
    lines = "".join(
        f'<line x1="{3 + (k + 0.5) * step:.1f}" x2="{3 + (k + 0.5) * step:.1f}" y1="{middle:.1f}" '
        f'y2="{middle - h / reach * (middle - 3):.1f}"/>'
        for k, h in enumerate(heights)
        if h != 0
    )
    width = max(1.0, min(4.0, 0.6 * step))
    return _drawing(
        f'<g stroke="{LINE}" stroke-width="{width:.1f}">{lines}</g>'
        f'<line x1="0" x2="{SPARK_WIDTH}" y1="{middle}" y2="{middle}" stroke="currentColor" '
        'stroke-opacity=".45" stroke-width="1"/>',
        label,
    )


def digits_bar(relative_gap: float, kind: str) -> Markup:
    """How many digits a proof has settled, as a bar of sixteen."""
    digits = digits_of(relative_gap)
    width = 120.0
    filled = width * digits / MOST_DIGITS
    colour = {"bound": FAIR, "heuristic": NEUTRAL}.get(kind, GOOD)
    drawn = (
        f'<svg role="img" aria-label="{digits:.0f} digits proven" width="{width:.0f}" height="10" '
        'style="vertical-align:middle">'
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="9" rx="2" fill="none" '
        'stroke="currentColor" stroke-opacity=".45"/>'
        f'<rect x="0.5" y="0.5" width="{max(filled - 1, 0):.1f}" height="9" rx="2" '
        f'fill="{colour}"/></svg>'
    )
    said = "all digits" if digits >= MOST_DIGITS else f"{digits:.1f} digits"
    return beside(Markup(drawn), said)


def digits_of(relative_gap: float) -> float:
    """−log₁₀ of a relative gap, between none and all digits of a float."""
    if not relative_gap < 1:
        return 0.0
    if relative_gap <= 10**-MOST_DIGITS:
        return MOST_DIGITS
    return -math.log10(relative_gap)


def _decades(y: Array) -> float:
    positive = y[y > 0]
    return float(np.log10(positive.max() / positive.min())) if positive.size > 1 else 0.0


def _into(values: Array, low: float, high: float) -> Array:
    least, most = float(np.min(values)), float(np.max(values))
    share = (values - least) / (most - least) if most > least else np.full(len(values), 0.5)
    return np.asarray(low + share * (high - low))


def _drawing(inside: str, label: str) -> Markup:
    return Markup(
        f'<svg role="img" aria-label="{escaped(label)}" width="{SPARK_WIDTH}" '
        f'height="{SPARK_HEIGHT}" style="vertical-align:middle">'
        f"<title>{escaped(label)}</title>{inside}</svg>"
    )
