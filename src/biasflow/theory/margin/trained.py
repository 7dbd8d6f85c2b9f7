"""A network trained for long: how near to γ₁ it ends, what a finite width leaves of that, and what
C's Theorem 3 asks of it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Certificate, Limit, Trajectory
from ..._core.trees import leaf_map, leaves
from ...errors import ConvergenceError
from ...flows import gradient_flow
from ...limits import f1_max_margin, l1_max_margin, margin_kkt
from ...limits.neurons.squared_relu_line import squared_f1_max_margin
from ...models import SignedTwoLayer, TwoLayer
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Hypothesis, unknown_check
from .margin_setting import inputs_of, remembered
from .raw import RawRun, Searched, log_norm, raw_flow, scores, searched_margin, spread_directions
from .routes import largest_square_gain

LONG_LOG_NORM = 30.0
"""log β at which training is called long."""
STILL_SINCE_LOG_NORM = 24.0
"""log β since when ∇S, the scores and the margin must have stood still."""
RTOL = 1e-3
"""Of flows whose margin at the end is asked for: it is known far better than the weights."""
RTOLS = (1e-4, 1e-3, 1e-2)
"""Of the flow that is compared with raw gradients, and of two looser ones that tell its error."""
LEAST_GAIN = 10**0.5
"""By which a tenth of the tolerance reduces the error of a margin flow at least, over two of them
(test_kinks.py); third-order steps, tol^(−1/3) of them with an error of tol each, would give
10^(2/3)."""
CLOSED = RTOL
"""Relative distance from γ₁ that counts as arrived: where weights are known to 1e-3, no less can be
told. C states no rate."""
NARROW_BELOW = 1e-2
"""Narrowness below which the spacing of the searched directions, 0.025 on a sphere, is wider than
the cells between kinks."""
SEARCH_ERROR = 1e-4
"""Relative error of a searched γ₁: a grid of twenty thousand directions may miss a peak that is
lower by this."""
ROUNDING = 1e-9
"""By which a margin may exceed γ₁'s certified upper bound, relative."""
SHORTFALL_OVER_MOVE = 5.0
"""How many times as much as it moved since log β = 24 a margin must be short of γ₁ for it to be
said to stand still there."""
SETTLED_CHANGE = 0.02
"""Change of J' and of the scores since log β = 24, over their largest, up to which they are said to
converge."""
ALONG = "∇L followed in the weights"
SEARCH = "linear programs over directions found by zooming in"
PROVEN = "the final weights' own scores, against a proven upper bound"


