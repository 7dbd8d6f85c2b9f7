"""Gradient flows by methods that share no line with the library's: what its error estimates are
judged by.

Smooth flows are followed by SciPy's DOP853, in the weights or in β, at the edge of double
precision. Two-layer ReLU networks under any loss are followed the same way from kink to kink,
sliding along one in Filippov's sense. Every flow is followed twice, a
hundredfold apart: their distance is how far the better one may be off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

FINE, LOOSER = 1e-13, 100.0
"""Relative tolerance of the better run, and how much looser the other is."""
STEPS = 20_000
"""Steps after which a flow is not followed further."""
INSIDE = np.linspace(0, 1, 9)
"""Where in a step kinks are looked for."""
TOUCHING = 1e-12
"""A margin from which on it counts as positive."""

Velocity = Callable[[np.ndarray], np.ndarray]


class Unfollowed(Exception):
    """The independent method did not get to the end."""


def follow(
    velocity: Velocity, start: np.ndarray, times: np.ndarray, rtol: float = FINE
) -> tuple[np.ndarray, np.ndarray]:
    """States at times, and how far each entry may be off."""
    fine, coarse = (_smooth(velocity, start, times, r) for r in (rtol, LOOSER * rtol))
    return fine, np.abs(fine - coarse)


def _smooth(velocity: Velocity, start: np.ndarray, times: np.ndarray, rtol: float) -> np.ndarray:
    from scipy.integrate import DOP853

    atol = 0.01 * rtol * np.min(np.abs(start[start != 0]), initial=1.0)
    solver = DOP853(lambda t, w: velocity(w), 0.0, start, float(times[-1]), rtol=rtol, atol=atol)
    states = [start for t in times if t <= 0]
    for _ in range(STEPS):
        solver.step()
        if solver.status == "failed":
            raise Unfollowed("a step failed")
        if times[len(states)] <= solver.t:
            dense = solver.dense_output()
            while len(states) < len(times) and times[len(states)] <= solver.t:
                states.append(dense(times[len(states)]))
            if len(states) == len(times):
                return np.array(states)
    raise Unfollowed("too many steps")


class GatedNetwork:
    """ẇ = −∇L of Σ_j a_jσ(⟨w_j, x⟩) with frozen gates, flat; slides[j] is the sample on whose kink
    neuron j is held, or −1."""

    def __init__(self, slope: Velocity, X: np.ndarray, a: np.ndarray, W: np.ndarray) -> None:
        self.slope, self.X, self.m = slope, X, len(a)
        self.start = np.concatenate([a, W.ravel()])
        self.gates, self.slides = (W @ X.T > 0).astype(float), np.full(self.m, -1)

    def split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[: self.m], flat[self.m :].reshape(self.m, -1)

    def pulls(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂L/∂h, and what moves each w_j; the gate of a sample that it slides on is closed."""
        a, W = self.split(flat)
        G = self.slope(a @ (self.gates * (W @ self.X.T)))
        return G, -a[:, None] * ((self.gates * G) @ self.X)

    def velocity(self, t: float, flat: np.ndarray) -> np.ndarray:
        _, W = self.split(flat)
        G, pull = self.pulls(flat)
        for j in np.flatnonzero(self.slides >= 0):
            x = self.X[self.slides[j]]
            pull[j] -= (pull[j] @ x) / (x @ x) * x
        return np.concatenate([-(self.gates * (W @ self.X.T)) @ G, pull.ravel()])

    def normal(self, flat: np.ndarray, j: int, k: int) -> tuple[float, float]:
        """How fast ⟨w_j, x_k⟩ grows with that gate closed, and with it open; along the kink of
        another sample that holds it."""
        a, _ = self.split(flat)
        G, pull = self.pulls(flat)
        x, held = self.X[k], self.X[self.slides[j]]
        along = x - (x @ held) / (held @ held) * held if self.slides[j] not in (-1, k) else x
        own = float(a[j] * G[k]) * float(x @ along)
        closed = float(pull[j] @ along) + self.gates[j, k] * own
        return closed, closed - own

    def pairs(self) -> list[tuple[int, int]]:
        return [(j, k) for j in range(self.m) for k in range(len(self.X)) if self.slides[j] != k]

    def margins(self, flat: np.ndarray) -> np.ndarray:
        """What is positive as long as no gate changes: signed pre-activations, and for a slide both
        forces that hold it."""
        _, W = self.split(flat)
        signed = np.where(self.gates > 0, 1.0, -1.0) * (W @ self.X.T)
        holding = np.flatnonzero(self.slides >= 0)
        if not holding.size:
            return signed.ravel()
        forces = [self.normal(flat, int(j), int(self.slides[j])) for j in holding]
        return np.array(
            [signed[pair] for pair in self.pairs()]
            + [f for pair in forces for f in (pair[0], -pair[1])]
        )

    def let_go(self, flat: np.ndarray) -> None:
        """Slides that nothing holds any more, now that another gate has changed, end."""
        for j in np.flatnonzero(self.slides >= 0):
            closed, opened = self.normal(flat, int(j), int(self.slides[j]))
            if closed < 0 or opened > 0:
                self.gates[j, self.slides[j]], self.slides[j] = float(opened > 0), -1

    def change(self, flat: np.ndarray, which: int) -> np.ndarray:
        """The gates beyond the kink at which this margin vanished, and the state put onto it."""
        pairs = self.pairs()
        if which >= len(pairs):
            place, opens = divmod(which - len(pairs), 2)
            j = int(np.flatnonzero(self.slides >= 0)[place])
            self.gates[j, self.slides[j]], self.slides[j] = float(opens), -1
            return flat
        j, k = pairs[which]
        closed, opened = self.normal(flat, j, k)
        if (closed > 0) == (opened > 0):
            self.gates[j, k] = 1.0 - self.gates[j, k]
        elif closed > 0 > opened:
            if self.slides[j] >= 0:
                raise Unfollowed("a neuron slides on two kinks")
            self.gates[j, k], self.slides[j] = 0.0, k
        else:
            raise Unfollowed("a kink that repels")
        a, W = self.split(flat.copy())
        x = self.X[k]
        W[j] -= (W[j] @ x) / (x @ x) * x
        return np.concatenate([a, W.ravel()])


