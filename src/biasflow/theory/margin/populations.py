"""C, Appendix H: the smooth margin of a population on a line, its gradient, and features that tell measures apart.

The population is what C suggests: the expectation over small perturbations of the inputs. Each is spread evenly over an interval
of half a gap between classes, so that the density is piecewise constant; networks are straight between kinks, and integrals of
e^{−f} are sums over pieces in closed form.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...inputs import Array, Index
from ...losses import ExponentialLoss, SmoothMargin
from ...models import TwoLayer, TwoLayerParams, augmented
from ...records import Problem
from ..evidence import Evidence
from ..fits import exponent_check
from ..verdicts import Check, Claim, Kind, unknown_check
from .examples import any_interval_problem, cluster_data, interval_problem, labelled_family
from .hypotheses import DATA, INTERVALS, RELU, SEPARABLE, SIGNS
from .setting import inputs_of

QUARTER = 0.25
"""Half-width of an interval, over the least distance of two classes: between classes half of it stays empty."""
NODES = 16
"""Gauss–Legendre nodes on a piece, along which f is straight; half as many tell the error."""
STRAIGHT = 4.0
"""Largest change of f over a piece: longer ones are cut, so that the rule integrates e^{−f} to rounding."""
STEPS = np.geomspace(5e-2, 2.5e-5, 14)
"""ε of differences of S, over more than three decades."""
MOVES = (1e-3, 1e-2, 0.1, 1.0, 3.0)
"""Sup norms of the changes of f over which ∇S is compared."""
EPS = float(np.finfo(float).eps)
ROUNDING = 1e-11
"""What some thousand terms in floats leave, relative."""
COLD = 1e3
"""β times the change of f beside its minimum from which on only that piece counts: e^{−1000}."""
TURNS = np.geomspace(0.3, 1e-6, 12)
"""Angles between neurons whose gradients are compared."""
LOOK = 400
"""Places of neurons on the circle."""
MANY = 200
"""Pieces up to which gradients of neurons at all their ends are a matter of tenths of seconds."""
PIECES = "integrals over straight pieces, in closed form"
READ = "second differences of a ↦ ∫(aᵀ(x, 1))₊dλ across kinks"


@dataclass(frozen=True, eq=False)
class Spread:
    """A population on a line and a continuous f = y·h on it: pieces [left, right] with their density and label, f at the ends."""

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

    def log_integrals(self, beta: float = 1.0) -> Array:
        """log∫e^{−β(f − min f)}dρ over each piece."""
        rise = beta * np.abs(self.high - self.low)
        factor = np.where(rise > 0, -np.expm1(-rise) / np.where(rise > 0, rise, 1.0), 1.0)
        return np.asarray(np.log(self.mass) - beta * (np.minimum(self.low, self.high) - self.least) + np.log(factor))

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
        weights = (self.label * self.density * (ends - self.left))[..., None] * w / 2 * np.exp(self.least - f - total)
        return np.stack([np.sum(weights * places, axis=(1, 2)), np.sum(weights, axis=(1, 2))], axis=1)

    @property
    def densest(self) -> float:
        """The largest density of ∇S[f]."""
        logs = self.log_integrals()
        total = np.max(logs) + np.log(np.sum(np.exp(logs - np.max(logs))))
        return float(np.max(self.density * np.exp(self.least - np.minimum(self.low, self.high) - total)))


def spread(problem: Problem, params: Any = None) -> Spread:
    """The problem's inputs spread over intervals, with f = y·h of its network (or of other parameters of it)."""
    data, (a, W) = inputs_of(problem), problem.params0 if params is None else params
    x, y = data.X[:, 0], data.y
    gaps = np.abs(x[y > 0][:, None] - x[y < 0][None])
    width = QUARTER * (float(np.min(gaps)) if gaps.size else float(np.ptp(x)) or 1.0)
    W = np.column_stack([W[:, [k for k in range(W.shape[1]) if k != bias_of(problem)]], W[:, bias_of(problem)]])
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = -W[:, 1] / W[:, 0]
    edges = np.unique(np.concatenate([x - width, x + width, kinks[np.isfinite(kinks)]]))
    f = np.maximum(np.outer(edges, W[:, 0]) + W[:, 1], 0.0) @ a
    edges = np.concatenate(
        [
            np.linspace(left, right, max(int(abs(f[k + 1] - f[k]) / STRAIGHT) + 1, 1), endpoint=False)
            for k, (left, right) in enumerate(itertools.pairwise(edges))
        ]
        + [edges[-1:]]
    )
    middle = (edges[:-1] + edges[1:]) / 2
    inside = np.abs(middle[:, None] - x) < width
    some = np.any(inside, axis=1)
    label = y[np.argmax(inside, axis=1)]
    f = np.maximum(np.outer(edges, W[:, 0]) + W[:, 1], 0.0) @ a
    density = np.sum(inside, axis=1) / (2 * width * x.size)
    return Spread(edges[:-1][some], edges[1:][some], density[some], label[some], (label * f[:-1])[some], (label * f[1:])[some])


