"""Training time as a regularisation (Berthier 2025, arXiv:2509.18766): the average of a diagonal
network's flow against the Lasso, at every scale with a proven gap, and as the start vanishes.

For the loss c‖·‖² the weights themselves have η̇ = Xᵀ(y − Xβ), with
η = log|w₊/w₋|/(8c) for D = 2 and η = (w₋^{2−D} − w₊^{2−D})/(4cD(D−2)) for D ≥ 3:
from ẇ± = ∓D·w±^{D−1}·∂L/∂β and ∂L/∂β = 2cXᵀ(Xβ − y). Integrated, Xᵀ(y − Xβ̄) = (η(t) − η₀)/t.

As α → 0, once all coordinates that are in use have stayed so, η_i is ±(log(|β_i|/α²))/(8c), or
±(α^{2−D} − |β_i|^{−q})/(2cD(D−2)) with q = (D−2)/D, up to what is exponentially small. Hence t·gap
tends to Σ|β̄_i|(g_i − min g), g_i = log(1/|β_i|)/(8c) or |β_i|^{−q}/(2cD(D−2)), and the gap over the
objective falls like 1/T, T = log(‖β‖_∞/2α²) or α^{2−D}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...diagnostics.lasso_gaps import lasso_gap, lasso_proof
from ...errors import BiasflowError
from ...flows import saddle_path
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import fitted_exponent
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE, UNIFORM, UNIQUE, depth
from ..regimes.families import diagonal_family
from ..regimes.log_weights import log_flow
from ..regimes.vanishing import GENERAL, settling
from ..verdicts import TELLING, Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import ERROR_FACTOR, witness_flow
from .lasso_program import least_objective, objective

SHARES = (0.02, 0.1, 0.5)
"""Of the time that the flow takes, at which its average is looked at."""
LOGS = tuple(float(log) for log in np.geomspace(200, 220_000, 5))
"""T of depth-two flows: three decades."""
UNITS = tuple(float(unit) for unit in np.geomspace(30, 33_000, 4))
"""T of deeper ones, in units of the weight that the largest coordinate ends at."""
AFTER_LAST_JUMP = 1.5
"""When the average is taken, over the time of the last jump."""
IN_USE = 1e-6
"""Share of the largest coordinate from which on one counts as in use."""
ROUNDING = 8 * float(np.finfo(float).eps)
"""Of the objective and of its bounds, each a sum over samples and coordinates."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
"""For ∫β over a step."""


def mirror_coordinates(problem: Problem, params: Any) -> Array:
    """η of weights (see the head of this file)."""
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    plus, minus = np.abs(params.plus), np.abs(params.minus)
    if D == 2:
        return np.asarray(np.log(plus / minus) / (8 * c))
    return np.asarray((minus ** (2.0 - D) - plus ** (2.0 - D)) / (4 * c * D * (D - 2)))


def _coordinate_error(problem: Problem, params: Any, error: float) -> float:
    """What an error of the weights does to η, at most."""
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    least = float(np.min(np.abs(np.concatenate([params.plus, params.minus]))))
    factor = 1 / (4 * c) if D == 2 else 1 / (2 * c * D)
    return factor * error * least ** (1.0 - D if D > 2 else -1.0)


def _certificate(evidence: Evidence) -> tuple[Check, ...]:
    problem, flow = evidence.network, evidence.trajectory
    X, y = problem.data.X, problem.data.y
    words = "objective at β̄ above the least, over the gap, at {} of the time"
    identity = "‖Xᵀ(y − Xβ̄) − (η(t) − η₀)/t‖_∞ over λ, at {} of the time"
    if flow.interpolant is None:
        return (unknown_check(words.format("all"), "the flow given has no dense output"),)
    times = flow.times[-1] * np.array(SHARES)
    averages = lasso_gap(flow, times)
    start = mirror_coordinates(problem, problem.start)
    checks = []
    for k, share in enumerate(SHARES):
        t, penalty, mean = float(times[k]), float(averages.penalty[k]), averages.mean[k]
        now = flow.at(t)
        pulls, raw = X.T @ (y - X @ mean), np.asarray(problem.model.effective(now))
        moved = (mirror_coordinates(problem, now) - start) / t
        own = float(np.interp(t, flow.times, flow.error))
        off = float(np.max(np.sum(np.abs(X.T @ X), axis=1))) * float(averages.error[k])
        off += _coordinate_error(problem, now, own) / t
        checks.append(
            Check(
                identity.format(share),
                float(np.max(np.abs(pulls - moved))) / penalty,
                "==",
                0.0,
                ERROR_FACTOR * off / penalty,
                witness=evidence.source,
                null=float(np.max(np.abs(X.T @ (y - X @ raw) - moved))) / penalty,
            )
        )
        lower, upper = least_objective(X, y, penalty)
        gap = float(averages.gap[k])
        # the bounds are each rounded, and of one sample they are one number
        rounding = ROUNDING * X.size * (0.5 * float(y @ y) + float(averages.objective[k]))
        checks.append(
            Check(
                words.format(share),
                (float(averages.objective[k]) - upper) / gap,
                "<=",
                1.0,
                (max(upper - lower, 0.0) + rounding) / gap,
                witness=f"{evidence.source}; a least-distance program" if evidence.source else "",
                null=(objective(X, y, raw, penalty) - upper) / gap,
            )
        )
    return tuple(checks)