class Trained:
    """A network's training, by the library or as given, with everything read off the weights
    themselves."""

    def __init__(
        self,
        evidence: Evidence,
        problem: Problem | None = None,
        given: Trajectory | None = None,
    ) -> None:
        self.evidence, self.given = evidence, given
        self.problem = evidence.network if problem is None else problem

    @property
    def flow(self) -> Trajectory:
        """As given, or the library's; where its margin is not known to CLOSED, once more with a
        tenth of the tolerance. `Unmeasured` if it gave up."""
        return self.given if self.given is not None else need(self._own)

    @cached_property
    def _own(self) -> Trajectory:
        found = self._followed(RTOL)
        missed = 0.0 if found.margin_error is None else float(found.margin_error[-1])
        known = missed <= CLOSED / 2 * self.gamma
        return found if known or not found.result.success else self._followed(RTOL / 10)

    def _followed(self, rtol: float) -> Trajectory:
        return gradient_flow(
            self.problem,
            rtol=rtol,
            log_norm=LONG_LOG_NORM,
            throw=False,
            time_s=self.evidence.time_left / 4,
        )

    @cached_property
    def best(self) -> Limit:
        """γ₁ with its certificate; of squared ReLUs off a line from a search, its upper bound
        proven over the whole sphere."""
        data = inputs_of(self.problem)
        if not self.squared:
            return need(f1_max_margin(data.X, data.y, time_s=self.evidence.time_left / 2))
        if data.d == 1:
            with contextlib.suppress(ConvergenceError):
                return squared_f1_max_margin(data.X, data.y)
        return self._bracket()

    def _bracket(self) -> Limit:
        found = self.searched
        upper = largest_square_gain(self.problem.data.X, found.weights * self.problem.data.y)
        return Limit(found.weights, found.lower, Certificate(found.lower, upper, 0.0, "bound"))

    @cached_property
    def searched(self) -> Searched:
        return searched_margin(self.problem)

    @property
    def squared(self) -> bool:
        return isinstance(self.problem.model, SignedTwoLayer)

    @property
    def gamma(self) -> float:
        return float(self.best.certificate.dual)

    def state(self, k: int) -> Any:
        """The weights at a saved time, over √β."""
        params = leaf_map(lambda leaf: leaf[k], self.flow.states)
        return leaf_map(lambda leaf: leaf * np.exp(-log_norm(params) / 2), params)

    @cached_property
    def log_norms(self) -> Array:
        squares = [
            np.sum(leaf.reshape(len(leaf), -1) ** 2, axis=1) for leaf in leaves(self.flow.states)
        ]
        return np.asarray(np.log(np.sum(squares, axis=0)))

    def place(self, size: float) -> int:
        """Where log β first reaches a size; the last place where it does not."""
        return min(int(np.searchsorted(self.log_norms, size - 1e-6)), len(self.log_norms) - 1)

    def margin(self, k: int) -> float:
        return float(np.min(scores(self.problem, self.state(k))))

    @cached_property
    def deficit(self) -> float:
        """1 − margin/γ₁ of the final weights."""
        return 1 - self.margin(-1) / self.gamma

    @property
    def error(self) -> float:
        """Of the final margin, as the flow states it, over γ₁."""
        stated = self.flow.margin_error
        return float(stated[-1]) / self.gamma if stated is not None else 0.0

    @property
    def arrived(self) -> bool:
        return bool(self.log_norms[-1] >= LONG_LOG_NORM - 1e-3 and self.deficit <= CLOSED)

    @cached_property
    def moved(self) -> float:
        """How much the margin changed since log β = 24, over γ₁."""
        return abs(self.margin(-1) - self.margin(self.place(STILL_SINCE_LOG_NORM))) / self.gamma

    @cached_property
    def polished(self) -> float:
        """The best margin of masses on the final directions, over γ₁: linear programming."""
        Z = self.features(self.state(-1))
        return float(l1_max_margin(Z, time_s=self.evidence.time_left).objective) / self.gamma

    def features(self, params: Any) -> Array:
        """y_iφ(θ_j, x_i) of the neurons that are not zero, balanced in the case of ReLUs, (n,
        m)."""
        X, y = self.problem.data.X, self.problem.data.y
        some = np.linalg.norm(params.W, axis=1) > 0
        u = params.W[some] / np.linalg.norm(params.W[some], axis=1)[:, None]
        signs = np.asarray(self.problem.model.signs) if self.squared else np.sign(params.a)
        values = np.maximum(X @ u.T, 0.0)
        return np.asarray(y[:, None] * (values**2 if self.squared else values / 2) * signs[some])

    @cached_property
    def raw(self) -> RawRun:
        """Raw gradients, as far as they are affordable."""
        return raw_flow(self.problem, np.array([float(self.flow.times[-1])]))


def narrowness(rows: Array) -> float:
    """The least singular value of the inputs' directions over the largest: how much of the sphere
    their kinks pass."""
    values = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], compute_uv=False)
    return float(values[-1] / values[0])


def gamma_checks(trained: Trained) -> tuple[Check, ...]:
    """γ₁ by two routes, and that no margin exceeds it."""
    found, certificate = trained.searched, trained.best.certificate
    own = (found.lower + found.upper) / 2
    error = (
        abs(found.gap)
        + SEARCH_ERROR
        + abs(certificate.dual - certificate.primal) / certificate.dual
    )
    quantity, narrow = "γ₁ over that of a search", narrowness(trained.problem.data.X)
    if narrow < NARROW_BELOW:
        second = unknown_check(
            quantity,
            "a search over directions is too coarse for inputs as near to each other "
            f"({narrow:.1g})",
        )
    else:
        second = Check(quantity, certificate.dual / own, "==", 1.0, error, witness=SEARCH)
    excess = "excess of the margin over γ₁, relative"

    def exceeded() -> Check:
        worst = max(trained.margin(k) for k in (trained.place(STILL_SINCE_LOG_NORM), -1))
        off = max(worst / trained.gamma - 1, 0.0)
        return Check(excess, off, "==", 0.0, ROUNDING, witness=PROVEN)

    return (second, *part(excess, exceeded))


def raw_checks(trained: Trained) -> tuple[Check, ...]:
    """The flow's scores against those of raw gradients."""
    return part("scores where raw gradients end", lambda: raw_check(trained))


