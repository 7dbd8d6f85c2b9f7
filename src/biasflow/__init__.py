"""biasflow: which of the infinitely many zero-loss solutions does gradient flow pick, how fast, and why?

Flows integrated accurately at any initialisation scale, the limits that theory predicts with certificates, and every theorem as
an executable claim. Names load on first use; importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "records": ("Batched", "Certificate", "Composed", "Dataset", "Experiment", "Grid", "Limit", "MirrorProblem", "Problem",
                "Reading", "Reported", "Result", "Trajectory"),
    "errors": ("AssumptionError", "BiasflowError", "ConvergenceError", "DataFileError", "DomainError", "InconsistentError",
               "InfeasibleError", "InputError", "RefusedError", "ScaleError", "UnknownNameError"),
    "losses": ("CrossEntropyLoss", "ExponentialLoss", "LogisticLoss", "Loss", "MarginLoss", "SmoothMargin", "SquareLoss"),
    "potentials": ("DepthPotential", "Entropy", "Euclidean", "Hypentropy", "Potential", "ScaledPotential", "bregman"),
    "models": ("DeepNetwork", "DeepParams", "DiagonalNetwork", "DiagonalParams", "FactorParams", "FixedDirections",
               "FixedDirectionsParams", "MatrixFactorisation", "MergedProblem", "Particles", "ProductNetwork", "ProductParams",
               "SignedTwoLayer", "SignedTwoLayerParams", "SphereMeasure", "TransportGrowth", "TwoLayer", "TwoLayerParams",
               "as_particles", "merge_directions", "mirror", "random_network", "sphere_measure", "split_network",
               "transport_growth"),
    "limits": ("FeatureClassifier", "Homogeneity", "KernelClassifier", "KktPoint", "LinearisedFlow", "MarginCertificate",
               "MarginKkt", "SmoothedMargin", "TangentPredictor", "arc_cosine_kernel", "bregman_projection", "f1_max_margin",
               "f2_max_margin", "homogeneity", "kernel_interpolator", "kernel_max_margin", "kkt_point", "kkt_residual",
               "l1_max_margin", "l2_max_margin", "limit", "linearised_flow", "margin_certificate", "margin_kkt",
               "min_frobenius_norm", "min_l1", "min_l2", "min_norm_interpolator", "min_nuclear_norm", "mirror_limit",
               "polish", "smoothed_margin", "tangent_interpolator", "tangent_kernel", "tangent_kernel_limit",
               "tangent_max_margin", "variation_norm"),
    "flows": ("Alignment", "Branch", "ConstantStep", "FeatureAscent", "GateEvent", "InverseRootStep", "Proposition6Step",
              "Proposition7Step", "StepRule", "TrainedBatch", "TrainedRun", "early_alignment", "effective_limit",
              "feature_ascent", "gradient_descent", "gradient_flow", "margin_ascent", "margin_ascents", "mirror_flow",
              "saddle_limit", "saddle_path", "train_batch"),
    "diagnostics": ("Arrival", "Cluster", "CommutingDefect", "ConvergenceBounds", "Estimate", "Kink", "LocalBounds",
                    "MarginBound", "Phase", "Probe", "clusters", "commuting_defect", "convergence_bounds",
                    "gradient_distance", "interclass_distance", "inverse_norm", "kernel_distance", "kinks", "local_bounds",
                    "margin_bound", "margin_certificates", "phases", "probe", "time_to", "transport_distance"),
    "theory": ("Alternating", "Check", "Checkpoints", "Claim", "Comparison", "Evidence", "Falsification", "Hypothesis", "Kind",
               "LegendreProblem", "PowerProblem", "Scores", "Status", "Verdict", "claims", "compare", "falsify", "verify"),
    "run": ("Dask", "Processes", "Serial", "Store", "SweepError", "sweep"),
    "experiments": ("TransitionScale", "figure", "figures", "transition_scale"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", "data", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name == "data":
        return importlib.import_module(".data", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from . import data as data
    from .diagnostics import *  # noqa: F403
    from .errors import *  # noqa: F403
    from .experiments import TransitionScale as TransitionScale
    from .experiments import figure as figure
    from .experiments import figures as figures
    from .experiments import transition_scale as transition_scale
    from .flows import *  # noqa: F403
    from .limits import *  # noqa: F403
    from .losses import *  # noqa: F403
    from .losses import SquareLoss as SquareLoss
    from .models import *  # noqa: F403
    from .potentials import *  # noqa: F403
    from .records import *  # noqa: F403
    from .run import Dask as Dask
    from .run import Processes as Processes
    from .run import Serial as Serial
    from .run import Store as Store
    from .run import SweepError as SweepError
    from .run import sweep as sweep
    from .theory import Alternating as Alternating
    from .theory import Check as Check
    from .theory import Checkpoints as Checkpoints
    from .theory import Claim as Claim
    from .theory import Comparison as Comparison
    from .theory import Evidence as Evidence
    from .theory import Falsification as Falsification
    from .theory import Hypothesis as Hypothesis
    from .theory import Kind as Kind
    from .theory import LegendreProblem as LegendreProblem
    from .theory import PowerProblem as PowerProblem
    from .theory import Scores as Scores
    from .theory import Status as Status
    from .theory import Verdict as Verdict
    from .theory import claims as claims
    from .theory import compare as compare
    from .theory import falsify as falsify
    from .theory import verify as verify