def _both_weights(problem: Problem) -> str | None:
    plus, minus = np.asarray(problem.start.plus), np.asarray(problem.start.minus)
    if problem.model.depth == 2:
        plus, minus = np.abs(plus), np.abs(minus)
    low = float(min(np.min(plus), np.min(minus)))
    return None if low > 0 else f"a weight is {low:g} at the start: its coefficient has one sign"


BOTH_WEIGHTS = Hypothesis(
    "both weights", "w₊ and w₋ are positive at the start", on_problem(_both_weights)
)

lasso = Claim(
    "S/lasso",
    "For the mean β̄ = (1/t)∫β of a diagonal network's flow, Xᵀ(y − Xβ̄) = (η(t) − η₀)/t, η its "
    "mirror coordinates; so with λ = ‖η(t) − η₀‖_∞/t the objective ½‖Xβ − y‖² + λ‖β‖₁ at β̄ is at "
    "most λ‖β̄‖₁ − ⟨η(t) − η₀, β̄⟩/t above its least value.",
    "Berthier 2025, arXiv:2509.18766, at a finite scale; the gap is ours",
    (DIAGONAL, SQUARE, NONTRIVIAL, BOTH_WEIGHTS),
    lambda key: diagonal_problem(key, depth=2 + key % 3, scale=(1e-3, 0.03, 0.1)[key % 3]),
    _certificate,
    kind=Kind.FLOW,
    witness="∇L followed in the weights; a least-distance program for the Lasso",
    null="the last iterate β(t) instead of the mean",
    family=lambda key: diagonal_family(key, 2 + key % 4),
)


def _mean_of_steps(ends: Array, at: Callable[[Array], Array]) -> Array:
    """(1/t)∫β by Gauss's rule on every step."""
    width = np.diff(ends)[:, None] / 2
    inner = (ends[:-1] + ends[1:])[:, None] / 2 + width * NODES
    values = at(inner.ravel()).reshape(*inner.shape, -1)
    return np.asarray(np.einsum("sn,snd->d", width * WEIGHTS, values) / ends[-1])


def average_at(
    problem: Problem, T: float, tau: float, size: float, time_s: float
) -> tuple[float, float, float] | str:
    """(gap over objective, t·gap, relative error of either) of the average at the time τT over the
    speed of the flow whose start makes T this large; or why it could not be followed.

    Xᵀ(y − Xβ̄), whose differences the gap is made of, is held against the η of the same run: what
    they differ by is what integrating in time and over time has lost.
    """
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    X, y = problem.data.X, problem.data.y
    if D == 2:
        t, log_square = tau * T / (8 * c), np.log(size / 2) - T
        run = log_flow(problem, log_square / 2, t)
        if isinstance(run, str):
            return run
        mean, end = _mean_of_steps(*run), run[1](run[0][-1:])[0]
        with np.errstate(divide="ignore", invalid="ignore"):  # of coordinates not in use
            eta = np.sign(end) * (np.log(np.abs(end)) - log_square) / (8 * c)
    else:
        alpha = size ** (1 / D) * T ** (1 / (2 - D))
        t = tau * alpha ** (2 - D) / (2 * c * D * (D - 2))
        start = dataclasses.replace(problem, start=problem.model.init(alpha, dim=problem.data.d))
        flow = witness_flow(start, t1=t, time_s=time_s)
        if isinstance(flow, str):
            return flow
        mean, end = lasso_gap(flow, [t]).mean[0], problem.model.effective(flow.final)
        eta = mirror_coordinates(problem, flow.final)
    proof = lasso_proof(X, y, mean)
    used = np.abs(end) > IN_USE * size
    off = float(np.max(np.abs(X.T @ (y - X @ mean) - eta / t)[used], initial=0.0))
    blur = 2 * off * float(np.sum(np.abs(mean)))
    return proof.gap / proof.objective, t * proof.gap, blur / proof.gap


