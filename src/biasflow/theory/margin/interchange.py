"""C, after Corollary 4: limits in m and t can be interchanged, since a margin once reached is kept
in networks of every width."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..evidence import Evidence
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_kept_problem, kept_problem
from .margin_hypotheses import DISTINCT, EXPONENTIAL, NETWORK, SEPARABLE, SIGNS, SMALL_START
from .margin_setting import ask_for_time
from .raw import log_norm, raw_flow, scores
from .trained import ALONG, Trained, narrowed

SHARES = (3, 1)
"""Widths over which the first of one sequence of neurons are trained: the given one over these."""
FEWEST_NEURONS = 4
"""Neurons of the narrowest network."""
TIMES_SEEN = 40
"""Times at which raw gradients are looked at, geometric, until TIME_FOLLOWED."""
TIME_FOLLOWED = 200.0
"""C's time up to which raw gradients are followed, over 1/max‖x‖², if they last."""
RESOLVED_ERROR = 1e-3
"""Error of a margin, over the largest, up to which it is compared with others."""
RTOL = 1e-6
"""Of raw gradients: at ten times that, kinks leave margins open by several RESOLVED_ERROR where
they are small."""
OWN = "scores of the weights themselves, along the whole flow"


def _interchange(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    width = problem.model.width
    widths = [width // share for share in SHARES if share == 1 or width // share >= FEWEST_NEURONS]
    runs = [Trained(evidence, narrowed(problem, few)) for few in widths[:-1]]
    runs.append(Trained(evidence, problem, evidence.given_flow))
    of = f"over t ≥ t₀ in networks of {' and '.join(map(str, widths))} neurons"
    quantity = (
        f"least of margin(t) − margin(t₀) + log(n)/‖ν_{{t₀}}‖, over the largest margin, {of}, "
        "by raw gradients"
    )

    def by_raw_gradients() -> Check:
        found = []
        for run in runs:
            ask_for_time(evidence)
            found.append(_along(run.problem))
        return _check(quantity, found, ALONG)

    return (
        *part(quantity, by_raw_gradients),
        *part("the same for the library's flow", lambda: _by_library(runs)),
    )


def _by_library(runs: list[Trained]) -> Check:
    long = []
    for run in runs:
        error = run.flow.margin_error
        margins = np.array(
            [float(np.min(scores(run.problem, run.state(k)))) for k in range(len(run.log_norms))]
        )
        long.append(
            _kept(
                run.problem,
                margins,
                run.log_norms,
                np.zeros(margins.size) if error is None else np.asarray(error),
            )
        )
    reached = min(float(run.log_norms[-1]) for run in runs)
    return _check(f"the same until log β = {reached:.3g}", long, OWN)


def _check(quantity: str, found: list[tuple[float, float, float] | None], witness: str) -> Check:
    kept = [each for each in found if each is not None]
    if not kept:
        return unknown_check(quantity, "no two margins are known well enough to be compared")
    least, error, null = np.array(kept).T
    k = int(np.argmin(least))
    return Check(
        quantity,
        float(least[k]),
        ">=",
        -2 * float(error[k]),
        float(error[k]),
        witness=witness,
        null=float(np.min(null)),
    )


def _along(problem: Problem) -> tuple[float, float, float] | None:
    """The same along raw gradients; looser runs tell the error."""
    unit = 1 / float(np.max(np.sum(problem.data.X**2, axis=1)))
    raw = raw_flow(
        problem, unit * np.geomspace(TIME_FOLLOWED / 1e3, TIME_FOLLOWED, TIMES_SEEN), rtol=RTOL
    )
    margins = np.array([float(np.min(scores(problem, w))) for w in raw.states])
    return _kept(problem, margins, np.array([log_norm(w) for w in raw.states]), raw.error)


def _kept(
    problem: Problem, margins: Array, log_norms: Array, error: Array
) -> tuple[float, float, float] | None:
    """The least of margin(t) − margin(t₀) + log(n)/‖ν_{t₀}‖ over the largest |margin|, its error,
    and the flow backwards.

    Over t ≥ t₀ with ‖ν_t‖ ≥ ‖ν_{t₀}‖. With u = ‖ν‖·margins and F = S(u), min u ≥ F − log n, and F
    grows. Where log n ≥ min u(t₀) that gives min u(t) ≥ F(t₀) − log n ≥ min u(t₀) − log n, to be
    divided by ‖ν_t‖; else Σp_iu_i > 0 from there on, ‖ν‖ grows, and Corollary 11 adds up.
    """
    size = float(np.max(np.abs(margins), initial=0.0))
    known = error <= RESOLVED_ERROR * size
    logs = log_norms[known]
    later = (logs[None, :] >= logs[:, None]) & np.triu(np.ones((logs.size, logs.size), bool), 1)
    if size == 0 or not np.any(later):
        return None
    lost = lost_by(problem.data.n, logs)[:, None]
    gained = margins[known][None, :] - margins[known][:, None]
    owed = 2 * float(np.max(error[known])) / size
    forwards, backwards = (float(np.min((sign * gained + lost)[later])) / size for sign in (1, -1))
    return forwards, owed, backwards


def lost_by(n: int, log_norms: Array) -> Array:
    """log(n)/‖ν‖."""
    return np.asarray(np.log(n) * np.exp(-log_norms))


interchange = Claim(
    "C/interchange",
    "Limits in m and t can be interchanged, since a margin is kept in networks of every width: "
    "margin(t) ≥ margin(t₀) − log(n)/‖ν_{t₀}‖ for all t ≥ t₀ with ‖ν_t‖ ≥ ‖ν_{t₀}‖, whatever m; so "
    "for all t ≥ t₀ once margin(t₀) ≥ log(n)/‖ν_{t₀}‖.",
    "C, after Corollary 4, and proof of Corollary 11",
    (NETWORK, EXPONENTIAL, SIGNS, SEPARABLE, DISTINCT, SMALL_START),
    kept_problem,
    _interchange,
    Kind.FLOW,
    OWN,
    "the same flow backwards",
    any_kept_problem,
)

CLAIMS = (interchange,)
