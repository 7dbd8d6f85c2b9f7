"""The report of a reproduction: figures, reported numbers and claims on one self-contained page."""

from .entries import ClaimEntry, FigureEntry, Number, Report
from .page import render
from .pictures import file_name, gif, movie_name, png
from .reproducing import check_claim, make_figure, reproduce

__all__ = [
    "ClaimEntry",
    "FigureEntry",
    "Number",
    "Report",
    "check_claim",
    "file_name",
    "gif",
    "make_figure",
    "movie_name",
    "png",
    "render",
    "reproduce",
]
