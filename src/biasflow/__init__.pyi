"""The public names, written once: lazy_loader reads them here when the package is imported, type
checkers and editors too. Everything else is one dot away, in its room."""

from . import (
    data as data,
    diagnostics as diagnostics,
    errors as errors,
    estimators as estimators,
    experiments as experiments,
    flows as flows,
    images as images,
    limits as limits,
    losses as losses,
    models as models,
    potentials as potentials,
    regime as regime,
    sweeps as sweeps,
    theory as theory,
    training as training,
)
from ._core.problems import (
    Dataset as Dataset,
    MirrorProblem as MirrorProblem,
    Problem as Problem,
)
from ._core.progress import (
    progress as progress,
)
from ._core.results import (
    Bracket as Bracket,
    Certificate as Certificate,
    Limit as Limit,
    Result as Result,
    Trajectory as Trajectory,
)
from .diagnostics import (
    certify as certify,
    conservation_laws as conservation_laws,
)
from .experiments import (
    figure as figure,
    figures as figures,
)
from .flows import (
    gradient_flow as gradient_flow,
    limit as limit,
    mirror_flow as mirror_flow,
    saddle_path as saddle_path,
)
from .limits import (
    bregman_projection as bregman_projection,
    max_margin as max_margin,
    min_norm as min_norm,
    tangent_kernel as tangent_kernel,
)
from .losses import (
    CrossEntropyLoss as CrossEntropyLoss,
    ExponentialLoss as ExponentialLoss,
    LogisticLoss as LogisticLoss,
    SmoothMargin as SmoothMargin,
    SquareLoss as SquareLoss,
)
from .models import (
    DeepNetwork as DeepNetwork,
    DiagonalNetwork as DiagonalNetwork,
    FixedDirections as FixedDirections,
    MatrixFactorisation as MatrixFactorisation,
    ProductNetwork as ProductNetwork,
    SignedTwoLayer as SignedTwoLayer,
    TwoLayer as TwoLayer,
)
from .regime import (
    probe as probe,
)
from .sweeps import (
    sweep as sweep,
)
from .theory import (
    Verdict as Verdict,
    claims as claims,
    compare as compare,
    falsify as falsify,
    verify as verify,
)
from .training import (
    train as train,
)

__version__: str
