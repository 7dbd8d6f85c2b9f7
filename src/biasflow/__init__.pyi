"""The public names, written once: lazy_loader reads them here when the package is imported, type checkers and editors too."""

from . import data as data
from . import diagnostics as diagnostics
from . import errors as errors
from . import experiments as experiments
from . import flows as flows
from . import limits as limits
from . import losses as losses
from . import models as models
from . import offers as offers
from . import potentials as potentials
from . import records as records
from . import run as run
from . import theory as theory
from .diagnostics import (
    Arrival as Arrival,
)
from .diagnostics import (
    Cluster as Cluster,
)
from .diagnostics import (
    CommutingDefect as CommutingDefect,
)
from .diagnostics import (
    ConvergenceBounds as ConvergenceBounds,
)
from .diagnostics import (
    Estimate as Estimate,
)
from .diagnostics import (
    Kink as Kink,
)
from .diagnostics import (
    LocalBounds as LocalBounds,
)
from .diagnostics import (
    MarginBound as MarginBound,
)
from .diagnostics import (
    Phase as Phase,
)
from .diagnostics import (
    Probe as Probe,
)
from .diagnostics import (
    clusters as clusters,
)
from .diagnostics import (
    commuting_defect as commuting_defect,
)
from .diagnostics import (
    convergence_bounds as convergence_bounds,
)
from .diagnostics import (
    gradient_distance as gradient_distance,
)
from .diagnostics import (
    interclass_distance as interclass_distance,
)
from .diagnostics import (
    inverse_norm as inverse_norm,
)
from .diagnostics import (
    kernel_distance as kernel_distance,
)
from .diagnostics import (
    kinks as kinks,
)
from .diagnostics import (
    local_bounds as local_bounds,
)
from .diagnostics import (
    margin_bound as margin_bound,
)
from .diagnostics import (
    margin_certificates as margin_certificates,
)
from .diagnostics import (
    phases as phases,
)
from .diagnostics import (
    probe as probe,
)
from .diagnostics import (
    time_to as time_to,
)
from .diagnostics import (
    transport_distance as transport_distance,
)
from .errors import (
    AssumptionError as AssumptionError,
)
from .errors import (
    BiasflowError as BiasflowError,
)
from .errors import (
    ConvergenceError as ConvergenceError,
)
from .errors import (
    DataFileError as DataFileError,
)
from .errors import (
    DomainError as DomainError,
)
from .errors import (
    InconsistentError as InconsistentError,
)
from .errors import (
    InfeasibleError as InfeasibleError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    RefusedError as RefusedError,
)
from .errors import (
    ScaleError as ScaleError,
)
from .errors import (
    UnknownNameError as UnknownNameError,
)
from .experiments import (
    TransitionScale as TransitionScale,
)
from .experiments import (
    figure as figure,
)
from .experiments import (
    figures as figures,
)
from .experiments import (
    transition_scale as transition_scale,
)
from .flows import (
    Alignment as Alignment,
)
from .flows import (
    ConstantStep as ConstantStep,
)
from .flows import (
    FeatureAscent as FeatureAscent,
)
from .flows import (
    GateEvent as GateEvent,
)
from .flows import (
    InverseRootStep as InverseRootStep,
)
from .flows import (
    Proposition6Step as Proposition6Step,
)
from .flows import (
    Proposition7Step as Proposition7Step,
)
from .flows import (
    StepRule as StepRule,
)
from .flows import (
    TrainedBatch as TrainedBatch,
)
from .flows import (
    TrainedRun as TrainedRun,
)
from .flows import (
    early_alignment as early_alignment,
)
from .flows import (
    effective_limit as effective_limit,
)
from .flows import (
    feature_ascent as feature_ascent,
)
from .flows import (
    gradient_descent as gradient_descent,
)
from .flows import (
    gradient_flow as gradient_flow,
)
from .flows import (
    margin_ascent as margin_ascent,
)
from .flows import (
    margin_ascents as margin_ascents,
)
from .flows import (
    mirror_flow as mirror_flow,
)
from .flows import (
    saddle_limit as saddle_limit,
)
from .flows import (
    saddle_path as saddle_path,
)
from .flows import (
    train_batch as train_batch,
)
from .limits import (
    FeatureClassifier as FeatureClassifier,
)
from .limits import (
    Homogeneity as Homogeneity,
)
from .limits import (
    KernelClassifier as KernelClassifier,
)
from .limits import (
    KktPoint as KktPoint,
)
from .limits import (
    LinearisedFlow as LinearisedFlow,
)
from .limits import (
    MarginCertificate as MarginCertificate,
)
from .limits import (
    MarginKkt as MarginKkt,
)
from .limits import (
    SmoothedMargin as SmoothedMargin,
)
from .limits import (
    TangentPredictor as TangentPredictor,
)
from .limits import (
    arc_cosine_kernel as arc_cosine_kernel,
)
from .limits import (
    bregman_projection as bregman_projection,
)
from .limits import (
    f1_max_margin as f1_max_margin,
)
from .limits import (
    f2_max_margin as f2_max_margin,
)
from .limits import (
    homogeneity as homogeneity,
)
from .limits import (
    kernel_interpolator as kernel_interpolator,
)
from .limits import (
    kernel_max_margin as kernel_max_margin,
)
from .limits import (
    kkt_point as kkt_point,
)
from .limits import (
    kkt_residual as kkt_residual,
)
from .limits import (
    l1_max_margin as l1_max_margin,
)
from .limits import (
    l2_max_margin as l2_max_margin,
)
from .limits import (
    limit as limit,
)
from .limits import (
    linearised_flow as linearised_flow,
)
from .limits import (
    margin_certificate as margin_certificate,
)
from .limits import (
    margin_kkt as margin_kkt,
)
from .limits import (
    max_margin as max_margin,
)
from .limits import (
    min_frobenius_norm as min_frobenius_norm,
)
from .limits import (
    min_l1 as min_l1,
)
from .limits import (
    min_l2 as min_l2,
)
from .limits import (
    min_norm as min_norm,
)
from .limits import (
    min_norm_interpolator as min_norm_interpolator,
)
from .limits import (
    min_nuclear_norm as min_nuclear_norm,
)
from .limits import (
    mirror_limit as mirror_limit,
)
from .limits import (
    polish as polish,
)
from .limits import (
    smoothed_margin as smoothed_margin,
)
from .limits import (
    tangent_interpolator as tangent_interpolator,
)
from .limits import (
    tangent_kernel as tangent_kernel,
)
from .limits import (
    tangent_kernel_limit as tangent_kernel_limit,
)
from .limits import (
    tangent_max_margin as tangent_max_margin,
)
from .limits import (
    variation_norm as variation_norm,
)
from .losses import (
    CrossEntropyLoss as CrossEntropyLoss,
)
from .losses import (
    ExponentialLoss as ExponentialLoss,
)
from .losses import (
    LogisticLoss as LogisticLoss,
)
from .losses import (
    Loss as Loss,
)
from .losses import (
    MarginLoss as MarginLoss,
)
from .losses import (
    SmoothMargin as SmoothMargin,
)
from .losses import (
    SquareLoss as SquareLoss,
)
from .models import (
    DeepNetwork as DeepNetwork,
)
from .models import (
    DeepParams as DeepParams,
)
from .models import (
    DiagonalNetwork as DiagonalNetwork,
)
from .models import (
    DiagonalParams as DiagonalParams,
)
from .models import (
    FactorParams as FactorParams,
)
from .models import (
    FixedDirections as FixedDirections,
)
from .models import (
    FixedDirectionsParams as FixedDirectionsParams,
)
from .models import (
    MatrixFactorisation as MatrixFactorisation,
)
from .models import (
    MergedProblem as MergedProblem,
)
from .models import (
    Particles as Particles,
)
from .models import (
    ProductNetwork as ProductNetwork,
)
from .models import (
    ProductParams as ProductParams,
)
from .models import (
    SignedTwoLayer as SignedTwoLayer,
)
from .models import (
    SignedTwoLayerParams as SignedTwoLayerParams,
)
from .models import (
    SphereMeasure as SphereMeasure,
)
from .models import (
    TransportGrowth as TransportGrowth,
)
from .models import (
    TwoLayer as TwoLayer,
)
from .models import (
    TwoLayerParams as TwoLayerParams,
)
from .models import (
    as_particles as as_particles,
)
from .models import (
    merge_directions as merge_directions,
)
from .models import (
    mirror as mirror,
)
from .models import (
    random_network as random_network,
)
from .models import (
    sphere_measure as sphere_measure,
)
from .models import (
    split_network as split_network,
)
from .models import (
    transport_growth as transport_growth,
)
from .potentials import (
    DepthPotential as DepthPotential,
)
from .potentials import (
    Entropy as Entropy,
)
from .potentials import (
    Euclidean as Euclidean,
)
from .potentials import (
    Hypentropy as Hypentropy,
)
from .potentials import (
    Potential as Potential,
)
from .potentials import (
    ScaledPotential as ScaledPotential,
)
from .potentials import (
    bregman as bregman,
)
from .records import (
    Batched as Batched,
)
from .records import (
    Certificate as Certificate,
)
from .records import (
    Composed as Composed,
)
from .records import (
    Dataset as Dataset,
)
from .records import (
    Experiment as Experiment,
)
from .records import (
    Grid as Grid,
)
from .records import (
    Limit as Limit,
)
from .records import (
    MirrorProblem as MirrorProblem,
)
from .records import (
    Problem as Problem,
)
from .records import (
    Reading as Reading,
)
from .records import (
    Reported as Reported,
)
from .records import (
    Result as Result,
)
from .records import (
    Trajectory as Trajectory,
)
from .run import (
    Dask as Dask,
)
from .run import (
    Processes as Processes,
)
from .run import (
    Serial as Serial,
)
from .run import (
    Store as Store,
)
from .run import (
    SweepError as SweepError,
)
from .run import (
    sweep as sweep,
)
from .theory import (
    Alternating as Alternating,
)
from .theory import (
    Check as Check,
)
from .theory import (
    Checkpoints as Checkpoints,
)
from .theory import (
    Claim as Claim,
)
from .theory import (
    Comparison as Comparison,
)
from .theory import (
    Evidence as Evidence,
)
from .theory import (
    Falsification as Falsification,
)
from .theory import (
    Hypothesis as Hypothesis,
)
from .theory import (
    Kind as Kind,
)
from .theory import (
    LegendreProblem as LegendreProblem,
)
from .theory import (
    PowerProblem as PowerProblem,
)
from .theory import (
    Scores as Scores,
)
from .theory import (
    Status as Status,
)
from .theory import (
    Verdict as Verdict,
)
from .theory import (
    claims as claims,
)
from .theory import (
    compare as compare,
)
from .theory import (
    falsify as falsify,
)
from .theory import (
    verify as verify,
)

__version__: str
