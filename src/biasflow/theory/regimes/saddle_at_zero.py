"""W, §4 and appendix A: w = 0 is a saddle; which saddles are strict; and what doubling the weights
is good for.

L(w) − L(0) = −2c⟨Xᵀy, β⟩ + c‖Xβ‖² with β = w₊^D − w₋^D: along one weight L leaves 0 at the order D,
upwards or downwards with the sign of (Xᵀy)_i. For D = 2 that is a negative curvature −4c‖Xᵀy‖_∞,
and so it is at every other stationary point with residual r and Xᵀr ≠ 0, where a weight with
(Xᵀr)_i ≠ 0 must vanish: the strict saddle property on which Theorem 1 rests. For D ≥ 3 these
directions are flat to second order: no strict saddle, and that the flow interpolates is a
hypothesis of Theorem 3.
"""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.trees import leaves
from ...models import DiagonalParams
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import fitted_exponent
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import downhill
from .families import diagonal_family

STEPS = tuple(float(step) for step in np.geomspace(1e-4, 1.1e-1, 7))
"""Distances from w = 0, in units at which ‖Xβ‖ is that of the labels: three decades."""
SUPPORTS = 12
"""Other stationary points that are looked at: least squares on a random support, with any signs."""
DIFFERENCE_STEP = 1e-5
"""Step of central differences of ∇L, over the largest weight: truncation and rounding are near
1e-10."""
NO_MINIMUM_ABOVE = 1e-6
"""Xᵀr over Xᵀy above which a stationary point is no minimum."""


def loss_change(problem: Problem, params: DiagonalParams) -> float:
    """L(w) − L(0) from the predictions, without the difference of two losses."""
    f, y = np.asarray(problem.model(params, problem.data.X)), problem.data.y
    return float(problem.loss.factor(problem.data.n) * (f @ (f - 2 * y)))


def along_weight(problem: Problem, i: int, sign: float, step: float) -> DiagonalParams:
    """One weight of the coordinate i, w₊ for sign > 0, else w₋, and zero elsewhere."""
    plus, minus = np.zeros(problem.data.d), np.zeros(problem.data.d)
    (plus if sign > 0 else minus)[i] = step
    return DiagonalParams(plus, minus)


def strictness(D: int, c: float, force: float) -> float:
    """The curvature −4c·|Xᵀr|_i of L in a weight that vanishes, for D = 2; none for D ≥ 3."""
    return 4 * c * force if D == 2 else 0.0


def curvatures(problem: Problem, params: DiagonalParams) -> tuple[Array, float]:
    """(Eigenvalues of ∇²L by central differences of ∇L, their error)."""
    flat = np.concatenate(leaves(params))
    step = DIFFERENCE_STEP * float(np.max(np.abs(flat), initial=_unit(problem)))
    d = problem.data.d

    def gradient(weights: Array) -> Array:
        return -np.concatenate(leaves(downhill(problem, DiagonalParams(weights[:d], weights[d:]))))

    found = []
    for width in (step, 2 * step):
        H = np.array(
            [
                (gradient(flat + width * e) - gradient(flat - width * e)) / (2 * width)
                for e in np.eye(2 * d)
            ]
        )
        found.append((H + H.T) / 2)
    error = float(np.linalg.norm(found[1] - found[0], 2)) + 1e-9 * float(np.max(np.abs(found[0])))
    return np.linalg.eigvalsh(found[0]), error


def _unit(problem: Problem) -> float:
    """The size of one weight that alone would fit the labels as well as it can."""
    X, y = problem.data.X, problem.data.y
    i = int(np.argmax(np.abs(X.T @ y)))
    return float((abs(X[:, i] @ y) / np.sum(X[:, i] ** 2)) ** (1 / problem.model.depth))


