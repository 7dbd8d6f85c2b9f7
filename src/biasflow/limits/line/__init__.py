"""Samples on a line: all two-layer ReLU networks of least norm through them."""

from .bends import Bend
from .line_functions import PiecewiseLinear
from .line_interpolants import LineInterpolants, line_interpolants

__all__ = ["Bend", "LineInterpolants", "PiecewiseLinear", "line_interpolants"]
