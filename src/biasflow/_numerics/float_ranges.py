"""Where exponentials leave the floats, for the losses and their compiled twin alike."""

from __future__ import annotations

import math
import sys

EXPONENTIAL_FROM = -math.log(sys.float_info.epsilon)
"""Margin u from which log(1 + e^{−u}) = e^{−u} to rounding: what is left out, e^{−u}/2 of it, is
half a unit in the last place. There every loss with an exponential tail is the exponential."""
LARGEST_EXPONENT = 700.0
"""Exponents x beyond which e^{−x} counts as zero and e^x as infinite: near what floats hold."""
LARGEST = sys.float_info.max
"""The largest float: margins beyond it are cut off there."""
