"""The report of a reproduction: figures, reported numbers and claims on one self-contained page."""

from ..pictures.movies import gif
from .entries import Agreement, ClaimEntry, FigureEntry, Number, Report, tag_of
from .making import check_claim, make_figure
from .numbers import all_numbers, counted, numbers_page, paper_in_words, runs_in_words
from .page import render
from .pictures import file_name, movie_name, png
from .reproduction import reproduce

__all__ = [
    "Agreement",
    "ClaimEntry",
    "FigureEntry",
    "Number",
    "Report",
    "all_numbers",
    "check_claim",
    "counted",
    "file_name",
    "gif",
    "make_figure",
    "movie_name",
    "numbers_page",
    "paper_in_words",
    "png",
    "render",
    "reproduce",
    "runs_in_words",
    "tag_of",
]
