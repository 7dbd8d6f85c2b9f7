"""A proven upper bound on |Σ_iq_i(⟨u, c_i⟩)₊| over unit vectors, and weights q for which it is low:
a semidefinite relaxation that looks at pairs of samples, where cones of directions are too many.

With t_i = ⟨u, c_i⟩ and x_i = |t_i| the sum is ½⟨b, u⟩ + ½Σq_ix_i, b = Σq_ic_i. For unit u
    x_ix_j ≥ ±t_it_j,    x_i² = t_i²,    x_i‖g_i‖ ≥ t_i⟨g_i, u⟩,
so that for any d, vectors g_i and symmetric R with zero diagonal the sum is at most
    ⟨h, x⟩ − ⟨x, Mx⟩ + ⟨u, Qu⟩ + ½⟨b, u⟩,    h_i = ½q_i + ‖g_i‖,    M = diag d − |R|,
    Q = Σ_id_ic_ic_iᵀ − Σ_ijR_ijc_ic_jᵀ − ½Σ_i(c_ig_iᵀ + g_ic_iᵀ),
and, where M is positive definite, at most ¼⟨h, M⁻¹h⟩ plus the largest value on the sphere. That is
jointly convex in (q, d, R, g). d = δ + (|R|v)/v with δ > 0 keeps M definite for any v > 0; between
descents, which soften the largest eigenvalue, v becomes one with which nothing is lost. R and g are
what a relaxation of each sample by itself lacks: without them the bound is twice as far away."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
from scipy.optimize import Bounds

from ..._core.arguments import Array, Index
from .relaxation import largest_on_sphere, lowest, relaxed_maximum

EPS = float(np.finfo(float).eps)
MOST = 300
"""Samples at most, those of the largest weights: there are two multipliers for each pair."""
STAGES = ((30.0, 100), (30.0, 150), (100.0, 200), (300.0, 300), (300.0, 300), (1000.0, 500))
"""Sharpness of the soft maximum over eigenvalues and signs, relative to the bound, and steps, of
one descent after the other."""
ALONE = ((10.0, 60), (30.0, 100), (100.0, 100))
"""The same before there are pairs: these descents are much cheaper, and soon far down."""
SMOOTH = 0.3
"""What is added to the lengths of all g_i together, relative to the bound, over the sharpness."""
LEAST = 1e-9
"""Least δ, relative to the largest weight."""
SIGNS = (1.0, -1.0)


class _Multipliers(NamedTuple):
    """Of one sign of the sum: δ (n,), both parts of R over pairs i < j, g (n, r), and a shift of
    ⟨u, Qu⟩ that unit vectors do not see."""

    delta: Array
    plus: Array
    minus: Array
    g: Array
    shift: float


class _Form(NamedTuple):
    """‖g_i‖, h, M, Q, the matrix diag d − R that Q is made of, and b."""

    lengths: Array
    h: Array
    M: Array
    Q: Array
    pairs: Array
    b: Array


class PairRelaxation:
    """The bound as a function of one vector: weights |q| (n,), then multipliers for either sign.

    samples: unit vectors (n, r); signs: of q; worth: what a weight contributes to ⟨targets, q⟩, on
    which all is divided. There are no pairs until `paired`."""

    def __init__(self, samples: Array, signs: Array, worth: Array) -> None:
        self.samples, self.signs, self.worth = samples, signs, worth
        none = np.zeros(0, dtype=np.int64)
        self.upper: tuple[Index, Index] = none, none
        self.leaning = np.ones((2, signs.size))

    def split(self, theta: Array) -> tuple[Array, list[_Multipliers]]:
        (n, r), k = self.samples.shape, self.upper[0].size
        weights, *parts = np.split(theta, [n, n + (theta.size - n) // 2])
        ends = np.cumsum([n, k, k, n * r])
        pieces = [np.split(part, ends) for part in parts]
        return weights, [
            _Multipliers(a, b, c, g.reshape(n, r), float(last[0])) for a, b, c, g, last in pieces
        ]

    def start(self, weights: Array) -> Array:
        """One sample at a time, as without pairs."""
        (_, r), k = self.samples.shape, self.upper[0].size
        sides = []
        for sign in SIGNS:
            size = np.where(sign * self.signs > 0, LEAST, 0.5) * weights
            delta = weights * math.sqrt(r) / 4 + 1e-3 * np.max(weights)
            sides += [delta, np.zeros(2 * k), (size[:, None] * self.samples).ravel(), np.zeros(1)]
        return np.concatenate([weights, *sides])

    def paired(self, theta: Array) -> Array:
        """The same point, with pairs from now on."""
        n = self.signs.size
        self.upper = np.triu_indices(n, 1)
        weights, *sides = np.split(theta, [n, n + (theta.size - n) // 2])
        none = np.zeros(2 * self.upper[0].size)
        return np.concatenate([weights, *(x for own in sides for x in (own[:n], none, own[n:]))])

    def box(self, theta: Array) -> Bounds:
        (n, _), k = self.samples.shape, self.upper[0].size
        least, side = np.full(theta.size, -np.inf), (theta.size - n) // 2
        least[:n] = 0.0
        for begin in (n, n + side):
            least[begin : begin + n] = LEAST * float(np.max(theta[:n]))
            least[begin + n : begin + n + 2 * k] = 0.0
        return Bounds(least, np.full(theta.size, np.inf))

    def form(self, side: int, weights: Array, own: _Multipliers, smooth: float) -> _Form:
        n, v, q = self.signs.size, self.leaning[side], SIGNS[side] * self.signs * weights
        lengths = np.sqrt(np.sum(own.g**2, axis=1) + smooth**2) * (1 + self.samples.shape[1] * EPS)
        M, pairs = np.zeros((n, n)), np.zeros((n, n))
        M[self.upper] = -(own.plus + own.minus)
        pairs[self.upper] = own.minus - own.plus
        M, pairs = M + M.T, pairs + pairs.T
        diagonal = own.delta - (M @ v) / v
        M[np.diag_indices(n)] = pairs[np.diag_indices(n)] = diagonal
        Q, leant = self.samples.T @ (pairs @ self.samples), self.samples.T @ own.g
        return _Form(
            lengths, q / 2 + lengths, M, Q - (leant + leant.T) / 2, pairs, q @ self.samples
        )

    def softened(self, theta: Array, sharpness: float, smooth: float) -> tuple[float, Array]:
        """The bound with a soft maximum, and its slopes."""
        (n, r), (i, j) = self.samples.shape, self.upper
        gain = float(self.worth @ theta[:n])
        if gain <= 0:
            return np.inf, np.zeros(theta.size)
        weights, sides = self.split(theta / gain)
        forms = [self.form(side, weights, own, smooth) for side, own in enumerate(sides)]
        x, eigen, tops = [], [], []
        for own, form in zip(sides, forms, strict=True):
            x.append(sl.cho_solve(sl.cho_factor(form.M), form.h) / 2)
            K = np.zeros((r + 1, r + 1))  # on (u, 1), whose squared length is two
            K[:r, :r], K[:r, r], K[r, :r] = form.Q, form.b / 4, form.b / 4
            K[np.diag_indices(r + 1)] += own.shift * np.append(np.ones(r), -1.0)
            eigen.append(np.linalg.eigh(K))
            tops.append(2 * eigen[-1][0] + form.h @ x[-1] / 2)
        top = float(np.max(tops))
        shares = np.exp(sharpness * (np.array(tops) - top))
        total = float(np.sum(shares))
        by_weight, slopes = np.zeros(n), []
        for side, (own, form) in enumerate(zip(sides, forms, strict=True)):
            part, vectors = shares[side] / total, eigen[side][1]
            moments = (vectors * part) @ vectors.T
            turned, share, v = self.samples @ moments[:r, :r], np.sum(part), self.leaning[side]
            seen, squares = turned @ self.samples.T, share * np.outer(x[side], x[side])
            by_d = 2 * np.diag(seen) - np.diag(squares)
            both = by_d[i] * v[j] / v[i] + by_d[j] * v[i] / v[j] + 2 * squares[i, j]
            by_g = (share * x[side] / form.lengths)[:, None] * own.g - 2 * turned
            by_shift = 2 * (np.trace(moments[:r, :r]) - moments[r, r])
            slopes += [by_d, both - 4 * seen[i, j], both + 4 * seen[i, j], by_g.ravel(), [by_shift]]
            along = share * x[side] / 2 + self.samples @ moments[:r, r]
            by_weight += SIGNS[side] * self.signs * along
        slope = np.concatenate([by_weight, *slopes])
        pull = float(slope @ theta) / gain
        slope[:n] -= pull * self.worth
        return top + math.log(total) / sharpness, slope / gain

    def proven(self, theta: Array) -> float:
        """The bound without softening, and with what rounding may have lost; for weights as they
        are, not divided by their worth."""
        weights, sides = self.split(theta)
        return max(self._proven(side, weights, own) for side, own in enumerate(sides))

    def _proven(self, side: int, weights: Array, own: _Multipliers) -> float:
        (n, r), form = self.samples.shape, self.form(side, weights, own, 0.0)
        size = float(np.sum(np.abs(form.pairs)) + np.sum(form.lengths) + np.sum(weights))
        if not math.isfinite(size):
            return np.inf
        values = np.linalg.eigvalsh(form.M)
        least = float(values[0]) - 8 * n * EPS * float(np.max(np.abs(values)))
        if not least > 0:
            return np.inf
        x = np.linalg.solve(form.M, form.h) / 2
        left = np.linalg.norm(form.h - 2 * form.M @ x) + 8 * n * EPS * float(
            np.linalg.norm(form.h) + 2 * np.linalg.norm(np.abs(form.M) @ np.abs(x))
        )
        quadratic = form.h @ x - x @ form.M @ x + (1 + 8 * n * EPS) * left**2 / (4 * least)
        terms = np.abs(form.h) @ np.abs(x) + np.abs(x) @ np.abs(form.M) @ np.abs(x)
        top = largest_on_sphere(form.Q, form.b / 2)[0]
        return float(quadratic + top + 8 * (n + r + 4) * EPS * (terms + 4 * size))

    def descended(
        self, theta: Array, sharpness: float, level: float, steps: int, deadline: float
    ) -> Array:
        """A better point, its weights worth one."""
        smooth = SMOOTH * level / (sharpness * self.signs.size)

        def soft(point: Array) -> tuple[float, Array]:
            try:
                return self.softened(point, sharpness / level, smooth)
            except np.linalg.LinAlgError:
                return np.inf, np.zeros(point.size)

        theta = lowest(soft, theta, self.box(theta), steps, deadline)
        return self.renewed(theta / float(self.worth @ theta[: self.signs.size]))

    def renewed(self, theta: Array) -> Array:
        """The same point from other v: those with Mv = diag M."""
        weights, sides = self.split(theta)
        theta, n = theta.copy(), self.signs.size
        for side, own in enumerate(sides):
            M = self.form(side, weights, own, 0.0).M
            v = np.linalg.solve(M, np.diag(M))
            if np.all(v > 0):
                self.leaning[side] = v
                begin = n + side * ((theta.size - n) // 2)
                theta[begin : begin + n] = np.diag(M) / v
        return theta


def proven_level(
    rows: Array, targets: Array, q: Array, deadline: float = math.inf
) -> tuple[float, Array]:
    """Weights near q with ⟨targets, q⟩ = 1, and a bound on max_u |Σ_iq_i(⟨u, c_i⟩)₊| under them:
    searched for among those of the same signs and samples. rows c (n, r) of any length."""
    lengths = np.linalg.norm(rows, axis=1)
    on = np.flatnonzero(q)
    on = np.sort(on[np.argsort(-np.abs(q * lengths)[on])[:MOST]])
    samples, signs, weights = rows[on] / lengths[on, None], np.sign(q[on]), np.abs(q * lengths)[on]
    relaxation = PairRelaxation(samples, signs, targets[on] * signs / lengths[on])
    gain = float(relaxation.worth @ weights)
    if not gain > 0:
        return np.inf, q
    upper, best = np.inf, weights / gain
    theta = relaxation.start(best)
    level = relaxation.proven(theta)
    for stage, (sharpness, steps) in enumerate(ALONE + STAGES if level < np.inf else ()):
        if stage == len(ALONE):
            theta = relaxation.paired(theta)
        theta = relaxation.descended(theta, sharpness, level, steps, deadline)
        bound = relaxation.proven(theta)
        if bound < upper:
            upper, best = bound, theta[: on.size]
        level = min(level, upper)
        if time.monotonic() > deadline:
            break
    if not upper < np.inf or time.monotonic() > deadline:
        plain = max(relaxed_maximum(samples, s * signs * best, deadline) for s in SIGNS)
        upper = min(upper, plain)
    found = np.zeros(q.size)
    found[on] = signs * best / lengths[on]
    return upper, found