def stationary_point(problem: Problem, key: int) -> DiagonalParams:
    """Weights at which ∇L = 0: β least squares on a random support, w₊ or w₋ where it is positive
    or negative."""
    rng = np.random.default_rng((97, key))
    X, y, d = problem.data.X, problem.data.y, problem.data.d
    support = np.sort(rng.permutation(d)[: int(rng.integers(1, max(2, min(len(y), d) // 2 + 1)))])
    beta = np.zeros(d)
    beta[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    root = np.abs(beta) ** (1 / problem.model.depth)
    return DiagonalParams(np.where(beta > 0, root, 0.0), np.where(beta < 0, root, 0.0))


def _at_zero(problem: Problem) -> tuple[Check, ...]:
    """∇L(0) = 0, and the order and constant at which L falls and rises along single weights."""
    D, c, X, y = (
        problem.model.depth,
        problem.loss.factor(problem.data.n),
        problem.data.X,
        problem.data.y,
    )
    zero = DiagonalParams(np.zeros(problem.data.d), np.zeros(problem.data.d))
    pull = max(float(np.max(np.abs(leaf))) for leaf in leaves(downhill(problem, zero)))
    force, i = np.abs(X.T @ y), int(np.argmax(np.abs(X.T @ y)))
    side, unit = float(np.sign(X[:, i] @ y)), _unit(problem)
    doubled = problem.model.init(unit, dim=problem.data.d)
    away = max(float(np.max(np.abs(leaf))) for leaf in leaves(downhill(problem, doubled)))
    name = "‖∇L‖_∞ where w₊ = w₋ = α·1 and F = 0 too, over 2cDα^{D−1}‖Xᵀy‖_∞: no saddle"
    start = 2 * c * D * unit ** (D - 1) * float(force[i])
    checks = [
        Check(
            "‖∇L‖_∞ at w = 0, from which no flow escapes",
            pull,
            "==",
            0.0,
            witness="the model's gradient",
        ),
        Check(
            name, away / start, "==", 1.0, 1e-12 * problem.data.n, witness="the model's gradient"
        ),
    ]
    for word, sign in (("falls", side), ("rises", -side)):
        steps = unit * np.array(STEPS)
        changes = np.array(
            [loss_change(problem, along_weight(problem, i, sign, float(step))) for step in steps]
        )
        quantity = f"order at which L {word} along a weight from w = 0"
        if not np.all(changes * (-1 if word == "falls" else 1) > 0):
            checks.append(
                Check(
                    f"sign of L(w) − L(0) where it {word}", -1.0, "==", 1.0, witness="values of L"
                )
            )
            continue
        slope, spread, decades = fitted_exponent(STEPS, np.abs(changes))
        checks.append(
            Check(
                quantity,
                slope,
                "==",
                float(D),
                spread + 1e-12,
                decades=decades,
                witness="values of L",
            )
        )
        ratio = abs(float(changes[0])) / (2 * c * float(force[i]) * float(steps[0]) ** D)
        error = 2 * STEPS[0] ** D + 1e-12  # c‖Xβ‖² is the rest
        name = f"|L(w) − L(0)| over 2c‖Xᵀy‖_∞·w^D, where it {word}"
        checks.append(Check(name, ratio, "==", 1.0, error, witness="values of L"))
    return tuple(checks)


def _strict(problem: Problem) -> tuple[Check, ...]:
    """The least curvature at w = 0 and at other stationary points: −4c‖Xᵀr‖_∞ or less for D = 2,
    none for D ≥ 3 at zero."""
    D, c, X, y = (
        problem.model.depth,
        problem.loss.factor(problem.data.n),
        problem.data.X,
        problem.data.y,
    )
    zero = DiagonalParams(np.zeros(problem.data.d), np.zeros(problem.data.d))
    whole = 4 * c * float(np.max(np.abs(X.T @ y)))
    least, error = curvatures(problem, zero)
    reach = _unit(problem) ** (D - 2)  # of a curvature, at the size of the labels
    checks = [
        Check(
            "least curvature of L at w = 0 over −4c‖Xᵀy‖_∞"
            + ("" if D == 2 else ": none at second order"),
            -float(least[0]) / (whole * reach),
            "==",
            strictness(D, c, whole / (4 * c)) / whole,
            error / (whole * reach) + (0.0 if D == 2 else DIFFERENCE_STEP ** (D - 2) * D),
            witness="differences of ∇L",
            size=1.0,
        )
    ]
    if D != 2:
        return tuple(checks)
    quantity = "least of −(least curvature)/(4c‖Xᵀr‖_∞) over other stationary points"
    shares, pulls = [], []
    for key in range(SUPPORTS):
        point = stationary_point(problem, key)
        residual = np.abs(X.T @ (np.asarray(problem.model(point, X)) - y))
        if not np.any(point) or float(np.max(residual)) <= NO_MINIMUM_ABOVE * whole / (4 * c):
            continue
        values, off = curvatures(problem, point)
        depth = strictness(D, c, float(np.max(residual)))
        shares.append((-float(values[0]) / depth, off / depth))
        gradient = max(float(np.max(np.abs(leaf))) for leaf in leaves(downhill(problem, point)))
        pulls.append(gradient / (depth * max(float(np.max(leaf)) for leaf in point)))
    if not shares:
        return (
            *checks,
            unknown_check(quantity, "every stationary point that was found is a minimum"),
        )
    k = int(np.argmin([share - off for share, off in shares]))
    return (
        *checks,
        Check(
            "‖∇L‖_∞ at those points, relative",
            max(pulls),
            "==",
            0.0,
            1e-9,
            witness="the model's gradient",
            size=1.0,
        ),
        Check(
            quantity,
            shares[k][0],
            ">=",
            1.0 - shares[k][1],
            shares[k][1] / 2,
            witness="differences of ∇L",
            null=0.0,
        ),
    )


def _saddle(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    return _at_zero(problem) + _strict(problem)


saddle = Claim(
    "W/saddle",
    "w = 0 is a saddle from which no flow escapes, while α·1 with F = 0 too is none: ∇L(0) = 0, "
    "and along single weights L falls and rises like 2c‖Xᵀy‖_∞·w^D. For D = 2 it is strict, with "
    "curvature −4c‖Xᵀy‖_∞, and so is every stationary point that is no minimum; for D ≥ 3 its "
    "curvature is zero.",
    'W, Section 4 ("w = 0 is a saddle point") and appendix A ("the strict saddle property"; the '
    "constants are ours)",
    (DIAGONAL, SQUARE, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=2 + key % 3, n=5, d=10),
    _saddle,
    kind=Kind.STATIC,
    witness="values of L, differences of ∇L",
    null="a curvature of zero",
    family=lambda key: diagonal_family(key, 2 + key % 4),
)

CLAIMS = (saddle,)
