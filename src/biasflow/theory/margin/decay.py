"""C, Appendix B, after Proposition 9: risk with weight decay has the minimum of risk with the path
norm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ...losses import ExponentialLoss, LogisticLoss
from ...models import TwoLayer, TwoLayerParams, augmented
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_decay_problem, decay_problem
from .margin_hypotheses import RELU, SEPARABLE, SIGNS
from .margin_setting import inputs_of
from .margins import CELLS, gain_of
from .raw import largest_gains, spread_directions

LAMBDA_SHARE = 0.1
"""λ over the least one at which zero is the minimiser."""
CLOSED_GAP = 1e-3
"""Relative gap between bounds on a minimum, or between training and a minimum, below which they are
called equal: training by gradients stops beside kinks, where it can tell no more."""
ROUNDS = 8
"""Of adding directions in which the path norm's dual is violated."""
MOST_GRADIENTS = 2000
"""Gradients of a training, and of a convex program; both are small."""
FIRST_DIRECTIONS = 300
"""Directions of the first convex program."""
LEAST_MASS = 1e-12
"""Mass below which a neuron of the convex program is none, over all."""
ROUNDING = 1e-9
"""Of sums over some hundred neurons, and of penalties that training has left unequal, relative."""
CONVEX = "convex programs over directions found by zooming in"
TRAINED = "training with weight decay by ∇L"