def bias_of(problem: Problem) -> int:
    from .setting import bias_column

    found = bias_column(problem.data.X)
    assert found is not None
    return found


def library_gradient(values: Array, shares: Array) -> tuple[float, Array]:
    """S and ∇S of the library on nodes of unequal share: e^{−u}·share = e^{−(u − log(n·share))}/n."""
    smooth, scores = SmoothMargin(ExponentialLoss()), values - np.log(shares * values.size)
    ones = np.ones(values.size)
    return -float(smooth(scores, ones)), np.asarray(smooth.weights(scores, ones))


def _turning(weights: Array) -> Array:
    """cos πP + ½ with P the distribution of ∇S: a continuous change of f whose variance is one half."""
    return np.asarray(np.cos(np.pi * (np.cumsum(weights) - weights / 2)) + 0.5)


def _lem23(evidence: Evidence) -> tuple[Check, ...]:
    found = spread(evidence.network)
    _, shares, values, piece = found.nodes
    own, weights = library_gradient(values, shares)
    size = ROUNDING * (1 + abs(found.most) + abs(found.least))
    exact = found.shares()
    change = _turning(exact[piece] * shares / found.mass[piece])
    along = float(change @ (np.exp(-values + found.smooth_margin()) * shares))  # ∫g d∇S as Lemma 23 writes it
    rest = np.array([abs(library_gradient(values + e * change, shares)[0] - own - e * along) for e in STEPS])
    hard = np.array([abs(float(np.min(values + e * change) - np.min(values)) - e * along) for e in STEPS])
    null = float(np.polyfit(np.log(STEPS), np.log(np.maximum(hard, EPS)), 1)[0])
    rng = np.random.default_rng(0)
    centre = np.cumsum(weights) - 0.5
    shapes = (change - 0.5, np.tanh(50 * centre), np.sin(rng.uniform(1, 9) * values + rng.uniform(0, 6)))
    ratios = []
    for move in MOVES:
        for shape in shapes:
            other = library_gradient(values + move * shape / np.max(np.abs(shape)), shares)[1]
            ratios.append(float(np.sum(np.abs(other - weights))) / move)
    return (
        Check("S of the library on nodes, off ∫e^{−f}dρ", abs(own - found.smooth_margin()), "==", 0.0, size, witness=PIECES),
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
            4 * EPS * (1 + abs(own)) / rest + STEPS * 2 / 3,  # the third cumulant of g is at most max|g − ḡ| ≤ 2 times the second
            witness=PIECES,
            null=null,
        ),
        Check(
            "largest ‖dλ_f/dρ − dλ_g/dρ‖_{L¹}/‖f − g‖_∞", max(ratios), "<=", 1.0, ROUNDING / min(MOVES), witness="changes of f"
        ),
    )


