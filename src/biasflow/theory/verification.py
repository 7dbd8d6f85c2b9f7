"""The registry of claims, and their verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._core.arguments import instance, matrix, positive_float, positive_int, vector
from .._core.former_names import keyword_only
from .._core.offers import Register
from .._core.problems import Dataset, MirrorProblem, Problem
from .._core.progress import doing
from .._core.results import Limit, Trajectory
from .._numerics.compilation import announced
from .._numerics.deadlines import Deadline
from ..errors import InputError
from ..models import TwoLayerParams
from . import margin, mirror, regimes, relu, since
from .evidence import Evidence
from .handed_in_flows import Checkpoints, as_trajectory, flow_defect, start_of
from .judgement import judge
from .margin.margin_setting import Alternating, Clusters, Scores
from .mirror.ablations import PowerProblem
from .mirror.legendre import LegendreProblem
from .verdicts import Claim, Status, Verdict

PROBLEMS = (
    Problem,
    MirrorProblem,
    Dataset,
    Scores,
    Alternating,
    Clusters,
    PowerProblem,
    LegendreProblem,
)
"""What the papers' claims are about."""
CLAIMS: tuple[Claim, ...] = (
    mirror.CLAIMS + relu.CLAIMS + margin.CLAIMS + regimes.CLAIMS + since.CLAIMS
)

REGISTER = Register("claim", "biasflow.claims", Claim, CLAIMS)


def claims() -> tuple[str, ...]:
    """The ids of all claims: the papers', then those that other packages offer.

    Returns
    -------
    tuple of str
        For `verify`, `falsify` and `theory.explain`; `biasflow list` has them with what they say.

    Examples
    --------
    >>> [id for id in bf.claims() if id.startswith("W/thm")]
    ['W/thm1', 'W/thm2', 'W/thm3']
    """
    return REGISTER.ids


def claim(id: str) -> Claim:
    """The claim with this id.

    Parameters
    ----------
    id : str

    Returns
    -------
    theory.Claim

    Raises
    ------
    UnknownNameError
        It suggests the nearest ids.

    Examples
    --------
    >>> bf.theory.claim("W/thm2").reference
    'W, Theorem 2'
    """
    return REGISTER.offer(id).value


def roots_of_claim(statement: Claim) -> tuple[str, ...]:
    """The modules that a verdict on one of our claims rests on: the one that states it, and the one
    that judges.

    None where the claim is not ours: nobody knows what it rests on.
    """
    papers = [
        module
        for name, module in sys.modules.items()
        if name.startswith(f"{__package__}.") and name.count(".") > 2
    ]
    homes = [
        module.__name__
        for module in papers
        if any(one is statement for one in getattr(module, "CLAIMS", ()))
    ]
    return (*homes, judge.__module__) if homes else ()


_shared: ContextVar[dict[tuple[Any, int], Evidence] | None] = ContextVar("shared", default=None)
"""Evidence on examples, by what makes them and their key."""


@contextmanager
def shared_evidence() -> Iterator[None]:
    """Inside, claims with the same examples are judged on the same evidence: the flow that several
    speak of is followed once. Each has its own time for what is still missing."""
    before = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(before)


def _on_example(
    shared: dict[tuple[Any, int], Evidence], statement: Claim, key: int, time_s: float
) -> Evidence:
    place = statement.example, key
    if place not in shared:
        shared[place] = Evidence(statement.example(key), time_s=time_s)
    shared[place].deadline = Deadline(time_s)
    return shared[place]


