"""Early alignment: where neurons turn while the network is still negligible (B, §4.1; Maennel et
al. 2018), exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, Mask, instance
from ..._core.facts import record_line
from ..._core.former_names import renamed
from ..._core.problems import Dataset, Problem, dataset
from ..._numerics.interrupts import apart, stop_flag
from ...losses import SquareLoss
from ...losses.loss import Loss
from ...models import TwoLayer, TwoLayerParams
from ...models.two_layer import two_layer_for
from .event_flow import GateEvent, did_not_settle, gate_events
from .geometry import Network, network
from .layout import ON, OUT, RHO

OPPOSED = 1e-15
"""a + ⟨D̂, w⟩ of a neuron of unit norm up to which it does not grow."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """The alignment map of vanishing initialisation, neuron by neuron.

    directions: the limit of w_j/‖w_j‖ as t → ∞ with h = 0, (m, d). signs: that of a_j. rates:
    growth β_j = ‖D_j‖, zero where the neuron comes to rest (no longer active on any input, say).
    log_amplitudes: log C_j, ‖w_j‖ ~ C_j·e^{β_j t}. times: of the last change of gates. active:
    ⟨w_j, x_k⟩ > 0 in the limit, (m, n). events: every change of gates. `at(t)` is the exact state.
    """

    directions: Array
    signs: Array
    rates: Array
    log_amplitudes: Array
    times: Array
    active: Mask
    events: tuple[GateEvent, ...]
    _net: Network
    _arcs: Any

    def __repr__(self) -> str:
        return record_line(self)

    def at(self, t: float) -> TwoLayerParams:
        """The weights at time t of the flow with h = 0."""
        return self._net.params(self._state(t))

    def polar(self, t: float) -> tuple[TwoLayerParams, Array]:
        """Weights of unit neurons at time t, and log‖(a_j, w_j)‖."""
        return self._net.polar(self._state(t))

    def _state(self, t: float) -> Array:
        from .early_phase import states_at

        return np.asarray(
            states_at(self._arcs, self._net.invariants, np.array([float(t)]), len(self._net.start))[
                0
            ][0]
        )


@renamed(ds="data", params0="start")
def early_alignment(
    data: Dataset,
    start: TwoLayerParams,
    loss: Loss | None = None,
    model: TwoLayer | None = None,
    *,
    log_scale: ArrayLike = 0.0,
) -> Alignment:
    """Follow every neuron from e^{log_scale}·start with h = 0, which is the flow as that scale
    vanishes; any data, exact.

    v̇_j = (⟨D_j, w_j⟩, a_j·D_j) with D_j = −Σ_k σ'_jk ∂ℓ(0, y_k)x_k constant between crossings:
    Σ_k σ'_jk y_k x_k/n for squares, half of that for the logistic loss. Where neurons can end is
    listed by `bf.limits.extremal_vectors`.

    Parameters
    ----------
    data : Dataset
    start : models.TwoLayerParams
    loss : Loss, optional
        Sets the clock ('half-mean' squares as in B unless said otherwise); labels are ±1 for the
        logistic and the exponential loss.
    model : TwoLayer, optional
        Sets the activation (a ReLU unless said otherwise).
    log_scale : float or array of shape (m,)
        As for `gradient_flow`.

    Returns
    -------
    flows.Alignment

    Examples
    --------
    >>> data, model = bf.data.two_points(), bf.TwoLayer(width=4, dim=2)
    >>> found = bf.flows.early_alignment(data, model.init(1.0, key=0))
    >>> found.directions.round(3)
    array([[ 0.104, -0.995],
           [-0.622, -0.783],
           [ 0.894,  0.447],
           [ 0.894,  0.447]])
    """
    from ..._numerics import compilation

    data = dataset(data)
    model = two_layer_for(start, data.d) if model is None else instance("model", model, TwoLayer)
    loss = SquareLoss("half-mean") if loss is None else instance("loss", loss, Loss)
    if not isinstance(loss, SquareLoss):
        # at h = 0 a loss is squares of the labels −n·∂ℓ(0, y)
        pulls = -data.n * np.asarray(loss.gradient(np.zeros(data.n), loss.checked(data.y)))
        data, loss = Dataset(data.X, pulls, data.name), SquareLoss("half-mean")
    problem = Problem(model, data, loss, start, log_scale)
    found: Alignment = apart(compilation.announced, "ReLU", _align, problem)
    return found


def _align(problem: Problem) -> Alignment:
    from .early_phase import align

    net = network(problem)
    F0, F1 = net.data.pulls
    Y, gates, forever = net.start.copy(), net.gates.copy(), np.inf
    arcs, log, _, _, unsettled = align(
        Y, gates, F0, F1, net.geometry, net.invariants, forever, forever, forever, stop_flag()
    )
    if unsettled >= 0:
        raise did_not_settle("early_alignment", net, unsettled)
    last = np.append(np.flatnonzero(np.diff(arcs.neuron)), len(arcs.neuron) - 1)
    state, pull = arcs.state[last], arcs.pull[last]
    beta = np.linalg.norm(pull, axis=1)
    moving = beta > 0
    along = np.divide(np.sum(pull * state, axis=1), beta, out=np.zeros_like(beta), where=moving)
    opposed = moving & (np.abs(state[:, OUT] + along) <= OPPOSED)
    beta, moving = np.where(opposed, -beta, beta), moving & ~opposed
    # a ~ ½(a + ⟨D̂, w⟩)·e^{βt}
    grown = np.where(moving, (state[:, OUT] + along) / 2, state[:, OUT])
    signs = np.sign(grown)
    rest = net.polar(state)[0].W[net.alive]
    size = np.linalg.norm(rest, axis=1)
    still = np.divide(rest, size[:, None], out=np.zeros_like(rest), where=size[:, None] > 0)
    pointing = signs[:, None] * (pull[:, 2:] @ net.basis.T) / np.where(moving, beta, 1.0)[:, None]
    with np.errstate(divide="ignore"):
        grown_log = state[:, RHO] + np.log(np.abs(grown)) - beta * arcs.start[last]
        log_size = np.where(
            moving, grown_log, state[:, RHO] + np.log(size) - beta * arcs.start[last]
        )
    (m, d), n = np.shape(problem.start.W), problem.data.n
    directions, active = np.zeros((m, d)), np.zeros((m, n), dtype=np.bool_)
    directions[net.alive] = np.where(moving[:, None], pointing, still)
    on = np.zeros((len(net.alive), n), dtype=np.bool_)
    on[:, net.samples] = (arcs.gates[last][:, net.geometry.group] == ON) == (net.geometry.side > 0)
    held = arcs.gates[last][:, net.geometry.group] > ON
    on[:, net.samples] &= ~held
    active[net.alive] = on
    return Alignment(
        directions,
        _spread(signs, net, m),
        _spread(beta, net, m),
        _spread(log_size, net, m, -np.inf),
        _spread(arcs.start[last], net, m),
        active,
        gate_events(net, log.rows[: log.filled[0]]),
        net,
        arcs,
    )


def _spread(values: Array, net: Network, m: int, missing: float = 0.0) -> Array:
    """Values of the neurons that are not zero, among all."""
    everywhere = np.full(m, missing)
    everywhere[net.alive] = values
    return everywhere
