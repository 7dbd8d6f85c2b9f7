"""The least norm with penalised biases and no affine part, where (x−t)₊ and (t−x)₊ are told apart.

Where the affine part of the taut path comes for free, by a choice for every kink of the two neurons
that make it, the taut path is the answer. Elsewhere neurons are found by column generation: a
linear program over neurons met so far, in the coordinates "bend at each input, first slope, first
label", in which a neuron touches at most two bends; its multipliers are ψ, m and M₀ of
`line_proofs`, and in every interval the direction of the largest gain joins. What one interval
holds of one kind and sign is one neuron with the same first moment, by the triangle inequality.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._core.arguments import Array, Index
from ..._numerics.interrupts import apart
from ...errors import ConvergenceError
from .line_proofs import Kink, Multipliers
from .line_samples import LineSamples

ROUNDS = 60
TOLERANCE = 1e-10
"""Of the linear programs, the least that HiGHS takes, and of gains above one that count."""
AIMED_AT = 0.01
"""The gap aimed at, as a share of the gap asked for."""
FORGOTTEN = 1e-13
"""Share of the norm below which a neuron of a linear program is rounding."""


def shares_of_sides(
    samples: LineSamples, kinks: list[Kink], last_slope: Fraction
) -> tuple[Fraction, ...] | None:
    """r_i in [0, 1] with Σr_ik_i(x − t_i) = f's last asymptote: the part of each kink that (x−t)₊
    makes, (t−x)₊ the rest. None where there are none, or no kinks."""
    if not kinks:
        return None
    middle = samples.x[samples.n // 2]
    top = max(abs(kink.jump) for kink in kinks)
    jumps = np.array([float(kink.jump / top) for kink in kinks])
    reach = samples.x[-1] - samples.x[0]
    arms = np.array([float((middle - kink.t) / reach) for kink in kinks])
    height = samples.y[-1] + last_slope * (middle - samples.x[-1])
    wanted = [_float(last_slope / top), _float(height / (top * reach))]
    if not np.all(np.isfinite(wanted)):
        return None
    found = linprog(
        np.zeros(len(kinks)),
        A_eq=np.vstack([jumps, jumps * arms]),
        b_eq=wanted,
        bounds=(0, 1),
        options={"primal_feasibility_tolerance": TOLERANCE},
    )
    return tuple(Fraction(float(np.clip(r, 0, 1))) for r in found.x) if found.status == 0 else None


def _float(ratio: Fraction) -> float:
    try:
        return float(ratio)
    except OverflowError:
        return np.inf


@dataclass(frozen=True, eq=False)
class Candidates:
    """Neurons by where they bend: (x−t)₊ (side 1) and (t−x)₊ (side −1), t between inputs number
    piece and piece + 1, or w(x − x_0) + v (side 0), active on every input. weight: the length of
    (w, b)."""

    t: Array
    side: Array
    piece: Index
    w: Array
    v: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.t)

    def joined(self, *others: Candidates) -> Candidates:
        parts = [vars(each).values() for each in (self, *others)]
        return Candidates(*(np.concatenate(same) for same in zip(*parts, strict=True)))

    def directions(self, first: float) -> tuple[Array, Array]:
        """w and b of unit length."""
        w = np.where(self.side == 0, self.w, self.side)
        b = np.where(self.side == 0, self.v - self.w * first, -self.side * self.t)
        return w / self.weight, b / self.weight

    def columns(self, x: Array) -> sp.csc_matrix:
        """What neurons of unit length give in the coordinates (bends at x_1 … x_{n−2}, first slope,
        first label): (n, k)."""
        n, k = x.size, len(self)
        number = np.flatnonzero(self.side != 0)
        j, t, side, width = self.piece[number], self.t[number], self.side[number], np.diff(x)
        late = (x[j + 1] - t) / width[j]
        rows, owners = np.concatenate([j - 1, j]), np.tile(number, 2)
        values = np.concatenate([late, (t - x[j]) / width[j]])
        kept = (rows >= 0) & (rows < n - 2)
        slope, label = self.w.copy(), self.v.copy()
        slope[number] = np.minimum(side, 0.0) + np.where(j == 0, late, 0.0)
        label[number] = np.where(side < 0, t - x[0], 0.0)
        rows = np.concatenate([rows[kept], np.full(k, n - 2), np.full(k, n - 1)])
        owners = np.concatenate([owners[kept], np.arange(k), np.arange(k)])
        values = np.concatenate([values[kept], slope, label]) / self.weight[owners]
        return sp.csc_matrix((values, (rows, owners)), shape=(n, k))


def bent(x: Array, t: Array, side: float) -> Candidates:
    """Neurons of one side that bend at t, between the first input and the last."""
    piece = np.clip(np.searchsorted(x, t, side="right") - 1, 0, x.size - 2)
    none = np.zeros(t.size)
    return Candidates(t, np.full(t.size, side), piece, none, none, np.hypot(1.0, t))


def unbent(w: float, v: float, first: float) -> Candidates:
    """w(x − first) + v."""
    one = [np.array([part]) for part in (w, v, np.hypot(w, v - w * first))]
    return Candidates(np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.intp), *one)


@dataclass(frozen=True, eq=False)
class OpposedNeurons:
    """Neurons, what each is multiplied with, and the multipliers found."""

    neurons: Candidates
    factors: Array
    multipliers: Multipliers
    rounds: int


def opposed_neurons(
    samples: LineSamples, kinks: list[Kink], gap: float, deadline: float
) -> OpposedNeurons:
    """Column generation, for n ≥ 2 samples, from neurons at inputs and at the kinks of a taut
    path."""
    x = samples.inputs
    # rows are multiplied such that columns at inputs have entries of one
    units = np.append(np.hypot(1.0, np.append(x[1:-1], x[0])), 1.0)
    wanted = [
        Fraction(float(unit)) * part
        for unit, part in zip(units, _coordinates(samples), strict=True)
    ]
    size = max(abs(part) for part in wanted)
    target = np.array([float(part / size) for part in wanted])
    at = np.unique(np.concatenate([x, [float(kink.t) for kink in kinks]]))
    met = bent(x, at, 1.0).joined(bent(x, at, -1.0), unbent(0.0, 1.0, x[0]))
    solved: tuple[Candidates, Array, Array, int] | None = None
    for rounds in range(1, ROUNDS + 1):
        try:
            masses, dual = _solved(sp.diags(units) @ met.columns(x), target, deadline)
        except ConvergenceError:
            if solved is None:
                raise
            break  # what was found so far has a bracket, too
        solved = met, masses, dual * units, rounds
        more = _priced(x, solved[2], max(TOLERANCE, AIMED_AT * gap))
        if not len(more) or time.monotonic() > deadline:
            break
        met = met.joined(more)
    assert solved is not None
    met, masses, dual, rounds = solved
    neurons, factors = _merged(x, met, masses)
    psi = [dual[-2], *dual[:-2], 0.0]  # the first is m(x_0)
    exact = tuple(Fraction(float(value)) for value in psi)
    m0 = Fraction(float(dual[-1]))
    multipliers = Multipliers(exact, m0, exact[0] + m0 * samples.x[0])
    return OpposedNeurons(neurons, factors * float(size), multipliers, rounds)


def _coordinates(samples: LineSamples) -> list[Fraction]:
    return [*samples.bends[1:-1], samples.slopes[0], samples.y[0]]


def _solved(columns: sp.spmatrix, target: Array, deadline: float) -> tuple[Array, Array]:
    """min Σ|c| subject to columns·c = target: c, and the multipliers."""
    k = columns.shape[1]
    found = apart(
        linprog,
        np.ones(2 * k),
        A_eq=sp.hstack([columns, -columns]),
        b_eq=target,
        method="highs",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
            "time_limit": max(deadline - time.monotonic(), 0.1),
        },
    )
    if found.status != 0:
        raise ConvergenceError(
            "line_interpolants: the linear program of its neurons was not solved "
            f"({found.message}); the inputs span too many digits, or raise time_s"
        )
    return found.x[:k] - found.x[k:], np.asarray(found.eqlin.marginals)


def _priced(x: Array, dual: Array, tolerance: float) -> Candidates:
    """The neurons of the largest gain inside pieces, where that is above one."""
    m_first, m0 = float(dual[-2]), float(dual[-1])
    psi = np.concatenate([[m_first], dual[:-2], [0.0]])
    found = []
    for side, values in ((1.0, psi), (-1.0, psi - (m_first - m0 * (x - x[0])))):
        slope = np.diff(values) / np.diff(x)
        offset = values[:-1] - slope * x[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = slope / offset
        inside = (t > x[:-1]) & (t < x[1:]) & (np.hypot(slope, offset) > 1 + tolerance)
        found.append(bent(x, t[inside], side))
    m = np.array([m_first + m0 * x[0], m0])  # what (w, b) gains that is active everywhere
    length = float(np.hypot(*m))
    for u in (m / length, -m / length) if length > 1 + tolerance else ():
        ends = u[0] * x[[0, -1]] + u[1]
        if np.min(ends) >= 0:
            found.append(unbent(u[0], ends[0], x[0]))
    return found[0].joined(*found[1:])


def _merged(x: Array, met: Candidates, masses: Array) -> tuple[Candidates, Array]:
    """One neuron for each piece, side and sign, with their first moment."""
    groups: dict[tuple[float, float, float], list[int]] = {}
    for j in np.flatnonzero(np.abs(masses) > FORGOTTEN * np.sum(np.abs(masses))):
        inside = met.side[j] and x[met.piece[j]] < met.t[j] < x[met.piece[j] + 1]
        place = float(met.piece[j]) + 0.5 if inside else float(np.searchsorted(x, met.t[j]))
        key = (place if met.side[j] else -1.0, float(met.side[j]), float(np.sign(masses[j])))
        groups.setdefault(key, []).append(int(j))
    parts, factors = [], []
    for (_, side, _), own in sorted(groups.items()):
        share = masses[own] / met.weight[own]
        total = float(np.sum(share))
        if side:
            first = float(np.min(met.t[own]))
            t = first + float(share @ (met.t[own] - first)) / total
            parts.append(bent(x, np.array([t]), side))
        else:
            w, v = float(share @ met.w[own]) / total, float(share @ met.v[own]) / total
            parts.append(unbent(w, v, x[0]))
        factors.append(total)
    return parts[0].joined(*parts[1:]), np.array(factors)