def _lem24(evidence: Evidence) -> tuple[Check, ...]:
    found = spread(evidence.network)
    rise = np.abs(found.high - found.low)
    beside = np.minimum(found.low, found.high) <= found.least + 4 * EPS * (abs(found.least) + abs(found.most))
    quantity = "exponent in β of ∫(f − min f)d∇S[βf]"
    if found.most <= found.least or float(np.min(rise[beside])) <= ROUNDING * (found.most - found.least):
        return (unknown_check(quantity, "f is flat where it is least: ∇S spreads over a whole interval, without a rate"),)
    others = np.minimum(found.low, found.high)[~beside] - found.least
    beta = COLD / min(float(np.min(rise[beside])), float(np.min(others, initial=np.inf)))
    betas = beta * np.geomspace(1.0, 10**3.5, 15)
    excess = np.array([found.excess(b) for b in betas])
    rounding = 8 * EPS * (1 + (abs(found.least) + abs(found.most)) * betas)
    return (
        exponent_check(quantity, betas, excess, -1.0, rounding, witness=PIECES, null=0.0),
        *_outside(found),
    )


def _outside(found: Spread) -> tuple[Check, ...]:
    """Mass of the library's ∇S[β_tf_t] where f is not small, f_t = f + g/√β, against the bound of C's proof."""
    _, shares, values, piece = found.nodes
    gap = (found.most - found.least) / 4
    far, near = values >= found.least + gap, values <= found.least + gap / 4
    change = np.sin(np.linspace(0, 20, values.size))
    worst, uniform, off = -np.inf, -np.inf, 0.0
    for size in (5.0, 10.0, 20.0, 40.0):
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


class Turning:
    """J' on the circle S_+ of balanced neurons, J'(u) = ½∫y(u·(x, 1))₊dλ, and its gradient in u, for λ = ∇S[f]."""

    def __init__(self, found: Spread) -> None:
        self.found = found
        self.whole = found.below(np.array([np.inf]))[0]

    def gradient(self, angles: Array) -> Array:
        """½∫y(x, 1) over {u·(x, 1) > 0}dλ, (k, 2)."""
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        with np.errstate(divide="ignore"):
            edge = np.where(u[:, 0] != 0, -u[:, 1] / np.where(u[:, 0] != 0, u[:, 0], 1.0), np.where(u[:, 1] > 0, -np.inf, np.inf))
        under = self.found.below(np.clip(edge, -1e300, 1e300))
        positive = (u[:, 0] > 0) | ((u[:, 0] == 0) & (u[:, 1] > 0))
        return np.asarray(np.where(positive[:, None], self.whole - under, under) / 2)

    def value(self, angles: Array) -> Array:
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray(np.sum(self.gradient(angles) * u, axis=1))


