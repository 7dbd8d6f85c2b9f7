"""C, Appendix H: the smooth margin of a population on a line, and its gradient (Lemmas 23 and 24).

The population is what C suggests: the expectation over small perturbations of the inputs. Each is
spread evenly over an interval of half a gap between classes, so that the density is piecewise
constant; networks are straight between kinks, and integrals of e^{−f} are sums over pieces in
closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ...losses import ExponentialLoss, SmoothMargin
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import any_interval_problem, interval_problem
from .margin_hypotheses import INTERVALS, RELU, SEPARABLE, SIGNS
from .margin_setting import inputs_of

HALF_WIDTH = 0.25
"""Half-width of an interval, over the least distance of two classes: between classes half of it
stays empty."""
NODES = 16
"""Gauss–Legendre nodes on a piece, along which f is straight; half as many tell the error."""
PIECE_CHANGE = 4.0
"""Largest change of f over a piece: longer ones are cut, so that the rule integrates e^{−f} to
rounding."""
MOST_PIECES = 10_000
"""Pieces up to which sums over all nodes take tenths of seconds."""
STEPS = np.geomspace(5e-2, 2.5e-5, 14)
"""ε of differences of S, over more than three decades."""
MOVES = (1e-3, 1e-2, 0.1, 1.0, 3.0)
"""Sup norms of the changes of f over which ∇S is compared."""
EPS = float(np.finfo(float).eps)
ROUNDING = 1e-11
"""What some thousand terms in floats leave, relative."""
LONE_PIECE_BETA = 1e3
"""β times the change of f beside its minimum from which on only that piece counts: e^{−1000}."""
OUTSIDE = (5.0, 10.0, 20.0, 40.0)
"""β at which ∇S[βf] is looked at, over a quarter of the range of f."""
LENGTHS = np.geomspace(0.5, 2e-4, 8)
"""Of intervals whose mass is looked at, over the length of the piece where the population is
densest; more than three decades."""
COUNTED = "means over the inputs, each spread by the definition"
PIECES = "integrals over straight pieces, in closed form"


@dataclass(frozen=True, eq=False)
class Spread:
    """A population on a line and a continuous f = y·h on it: pieces [left, right] with their
    density and label, f at the ends."""

    left: Array
    right: Array
    density: Array
    label: Array
    low: Array
    high: Array

    @property
    def mass(self) -> Array:
        return self.density * (self.right - self.left)

    @property
    def least(self) -> float:
        return float(min(np.min(self.low), np.min(self.high)))

    @property
    def most(self) -> float:
        return float(max(np.max(self.low), np.max(self.high)))

    @property
    def longest(self) -> float:
        """max‖(x, 1)‖."""
        return float(np.hypot(1.0, np.max(np.abs([self.left, self.right]))))

    def cut(self, most: float) -> Spread:
        """The same in pieces over which f changes by `most` or less."""
        counts = np.abs(self.high - self.low) / most
        if float(np.sum(counts)) > MOST_PIECES:
            change = float(np.sum(np.abs(self.high - self.low)))
            raise Unmeasured(f"f changes by {change:.2g}: too much for quadrature of e^{{−f}}")
        parts = counts.astype(int) + 1
        piece = np.repeat(np.arange(parts.size), parts)
        step = np.arange(piece.size) - (np.cumsum(parts) - parts)[piece]
        begin, end = step / parts[piece], (step + 1) / parts[piece]
        width, rise = (self.right - self.left)[piece], (self.high - self.low)[piece]
        return Spread(
            self.left[piece] + width * begin,
            self.left[piece] + width * end,
            self.density[piece],
            self.label[piece],
            self.low[piece] + rise * begin,
            self.low[piece] + rise * end,
        )

    def log_integrals(self, beta: float = 1.0) -> Array:
        """log∫e^{−β(f − min f)}dρ over each piece."""
        rise = beta * np.abs(self.high - self.low)
        factor = np.where(rise > 0, -np.expm1(-rise) / np.where(rise > 0, rise, 1.0), 1.0)
        return np.asarray(
            np.log(self.mass)
            - beta * (np.minimum(self.low, self.high) - self.least)
            + np.log(factor)
        )

    def shares(self, beta: float = 1.0) -> Array:
        """∇S[βf] of each piece."""
        logs = self.log_integrals(beta)
        p = np.exp(logs - np.max(logs))
        return np.asarray(p / np.sum(p))

    def smooth_margin(self) -> float:
        """S(f) = −log∫e^{−f}dρ."""
        logs = self.log_integrals()
        top = float(np.max(logs))
        return self.least - top - float(np.log(np.sum(np.exp(logs - top))))

    def excess(self, beta: float) -> float:
        """∫(f − min f)d∇S[βf]."""
        rise = beta * np.abs(self.high - self.low)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            mean = np.where(rise > 1e-6, (1 - rise / np.expm1(rise)) / beta, rise / beta / 2)
        return float(self.shares(beta) @ (np.minimum(self.low, self.high) - self.least + mean))

    @cached_property
    def nodes(self) -> tuple[Array, Array, Array, Index]:
        return self.quadrature(NODES)

    def quadrature(self, count: int) -> tuple[Array, Array, Array, Index]:
        """Places, their ρ, f there and the piece of each, in order."""
        x, w = np.polynomial.legendre.leggauss(count)
        t = (x + 1) / 2
        places = self.left[:, None] + (self.right - self.left)[:, None] * t
        values = self.low[:, None] + (self.high - self.low)[:, None] * t
        piece = np.repeat(np.arange(self.left.size), count)
        return places.ravel(), (self.mass[:, None] * w / 2).ravel(), values.ravel(), piece

    def below(self, edge: Array) -> Array:
        """∫y(x)(x, 1)dλ over x < edge, λ = ∇S[f], for edges (k,): (k, 2)."""
        x, w = np.polynomial.legendre.leggauss(NODES)
        t, logs = (x + 1) / 2, self.log_integrals()
        total = np.max(logs) + np.log(np.sum(np.exp(logs - np.max(logs))))
        ends = np.clip(edge[:, None], self.left, self.right)
        places = self.left[:, None] + (ends - self.left)[..., None] * t
        slope = (self.high - self.low) / (self.right - self.left)
        f = self.low[:, None] + slope[:, None] * (places - self.left[:, None])
        weights = (
            (self.label * self.density * (ends - self.left))[..., None]
            * w
            / 2
            * np.exp(self.least - f - total)
        )
        return np.stack(
            [np.sum(weights * places, axis=(1, 2)), np.sum(weights, axis=(1, 2))], axis=1
        )

    @property
    def densest(self) -> float:
        """The largest density of ∇S[f]."""
        logs = self.log_integrals()
        total = np.max(logs) + np.log(np.sum(np.exp(logs - np.max(logs))))
        return float(
            np.max(self.density * np.exp(self.least - np.minimum(self.low, self.high) - total))
        )


def resolved(problem: Problem, params: Any = None) -> Spread:
    """`spread`, in pieces over which quadrature resolves e^{−f}."""
    return spread(problem, params).cut(PIECE_CHANGE)


def spread(problem: Problem, params: Any = None) -> Spread:
    """The problem's inputs spread over intervals, with f = y·h of its network (or of other
    parameters of it)."""
    data, (a, W) = inputs_of(problem), problem.start if params is None else params
    x, y = data.X[:, 0], data.y
    width = half_width(x, y)
    W = np.column_stack(
        [W[:, [k for k in range(W.shape[1]) if k != bias_of(problem)]], W[:, bias_of(problem)]]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = -W[:, 1] / W[:, 0]
    edges = np.unique(np.concatenate([x - width, x + width, kinks[np.isfinite(kinks)]]))
    middle = (edges[:-1] + edges[1:]) / 2
    inside = np.abs(middle[:, None] - x) < width
    some = np.any(inside, axis=1)
    label = y[np.argmax(inside, axis=1)]
    f = np.maximum(np.outer(edges, W[:, 0]) + W[:, 1], 0.0) @ a
    density = np.sum(inside, axis=1) / (2 * width * x.size)
    return Spread(
        edges[:-1][some],
        edges[1:][some],
        density[some],
        label[some],
        (label * f[:-1])[some],
        (label * f[1:])[some],
    )


def half_width(x: Array, y: Array) -> float:
    """Of the intervals: a quarter of the least distance of two classes, or of the spread of one."""
    gaps = np.abs(x[y > 0][:, None] - x[y < 0][None])
    return HALF_WIDTH * (float(np.min(gaps)) if gaps.size else float(np.ptp(x)) or 1.0)


def bias_of(problem: Problem) -> int:
    from .margin_setting import bias_column

    found = bias_column(problem.data.X)
    assert found is not None
    return found


def library_gradient(values: Array, shares: Array) -> tuple[float, Array]:
    """S and ∇S of the library on nodes of unequal share: e^{−u}·share = e^{−(u −
    log(n·share))}/n."""
    smooth, scores = SmoothMargin(ExponentialLoss()), values - np.log(shares * values.size)
    ones = np.ones(values.size)
    return -float(smooth(scores, ones)), np.asarray(smooth.weights(scores, ones))


def _turning(weights: Array) -> Array:
    """cos πP + ½ with P the distribution of ∇S: a continuous change of f whose variance is one
    half."""
    return np.asarray(np.cos(np.pi * (np.cumsum(weights) - weights / 2)) + 0.5)


def _lem23(evidence: Evidence) -> tuple[Check, ...]:
    found = resolved(evidence.network)
    _, shares, values, piece = found.nodes
    own, weights = library_gradient(values, shares)
    size = ROUNDING * (1 + abs(found.most) + abs(found.least))
    exact = found.shares()
    change = _turning(exact[piece] * shares / found.mass[piece])
    # ∫g d∇S as Lemma 23 writes it
    along = float(change @ (np.exp(-values + found.smooth_margin()) * shares))
    rest = np.array(
        [abs(library_gradient(values + e * change, shares)[0] - own - e * along) for e in STEPS]
    )
    hard = np.array(
        [abs(float(np.min(values + e * change) - np.min(values)) - e * along) for e in STEPS]
    )
    null = float(np.polyfit(np.log(STEPS), np.log(np.maximum(hard, EPS)), 1)[0])
    rng = np.random.default_rng(0)
    centre = np.cumsum(weights) - 0.5
    shapes = (
        change - 0.5,
        np.tanh(50 * centre),
        np.sin(rng.uniform(1, 9) * values + rng.uniform(0, 6)),
    )
    ratios = []
    for move in MOVES:
        for shape in shapes:
            other = library_gradient(values + move * shape / np.max(np.abs(shape)), shares)[1]
            ratios.append(float(np.sum(np.abs(other - weights))) / move)
    return (
        Check(
            "S of the library on nodes, off ∫e^{−f}dρ",
            abs(own - found.smooth_margin()),
            "==",
            0.0,
            size,
            witness=PIECES,
        ),
        Check(
            "∇S of the library, off e^{−f}dρ/∫e^{−f}dρ, largest over pieces",
            float(np.max(np.abs(np.bincount(piece, weights, found.left.size) - exact))),
            "==",
            0.0,
            size,
            witness=PIECES,
        ),
        exponent_check(
            "exponent in ε of S(f + εg) − S(f) − ε∫g d∇S[f]",
            STEPS,
            rest,
            2.0,
            # the third cumulant of g is at most max|g − ḡ| ≤ 2 times the second
            4 * EPS * (1 + abs(own)) / rest + STEPS * 2 / 3,
            witness=PIECES,
            null=null,
        ),
        Check(
            "largest ‖dλ_f/dρ − dλ_g/dρ‖_{L¹}/‖f − g‖_∞",
            max(ratios),
            "<=",
            1.0,
            ROUNDING / min(MOVES),
            witness="changes of f",
        ),
    )


def _lem24(evidence: Evidence) -> tuple[Check, ...]:
    found = spread(evidence.network)
    rise = np.abs(found.high - found.low)
    beside = np.minimum(found.low, found.high) <= found.least + 4 * EPS * (
        abs(found.least) + abs(found.most)
    )
    quantity = "exponent in β of ∫(f − min f)d∇S[βf]"
    if found.most <= found.least or float(np.min(rise[beside])) <= ROUNDING * (
        found.most - found.least
    ):
        return (
            unknown_check(
                quantity,
                "f is flat where it is least: ∇S spreads over a whole interval, without a rate",
            ),
        )
    others = np.minimum(found.low, found.high)[~beside] - found.least
    beta = LONE_PIECE_BETA / min(float(np.min(rise[beside])), float(np.min(others, initial=np.inf)))
    betas = beta * np.geomspace(1.0, 10**3.5, 15)
    excess = np.array([found.excess(b) for b in betas])
    rounding = 8 * EPS * (1 + (abs(found.least) + abs(found.most)) * betas)
    return (
        exponent_check(quantity, betas, excess, -1.0, rounding, witness=PIECES, null=0.0),
        *part("∇S[β_tf_t] where f is not least", lambda: _outside(found)),
    )


def _outside(found: Spread) -> tuple[Check, ...]:
    """Mass of the library's ∇S[β_tf_t] where f is not small, f_t = f + g/√β, against the bound of
    C's proof."""
    gap = (found.most - found.least) / 4
    found = found.cut(PIECE_CHANGE / (max(OUTSIDE) / gap))  # the rule must integrate e^{−βf} too
    _, shares, values, piece = found.nodes
    far, near = values >= found.least + gap, values <= found.least + gap / 4
    change = np.sin(np.linspace(0, 20, values.size))
    worst, uniform, off = -np.inf, -np.inf, 0.0
    for size in OUTSIDE:
        beta = size / gap
        moved = values + gap / 8 * change / np.sqrt(size / 5)
        weights = library_gradient(beta * moved, shares)[1]
        plain = np.bincount(piece, library_gradient(beta * values, shares)[1], found.left.size)
        off = max(off, float(np.max(np.abs(plain - found.shares(beta)))))
        bound = -beta * gap / 2 - np.log(np.sum(shares[near]))
        with np.errstate(divide="ignore"):
            worst = max(worst, float(np.log(np.sum(weights[far])) - bound))
            uniform = max(uniform, float(np.log(np.sum(shares[far])) - bound))
    return (
        Check(
            "log of ∇S[β_tf_t]{f ≥ min f + ε}, less that of e^{−βε/2}/ρ{f ≤ min f + ε/4}",
            worst,
            "<=",
            0.0,
            ROUNDING,
            witness="the bound of C's proof",
            null=uniform,
        ),
        Check(
            "∇S[βf] of the library, off its closed form, largest over pieces and β",
            off,
            "==",
            0.0,
            ROUNDING * (1 + 40.0 * (1 + (abs(found.most) + abs(found.least)) / gap)),
            witness=PIECES,
        ),
    )


