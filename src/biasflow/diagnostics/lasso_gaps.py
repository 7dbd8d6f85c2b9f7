"""Training time as a regularisation: the average of a flow is nearly a Lasso solution, with a proof
at every time (after Berthier 2025).

A mirror flow has η̇ = Xᵀ(y − Xβ), η = ∇φ(β), whatever the loss's normalisation once φ has its time
factor. So the mean β̄ = (1/t)∫β has Xᵀ(y − Xβ̄) = (η(t) − η₀)/t. With λ = ‖η(t) − η₀‖_∞/t the
residual θ = y − Xβ̄ is feasible for the dual of ½‖Xβ − y‖² + λ‖β‖₁, and the two objectives differ
by λ‖β̄‖₁ − ⟨η(t) − η₀, β̄⟩/t. As the start vanishes ∇φ saturates at one value on all coordinates
that are in use: then this is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance, vector
from .._core.facts import Fact, Facts, Shown
from .._core.problems import MirrorProblem
from .._core.results import Trajectory
from .._core.showing import drawing_room
from ..errors import InputError
from ..losses import SquareLoss
from ..models import PredictorModel

EPS = float(np.finfo(float).eps)
OWN_SHARE = 0.1
"""Share of the flow's own error that integrating may add to it."""
ROUNDED = 1e-13
"""Error of ∫β over the time, over |β|, below which there is only rounding."""
HALVINGS, HALVINGS_A_TIME = 2_000, 4
"""Of times between saved ones, in all and more for each, after which the error is told as it is."""
OUTER, INNER = float(np.sqrt(2 / 3)), float(np.sqrt(1 / 5))
"""Places of Lobatto's and Kronrod's points between −1 and 1."""


class LassoProof(NamedTuple):
    """β as a nearly optimal point of ½‖Xβ − y‖² + λ‖β‖₁, λ = ‖Xᵀ(y − Xβ)‖_∞."""

    penalty: float
    objective: float
    gap: float


def lasso_proof(X: Array, y: Array, beta: Array, *, intercept: bool = False) -> LassoProof:
    """λ, the objective at β, and how far above the least one it is at most.

    θ = y − Xβ proves it: |Xᵀθ| ≤ λ, and the duality gap is λ‖β‖₁ − ⟨Xᵀθ, β⟩ + ½‖y − Xβ − θ‖², of
    which the last term is rounding. λ, the objective and the gap are raised by what rounding may
    hide, of entries of X and y too that are themselves the rounded result of one operation.

    intercept: whether a constant is free in the least one; β leaves it at zero. Then θ sums to
    zero: its mean, small for centred X and y, counts as a part of the last term.
    """
    n, d = X.shape
    theta = y - X @ beta
    level = float(np.mean(theta)) if intercept else 0.0
    theta = theta - level
    # what is left of the mean of θ, less than this, is taken off as well
    rest = (n + 2) * EPS * (float(np.mean(np.abs(theta))) + abs(level)) if intercept else 0.0
    blur = (n + 2) * EPS * (np.abs(X).T @ np.abs(theta)) + rest * np.sum(np.abs(X), axis=0)
    defect = (d + 2) * EPS * (np.abs(y) + np.abs(X) @ np.abs(beta)) + abs(level) + rest
    pulls, size = X.T @ theta, np.abs(beta)
    penalty = float(np.max(np.abs(pulls) + blur))
    terms = size * (penalty - np.sign(beta) * pulls + blur)
    gap = float(np.sum(terms) * (1 + (d + 4) * EPS) + 0.5 * np.sum(defect**2))
    objective = 0.5 * float(theta @ theta) + penalty * float(np.sum(size))
    hidden = float(np.abs(theta) @ defect + np.sum(defect**2)) + (n + d + 8) * EPS * objective
    return LassoProof(penalty, objective + hidden, gap + 2 * hidden)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LassoGap(Shown):
    """Averages of a flow, each with the Lasso problem that it nearly solves.

    Parameters
    ----------
    times : array of shape (T,)
    mean : array of shape (T, d)
        β̄(t) = (1/t)∫β, over the time from 0 to t.
    penalty : array of shape (T,)
        λ(t) = ‖Xᵀ(y − Xβ̄)‖_∞, about one over the time.
    objective : array of shape (T,)
        ½‖Xβ̄ − y‖² + λ‖β̄‖₁.
    gap : array of shape (T,)
        The least value of that objective lies between objective − gap and objective: a proof about
        β̄ as it is given here, rounding included.
    error : array of shape (T,)
        An estimate of the sup-norm distance of β̄ from the mean of the exact flow: the flow's own
        error, and that of the integral.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=10, d=16, sparsity=2, noise_var=0.0, key=5)
    >>> found = bf.diagnostics.lasso_gap(bf.saddle_path(data.X, data.y), times=[1.0, 4.0])
    >>> bool(np.all(found.relative < 1e-12)), found.penalty.round(6)
    (True, array([1.  , 0.25]))
    """

    times: Array
    mean: Array
    penalty: Array
    objective: Array
    gap: Array
    error: Array

    @property
    def relative(self) -> Array:
        """gap/objective; zero where both are."""
        return np.divide(
            self.gap, self.objective, out=np.zeros_like(self.gap), where=self.objective > 0
        )

    def facts(self) -> Facts:
        worst = int(np.argmax(self.relative))
        return Facts(
            "LassoGap: averages of a flow as Lasso solutions",
            (
                Fact("times", f"{self.times[0]:.4g} … {self.times[-1]:.4g}, {len(self.times)}"),
                Fact("λ", f"{self.penalty[0]:.4g} → {self.penalty[-1]:.4g}"),
                Fact(
                    "gap",
                    f"at most {self.relative[worst]:.2g} of the objective, at t = "
                    f"{self.times[worst]:.4g}",
                ),
                Fact("error of the averages", f"about {np.max(self.error):.1g}"),
            ),
        )

    def plot(self) -> Any:
        """A matplotlib figure: the averages against 1/λ, as a Lasso path is drawn, and the gap."""
        return drawing_room().lasso_picture(self)