@dataclass(frozen=True, eq=False)
class Decayed:
    """R(f) + λ·penalty for the mean loss R of labelled inputs: as a network with weight decay, and
    as a measure with its norm."""

    data: Dataset
    exponential: bool

    @property
    def rows(self) -> Array:
        return augmented(self.data.X)

    def risk(self, u: Array) -> tuple[float, Array]:
        """R at scores u, and q_i = −∂R/∂u_i."""
        n = u.size
        if self.exponential:
            values = np.exp(np.minimum(-u, 300.0))
            return float(np.mean(values)), values / n
        return float(np.mean(np.logaddexp(0.0, -u))), np.exp(-np.logaddexp(0.0, u)) / n

    def conjugate(self, q: Array) -> float:
        """min_u R(u) + Σq_iu_i: what no measure whose gain is at most λ falls below."""
        p = q.size * q
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(p > 0, p * np.log(p), 0.0)
            if self.exponential:
                return float(np.mean(p - logs))
            rest = np.where(p < 1, (1 - p) * np.log1p(-p), 0.0)
        return float(np.mean(-logs - rest))

    def gain(self, q: Array) -> float | None:
        """max_u|Σq_iy_i(⟨u, (x_i, 1)⟩)₊| over every cell of the sphere."""
        found = gain_of(q, self.data)
        return None if found is None else 2 * found

    @cached_property
    def scale(self) -> float | None:
        """λ."""
        largest = self.gain(self.risk(np.zeros(self.data.n))[1])
        return None if largest is None else LAMBDA_SHARE * largest

    def penalised(self, network: TwoLayerParams, model: TwoLayer, X: Array) -> float:
        """R + λ·(½Σ(a_j² + ‖w_j‖²)): weight decay, by the library's network."""
        assert self.scale is not None
        return self.risk(self.data.y * np.asarray(model(network, X)))[
            0
        ] + self.scale * weight_decay(network)

    def convex(self) -> tuple[float, float, Array, Array]:
        """min R(f) + λ‖ν‖ over signed measures on ±(⟨u, ·⟩)₊: its value, a lower bound, and a
        minimiser's (u, c)."""
        assert self.scale is not None
        rng, grid = np.random.default_rng(0), spread_directions(self.rows.shape[1])
        u, c = grid[:: max(len(grid) // FIRST_DIRECTIONS, 1)], None
        best, lower, measure = np.inf, -np.inf, (u, np.zeros(len(u)))
        for _ in range(ROUNDS):
            c, value, q = self._over(u, c)
            if value < best:
                best, measure = value, (u, c)
            gain = self.gain(q)
            assert gain is not None
            lower = max(lower, self.conjugate(q * min(1.0, self.scale / gain)))
            if best - lower <= CLOSED_GAP / 10 * best:
                break
            more, _ = largest_gains(self.rows, q * self.data.y, 1, grid, rng)
            some = np.abs(c) > LEAST_MASS * np.sum(np.abs(c))
            u, c = np.vstack([u[some], more]), np.append(c[some], np.zeros(len(more)))
        return best, lower, *measure

    def _over(self, u: Array, start: Array | None) -> tuple[Array, float, Array]:
        from scipy.optimize import minimize

        scale = self.scale
        assert scale is not None
        Z = self.data.y[:, None] * np.maximum(self.rows @ u.T, 0.0)
        m = len(u)

        def objective(z: Array) -> tuple[float, Array]:
            risk, q = self.risk(Z @ (z[:m] - z[m:]))
            force = q @ Z
            return risk + scale * float(np.sum(z)), np.concatenate([scale - force, scale + force])

        z = (
            np.zeros(2 * m)
            if start is None
            else np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
        )
        options = {
            "maxiter": MOST_GRADIENTS,
            "maxfun": MOST_GRADIENTS,
            "ftol": 1e-14,
            "gtol": 1e-10 * scale,
        }
        found = minimize(
            objective,
            z,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * (2 * m),
            options=options,
        )
        c = found.x[:m] - found.x[m:]
        risk, q = self.risk(Z @ c)
        return c, risk + scale * float(np.sum(np.abs(c))), q

    def train(
        self, model: TwoLayer, start: TwoLayerParams, X: Array, turning: bool = True
    ) -> tuple[TwoLayerParams, Any]:
        """The network where training with weight decay ends, and ∇ there; turning: or only the
        lengths of neurons are trained."""
        from scipy.optimize import minimize

        scale, (a0, W0) = self.scale, start
        assert scale is not None
        y, m, unit = self.data.y, a0.size, W0 / np.linalg.norm(W0, axis=1)[:, None]

        def read(z: Array) -> TwoLayerParams:
            return TwoLayerParams(z[:m], z[m:].reshape(W0.shape) if turning else z[m:, None] * unit)

        def slopes(network: TwoLayerParams) -> tuple[float, Any]:
            risk, q = self.risk(y * np.asarray(model(network, X)))
            found = model.gradient(network, X, -q * y)
            value = risk + scale * weight_decay(network)
            return value, TwoLayerParams(found.a + scale * network.a, found.W + scale * network.W)

        def objective(z: Array) -> tuple[float, Array]:
            value, found = slopes(read(z))
            return value, np.concatenate(
                [found.a, found.W.ravel() if turning else np.sum(found.W * unit, axis=1)]
            )

        z = np.concatenate([a0, W0.ravel() if turning else np.linalg.norm(W0, axis=1)])
        options = {
            "maxiter": MOST_GRADIENTS,
            "maxfun": MOST_GRADIENTS,
            "ftol": 1e-14,
            "gtol": 1e-10 * scale,
        }
        network = read(minimize(objective, z, jac=True, method="L-BFGS-B", options=options).x)
        return network, slopes(network)[1]


def weight_decay(network: Any) -> float:
    """½Σ_j(a_j² + ‖w_j‖²)."""
    return float(np.sum(network.a**2) + np.sum(network.W**2)) / 2


def path_norm(network: Any) -> float:
    """Σ_j|a_j|‖w_j‖."""
    return float(np.abs(network.a) @ np.linalg.norm(network.W, axis=1))


def _decay(evidence: Evidence) -> tuple[Check, ...]:
    """On one thread: some ten thousand products of small matrices, which several would only wait
    for."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _equal_minima(evidence)


def _equal_minima(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, loss = inputs_of(problem), problem.loss.loss
    quantity = "least risk with the path norm"
    if not isinstance(loss, (ExponentialLoss, LogisticLoss)):
        return (
            unknown_check(quantity, f"the conjugate of {type(loss).__name__} is not written down"),
        )
    both = Decayed(data, isinstance(loss, ExponentialLoss))
    if both.scale is None:
        return (unknown_check(quantity, "too many cells of the sphere for a lower bound"),)
    least, lower, u, c = both.convex()
    if least - lower > CLOSED_GAP * least:
        return (
            unknown_check(
                quantity, f"the convex program is known up to {1 - lower / least:.2g} only"
            ),
        )
    some = np.abs(c) > LEAST_MASS * np.sum(np.abs(c))
    model, rows = TwoLayer(int(np.sum(some)), u.shape[1]), both.rows
    root = np.sqrt(np.abs(c[some]))
    balanced = TwoLayerParams(np.sign(c[some]) * root, u[some] * root[:, None])
    tilted = TwoLayerParams(balanced.a * 1.5, balanced.W / 1.5)
    trained, left = both.train(problem.model, problem.start, problem.data.X)
    reached = both.penalised(trained, problem.model, problem.data.X)
    again = both.penalised(both.train(model, tilted, rows, turning=False)[0], model, rows)
    return (
        Check(
            "lower bound on risk with the path norm, over the least that was found",
            lower / least,
            "<=",
            1 + 2 * ROUNDING,
            ROUNDING,
            witness=CELLS,
        ),
        Check(
            "weight decay of its minimiser as a balanced network, over that",
            both.penalised(balanced, model, rows) / least,
            "==",
            1.0,
            ROUNDING,
            witness=CONVEX,
            null=both.penalised(tilted, model, rows) / least,
        ),
        Check(
            "risk with weight decay that training reaches, over the path norm's lower bound",
            min(reached, again) / lower,
            ">=",
            1 - 2 * ROUNDING,
            ROUNDING,
            witness=TRAINED,
        ),
        Check(
            "the same where lengths alone are trained, from the minimiser with its neurons "
            "unbalanced, over the least risk",
            again / least,
            "==",
            1.0,
            CLOSED_GAP,
            witness=TRAINED,
            null=both.penalised(tilted, model, rows) / least,
        ),
        _balance(trained, left, both.scale),
    )


def _balance(trained: TwoLayerParams, left: Any, scale: float) -> Check:
    """Where ∇ vanishes a_j² = ‖w_j‖²: what is left of it tells how far they may be apart."""
    owed = float(np.sum(np.abs(trained.a * left.a - np.sum(trained.W * left.W, axis=1)))) / scale
    size = path_norm(trained)
    quantity = "weight decay over path norm of the trained network: it is balanced"
    if size == 0:
        return unknown_check(quantity, "training ends at zero")
    return Check(
        quantity, weight_decay(trained) / size, "==", 1.0, owed / size + ROUNDING, witness=TRAINED
    )


decay = Claim(
    "C/weight-decay",
    "Risk with weight decay, R(f) + (λ/2)Σ(a_j² + ‖w_j‖²), has the minimum of risk with the path "
    "norm, R(f) + λ‖f‖_{F̃1}, for networks wide enough (as many neurons as a minimiser has atoms): "
    "training falls not below it, and its minimisers, balanced, attain it.",
    "C, Appendix B, after Proposition 9",
    (RELU, SIGNS, SEPARABLE),
    decay_problem,
    _decay,
    Kind.STATIC,
    CONVEX,
    "the same predictor by neurons that are not balanced",
    any_decay_problem,
)

CLAIMS = (decay,)
