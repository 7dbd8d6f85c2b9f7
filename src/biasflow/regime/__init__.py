"""Kernel or rich? The probe of a training, and the scale at which a network changes sides."""

from ..limits.tangent.outputs import Sketch
from .distances import gradient_distance, kernel_distance
from .measures import Estimate
from .probing import Probe, probe
from .transition import TransitionScale, transition_scale

__all__ = [
    "Estimate",
    "Probe",
    "Sketch",
    "TransitionScale",
    "gradient_distance",
    "kernel_distance",
    "probe",
    "transition_scale",
]