def raw_check(trained: Trained) -> Check:
    """The flow's scores where raw gradients end, against theirs; the error of each is its distance
    from looser runs."""
    raw, p = trained.raw, trained.problem
    end = float(raw.times[-1])
    theirs = scores(p, raw.states[-1])
    size = float(np.max(np.abs(theirs))) or 1.0
    quantity = (
        f"scores at log β = {log_norm(raw.states[-1]):.3g}, t = {end:.3g}: largest "
        "difference from raw gradients, relative"
    )
    if trained.given is None:
        seconds = trained.evidence.time_left / 2
        runs = [
            need(gradient_flow(p, rtol=rtol, times=[0.0, end], throw=False, time_s=seconds))
            for rtol in RTOLS
        ]
        mine, *looser = (scores(p, run.final) for run in runs)
        steps = [
            float(np.max(np.abs(one - other))) for one, other in itertools.pairwise([mine, *looser])
        ]
        # one distance may be small by chance
        owed = max(step / LEAST_GAIN**k for k, step in enumerate(steps))
    else:
        mine = scores(p, trained.given.at(end))
        reach = float(np.max(np.linalg.norm(p.data.X, axis=1)))
        owed = (
            2
            * reach
            * float(np.max(trained.given.error))
            * float(np.exp(-log_norm(trained.given.at(end)) / 2))
        )
    error = (owed + float(raw.error[-1])) / size
    return Check(
        quantity, float(np.max(np.abs(mine - theirs))) / size, "==", 0.0, error, witness=ALONG
    )


def arrivals(trained: Trained, what: str, ladder: bool = False) -> tuple[Check, ...]:
    """1 − margin/γ₁ at the end: closed; or open for want of width, about which C's limits say
    nothing; or for want of time."""
    quantity = f"1 − margin/γ₁ {what}"
    return part(quantity, lambda: arrival(trained, quantity, ladder))


def arrival(trained: Trained, quantity: str, ladder: bool = False) -> Check:
    """The check of `arrivals`."""
    if trained.log_norms[-1] < LONG_LOG_NORM - 1e-3 and trained.deficit > CLOSED:
        why = f"training ends at log β = {trained.log_norms[-1]:.3g}: {trained.flow.result.value}"
        return unknown_check(quantity, why)
    start = 1 - float(np.min(scores(trained.problem, trained.problem.start))) / trained.gamma
    # at a limit the first is zero
    by_masses, by_directions = trained.polished - (1 - trained.deficit), 1 - trained.polished
    known = trained.error < trained.deficit and by_directions >= by_masses
    if trained.deficit + trained.error <= CLOSED or (trained.deficit <= CLOSED and not known):
        return Check(
            quantity, trained.deficit, "<=", CLOSED, trained.error, witness=PROVEN, null=start
        )
    if by_masses > by_directions:
        why = (
            f"training has not arrived: the margin is {1 - trained.deficit:.4g} of γ₁, other "
            "masses on the same directions reach"
        )
        return unknown_check(quantity, f"{why} {trained.polished:.4g}")
    return Check(
        quantity,
        trained.deficit,
        "<=",
        1.0,
        trained.error,
        reason=_for_want_of_width(trained, ladder),
        null=start,
    )


