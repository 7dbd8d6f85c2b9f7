"""Kernel or rich? The probe of a training, and the scale at which a network changes sides."""

from ..limits.tangent.outputs import Sketch
from .alignment_times import AlignmentTime
from .callbacks import ProbeCallback
from .conserved import Conservation, Conserved
from .distances import gradient_distance, kernel_distance
from .kernel_spectra import KernelSpectrum
from .measures import Estimate
from .probing import Probe, probe
from .transition import TransitionScale, tell_share, transition_scale

__all__ = [
    "AlignmentTime",
    "Conservation",
    "Conserved",
    "Estimate",
    "KernelSpectrum",
    "Probe",
    "ProbeCallback",
    "Sketch",
    "TransitionScale",
    "gradient_distance",
    "kernel_distance",
    "probe",
    "tell_share",
    "transition_scale",
]