def follow_gates(
    slope: Velocity, X: np.ndarray, params: Any, times: np.ndarray, rtol: float
) -> tuple[np.ndarray, np.ndarray]:
    """As `follow`, a two-layer ReLU network from kink to kink; slope(h) is ∂L/∂h."""
    fine, coarse = (
        _gated(GatedNetwork(slope, X, *params), times, r) for r in (rtol, LOOSER * rtol)
    )
    return fine, np.abs(fine - coarse)


def _gated(net: GatedNetwork, times: np.ndarray, rtol: float) -> np.ndarray:
    from scipy.integrate import DOP853

    flat, t, states, steps = net.start, 0.0, [net.start for t in times if t <= 0], 0
    atol = 1e-3 * rtol * float(np.max(np.abs(net.start)))
    while len(states) < len(times):
        solver = DOP853(net.velocity, t, flat, float(times[-1]), rtol=rtol, atol=atol)
        begun, kink = net.margins(flat) > TOUCHING, None
        while kink is None and len(states) < len(times):
            steps += 1
            solver.step()
            if solver.status == "failed" or steps > STEPS:
                raise Unfollowed("a step failed" if steps <= STEPS else "too many steps")
            dense, begin = solver.dense_output(), solver.t_old
            for low, high in itertools.pairwise(INSIDE):
                span = begin + low * (solver.t - begin), begin + high * (solver.t - begin)
                after = net.margins(dense(span[1]))
                crossed = np.flatnonzero(begun & (after < 0))
                if crossed.size:
                    kink = min((_root(net, dense, span, int(i)), int(i)) for i in crossed)
                    break
                if np.any(~begun & (after < -TOUCHING)):
                    raise Unfollowed(
                        "gates that their own flow contradicts, where two kinks of a neuron meet"
                    )
                begun |= after > TOUCHING
            end = solver.t if kink is None else kink[0]
            while len(states) < len(times) and times[len(states)] <= end:
                states.append(dense(times[len(states)]))
        if kink is not None:
            t, flat = kink[0], net.change(dense(kink[0]), kink[1])
            net.let_go(flat)
    return np.array(states)


def _root(net: GatedNetwork, dense: Any, span: tuple[float, float], i: int) -> float:
    from scipy.optimize import brentq

    if net.margins(dense(span[0]))[i] <= 0:
        return span[0]
    return float(
        brentq(lambda t: net.margins(dense(t))[i], *span, xtol=1e-15 * span[1], rtol=1e-14)
    )


def follow_stiff(
    velocity: Velocity, rounder: Velocity, start: np.ndarray, times: np.ndarray, rtol: float
) -> tuple[np.ndarray, np.ndarray]:
    """As `follow`, by Radau; the other run is looser and that of another right-hand side."""
    fine, coarse = (_stiff(v, start, times, r) for v, r in ((velocity, rtol), (rounder, 4 * rtol)))
    return fine, np.abs(fine - coarse)


def _stiff(velocity: Velocity, start: np.ndarray, times: np.ndarray, rtol: float) -> np.ndarray:
    from scipy.integrate import solve_ivp

    atol = rtol * float(np.max(np.abs(start)))
    run = solve_ivp(
        lambda t, w: velocity(w),
        (0.0, float(times[-1])),
        start,
        "Radau",
        times,
        rtol=rtol,
        atol=atol,
    )
    if run.status != 0:
        raise Unfollowed(run.message)
    return np.asarray(run.y.T)