def _a4(evidence: Evidence) -> tuple[Check, ...]:
    found, data = spread(evidence.network), inputs_of(evidence.problem)
    x, y = data.X[:, 0], data.y
    apart, width = np.abs(x[y > 0][:, None] - x[y < 0]), half_width(x, y)
    rounding = ROUNDING * (1 + (float(np.max(np.abs(x))) + width) / width)
    heavy = int(np.argmax(found.density))
    share = np.array([_share(found, heavy, each) for each in LENGTHS])
    atoms = [float(np.mean(np.abs(x - x[0]) <= width * each)) for each in LENGTHS]
    own = _by_definition(x, width, found.right) - _by_definition(x, width, found.left)
    checks = [
        Check("total mass", float(np.sum(found.mass)), "==", 1.0, rounding, witness=COUNTED),
        Check(
            "mass of each piece, off the mean over inputs, largest",
            float(np.max(np.abs(found.mass - own))),
            "==",
            0.0,
            rounding,
            witness=COUNTED,
        ),
        Check(
            "largest density, over that of all inputs in one place",
            float(np.max(found.density)) * 2 * width,
            "<=",
            1.0 + 2 * rounding,
            rounding,
            witness=COUNTED,
        ),
        exponent_check(
            "exponent in h of the mass of an interval of length h: one for a density, zero for "
            "atoms",
            LENGTHS,
            share,
            1.0,
            rounding / LENGTHS,
            witness=COUNTED,
            null=float(np.polyfit(np.log(LENGTHS), np.log(atoms), 1)[0]),
        ),
    ]
    if apart.size:
        classes = [
            np.concatenate([found.left[found.label == s], found.right[found.label == s]])
            for s in (1.0, -1.0)
        ]
        between, least = (
            float(np.min(np.abs(classes[0][:, None] - classes[1]))),
            float(np.min(apart)),
        )
        quantity = (
            "distance of the places of both classes, over that of the inputs: y is continuous"
        )
        checks.append(
            Check(quantity, between / least, "==", 0.5, 2 * rounding, witness=COUNTED, null=0.0)
        )
    return tuple(checks)


