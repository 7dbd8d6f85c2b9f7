"""F1 max margins: the limit of training both layers of a wide ReLU network (C, eq. 4 and Theorem
3)."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, positive_float, positive_int, row_lengths
from ..._core.former_names import keyword_only
from ..._core.problems import dataset
from ..._core.progress import doing
from ..._core.results import Certificate, Limit
from ..._numerics.exact_sums import as_integers
from ...models import Particles
from ..hard_margins import nearest_weights
from ..predicting import without_column
from ..rational_games import LineBracket, line_bracket
from .best_neuron import SearchOracle, exact_effort, in_units, load_search
from .column_generation import Effort, LevelBracket, generate
from .columns import Neurons, neurons_along
from .labelled_inputs import Labelled, read_labelled, without_bias
from .masters import MarginMaster

EPS = float(np.finfo(float).eps)
KERNEL = 0.2
"""Share of the time that the first weights, those of the kernel, may take; uniform ones beyond."""
ENTRY_S = 2e-7
"""Seconds for an entry of that kernel."""
TINY = float(np.finfo(float).smallest_subnormal)
"""What is lost of an entry that underflows, at most."""
STREAM = 7
"""Start of the random stream, so that data drawn with the same key are independent of the
starts."""
START = 100
"""Random neurons of either sign to begin with."""
RESTARTS = 60
"""Random starts of either sign in a round."""
SEARCH = 0.75
"""Share of the time after which no new round of the search starts; the last program and a proof,
where faces are too many, take the rest."""
LINE_S = 0.5
"""Seconds that rationals are given at least, where inputs lie on a line."""


@keyword_only("gap", "time_s", "key")
@doing("largest margin in F1")
def f1_max_margin(
    X: ArrayLike,
    y: ArrayLike,
    *,
    gap: float = 1e-9,
    time_s: float = 60.0,
    key: int = 0,
    bias: str = "append",
) -> Limit[Particles]:
    """γ₁ = max_{‖f‖_{F1} ≤ 1} min_i y_if(x_i) over ReLU networks of any width (C, eq. 4).

    The certificate is primal ≤ γ₁ ≤ dual, where dual = max_θ Σ_ip_iy_iφ(θ, x_i) for weights p on
    the samples (C, Proposition 12). kind 'exact': the gap was reached, with that maximum found by
    visiting every face of the arrangement of the samples' hyperplanes; so for d ≤ 2, given time,
    and wherever p has few enough support points. 'bound': the gap was not reached, for want of
    time, or of digits where inputs of opposite classes agree to six or more relative to ‖(x, 1)‖:
    dual allows for rounding. For d = 1 rationals close the bracket then; residual says by which
    share of γ₁ the neurons, in floats, miss it. Where there are too many faces (upper_kind
    'bound'), dual is proven by branch and bound over cones of directions, for d ≤ 9, or by a
    relaxation, while heuristic_upper holds what the best search found: no proof. The note says
    which, and `benchmarks/margin_brackets.py` how far they get.

    Parameters
    ----------
    X : array of shape (n, d)
        Without the bias column; or (n, d+1) with bias='column', its last column one.
    y : array of shape (n,)
        Labels ±1.
    gap : float
        Relative gap to reach.
    time_s : float
        Seconds for all of it: the rounds take three quarters at most, the last program and a proof
        the rest.
    key : int
        The same key gives the same result if time does not run out.
    bias : {'append', 'column'}

    Returns
    -------
    Limit
        value: `models.Particles` of total mass one, a function of inputs; objective: their margin,
        a lower bound. stats: weights p, relative_gap, upper_kind, heuristic_upper, stopped (why),
        rounds, met (neurons tried), history (seconds, lower, upper, and what was believed), note,
        data (the samples, which `plot()` draws where they lie in a plane).

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]
    >>> best = bf.limits.f1_max_margin(X, y)
    >>> print(round(best.objective, 4), best.certificate.kind)
    0.0795 exact
    >>> np.sign(best([[0.5, 0.5], [0.0, 2.0]]))
    array([ 1., -1.])
    """
    gap, time_s, key = (
        positive_float("gap", gap),
        positive_float("time_s", time_s),
        positive_int("key", key, least=0),
    )
    data = read_labelled(without_bias(X, bias), y)
    found = _zero(data) if data.conflict is not None else largest_margin(data, gap, time_s, key)
    found = replace(found, stats={**found.stats, "data": dataset((X, y))})
    return replace(found, predictor=without_column) if bias == "column" else found


def largest_margin(
    data: Labelled, gap: float, time_s: float, key: int, extra: Neurons | None = None
) -> Limit[Particles]:
    """γ₁ of distinct inputs, from random neurons and `extra` ones, in rationals where inputs lie on
    a line and floats have too few digits."""
    load_search(data.rows)
    began = time.monotonic()
    found = as_limit(margin_bracket(data, gap, time_s, key, extra), data, gap)
    if found.certificate.kind == "exact" or data.rows.shape[1] > 2 or not data.biased:
        return found
    return _on_a_line(found, data, gap, max(began + time_s, time.monotonic() + LINE_S))


def margin_bracket(
    data: Labelled, gap: float, time_s: float, key: int, extra: Neurons | None = None
) -> LevelBracket:
    """Column generation from random neurons, and `extra` ones, in units of ½(x, 1)."""
    rows, unit = in_units(data.rows / 2)
    rng = np.random.default_rng([STREAM, key])
    load_search(rows)
    begun = time.monotonic()
    effort = Effort(gap, gap, begun + SEARCH * time_s, begun + time_s)
    oracle = SearchOracle(rows, rng, RESTARTS, effort.search_until)
    u = rng.standard_normal((START, rows.shape[1]))
    columns = neurons_along(u).both_ways()
    columns = columns if extra is None else extra.joined(columns)
    first = first_weights(data, time_s) * data.y
    master, bracket = MarginMaster(rows, data.y, first), first_bracket(rows, data.y)

    def words() -> str:
        bounds = f"between {bracket.lower * unit:.6g} and {bracket.upper * unit:.6g}"
        return f"{bounds}, round {bracket.rounds}"

    with doing(words):
        generate(master, oracle, columns, bracket, effort, first)
    return bracket.times(unit, rows.shape[1] * TINY)


def first_bracket(rows: Array, y: Array) -> LevelBracket:
    """What needs no search: f in the unit ball is ½-Lipschitz and |f(x)| ≤ ½‖x̃‖, so γ₁ ≤ Δ/4 and
    γ₁ ≤ ½min‖x̃_i‖; rows are ½x̃_i."""
    lengths = np.linalg.norm(rows, axis=1)
    nearest = int(np.argmin(lengths))
    q, upper = np.zeros(y.size), float(lengths[nearest])
    q[nearest] = y[nearest]
    plus, minus = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if plus.size and minus.size:
        i, j, distance = closest_pair(rows[plus], rows[minus])
        if distance / 2 < upper:
            upper, q = distance / 2, np.zeros(y.size)
            q[[plus[i], minus[j]]] = 0.5, -0.5
    axis = np.eye(rows.shape[1])[-1:]
    nothing = Neurons(np.vstack([axis, axis]), np.array([1.0, -1.0]))
    return LevelBracket(nothing, np.array([0.5, 0.5]), 0.0, q, upper)


def closest_pair(A: Array, B: Array) -> tuple[int, int, float]:
    """Rows of A and B at the least distance."""
    best = (0, 0, np.inf)
    for i, row in enumerate(A):
        lengths = row_lengths(B - row)
        j = int(np.argmin(lengths))
        if lengths[j] < best[2]:
            best = (i, j, float(lengths[j]))
    return best


def _on_a_line(
    found: Limit[Particles], data: Labelled, gap: float, deadline: float
) -> Limit[Particles]:
    """The limit with the bracket that rationals prove, where that is narrower."""
    line = line_bracket(data.rows, data.y, gap, deadline)
    if line is None:
        return found
    lower, upper, stats = (
        max(found.certificate.primal, line.lower),
        min(found.certificate.dual, line.upper),
        dict(found.stats),
    )
    reached = (upper - lower) / lower if lower > 0 else np.inf
    if line.upper <= found.certificate.dual:
        stats |= {"weights": data.spread(line.p), "upper_kind": "exact", "heuristic_upper": upper}
    residual = 0.0
    if line.lower >= found.certificate.primal:
        found = replace(found, value=as_measure(Neurons(line.u, line.s), line.masses))
        residual = _shortfall(line, data)
    stats |= {"relative_gap": reached, "note": ""}
    if reached <= gap:
        stats["stopped"] = "gap reached"
    if residual > gap:
        stats["note"] = (
            f"neurons in floats fall short of the margin by {residual:.2g} of it: inputs with an "
            "offset are better centred"
        )
    certificate = Certificate(lower, upper, residual, "exact" if reached <= gap else "bound")
    return replace(found, objective=lower, certificate=certificate, stats=stats)


def _shortfall(line: LineBracket, data: Labelled) -> float:
    """By which share of the margin found in rationals the neurons in floats miss it, at most
    one."""
    rows, u, masses = (as_integers(part) for part in (data.rows, line.u, line.s * line.masses))
    margins = data.y.astype(int).astype(object) * (
        np.maximum(rows.entries @ u.entries.T, 0) @ masses.entries
    )
    least = Fraction(int(min(margins))) * Fraction(2) ** (
        rows.exponent + u.exponent + masses.exponent - 1
    )
    return min(max(float(1 - least / Fraction(line.lower)), 0.0), 1.0) if line.lower > 0 else 0.0


def first_weights(data: Labelled, time_s: float) -> Array:
    """The weights of the kernel max margin: cheap, and near those sought; uniform ones where a
    kernel of so many samples takes longer than its share of the time."""
    from .kernel_classifiers import kernel_of_rows

    n, end = data.y.size, time.monotonic() + KERNEL * time_s
    kernel = kernel_of_rows(data.rows, data.rows) if n**2 * ENTRY_S < KERNEL * time_s else None
    if kernel is None or not np.all(np.isfinite(kernel)):
        return np.full(n, 1 / n)
    return nearest_weights(kernel, data.y, end)


def as_limit(bracket: LevelBracket, data: Labelled, gap: float) -> Limit[Particles]:
    """The bracket as a limit, for the samples as they were given."""
    value = as_measure(bracket.neurons, bracket.masses)
    lower, upper = _rounded(bracket, data)
    reached = (upper - lower) / lower if lower > 0 else np.inf
    stats: dict[str, Any] = {
        "weights": data.spread(bracket.weights * data.y),
        "relative_gap": reached,
        "upper_kind": bracket.kind,
        "heuristic_upper": max(min(bracket.guess, upper), lower),
        "stopped": bracket.stopped,
        "rounds": bracket.rounds,
        "met": bracket.met,
        "history": tuple(bracket.history),
        "note": "" if reached <= gap else _note(bracket, data),
    }
    return Limit(
        value, lower, Certificate(lower, upper, 0.0, "exact" if reached <= gap else "bound"), stats
    )


def _rounded(bracket: LevelBracket, data: Labelled) -> tuple[float, float]:
    """Both bounds, moved outwards by rounding: of ⟨u_j, x̃⟩, whose u_j are of unit length to (d +
    4)u, of the sum over k neurons and of their masses; and of the weights' sum and of distances."""
    (n, d), k = data.rows.shape, int(np.count_nonzero(bracket.masses))
    # distinct inputs have a margin above zero
    upper = float(np.nextafter(bracket.upper * (1 + (n + d + 4) * EPS), np.inf))
    if bracket.lower <= 0:
        return 0.0, upper
    longest = float(np.max(row_lengths(data.rows)))
    margins = (
        data.y
        * (bracket.neurons.features(data.rows / 2) @ bracket.masses)
        / float(np.sum(bracket.masses))
    )
    lower = max(float(np.min(margins)) - (k + 2 * d + 8) * EPS * longest / 2, 0.0)
    return lower, max(upper, lower)


