"""The regime probe: kernel or rich, measured on any network."""

from .measures import Estimate
from .probe import Probe, probe

__all__ = ["Estimate", "Probe", "probe"]
