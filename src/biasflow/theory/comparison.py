"""A flow and a prediction, side by side."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, instance, positive_float
from .._core.problems import Dataset, MirrorProblem, Problem
from .._core.progress import doing
from .._core.results import Certificate, Limit, Result, Trajectory
from .._core.trees import leaves
from .._numerics.deadlines import Deadline
from ..errors import BiasflowError, InputError
from ..flows import limit as limit_of
from ..models import Particles, TwoLayer
from .evidence import Evidence
from .handed_in_flows import as_trajectory, flow_defect
from .judgement import judge
from .verdicts import Status, Verdict
from .verification import claim, no_flow

COMPARED = ("W/thm1", "W/thm2", "W/thm3", "W/lem4", "R/thm2.2", "R/eq3", "R/sharp")
"""Claims about one trajectory and its limit."""
PREDICTOR, PREDICTIONS = (
    "‖β(T) − β*‖_∞",
    "of the predictions on the data, max_i |f(x_i; T) − f*(x_i)|",
)
NORMALISED = "of the normalised predictions on the data, max_i |f(x_i; T)/Σ‖w‖² − f*(x_i)|"
"""What is compared: the predictor where limit and flow have the same one, else what they
predict."""
SAME = 1e-8
"""Difference, relative, up to which two limits are one."""
PROBES = 64
"""Places beside the data at which networks are compared as functions."""
SHOWN = (
    Status.HOLDS,
    Status.CONSISTENT,
    Status.INCONCLUSIVE,
    Status.VIOLATED,
    Status.HYPOTHESES_FAIL,
)
"""What is printed: claims that do not apply are not."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """How far a flow ended from a limit, how well each is known, and whether theorems predict it.

    predicted: whether the limit is the one that theorems predict; None if they predict none.
    theory: the same as a sentence, with how far their own limit is. verdicts, defect: with
    `verify=True`, the claims on the pair, and a sentence on whether the flow follows ∇L.
    compared: what the distance is of. norms: ‖θ‖² of the flow's end and of the limit, if both are
    networks. trajectory, limit: what was compared.
    """

    distance: float
    relative: float
    flow_error: float
    final_loss: float
    result: Result
    certificate: Certificate
    verdicts: tuple[Verdict, ...] = ()
    predicted: bool | None = None
    theory: str = ""
    defect: str = ""
    compared: str = PREDICTOR
    norms: tuple[float, float] | None = None
    trajectory: Trajectory | None = None
    limit: Limit | None = None

    def plot(self) -> Any:
        """A matplotlib figure: the end of the flow beside the limit, and the distance over time."""
        from .comparison_pictures import comparison_picture

        return comparison_picture(self)

    def _repr_html_(self) -> str:
        from .comparison_pictures import comparison_card

        return comparison_card(self)

    def __str__(self) -> str:
        c = self.certificate
        lines = [
            f"flow: {self.result.value}; final loss {self.final_loss:.1e}, integration error "
            f"{self.flow_error:.1e}",
            f"limit: {c.kind}, residual {c.residual:.1e}, relative gap {c.gap:.1e}",
            self.theory,
            f"distance {self.compared} = {self.distance:.1e} (relative {self.relative:.1e})",
        ]
        if self.norms is not None:
            ours, theirs = self.norms
            times = f" ({ours / theirs:.4g} times)" if theirs > 0 else ""
            lines.append(f"squared norm ‖θ‖²: flow {ours:.6g}, limit {theirs:.6g}{times}")
        if self.defect:
            lines.append(self.defect)
        for status in SHOWN:
            names = [v.claim.id + _remark(v) for v in self.verdicts if v.status == status]
            if names:
                lines.append(f"{status}: {', '.join(names)}")
        return "\n".join(line for line in lines if line)

    __repr__ = __str__


def _remark(verdict: Verdict) -> str:
    return " (not informative here)" if verdict.informative is False else ""


class _Unchecked(Evidence):
    """Evidence from a flow of which nobody could say whether it follows ∇L: it proves nothing, and
    contradicts nothing."""

    unknown = ""

    @property
    def source(self) -> str:
        return ""

    @property
    def missing(self) -> str:
        return f"whether the flow follows ∇L is not known: {self.unknown}"


@doing("compare")
def compare(
    trajectory: Trajectory, limit: Limit, *, verify: bool = False, time_s: float = 30.0
) -> Comparison:
    """Distance between the end of a flow and a limit, and whether the limit is the one that
    theorems predict for the flow.

    Parameters
    ----------
    trajectory : Trajectory
    limit : Limit
        Any point: predictors are compared as vectors, networks as functions on the inputs,
        classifiers by their directions there.
    verify : bool
        Also judge the claims about a flow and its limit, if the limit is the predicted one. From
        some of the flow's states ∇L is followed to the next: if it does not lead there, this is no
        gradient flow, and no claim applies. Takes several times as long.
    time_s : float
        Seconds at most to compute the predicted limit, and again for each claim.

    Returns
    -------
    theory.Comparison
        Prints as a few lines; `plot()` draws flow against limit.

    Raises
    ------
    InputError
        If the two cannot be compared.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-3)
    >>> flow = bf.gradient_flow(problem)
    >>> print(bf.compare(flow, bf.limit(problem)).theory)
    theorems predict this limit: W, Theorem 1; R, Theorem 2.2
    >>> bf.compare(flow, bf.min_norm(data.X, data.y, norm="l1")).predicted
    False
    """
    instance("trajectory", trajectory, Trajectory)
    instance("limit", limit, Limit)
    time_s = positive_float("time_s", time_s)
    evidence = Evidence(trajectory.problem, trajectory)
    what, ours, theirs = _sides(evidence, limit)
    distance = float(np.max(np.abs(ours - theirs)))
    size = max(float(np.max(np.abs(theirs))), np.finfo(float).tiny)
    predicted, theory = _predicted(evidence, limit, time_s)
    # theorems on flows say nothing of descent or of jumps
    is_flow = trajectory.interpolant is not None and what == PREDICTOR
    defect, verdicts = (
        _judged(evidence, limit, time_s) if verify and is_flow and predicted else ("", ())
    )
    return Comparison(
        distance,
        distance / size,
        float(trajectory.predictor_error[-1]),
        float(trajectory.loss[-1]),
        trajectory.result,
        limit.certificate,
        verdicts,
        predicted,
        theory,
        defect,
        what,
        _norms(trajectory, limit),
        trajectory,
        limit,
    )


def _predicted(evidence: Evidence, limit: Limit, time_s: float) -> tuple[bool | None, str]:
    """Whether theorems predict this limit for the flow, None if they predict none; and a sentence
    that says so."""
    problem = evidence.problem
    try:
        if isinstance(problem, MirrorProblem):
            own = limit_of(problem)
        else:
            own = limit_of(problem, time_s=time_s)
        what, ours, theirs = _sides(evidence, own)
    except BiasflowError:
        return None, "no theorem here predicts where this flow ends"
    allowed = SAME + float(np.sqrt(max(own.certificate.gap, 0.0)))
    if all(
        np.max(np.abs(one - other)) <= allowed * max(float(np.max(np.abs(other))), SAME)
        for one, other in zip(_traits(problem, limit), _traits(problem, own), strict=True)
    ):
        return True, f"theorems predict this limit: {own.source}"
    far = float(np.max(np.abs(ours - theirs)))
    return False, (
        f"theorems predict another limit ({own.source}); its distance {what} = {far:.1e}"
    )


def _traits(problem: Any, limit: Limit) -> list[Array]:
    """What tells two limits of a problem apart: β; or a network as a function, with its norm."""
    value = limit.value
    if isinstance(value, np.ndarray):
        return [np.asarray(value, dtype=np.float64)]
    X = problem.data.X
    mixtures = np.random.default_rng(0).dirichlet(np.ones(len(X)), PROBES) @ (2 * X) - X[0]
    places = Dataset(np.vstack([X, mixtures]), np.zeros(len(X) + PROBES))
    if not problem.loss.attained:
        return [_normalised_limit(dataclasses.replace(problem, data=places), value)]
    network = isinstance(value, tuple) and limit.predictor is None
    outputs = _network(problem.model, value)(value, places.X) if network else limit(places.X)
    norm = sum(np.sum(leaf * leaf) for leaf in leaves(value)) if isinstance(value, tuple) else 0.0
    return [np.asarray(outputs), np.array([norm])]


def _norms(trajectory: Trajectory, limit: Limit) -> tuple[float, float] | None:
    """‖θ‖² of both, where they are networks of one kind whose norms do not grow for ever."""
    problem, value = trajectory.problem, limit.value
    if not isinstance(problem, Problem) or not problem.loss.attained:
        return None
    if type(value) is not type(trajectory.final) or not isinstance(value, tuple):
        return None
    ours, theirs = (
        float(sum(np.sum(leaf * leaf) for leaf in leaves(params)))
        for params in (trajectory.final, value)
    )
    return ours, theirs


def sides_at(trajectory: Trajectory, limit: Limit, state: Any) -> tuple[Array, Array]:
    """What is compared, of a state of the flow and of the limit."""
    problem, value = trajectory.problem, limit.value
    if isinstance(problem, Problem) and not problem.loss.attained:
        mass = float(sum(np.sum(leaf * leaf) for leaf in leaves(state)))
        values = np.asarray(problem.model(state, problem.data.X)) / mass
        return values, _normalised_limit(problem, value)
    beta = np.asarray(
        state if isinstance(problem, MirrorProblem) else problem.model.effective(state)
    )
    if isinstance(value, np.ndarray) and value.shape == beta.shape:
        return beta, value
    assert isinstance(problem, Problem)
    return np.asarray(problem.model(state, problem.data.X)), limit(problem.data.X)


def _normalised_limit(problem: Problem, value: Any) -> Array:
    X = problem.data.X
    return np.asarray(value(X[:, :-1] if value.directions.shape[1] == X.shape[1] else X))


def _sides(evidence: Evidence, limit: Limit) -> tuple[str, Array, Array]:
    """What is compared, the flow's and the limit's: β where both have one, else the predictions on
    the data."""
    value, problem = limit.value, evidence.trajectory.problem
    if isinstance(value, np.ndarray):
        if value.shape == evidence.predictors.shape[1:]:
            return PREDICTOR, evidence.predictors[-1], value
        linear = limit.predictor is not None or (
            isinstance(problem, Problem) and value.size == problem.data.d
        )
        if not (linear and isinstance(problem, Problem) and problem.loss.attained):
            raise InputError(
                f"limit: shape {value.shape} does not fit the flow's β "
                f"{evidence.predictors.shape[1:]}"
            )
        X = problem.data.X
        return PREDICTIONS, np.asarray(problem.model(evidence.trajectory.final, X)), limit(X)
    if not isinstance(problem, Problem):
        raise InputError(
            f"limit: its value is no β but a {type(value).__name__}, and the flow is one of β"
        )
    X = problem.data.X
    ours = np.asarray(problem.model(evidence.trajectory.final, X))
    if not problem.loss.attained:
        if not isinstance(value, Particles):
            raise InputError(
                "limit: a classifier's flow is compared with a measure of mass one, found a "
                f"{type(value).__name__}"
            )
        mass = float(sum(np.sum(leaf * leaf) for leaf in leaves(evidence.trajectory.final)))
        return NORMALISED, ours / mass, _normalised_limit(problem, value)
    if isinstance(value, tuple) and limit.predictor is None:
        return PREDICTIONS, ours, np.asarray(_network(problem.model, value)(value, X))
    if limit.predictor is None and not callable(value):
        raise InputError(
            f"limit: its value is a {type(value).__name__}, neither a β, weights nor a function "
            "of inputs"
        )
    return PREDICTIONS, ours, limit(X)


def _network(model: Any, params: Any) -> Any:
    """The model that takes these parameters: a limit may have another number of neurons."""
    if isinstance(model, TwoLayer):
        return dataclasses.replace(model, width=len(params[0]))
    return model


def _judged(evidence: Evidence, limit: Limit, time_s: float) -> tuple[str, tuple[Verdict, ...]]:
    """What the flow's defect is, and the verdicts that it allows."""
    statements = [claim(name) for name in COMPARED]
    defect = flow_defect(as_trajectory(evidence.problem, evidence.trajectory), time_s)
    if isinstance(defect, str):
        evidence = _Unchecked(evidence.problem, evidence.trajectory, time_s=time_s)
        evidence.unknown = defect
        sentence = evidence.missing
    elif not defect.sound:
        reason = no_flow(defect.size, defect.allowed)
        return reason, tuple(Verdict(s, (), (), Status.DOES_NOT_APPLY, reason) for s in statements)
    else:
        evidence = Evidence(evidence.problem, defect.flow, time_s=time_s)
        sentence = "the flow follows ∇L"
    found = []
    for statement in statements:
        evidence.deadline = Deadline(time_s)
        about = None if statement.limit is None else limit
        found.append(judge(statement, evidence, about))
    return sentence, tuple(found)