def lasso_gap(flow: Trajectory, times: ArrayLike | None = None) -> LassoGap:
    """The averages β̄(t) = (1/t)∫β of a flow on a linear predictor, with λ(t) and the proven gap of
    ½‖Xβ − y‖² + λ‖β‖₁ at β̄ (Berthier 2025, arXiv:2509.18766).

    Xᵀ(y − Xβ̄) = (∇φ(β(t)) − ∇φ(β₀))/t in a mirror flow, so that λ = ‖Xᵀ(y − Xβ̄)‖_∞ is about one
    over the time, and the gap λ‖β̄‖₁ − ⟨Xᵀ(y − Xβ̄), β̄⟩ falls as the start vanishes. The proof holds
    for any average; that it is small is what mirror flows of diagonal networks have.

    Parameters
    ----------
    flow : Trajectory
        Of a diagonal network or another linear predictor under a square loss, or a saddle path.
    times : array of shape (T,), optional
        Where; by default the times that the flow has saved.

    Returns
    -------
    diagnostics.LassoGap

    Raises
    ------
    InputError
        Where the predictor is not linear, the loss is no square loss, or there is no dense output.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=20, sparsity=3, noise_var=0.0, key=1)
    >>> for log_r in (-20.0, -200.0):
    ...     potential = bf.potentials.Hypentropy(log_alpha=log_r)
    ...     flow = bf.mirror_flow(potential, data.X, data.y, times=[-4 * log_r])
    ...     print(bf.diagnostics.lasso_gap(flow).relative.round(5))
    [0.00306]
    [4.e-05]
    """
    instance("flow", flow, Trajectory)
    X, y = _linear(flow)
    wanted = flow.times if times is None else np.unique(vector("times", times))
    last = float(flow.times[-1]) if flow.interpolant is not None else np.inf
    if not wanted.size or wanted[0] < 0 or wanted[-1] > last:
        raise InputError(f"times: expected some within [0, {last:g}], which the flow spans")
    integrals, error = _jumps(flow, wanted) if flow.interpolant is None else _dense(flow, wanted)
    mean = integrals / np.where(wanted > 0, wanted, 1.0)[:, None]
    if wanted[0] == 0:
        mean[0] = _effective(flow, flow.at(0.0))
    proofs = [lasso_proof(X, y, beta) for beta in mean]
    penalty, objective, gap = (np.array(column) for column in zip(*proofs, strict=True))
    return LassoGap(
        times=wanted, mean=mean, penalty=penalty, objective=objective, gap=gap, error=error
    )


