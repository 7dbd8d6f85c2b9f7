"""ReLU networks from vanishing starts on any data: which neurons grow when, and the saddles between
(Maennel et al. 2018; Boursier and Flammarion 2024, arXiv:2401.10791; B for orthogonal inputs).

From λ·start, T = log(1/λ), let ‖w_j‖ = λ^{l_j}. While the network stands at a stationary point the
small neurons turn to extremal vectors of its residual, which takes O(1) of time, and grow: l_j
falls at the rate s_jG(u_j) in the time τ = t/T. The first to reach l = 0 joins. One neuron stands
for all that come along the same direction, for they are parallel by then. The network moves on, in
O(1) of time, to the next stationary point, and the small neurons are turned on the way. So the
limit is a path of jumps, and every jump is one run of the event-driven flow: clusters, the one that
joins at e^{−SEED}, and all others so small that nothing feels them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index, instance
from ..._core.facts import Fact, Facts, Shown
from ..._core.problems import Dataset, Problem, dataset
from ..._core.results import Bracket, Result, Trajectory
from ..._core.showing import drawing_room
from ..._numerics.deadlines import FLOW_S, Deadline
from ...errors import ConvergenceError, RefusedError
from ...limits.neurons.extremal import extremal_of, is_silent
from ...losses import SquareLoss, needs_square
from ...models import TwoLayer, TwoLayerParams
from ...models.two_layer import two_layer_for
from .layout import BALANCED

SEED = 30.0
"""−log of the size at which a cluster joins: what it changes by then is below rounding."""
FAR = 1e6
"""−log of the size of neurons that are only watched."""
STAYS = (3e2, 3e3, 3e4, 3e5)
"""Times that a plateau is given until all has settled, over Σ|q_k|‖x_k‖, the largest rate there
is."""
NO_GROWTH, GROWTH = 1e-9, 1e-5
"""Rates over Σ|q_k|‖x_k‖ at the start, up to which a neuron rests, and from which it grows; between
them nothing is said. A fitted network leaves about 1e-10, the tolerance of the flow; a plateau that
is settled to SETTLED may leave ten times that, for a rate is a sum over clusters and samples."""
SETTLED = 1e-6
"""Relative change of the network over the second half of a plateau that is allowed: no more is
left to move where that falls by half or more in this time; what is slower yet is not seen."""
TIE = 1e-6
"""Relative difference of arrivals of different clusters below which their order is not told: rates
are checked to SETTLED, so are the waits."""
SAME = 1e-5
"""Distance of unit vectors up to which small neurons are of one cluster: ten times SETTLED, for
both are still turning. Clusters that are nearer, of different directions, are not told apart."""
MOST = 200
"""Jumps."""


@dataclass(frozen=True, eq=False, repr=False)
class ReluSaddle(Shown):
    """A stationary point of the path.

    time: τ = t/log(1/λ) at which it is entered. params: its neurons, one for each cluster. loss:
    there. neurons: of the start, those that joined to make it. direction, rate: of the cluster that
    leaves it, and how fast; None and 0 where nobody does. growth: the largest rate of any unit
    neuron, a bracket. kind: 'saddle' where somebody leaves, 'minimum' where no neuron could,
    'spurious' where some neuron could, but none of the network does, 'undecided' where rounding
    hides it.
    """

    time: float
    params: TwoLayerParams
    loss: float
    neurons: tuple[int, ...]
    direction: Array | None
    rate: float
    growth: Bracket[Array]
    kind: str

    def facts(self) -> Facts:
        leaves = "nobody" if self.direction is None else f"a cluster at the rate {self.rate:.4g}"
        return Facts(
            f"{self.kind} entered at τ = {self.time:.5g}",
            (
                Fact("loss", f"{self.loss:.6g}, {self.params.a.size} clusters"),
                Fact("leaves", leaves),
                Fact("largest growth", f"{self.growth.lower:.4g} to {self.growth.upper:.4g}"),
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ReluSaddlePath(Shown):
    """The saddles that a ReLU network visits from a vanishing start, in order."""

    saddles: tuple[ReluSaddle, ...]
    model: TwoLayer
    data: Dataset
    normalisation: str

    @property
    def times(self) -> Array:
        """τ at which each is entered."""
        return np.array([saddle.time for saddle in self.saddles])

    @property
    def losses(self) -> Array:
        return np.array([saddle.loss for saddle in self.saddles])

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(saddle.kind for saddle in self.saddles)

    @property
    def final(self) -> TwoLayerParams:
        return self.saddles[-1].params

    def at(self, tau: float) -> ReluSaddle:
        """The saddle at which the path stands at τ = t/log(1/λ)."""
        return self.saddles[max(int(np.searchsorted(self.times, tau, side="right")) - 1, 0)]

    def facts(self) -> Facts:
        lines = [
            Fact(f"τ = {saddle.time:.5g}", f"{saddle.kind}, loss {saddle.loss:.5g}")
            for saddle in self.saddles
        ]
        return Facts(f"{len(lines) - 1} jumps of a ReLU network", tuple(lines))

    def plot(self) -> Any:
        """A matplotlib figure: the loss against τ, and growth rates at every saddle."""
        return drawing_room().relu_path_picture(self)


def relu_saddle_path(
    data: Dataset,
    start: TwoLayerParams,
    loss: SquareLoss | None = None,
    model: TwoLayer | None = None,
    *,
    time_s: float | None = FLOW_S,
) -> ReluSaddlePath:
    """The path of saddles of a ReLU network from λ·start as λ → 0, in the time τ = t/log(1/λ), on
    any data.

    Small neurons turn to extremal vectors u and grow at the rates s·G(u), G(u) =
    −Σ∂ℓ_k·σ(⟨u, x_k⟩); the first cluster to arrive joins, and the network jumps to the next
    stationary point. Where the limit is not one path, it is refused.

    Parameters
    ----------
    data : Dataset
    start : models.TwoLayerParams
        Balanced, |a_j| = ‖w_j‖: only signs and directions matter.
    loss : SquareLoss, optional
        'half-mean' unless said otherwise.
    model : TwoLayer, optional
        Sets the activation.
    time_s : float, optional
        Seconds after which it gives up, compilation not counted; None for none.

    Returns
    -------
    flows.ReluSaddlePath

    Raises
    ------
    RefusedError
        Where two clusters arrive at the same time, a neuron hardly grows, a kink leaves the flow
        several ways on, or a cluster vanishes again.
    ConvergenceError
        Where time is over or jumps are too many; `partial` is the path up to there.

    Examples
    --------
    >>> data, model = bf.data.two_points(), bf.TwoLayer(width=30, dim=2)
    >>> path = bf.flows.relu_saddle_path(data, model.init(1.0, key=0))
    >>> print(path.times.round(4), path.kinds)
    [0.     0.8944 1.7889] ('saddle', 'saddle', 'minimum')
    """
    data = dataset(data)
    model = two_layer_for(start, data.d) if model is None else instance("model", model, TwoLayer)
    start = model.checked(start, data.d)
    loss = SquareLoss("half-mean") if loss is None else needs_square("relu_saddle_path", loss)
    lengths = np.linalg.norm(start.W, axis=1)
    uneven = np.abs(np.abs(start.a) - lengths) > BALANCED * lengths
    if np.any(uneven):
        raise RefusedError(
            f"relu_saddle_path: neuron {int(np.flatnonzero(uneven)[0])} is not balanced, |a| ≠ ‖w‖:"
            " which way it turns when it shrinks depends on λ; take model.init(balanced=True)"
        )
    return _Course(data, model, loss, start, Deadline(time_s)).followed()


class _Course:
    """The path so far."""

    def __init__(
        self,
        data: Dataset,
        model: TwoLayer,
        loss: SquareLoss,
        start: TwoLayerParams,
        deadline: Deadline,
    ) -> None:
        self.data, self.model, self.loss, self.deadline = data, model, loss, deadline
        self.saddles: list[ReluSaddle] = []
        self.waiting: Index = np.flatnonzero(start.a)
        self.signs = np.sign(start.a)
        lengths = np.where(start.a == 0, 1.0, np.abs(start.a))
        self.u, self.level = start.W / lengths[:, None], np.ones(len(start.a))
        self.clusters = TwoLayerParams(np.zeros(0), np.zeros((0, data.d)))
        self.joined: tuple[int, ...] = ()
        self.leaving = np.inf
        self.reach = np.linalg.norm(data.X, axis=1)
        self.size = float(np.abs(self.weights) @ self.reach)

    @property
    def weights(self) -> Array:
        """q at the clusters."""
        f = self.model(self.clusters, self.data.X)
        return -np.asarray(self.loss.gradient(f, self.data.y))

    def followed(self) -> ReluSaddlePath:
        saddles = self.saddles
        tau, joining = 0.0, None
        while True:
            rates = self._jump(joining)
            first, wait = self._next(rates)
            saddles.append(self._saddle(tau, rates, first))
            if first is None:
                return self._path()
            if len(saddles) > MOST:
                raise self._gave_up(f"more than {MOST} jumps")
            tau += wait
            self.leaving = saddles[-1].rate
            self.level[self.waiting] -= rates * wait
            together = (self.signs[self.waiting] == self.signs[first]) & (
                np.linalg.norm(self.u[self.waiting] - self.u[first], axis=1) <= SAME
            )
            arrived = self.waiting[together & (self.level[self.waiting] <= TIE)]
            self.joined = tuple(int(j) for j in arrived)
            self.waiting, joining = np.setdiff1d(self.waiting, arrived), first

    def _path(self) -> ReluSaddlePath:
        kept = self.loss.normalisation
        return ReluSaddlePath(tuple(self.saddles), self.model, self.data, kept)

    def _gave_up(self, why: str) -> ConvergenceError:
        return ConvergenceError(f"relu_saddle_path: {why}", self._path())

    def _jump(self, joining: int | None) -> Array:
        """To the next stationary point; directions of the neurons that wait are set, their rates
        returned."""
        from ..methods import gradient_flow

        new = [] if joining is None else [joining]
        watched = self.waiting
        a = np.concatenate([self.clusters.a, self.signs[new], self.signs[watched]])
        W = np.concatenate([self.clusters.W, self.u[new], self.u[watched]])
        old = len(self.clusters.a)
        if a.size == 0 or self.size == 0:
            return np.zeros(watched.size)
        log = np.concatenate(
            [np.zeros(old), -SEED * np.ones(len(new)), -FAR * np.ones(watched.size)]
        )
        model = TwoLayer(a.size, self.data.d, self.model.activation, slope=self.model.slope)
        problem = Problem(model, self.data, self.loss, TwoLayerParams(a, W), log)
        late = SEED * self.size / self.leaving if new else 0.0
        for stay in STAYS:
            end = (late + stay) / self.size
            flow = gradient_flow(
                problem,
                t1=end,
                times=np.array([end - stay / 2 / self.size, end]),
                throw=False,
                time_s=self.deadline.left,
            )
            if not flow.result.success:
                jumps = len(self.saddles)
                timed = flow.result in (Result.TIME_LIMIT, Result.UNCHECKED)
                longer = "; give a longer time_s" if timed else ""
                raise self._gave_up(f"after {jumps} jumps, {flow.result.value}{longer}")
            trouble = self._unsettled(flow, old + len(new))
            if not trouble:
                return self._settle(flow, old + len(new))
        raise RefusedError(f"relu_saddle_path: {trouble}")

    def _unsettled(self, flow: Trajectory[TwoLayerParams], grown: int) -> str:
        """What has not come to rest at the end of a run, or nothing."""
        if flow.stats["branches"]:
            one = flow.stats["branches"][0]
            raise RefusedError(
                f"relu_saddle_path: between two saddles a kink leaves the flow {one.ways} ways on "
                f"(samples {one.samples}); move the data or the start"
            )
        before, after = flow.at(float(flow.times[0])), flow.final
        largest = float(np.max(np.abs(after.W[:grown]), initial=0.0))
        moved = float(np.max(np.abs(before.W[:grown] - after.W[:grown]), initial=0.0))
        if moved > SETTLED * largest:
            return "the network does not settle at a saddle; it moves too slowly"
        return self._rates(flow, grown)[1]

    def _rates(self, flow: Trajectory[TwoLayerParams], grown: int) -> tuple[Array, str]:
        """s·G(u) of those that wait, and who has not got there yet."""
        assert flow.polar is not None
        half, (unit, log_norms) = (flow.polar(float(t)) for t in flow.times[-2:])
        u = unit.W[grown:] / np.linalg.norm(unit.W[grown:], axis=1)[:, None]
        clusters = TwoLayerParams(flow.final.a[:grown], flow.final.W[:grown])
        q = -self.loss.gradient(self.model(clusters, self.data.X), self.data.y)
        hidden = self.model.hidden(TwoLayerParams(u[:, 0], u), self.data.X)
        rates = np.asarray(self.signs[self.waiting] * (hidden @ q))
        measured = (log_norms - half[1])[grown:] / (flow.times[-1] - flow.times[-2])
        off = np.flatnonzero(np.abs(rates - measured) > SETTLED * self.size)
        if off.size:
            return rates, f"neuron {self.waiting[off[0]]} does not come to rest at a direction"
        return rates, ""

    def _settle(self, flow: Trajectory[TwoLayerParams], grown: int) -> Array:
        """Clusters and directions as they are at the end of a run; the rates of those that wait."""
        assert flow.polar is not None
        rates = self._rates(flow, grown)[0]
        unit, log_norms = flow.polar(float(flow.times[-1]))
        self.clusters = TwoLayerParams(flow.final.a[:grown].copy(), flow.final.W[:grown].copy())
        if np.any(log_norms[:grown] < -SEED / 2):
            raise RefusedError(
                "relu_saddle_path: a cluster vanishes again at a saddle; the path beyond it is not "
                "followed"
            )
        w = unit.W[grown:]
        self.u[self.waiting] = w / np.linalg.norm(w, axis=1)[:, None]
        return np.asarray(np.where(np.abs(rates) <= NO_GROWTH * self.size, 0.0, rates))

    def _next(self, rates: Array) -> tuple[int | None, float]:
        """Who arrives first, and after which wait."""
        hardly = (rates > 0) & (rates < GROWTH * self.size)
        if np.any(hardly):
            raise RefusedError(
                f"relu_saddle_path: neuron {int(self.waiting[np.flatnonzero(hardly)[0]])} hardly "
                "grows at a saddle, at a rate that rounding may have made"
            )
        if not np.any(rates > 0):
            return None, np.inf
        waits = np.full(rates.shape, np.inf)
        waits[rates > 0] = self.level[self.waiting[rates > 0]] / rates[rates > 0]
        best = int(np.argmin(waits))
        first, wait = int(self.waiting[best]), float(waits[best])
        near = np.flatnonzero(waits <= wait * (1 + TIE))
        for j in self.waiting[near]:
            if (
                self.signs[j] != self.signs[first]
                or np.linalg.norm(self.u[j] - self.u[first]) > SAME
            ):
                raise RefusedError(
                    f"relu_saddle_path: neurons {first} and {int(j)} arrive at the same time along "
                    "different directions; which comes first depends on the start, not on its limit"
                )
        return first, wait

    def _saddle(self, tau: float, rates: Array, first: int | None) -> ReluSaddle:
        q = self.weights
        value = float(self.loss(self.model(self.clusters, self.data.X), self.data.y))
        growth, known = self._growth(q, rates), GROWTH * self.size
        if first is not None:
            kind = "saddle"
        elif growth.upper <= known and is_silent(self.data, q, self._allowed()):
            kind = "minimum"
        else:
            kind = "spurious" if growth.lower > known else "undecided"
        return ReluSaddle(
            tau,
            self.clusters,
            value,
            self.joined,
            None if first is None else self.u[first].copy(),
            0.0 if first is None else float(rates[self.waiting == first][0]),
            growth,
            kind,
        )

    def _allowed(self) -> Array:
        """|q_k| up to which sample k is fitted: in units of what neurons that see it make of it,
        not of the largest sample; rounding alone where none does."""
        a, W, X = np.abs(self.clusters.a), self.clusters.W, self.data.X
        inner, terms = W @ X.T, np.abs(W) @ np.abs(X).T
        hidden = np.abs(self.model.hidden(self.clusters, X))
        rounded = np.where(inner >= -NO_GROWTH * terms, terms, 0.0)
        size = GROWTH * (a @ hidden) + NO_GROWTH * (np.abs(self.data.y) + a @ rounded)
        return np.abs(np.asarray(self.loss.gradient(size, np.zeros(self.data.n))))

    def _growth(self, q: Array, rates: Array) -> Bracket[Array]:
        """The largest rate s·G(u) of any unit neuron: that of an extremal vector, where they can be
        listed; else from the neurons there are to Σ|q_k|‖x_k‖."""
        most = float(np.abs(q) @ self.reach)
        try:
            listed = extremal_of(self.data, q, self.model.negative_slope)
        except RefusedError:
            best = int(np.argmax(rates)) if rates.size else None
            u = np.zeros(self.data.d) if best is None else self.u[self.waiting[best]]
            own = float(np.max(rates, initial=0.0))
            return Bracket(own, most, "bound", u, own)
        if len(listed) == 0:
            return Bracket(
                0.0,
                0.0 if listed.complete else most,
                "exact" if listed.complete else "bound",
                np.zeros(self.data.d),
                0.0,
            )
        best_growth = float(np.abs(listed.growth[0]))
        upper = best_growth if listed.complete else most
        kind = "exact" if listed.complete else "bound"
        return Bracket(best_growth, upper, kind, listed.directions[0], best_growth)
