"""Margins of trained networks against the largest one (Lyu & Li 2019; Ji & Telgarsky 2020; Chizat &
Bach 2020; Vardi, Shamir & Srebro 2022): what `certify` says, in a plane where a linear program
knows the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ...diagnostics import NetworkCertificate, certify
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from .margin_programs import (
    PROGRAM_ERROR,
    GridMargin,
    differences,
    grid_error,
    margin_on_grid,
    outputs,
    raw_flow,
)

GAP = 1e-8
"""Relative gap of γ₁ that is asked for."""
STRETCH = 2.0
"""c of the rescaling a → ca, w → w/c."""
TRAINED, STEPS, STEP = 8, 1500, 0.05
"""Neurons, steps and step size of a network that is trained by raw gradients."""
LOG_SIZES = np.log(np.geomspace(60.0, 6e5, 9))
"""log ‖θ‖² at which a flow is looked at: four decades of log(1/loss)."""
TILT = 0.08
"""What the neurons of the flow's start have across their samples, over what they have along them:
less than the tangent of the angle by which these are obtuse."""
LEAST_OBTUSE = -0.1
"""Cosine of two inputs, at most: from there on a neuron along one does not see the other, tilted or
not."""
MOST_UNEQUAL = 10.0
"""Largest length of inputs over the least one."""
PROGRAMS = "a linear program over directions of the plane"
DIFFERENCES_ERROR = 1e-7
"""Of central differences of a function that is quadratic between kinks: rounding over the step."""


Certified = Callable[[Array, Array], NetworkCertificate]
"""What is claimed of a network (a, W)."""


def certificate(a: Array, W: Array, data: Dataset, time_s: float) -> NetworkCertificate:
    """What is claimed of a network."""
    return certify((a, W), data.X, data.y, gap=GAP, time_s=time_s)


def normalised_margin(a: Array, W: Array, data: Dataset) -> float:
    """min_i y_if(x_i)/‖θ‖²."""
    q = data.y * outputs(np.append(a, W.ravel()), a.size, data.X)
    return float(np.min(q) / (np.sum(a**2) + np.sum(W**2)))


def one_each(data: Dataset) -> tuple[Array, Array]:
    """One balanced neuron along every sample, each with margin one: a_j = y_j/√‖x_j‖."""
    lengths = np.linalg.norm(data.X, axis=1)
    return data.y / np.sqrt(lengths), data.X / (lengths**1.5)[:, None]


def predicted_margin(data: Dataset) -> float:
    """Of one neuron along every sample: ½/Σ_i 1/‖x_i‖."""
    return float(0.5 / np.sum(1 / np.linalg.norm(data.X, axis=1)))


def trained(data: Dataset) -> tuple[Array, Array]:
    """A network by gradient ascent of −log Σe^{−y_if(x_i)} with normalised steps."""
    rng = np.random.default_rng(5)
    size = float(np.sqrt(np.mean(data.X**2)))
    a, W = rng.standard_normal(TRAINED), rng.standard_normal((TRAINED, 2))
    X = data.X / size
    for _ in range(STEPS):
        hidden = X @ W.T
        q = data.y * (np.maximum(hidden, 0.0) @ a)
        p = np.exp(np.min(q) - q) * data.y
        p = STEP * p / np.sum(np.abs(p))
        da, dW = p @ np.maximum(hidden, 0.0), a[:, None] * ((p[:, None] * (hidden > 0)).T @ X)
        a, W = a + da, W + dW
    return a, W


def _statement(evidence: Evidence) -> tuple[Check, ...]:
    data = evidence.problem
    grid = margin_on_grid(data.X, data.y)
    a, W = one_each(data)
    found = certificate(a, W, data, evidence.time_left / 4)
    exact = grid_error() + PROGRAM_ERROR

    def best(a: Array, W: Array) -> NetworkCertificate:
        return certificate(a, W, data, evidence.time_left / 3)

    return (
        _largest(found, grid, exact),
        _at_most(data, grid, exact),
        *part("fraction of γ₁ of the program's network", lambda: _equal(best, grid, exact)),
        *part("fraction of γ₁ after a → ca, w → w/c", lambda: _rescaled(a, W, best, found)),
        _stationary(a, W, data, found),
        _not_global(data, found, grid, exact),
        *part("exponent of the KKT residual", lambda: _approached(a, W, data, evidence)),
    )


def _largest(found: NetworkCertificate, grid: GridMargin, exact: float) -> Check:
    best = found.best
    middle = np.nan if best is None else (best.lower + best.upper) / 2
    wide = np.inf if best is None else (best.upper - best.lower) / best.upper
    return Check(
        "γ₁ by column generation over γ₁ by linear programming",
        middle / grid.level,
        "==",
        1.0,
        exact + wide,
        witness=PROGRAMS,
        null=found.margin / grid.level,
    )


def _at_most(data: Dataset, grid: GridMargin, exact: float) -> Check:
    """A trained network comes close to γ₁, which the grid bounds within its error."""
    return Check(
        "normalised margin of a trained network over γ₁",
        normalised_margin(*trained(data), data) / (grid.level * (1 + exact)),
        "<=",
        1.0,
        PROGRAM_ERROR,
        witness=PROGRAMS,
    )


def _equal(best: Certified, grid: GridMargin, exact: float) -> Check:
    fraction = best(grid.a, grid.W).fraction
    low, high = (np.nan, np.nan) if fraction is None else (fraction.lower, fraction.upper)
    return Check(
        "fraction of γ₁ of the linear program's own network",
        (low + high) / 2,
        "==",
        1.0,
        exact + high - low,
        witness=PROGRAMS,
    )


def _rescaled(a: Array, W: Array, best: Certified, found: NetworkCertificate) -> Check:
    """Balanced layers, rescaled: ‖θ‖² grows by (c² + c⁻²)/2, f is the same."""
    fractions = (
        need(found.fraction, 2 * GAP),
        need(best(STRETCH * a, W / STRETCH).fraction, 2 * GAP),
    )
    middles = [(f.lower + f.upper) / 2 for f in fractions]
    return Check(
        f"fraction after a → ca, w → w/c, c = {STRETCH:g}, over the fraction before",
        middles[1] / middles[0],
        "==",
        2 / (STRETCH**2 + STRETCH**-2),
        4 * GAP,
        witness="norms, a sum of squares",
        null=1.0,
    )


def _stationary(a: Array, W: Array, data: Dataset, found: NetworkCertificate) -> Check:
    """θ − Σ_iλ_i∇q_i for the multipliers of the certificate, by differences."""
    theta = np.append(a, W.ravel())
    theta = theta / np.sqrt(np.min(data.y * outputs(theta, a.size, data.X)))
    slopes = data.y[:, None] * differences(theta, a.size, data.X)
    lam = np.full(data.y.size, np.nan) if found.kkt is None else found.kkt.multipliers
    residual = float(np.linalg.norm(theta - lam @ slopes) / np.linalg.norm(theta))
    off = theta + np.linalg.norm(theta) * np.eye(theta.size)[0]
    return Check(
        "relative KKT residual of one neuron along every sample",
        max(residual, found.residual),
        "==",
        0.0,
        DIFFERENCES_ERROR,
        witness="central differences of f",
        null=float(np.linalg.norm(off - lam @ slopes) / np.linalg.norm(off)),
    )


def _not_global(data: Dataset, found: NetworkCertificate, grid: GridMargin, exact: float) -> Check:
    fraction = found.fraction
    low, high = (np.nan, np.nan) if fraction is None else (fraction.lower, fraction.upper)
    return Check(
        "fraction of γ₁ of one neuron along every sample, over ½/(γ₁Σ1/‖x_i‖)",
        (low + high) / 2 / (predicted_margin(data) / grid.level),
        "==",
        1.0,
        exact + (high - low) / high,
        witness=PROGRAMS,
        null=1.0 / (predicted_margin(data) / grid.level),
    )


def _approached(a: Array, W: Array, data: Dataset, evidence: Evidence) -> Check:
    """Gradient flow from near that point: a neuron that sees one sample moves along it, so that
    what it has across stays, and the residual falls like one over the norm of the weights."""
    m, rng = a.size, np.random.default_rng(7)
    # the loss sees y·f, so that inputs set the unit of the weights
    unit = float(np.mean(np.linalg.norm(data.X, axis=1)))
    X = data.X / unit
    sizes = np.sqrt(unit) * rng.uniform(0.8, 1.2, m)
    across = TILT * rng.choice([-1.0, 1.0], m)[:, None] * np.column_stack([-W[:, 1], W[:, 0]])
    start = np.append(sizes * a, (sizes[:, None] * (W + across)).ravel())
    residuals, levels = [], []
    for log_size, u in zip(LOG_SIZES, raw_flow(start, m, X, data.y, LOG_SIZES), strict=True):
        W, scaled = u[m:].reshape(m, -1), Dataset(X, data.y)
        found = certificate(u[:m], W, scaled, evidence.time_left / 4)
        residuals.append(found.residual)
        levels.append(float(np.exp(log_size)) * found.margin)
    return exponent_check(
        "exponent of the KKT residual in log(1/loss) along gradient flow to that point",
        levels,
        residuals,
        -0.5,
        1 / np.array(levels),  # of the next order, and of log(1/L) against the margin
        witness="∇L followed in the weights",
    )


def _in_a_plane(data: Any) -> str | None:
    if not isinstance(data, Dataset):
        return f"found {type(data).__name__}, needs a Dataset of labels ±1 in a plane"
    if data.d != 2:
        return f"found {data.d} columns, needs two"
    return None if np.all(np.abs(data.y) == 1) else "needs labels ±1"


def _two_classes(data: Any) -> str | None:
    return None if np.ptp(data.y) > 0 else "all labels are the same"


def _obtuse(data: Any) -> str | None:
    lengths = np.linalg.norm(data.X, axis=1)
    if np.any(lengths == 0):
        return "an input is zero"
    if np.max(lengths) > MOST_UNEQUAL * np.min(lengths):
        return f"lengths of inputs differ by more than a factor {MOST_UNEQUAL:g}"
    units = data.X / lengths[:, None]
    worst = float(np.max((units @ units.T)[~np.eye(data.n, dtype=bool)], initial=-1.0))
    if worst > LEAST_OBTUSE:
        return f"two inputs have the cosine {worst:.3g}, needs at most {LEAST_OBTUSE:g}"
    return None


PLANE = Hypothesis(
    "plane of classes", "samples of labels ±1 in a plane", on_problem(_in_a_plane), structural=True
)
CLASSES = Hypothesis("two classes", "both labels occur", on_problem(_two_classes))
OBTUSE = Hypothesis("obtuse", "inputs at obtuse angles to each other", on_problem(_obtuse))


def _sample(rng: np.random.Generator, between: float, spread: float) -> Dataset:
    """Two of one class at an angle, a third one of the other opposite to them."""
    first = rng.uniform(0, 2 * np.pi)
    third = first + between + (2 * np.pi - between) * rng.uniform(0.47, 0.53)
    angles = np.array([first, first + between, third])
    lengths = np.exp(spread * rng.uniform(-1, 1, 3))
    X = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    y = rng.choice([-1.0, 1.0]) * np.array([1.0, 1.0, -1.0])
    return Dataset(X, y)


def margin_data(key: int) -> Dataset:
    """Three samples, two of one class about 100° apart: one neuron for both would gain."""
    rng = np.random.default_rng((307, key))
    return _sample(rng, np.deg2rad(rng.uniform(98, 106)), 0.2)


def margin_family(key: int) -> Dataset:
    """Angles up to where a neuron each is the best, lengths within a factor of three, any unit."""
    rng = np.random.default_rng((311, key))
    data = _sample(rng, np.deg2rad(rng.uniform(97, 150)), 0.5)
    return Dataset(data.X * 10.0 ** rng.uniform(-3, 3), data.y, f"margin family key={key}")


certified = Claim(
    "S/certify",
    "For every network f = Σ_j a_j(⟨w_j, x⟩)₊ the normalised margin min_i y_if(x_i)/‖θ‖² is at "
    "most γ₁, with equality for the balanced network of the largest margin; a → ca, w → w/c lowers "
    "it. KKT points of min ‖θ‖ subject to y_if(x_i) ≥ 1, to which gradient flow on "
    "Σe^{−y_if(x_i)} tends in direction, need not be global: where inputs are at obtuse "
    "angles, one neuron along every input is one, of margin ½/Σ_i 1/‖x_i‖; "
    "from near it the KKT residual falls like 1/√log(1/L).",
    "Lyu & Li 2019; Ji & Telgarsky 2020; Chizat & Bach 2020; the exhibit and its rate ours, after "
    "Vardi, Shamir & Srebro 2022",
    (PLANE, CLASSES, OBTUSE),
    margin_data,
    _statement,
    kind=Kind.STATIC,
    witness="a linear program over directions, differences, and raw gradients",
    null="a KKT point is global; rescaling changes nothing",
    family=margin_family,
)
CLAIMS = (certified,)