def _lem25(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    found = spread(problem)
    if found.left.size > MANY:
        why = f"f changes by {found.most - found.least:.2g}, over {found.left.size} straight pieces: too many"
        return (unknown_check("largest ‖∇J'(u) − ∇J'(u')‖ over its Lipschitz bound", why),)
    turning = Turning(found)
    x, y = inputs_of(problem).X[:, 0], problem.data.y
    inside = np.concatenate([found.left, found.right, (found.left + found.right) / 2, x])
    kinks = np.arctan2(-inside, 1.0)  # u·(x, 1) = 0 at these places
    angles = np.concatenate([np.linspace(0, 2 * np.pi, LOOK, endpoint=False), kinks, kinks + np.pi])
    bound = found.longest**3 * found.densest / 2
    atoms = _atoms(problem, x, y)
    largest, jumping, noise = 0.0, 0.0, 0.0
    for turn in TURNS:
        pairs = (angles - turn / 2, angles + turn / 2)
        apart = np.linalg.norm(np.subtract(*(turning.gradient(each) for each in pairs)), axis=1)
        largest = max(largest, float(np.max(apart)) / (bound * turn))
        rough = np.linalg.norm(np.subtract(*(atoms(each) for each in pairs)), axis=1)
        jumping = max(jumping, float(np.max(rough)) / (bound * turn))
        noise = ROUNDING * found.longest / (bound * turn)
    return (
        *_same_gradient(problem, found, turning),
        Check(
            "largest ‖∇J'(u) − ∇J'(u')‖ over its Lipschitz bound ½·max‖(x, 1)‖³·max dλ/dx·angle",
            largest,
            "<=",
            1.0,
            noise,
            witness=PIECES,
            null=jumping,
        ),
        _in_the_measure(problem, found, turning),
    )


def _atoms(problem: Problem, x: Array, y: Array) -> Any:
    """∇J' of the inputs themselves, which are atoms: it jumps."""
    rows = np.column_stack([x, np.ones(x.size)])
    p = np.asarray(SmoothMargin(ExponentialLoss()).weights(problem.model(problem.params0, problem.data.X), problem.data.y))

    def gradient(angles: Array) -> Array:
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return np.asarray((u @ rows.T > 0) * (p * y) @ rows / 2)

    return gradient


def _same_gradient(problem: Problem, found: Spread, turning: Turning) -> tuple[Check, ...]:
    """The library's gradient of balanced neurons on nodes of the population; their kinks lie between pieces, where no node is."""
    places, shares, values, piece = found.nodes
    weights = library_gradient(values, shares)[1]
    kinks = np.arctan2(-np.append(found.left, found.right), 1.0)
    angles = np.concatenate([kinks, kinks + np.pi])
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    params = TwoLayerParams(np.full(angles.size, 0.5**0.5), u * 0.5**0.5)
    model = TwoLayer(angles.size, 2)
    rows = np.column_stack([places, np.ones(places.size)])
    slopes = model.gradient(params, rows, found.label[piece] * weights).W * 0.5**0.5
    off = float(np.max(np.linalg.norm(slopes - turning.gradient(angles), axis=1)))
    size = float(np.max(np.linalg.norm(turning.gradient(angles), axis=1)))
    return (
        Check(
            "∇J' by the gradient of a network on nodes, off integrals over pieces, relative",
            off / size,
            "==",
            0.0,
            ROUNDING * found.longest * (1 + abs(found.most) + abs(found.least)) / size,
            witness=PIECES,
        ),
    )


def _in_the_measure(problem: Problem, found: Spread, turning: Turning) -> Check:
    """J' and ∇J' of networks near this one: at most ½·max‖(x, 1)‖ times the distance of their f."""
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, LOOK, endpoint=False)
    mine, slope = turning.value(angles), turning.gradient(angles)
    a, W = problem.params0
    largest, noise = 0.0, 0.0
    for size in (1e-3, 1e-2, 0.1, 1.0):
        da, dW = size * np.std(a) * rng.standard_normal(a.shape), size * np.std(W) * rng.standard_normal(W.shape)
        nearby = problem.params0._replace(a=a + da, W=W + dW)
        other = spread(problem, nearby)
        ends = np.concatenate([found.left, found.right, other.left, other.right])
        apart = float(np.max(np.abs(_predictor(problem, nearby, ends) - _predictor(problem, problem.params0, ends))))
        if apart == 0:
            continue
        near = Turning(other)
        moved = max(
            float(np.max(np.abs(near.value(angles) - mine))),
            float(np.max(np.linalg.norm(near.gradient(angles) - slope, axis=1))),
        )
        largest = max(largest, moved / (found.longest / 2 * apart))
        noise = max(noise, ROUNDING / apart)
    quantity = "largest change of J' and ∇J' over ½·max‖(x, 1)‖·‖ĥ(μ) − ĥ(μ')‖_∞"
    return Check(quantity, largest, "<=", 1.0, noise, witness=PIECES)