def _by_definition(x: Array, width: float, places: Array) -> Array:
    """P(x + ξ ≤ place) for an input x of the sample and ξ even on [−width, width]."""
    return np.asarray(
        np.mean(np.clip((places[:, None] - x + width) / (2 * width), 0.0, 1.0), axis=1)
    )


def _share(found: Spread, piece: int, part: float) -> float:
    """Mass of an interval within a piece, over a part of it."""
    middle = (found.left[piece] + found.right[piece]) / 2
    half = part * (found.right[piece] - found.left[piece]) / 2
    inside = np.minimum(found.right - middle, half) - np.maximum(found.left - middle, -half)
    return float(found.density @ np.maximum(inside, 0.0))


a4 = Claim(
    "C/A4",
    "Inputs each spread over a small interval, as C suggests, have a bounded density on a compact "
    "set, and labels that are continuous there: the classes lie at a distance. The inputs "
    "themselves, which are atoms, have no density.",
    "C, (A4)",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _a4,
    Kind.ASSUMPTION,
    COUNTED,
    "the inputs as they are",
    any_interval_problem,
)
lem23 = Claim(
    "C/lem23",
    "S(f) = −log∫e^{−f}dρ is differentiable with ∇S[f] = e^{−f}dρ/∫e^{−f}dρ, which is Lipschitz "
    "from the sup norm to L¹(ρ), here with constant one.",
    "C, Lemma 23",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _lem23,
    Kind.STATIC,
    PIECES,
    "the margin min f for S, which is not differentiable",
    any_interval_problem,
)
lem24 = Claim(
    "C/lem24",
    "If β_t → ∞ and f_t → f uniformly, ∇S[β_tf_t] concentrates where f is least: on a density, at "
    "the rate 1/β.",
    "C, Lemma 24",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _lem24,
    Kind.ASYMPTOTIC,
    PIECES,
    "the population itself",
    any_interval_problem,
)
CLAIMS = (a4, lem23, lem24)