def expected_product(problem: Problem, end: Array, mean: Array) -> float:
    """Σ|β̄_i|(g_i − min g), over the coordinates in use."""
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    on = end != 0
    size = np.abs(end[on])
    rates = -np.log(size) / (8 * c) if D == 2 else size ** (-(D - 2) / D) / (2 * c * D * (D - 2))
    return float(np.abs(mean[on]) @ (rates - np.min(rates)))


def _path(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    path = saddle_path(problem.data.X, problem.data.y)
    D, size = problem.model.depth, float(np.max(np.abs(path.final)))
    tau = AFTER_LAST_JUMP * float(path.times[-1])
    units = LOGS if D == 2 else UNITS
    words = "exponent in T of the gap over the objective"
    product = "t·gap at the least start over Σ|β̄_i|(g_i − min g)"
    found = [average_at(problem, T, tau, size, evidence.time_left / len(units)) for T in units]
    failure = next((run for run in found if isinstance(run, str)), None)
    if failure is not None:
        return (unknown_check(words, failure),)
    values: Array = np.array(found, dtype=float)
    unsettled = np.exp(-settling(problem, path) * np.array(LOGS)) if D == 2 else 0.0
    slope, spread, decades = fitted_exponent(units, values[:, 0], values[:, 2] + unsettled)
    late = fitted_exponent(units[-3:], values[-3:, 0])[0]
    expected = expected_product(problem, path.final, lasso_gap(path, [tau]).mean[0])
    notes: dict[str, Any] = {
        "witness": "∇L followed in the " + ("logarithms of the weights" if D == 2 else "weights")
    }
    last, before = values[-1, 1] / expected, values[-2, 1] / expected
    return (
        Check(words, slope, "==", -1.0, spread + abs(late - slope), decades=decades, **notes),
        # what is left of it falls like 1/T again
        Check(product, last, "==", 1.0, abs(last - before) + float(values[-1, 2]), **notes),
    )


def _monotone(evidence: Evidence) -> str | None:
    gone = [i for _, _, left in evidence.path.events for i in left]
    if gone:
        return f"coordinate {gone[0]} leaves again on the path of a vanishing start"
    if np.sum(evidence.path.final != 0) < 2:
        return "one coordinate alone: its gap is zero"
    return None


def _settled(evidence: Evidence) -> str | None:
    if evidence.network.model.depth > 2:
        return None
    x = settling(evidence.network, evidence.path)
    spread = fitted_exponent(LOGS, 1 / np.array(LOGS), np.exp(-x * np.array(LOGS)))[1]
    return None if spread <= TELLING else f"a plateau settles like e^(−{x:.2g}L) only"


MONOTONE = Hypothesis(
    "monotone", "no coordinate leaves the path of the vanishing start again", _monotone
)
SETTLED = Hypothesis("settled", "every plateau is long enough for the law to show", _settled)


def monotone_problem(key: int) -> Problem:
    """The first random problem from the key on whose path is monotone.

    Of depth two or four: starts of depth three that can be followed tell the exponent to ±0.1,
    which is too little for a verdict (the family has them too).
    """
    for draw in range(100):
        problem = diagonal_problem(100 * key + draw, depth=(2, 2, 4)[key % 3], n=5, d=12)
        evidence = Evidence(problem)
        try:
            if all(one.test(evidence) is None for one in (MONOTONE, UNIQUE, GENERAL, SETTLED)):
                return problem
        except BiasflowError:
            continue
    return problem


lasso_path = Claim(
    "S/lasso-path",
    "As α → 0 the average β̄ follows the Lasso path where no coordinate leaves again: the gap over "
    "the objective falls like 1/T, T = log(‖β(∞)‖_∞/2α²) for D = 2 and α^{2−D} for D ≥ 3, with "
    "t·gap → Σ|β̄_i|(g_i − min g), where g_i is log(1/|β_i(∞)|)/(8c), or "
    "|β_i(∞)|^{−(D−2)/D}/(2cD(D−2)).",
    "Berthier 2025, arXiv:2509.18766, on the Lasso path; the rates are ours",
    (
        depth(2),
        SQUARE,
        UNIFORM,
        CONSISTENT,
        NONTRIVIAL,
        UNIQUE,
        GENERAL,
        MONOTONE,
        SETTLED,
    ),
    monotone_problem,
    _path,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights, or in their logarithms",
    family=lambda key: diagonal_family(key, 2 + key % 3),
)

CLAIMS = (lasso, lasso_path)