def _predictor(problem: Problem, params: Any, x: Array) -> Array:
    column = bias_of(problem)
    rows = np.insert(x[:, None], column, 1.0, axis=1)
    return np.asarray(problem.model(params, rows))


def _lem28(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    rows = augmented(np.unique(data.X, axis=0))
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    rng = np.random.default_rng(0)
    masses = rng.standard_normal(len(rows))
    found, error, blind = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    for i, row in enumerate(unit):
        w, clear = _lone_place(unit, i, rng)
        step = clear / 2
        ends = np.stack([w + step * row, w - step * row, w])
        values = _transform(ends, unit, masses)
        found[i] = (values[0] + values[1] - 2 * values[2]) / step
        error[i] = 8 * len(rows) * EPS * float(np.sum(np.abs(masses))) / step
        straight = ends @ unit.T @ masses
        blind[i] = (straight[0] + straight[1] - 2 * straight[2]) / step
    size = float(np.max(np.abs(masses)))
    worst = int(np.argmax(np.abs(found - masses) - error))
    return (
        Check(
            "λ read off its transform, off λ, largest over points, over the largest mass",
            float(abs(found[worst] - masses[worst])) / size,
            "==",
            0.0,
            float(np.max(error)) / size,
            witness=READ,
            null=float(np.max(np.abs(blind - masses))) / size,
        ),
    )


def _transform(directions: Array, rows: Array, masses: Array) -> Array:
    """a ↦ ∫(aᵀ(x, 1))₊dλ of a signed measure with finitely many atoms, by the library's neurons."""
    neurons = TwoLayerParams(np.ones(len(directions)), directions)
    return np.asarray(TwoLayer(*directions.shape).hidden(neurons, rows) @ masses)


def _lone_place(unit: Array, i: int, rng: np.random.Generator) -> tuple[Array, float]:
    """A place on input i's kink, and its distance from all others'."""
    w = rng.standard_normal((LOOK, unit.shape[1]))
    for _ in range(2):  # again: what rounding left
        w -= np.outer(w @ unit[i], unit[i])
    size = np.linalg.norm(w, axis=1)
    w = w[size > 0] / size[size > 0, None]
    others = np.abs(w @ (np.delete(unit, i, axis=0) - unit[i]).T)
    clear = np.min(others, axis=1, initial=1.0)
    best = int(np.argmax(clear))
    return w[best], float(clear[best])


lem23 = Claim(
    "C/lem23",
    "S(f) = −log∫e^{−f}dρ is differentiable with ∇S[f] = e^{−f}dρ/∫e^{−f}dρ, which is Lipschitz from the sup norm to L¹(ρ), here"
    " with constant one.",
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
    "If β_t → ∞ and f_t → f uniformly, ∇S[β_tf_t] concentrates where f is least: on a density, at the rate 1/β.",
    "C, Lemma 24",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _lem24,
    Kind.ASYMPTOTIC,
    PIECES,
    "the population itself",
    any_interval_problem,
)
lem25 = Claim(
    "C/lem25",
    "On inputs with a bounded density J' has a Lipschitz gradient on S_±, and depends Lipschitz on the measure; on atoms its"
    " gradient jumps.",
    "C, Lemma 25",
    (RELU, INTERVALS, SIGNS, SEPARABLE),
    interval_problem,
    _lem25,
    Kind.STATIC,
    PIECES,
    "atoms for a density",
    any_interval_problem,
)
lem28 = Claim(
    "C/lem28",
    "If ∫(aᵀ(x, 1))₊dλ(x) = 0 for all a, then λ = 0: a signed measure on the inputs can be read off this function of a.",
    "C, Lemma 28",
    (DATA,),
    cluster_data,
    _lem28,
    Kind.UNIQUENESS,
    READ,
    "features without the positive part",
    labelled_family,
)

CLAIMS = (lem23, lem24, lem25, lem28)
