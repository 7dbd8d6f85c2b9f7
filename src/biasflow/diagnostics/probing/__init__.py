"""The regime probe: kernel or rich, measured on any network."""

from .distances import gradient_distance, kernel_distance
from .measures import Estimate
from .probe import Probe, probe

__all__ = ["Estimate", "Probe", "gradient_distance", "kernel_distance", "probe"]
