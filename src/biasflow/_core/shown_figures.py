"""Figures that notebooks show by themselves."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

NOTEBOOK_DPI = 100


class ShownFigure(Figure):
    """A figure that is a picture in a notebook whichever backend is active, or none: one that was
    made without pyplot is a line of text there until something has loaded the inline backend."""

    def _repr_png_(self) -> bytes:
        page = io.BytesIO()
        self.savefig(page, format="png", dpi=NOTEBOOK_DPI)
        return page.getvalue()