def as_measure(neurons: Neurons, masses: Array) -> Particles:
    with np.errstate(divide="ignore"):
        return Particles(neurons.u, neurons.s, np.log(masses))


def _note(bracket: LevelBracket, data: Labelled) -> str:
    if bracket.guess >= bracket.upper or bracket.guess_weights is None:
        return ""
    faces = exact_effort(data.rows, bracket.guess_weights) / data.rows.shape[1]
    dim = data.rows.shape[1] - data.biased
    return (
        f"inputs of dimension {dim}: {faces:.1g} faces are too many for an "
        "exact search in the time given; "
        f"the upper bound is proven by {bracket.proof or 'faces under other weights'}"
    )


def _zero(data: Labelled) -> Limit[Particles]:
    """Equal inputs with opposite labels: f = 0 is as good as any."""
    axis = np.eye(data.rows.shape[1])[-1]
    value = Particles(np.stack([axis, axis]), np.array([1.0, -1.0]), np.log([0.5, 0.5]))
    stats = {
        "weights": data.conflict_weights,
        "relative_gap": 0.0,
        "upper_kind": "exact",
        "heuristic_upper": 0.0,
        "stopped": "equal samples of opposite labels",
        "rounds": 0,
        "met": 0,
        "history": (),
        "note": data.note,
    }
    return Limit(value, 0.0, Certificate(0.0, 0.0, 0.0, "exact"), stats)