def _for_want_of_width(trained: Trained, ladder: bool) -> str:
    width = trained.problem.model.width
    still = trained.deficit >= SHORTFALL_OVER_MOVE * trained.moved
    words = (
        "finite width: a KKT point, not global; "
        if still
        else "finite width: directions that hardly move any more; "
    )
    words += (
        f"{width} neurons end at {1 - trained.deficit:.4g} of γ₁, the best masses on their "
        "directions reach"
    )
    words += f" {trained.polished:.4g}"
    if trained.squared and trained.margin(-1) > 0:
        p = trained.problem
        words += (
            ", KKT residual "
            f"{margin_kkt(p.model, trained.state(-1), p.data.X, p.data.y).stationarity:.1g}"
        )
    if ladder:
        shares = []
        for fewer in (width // 4, width // 2):
            with contextlib.suppress(Unmeasured):  # words only: the check stands without them
                if fewer >= 4:
                    shares.append(f"{_narrower(trained, fewer):.3g} for {fewer}")
        words += "; of fewer neurons of the same start " + ", ".join(shares) if shares else ""
    return words


def _narrower(trained: Trained, width: int) -> float:
    """Margin over γ₁ of the first neurons, as many as said: one step of a ladder in m."""
    return 1 - Trained(trained.evidence, narrowed(trained.problem, width)).deficit


def narrowed(problem: Problem, width: int) -> Problem:
    """The network of the first neurons, as many as said, with the same total."""
    model: Any = problem.model
    share = np.sqrt(model.width / width)
    start = leaf_map(lambda leaf: share * leaf[:width], problem.start)
    few = (
        SignedTwoLayer(width, model.dim, np.asarray(model.signs)[:width])
        if isinstance(model, SignedTwoLayer)
        else None
    )
    return dataclasses.replace(problem, model=few or TwoLayer(width, model.dim), start=start)


def trained(evidence: Evidence) -> Trained:
    """The training of the evidence's network, once."""
    found: Trained = remembered(
        evidence,
        "training",
        lambda: Trained(evidence, None, evidence.given_flow),
    )
    return found


def _late_weights(evidence: Evidence) -> tuple[Array, int, int] | str:
    """p = ∇S since log β = 24 and at the end, with their places; or that there is no such time."""
    run, data = trained(evidence), evidence.network.data
    p = run.flow.sample_weights
    if p is None:
        p = evidence.network.loss.weights(evidence.network.model(run.flow.states, data.X), data.y)
    # the last step ends at a norm, too short for its weights to tell
    early, last = run.place(STILL_SINCE_LOG_NORM), len(run.log_norms) - 2
    if early >= last:
        return (
            f"training ends at log β = {run.log_norms[-1]:.3g}, before it can be seen to converge"
        )
    return np.asarray(p[[early, last]]), early, last


def _converges(evidence: Evidence) -> str | None:
    """∇S as the force J' that it is on every direction, for which it need only converge weakly, and
    ν̄ by its scores."""
    run, data, found = trained(evidence), evidence.network.data, _late_weights(evidence)
    if isinstance(found, str):
        return found
    p, early, last = found
    u = np.random.default_rng(0).standard_normal((500, data.d))
    force = np.maximum(u @ data.X.T, 0.0) ** (2 if run.squared else 1) @ (data.y * p).T
    off = float(np.max(np.abs(force[:, 1] - force[:, 0])) / np.max(np.abs(force)))
    if off > SETTLED_CHANGE:
        return (
            f"∇S still moves: J' changes by {off:.2g} of its largest from log β = "
            f"{STILL_SINCE_LOG_NORM:g} to {run.log_norms[-1]:.3g}"
        )
    seen = [scores(run.problem, run.state(k)) for k in (early, last)]
    off = float(np.max(np.abs(seen[1] - seen[0])) / np.max(np.abs(seen)))
    return (
        None
        if off <= SETTLED_CHANGE
        else f"the normalised measure still moves: its scores change by {off:.2g} of the largest"
    )


CONVERGES = Hypothesis(
    "converges",
    "∇S and the normalised measure converge, as far as can be seen at log β = 30",
    _converges,
)


def _smoothly(evidence: Evidence) -> str | None:
    """J'_μt with its gradient: that of a sample's J' is Σ over active samples of ½p_iy_i(x_i, 1),
    one in each cell of directions.

    A sample's J' is linear in each of finitely many cells, so that its critical values are finitely
    many: Morse–Sard. Its gradient jumps between cells, as C says of every λ_∞ that is discrete;
    what can be seen is whether gradients still move.
    """
    data, found = evidence.network.data, _late_weights(evidence)
    if isinstance(found, str):
        return found
    gates = _cells(data.X) @ data.X.T > 0
    slopes = [gates @ ((data.y * p)[:, None] * data.X) for p in found[0]]
    off = float(
        np.max(np.linalg.norm(slopes[1] - slopes[0], axis=1))
        / np.max(np.linalg.norm(slopes[1], axis=1))
    )
    return (
        None
        if off <= SETTLED_CHANGE
        else f"∇J' still moves by {off:.2g} of its largest since log β = {STILL_SINCE_LOG_NORM:g}"
    )


def _cells(X: Array) -> Array:
    """A direction in every cell of the circle, or many of a sphere."""
    if X.shape[1] != 2:
        return spread_directions(X.shape[1])
    kinks = np.arctan2(-X[:, 0], X[:, 1])
    edges = np.unique(np.mod(np.concatenate([kinks, kinks + np.pi]), 2 * np.pi))
    middle = (edges + np.append(edges[1:], edges[0] + 2 * np.pi)) / 2
    return np.column_stack([np.cos(middle), np.sin(middle)])


SMOOTHLY = Hypothesis(
    "*",
    "(*) as far as a sample can tell, whose J' is not C¹ between cells of directions: ∇J'_μt has "
    "settled in every cell",
    _smoothly,
)