@keyword_only("key")
@doing("verify")
def verify(
    claim_or_id: Claim | str,
    problem: Any = None,
    *,
    key: int = 0,
    flow: Trajectory | Checkpoints | None = None,
    limit: Limit | None = None,
    time_s: float = 30.0,
) -> Verdict:
    """Test a claim on a problem: hypotheses, then predictions against what is measured.

    Parameters
    ----------
    claim_or_id : str or theory.Claim
        One of `claims()`, or a claim of your own.
    problem : optional
        What the claim is about, a `Problem` in most cases; None: the flow's, else the claim's
        random example for this key.
    key : int
        Of the example.
    flow : Trajectory or theory.Checkpoints, optional
        Evidence of your own. Its defect ẇ + ∇L is measured first: above its error it is no gradient
        flow, and the claim does not apply.
    limit : Limit, optional
        Your own. It is checked first, against where the flow goes or the program that it should
        solve: if it is wrong, the claim is violated and nothing else is judged. A claim about no
        limit does not apply.
    time_s : float
        Seconds for all evidence together. A part that does not fit is inconclusive; if the witness
        alone does not, the verdict is at best consistent.

    Returns
    -------
    Verdict
        With its status, the hypotheses tested and every check.

    Raises
    ------
    UnknownNameError
        If no claim has this id; it suggests the nearest.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-3)
    >>> bf.verify("W/thm1", problem).status.value
    'holds'
    >>> bf.verify("W/thm3", problem).status.value
    'does not apply'
    """
    statement = (
        claim(claim_or_id)
        if isinstance(claim_or_id, str)
        else instance("claim_or_id", claim_or_id, (str, Claim))
    )
    time_s, key = positive_float("time_s", time_s), positive_int("key", key, least=0)
    shared = _shared.get()
    if shared is not None and problem is None and flow is None and limit is None:
        return judge(statement, _on_example(shared, statement, key, time_s))
    if problem is None:
        if isinstance(flow, Checkpoints):
            raise InputError(
                "problem: checkpoints carry none; give the problem that they were trained on"
            )
        problem = flow.problem if isinstance(flow, Trajectory) else statement.example(key)
    if not isinstance(problem, PROBLEMS):
        own = type(statement.example(0))  # a claim of the user's own may have its own kind
        instance("problem", problem, PROBLEMS if own in PROBLEMS else (*PROBLEMS, own))
    if limit is not None:
        _check_limit(problem, instance("limit", limit, Limit))
    clock = Deadline(time_s)
    if flow is None:
        return judge(statement, Evidence(problem, time_s=clock), limit)
    if not isinstance(problem, (Problem, MirrorProblem)):
        raise InputError(f"flow: a {type(problem).__name__} has no flow; leave it out")
    given = as_trajectory(problem, flow)
    defect = announced("numerical", flow_defect, given, time_s / 2, deadline=clock)
    if isinstance(defect, str):
        return Verdict(
            statement,
            (),
            (),
            Status.INCONCLUSIVE,
            f"whether the flow given follows ∇L is not known: {defect}",
        )
    if not defect.sound:
        return Verdict(
            statement, (), (), Status.DOES_NOT_APPLY, no_flow(defect.size, defect.allowed)
        )
    return judge(statement, Evidence(problem, defect.flow, time_s=clock), limit)


def _check_limit(problem: Any, limit: Limit) -> None:
    """A predictor must be finite and of the shape of the problem's own; limits of other kinds are
    left to the claims.

    A network must be finite and take the problem's inputs; it may have more or fewer neurons, where
    a claim allows that.
    """
    if isinstance(problem, Problem) and isinstance(limit.value, TwoLayerParams):
        a, W = vector("limit.value.a", limit.value.a), matrix("limit.value.W", limit.value.W)
        if W.shape != (len(a), problem.data.d):
            raise InputError(
                f"limit.value.W: expected the shape ({len(a)}, {problem.data.d}), found {W.shape}"
            )
    if not isinstance(problem, (Problem, MirrorProblem)) or not isinstance(
        limit.value, np.ndarray | list
    ):
        return
    start = start_of(problem)
    own = start if isinstance(problem, MirrorProblem) else problem.model.effective(start)
    value = np.asarray(limit.value)
    if value.dtype.kind not in "fiu" or not np.all(np.isfinite(value)):
        raise InputError("limit: its value has entries that are no finite numbers")
    if isinstance(own, np.ndarray) and value.shape != own.shape:
        raise InputError(
            f"limit: its value has the shape {value.shape}, the problem's predictor {own.shape}"
        )


def no_flow(size: float, allowed: float) -> str:
    """A sentence on a flow whose defect is above its error."""
    return (
        "the flow given is no gradient flow: from one state to the next it misses by "
        f"{size:.2g}, not {allowed:.2g}"
    )