def _linear(flow: Trajectory) -> tuple[Array, Array]:
    """The design and the labels that the flow's predictor is linear in."""
    problem = flow.problem
    if isinstance(problem, MirrorProblem):
        return problem.X, problem.y
    if not isinstance(problem.model, PredictorModel) or not isinstance(problem.loss, SquareLoss):
        raise InputError(
            f"flow: a Lasso needs a linear predictor and a square loss, found "
            f"{type(problem.model).__name__} and {type(problem.loss).__name__}"
        )
    return problem.model.features(problem.data.X), problem.data.y


def _effective(flow: Trajectory, state: Any) -> Array:
    problem = flow.problem
    beta = state if isinstance(problem, MirrorProblem) else problem.model.effective(state)
    return np.ravel(np.asarray(beta, dtype=float))


def _jumps(flow: Trajectory, wanted: Array) -> tuple[Array, Array]:
    """∫β of a path that stays where it is between its times, and afterwards; exact."""
    if flow.stats.get("method") != "saddle path":
        raise InputError(
            "flow: no dense output here; averages are of flows and saddle paths, not of descent"
        )
    widths = np.diff(np.clip(np.append(flow.times, np.inf), 0.0, wanted[:, None]), axis=1)
    return widths @ flow.states, np.zeros(len(wanted))


def _dense(flow: Trajectory, wanted: Array) -> tuple[Array, Array]:
    """∫β on the dense output, from one saved time to the next, and the error of the mean."""

    def beta(t: float) -> Array:
        return _effective(flow, flow.at(t))

    ends = np.unique(np.concatenate([[0.0], flow.times[flow.times < wanted[-1]], wanted]))
    own = np.interp(ends, flow.times, flow.predictor_error)
    here = beta(0.0)
    total, spent = np.zeros_like(here), 0.0
    integrals, errors, left = {0.0: total}, {0.0: 0.0}, [HALVINGS + HALVINGS_A_TIME * len(ends)]
    for a, b, off in zip(ends[:-1], ends[1:], np.maximum(own[:-1], own[1:]), strict=True):
        begun, here = here, beta(float(b))
        size = float(np.max(np.abs([begun, here])))
        allowed = (b - a) * max(ROUNDED * size, OWN_SHARE * off)
        # a jump right after zero could else be halved a thousand times
        least = EPS * wanted[-1] * size
        part, defect = _integral(beta, (float(a), float(b)), (begun, here), allowed, least, left)
        total, spent = total + part, spent + defect + off * (b - a)
        integrals[b], errors[b] = total, spent / b
    return np.array([integrals[t] for t in wanted]), np.array([errors[t] for t in wanted])


def _integral(
    f: Callable[[float], Array],
    between: tuple[float, float],
    ends: tuple[Array, Array],
    allowed: float,
    least: float,
    left: list[int],
) -> tuple[Array, float]:
    """∫f by Lobatto's rule of four points with Kronrod's seven (Gander and Gautschi 2000), whose
    difference is the error; halved where that is too large, as often as is left."""
    (a, b), middle = between, (between[0] + between[1]) / 2
    outer, inner, centre = (
        sum((f(middle + side * place * (b - a) / 2) for side in (-1, 1)), np.zeros_like(ends[0]))
        for place in (OUTER, INNER, 0.0)
    )
    centre, edges = centre / 2, ends[0] + ends[1]
    fine = (b - a) / 2940 * (77 * edges + 432 * outer + 625 * inner + 672 * centre)
    rough = (b - a) / 12 * (edges + 5 * inner)
    off = float(np.max(np.abs(fine - rough)))
    if not off > max(allowed, least) or left[0] <= 0:
        return fine, off
    left[0] -= 1
    halves = [
        _integral(f, part, values, allowed / 2, least, left)
        for part, values in (
            ((a, middle), (ends[0], centre)),
            ((middle, b), (centre, ends[1])),
        )
    ]
    return halves[0][0] + halves[1][0], halves[0][1] + halves[1][1]
