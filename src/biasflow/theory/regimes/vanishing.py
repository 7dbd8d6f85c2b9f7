"""The trajectory of the depth-2 model as α → 0 (after Pesme and Flammarion 2023)."""

from __future__ import annotations

import numpy as np

from ...flows import mirror_flow, saddle_path
from ...inputs import Array
from ...potentials import Hypentropy
from ...records import Trajectory
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE, UNIQUE, depth
from ..verdicts import Check, Claim

LOGS = (40.0, 160.0, 640.0)
"""log(1/r) of the flows that are compared with the jump process."""
# The claim is about a limit: at any finite r a miss proves nothing, so the checks of distance have unbounded error.
SHORTEST = 0.05
"""Share of the whole path below which a plateau is too short to be compared at these scales."""


def plateau_distances(X: Array, y: Array, path: Trajectory, log_inverse_r: float) -> Array:
    """Distance of a flow with r = e^{−log_inverse_r} from each long enough plateau, in its middle, in rescaled time."""
    lengths = np.append(np.diff(path.times), path.times[-1])
    long = np.flatnonzero(lengths > SHORTEST * path.times[-1])
    middles = path.times[long] + lengths[long] / 2
    flow = mirror_flow(Hypentropy(log_alpha=-log_inverse_r), X, y, times=middles * log_inverse_r, rtol=1e-6)
    return np.max(np.abs(flow.states - path.states[long]), axis=1)


def _limit(evidence: Evidence) -> tuple[Check, ...]:
    X, y = evidence.mirror.X, evidence.mirror.y
    path = saddle_path(X, y)
    size = float(np.max(np.abs(path.final)))
    worst = [float(np.max(plateau_distances(X, y, path, log))) / size for log in LOGS]
    norm = float(np.sum(np.abs(path.final)))
    return (
        Check("‖β‖₁ at the end of the path over min ℓ1", norm / evidence.l1.objective, "==", 1.0, 1e-9),
        Check("distance from the plateaus at r = e^{−640} over that at e^{−40}", worst[2] / worst[0], "<=", 0.5, np.inf),
        Check("distance from the plateaus at r = e^{−640}, relative", worst[2], "<=", 0.05, np.inf),
    )


vanishing = Claim(
    "W/limit",
    "As α → 0, in the time t/log(1/r), the flow of the depth-2 model converges to a process of jumps between saddles"
    " that ends at min ℓ1.",
    "Pesme and Flammarion 2023, for W's model",
    (DIAGONAL, depth(2, 2), SQUARE, CONSISTENT, NONTRIVIAL, UNIQUE),
    lambda key: diagonal_problem(key, n=5, d=12),
    _limit,
)

CLAIMS = (vanishing,)
