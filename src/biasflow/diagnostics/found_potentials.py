"""The potential of a parametrisation w ↦ G(w): whether there is one, and which.

Gradient flow on any loss of G(w), and on losses in turn, is w′ = Σu_i(t)∇G_i(w) with u = −∇L. It is
a mirror flow for all of them exactly where β = G(w) at the end is a function of μ = ∫u alone. Then
∂β/∂μ = ∂G∂Gᵀ is symmetric and positive semidefinite, so β = ∇φ*(μ) with a convex φ*; conversely
β = ∇φ*(∇φ(β₀) + μ) is such a function. So two ways with the same μ that end at different β refute
it, whatever the potential; which ways agree is all there is to know.

Vanishing brackets [∇G_i, ∇G_j] on the orbit of w₀ suffice (Li, Wang, Lee and Arora 2022): w itself
is a function of μ then. They are not necessary: w ↦ β is a Riemannian submersion onto the metric
∇²φ, and brackets that ∂G does not see are its curvature, by O'Neill's formula. An example is
G(x, z) = (ψ²/2 − (log r + r² + r⁴/4)/2, ψ) in polar coordinates (r, θ) of x ∈ R² with ψ = θ − z: no
function of μ gives w, yet β has the potential F(β₁ − β₂²/2) with F′ = −r²/(1 + r²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, positive_int
from .._core.facts import Fact, Facts, Shown
from .._core.progress import doing
from .._core.results import Limit
from ..errors import BiasflowError, DomainError, InputError, RefusedError
from ..limits.dual_newton import dual_limit
from ..potentials.followed_potentials import FollowedPotential
from ..potentials.gradient_fields import FINE, LOOSE, ROUNDINGS, DualPoint, GradientFields
from .commuting import flatten

LEGS = 3
"""Straight pieces of a way; the other way takes them in the opposite order."""
LEG = 0.5
"""Length of a leg at most, in units of what changes weights by their own size."""
SHORTENINGS = 8
"""How often legs are made four times shorter where a flow does not last."""
TELLING = 30.0
"""Errors that a gap, or a bracket, must be to be one."""
WITHIN = 10.0
"""Errors up to which it counts as none."""
PAIRS = 3
"""Brackets of random combinations of gradients at every end."""
DEPENDENT = 1e-10
"""Relative singular value of ∂G below which coordinates move together."""


@dataclass(frozen=True, eq=False)
class Loop:
    """Two ways from the start with the same μ: the legs in their order and in the opposite one.

    legs: (k, d), what ∫u is on each; ends: G at both ends, (2, d); error: of their difference."""

    legs: Array
    ends: Array
    error: Array

    def __repr__(self) -> str:
        return f"Loop(gap {self.gap:.2g} ± {self.gap_error:.1g})"

    @property
    def gap(self) -> float:
        """|β − β′| in the coordinate where it is the most errors."""
        return float(np.abs(self.ends[0] - self.ends[1])[self._worst])

    @property
    def gap_error(self) -> float:
        """Of that coordinate."""
        return float(self.error[self._worst])

    @property
    def errors(self) -> float:
        """The largest difference in units of its error."""
        return self.gap / self.gap_error

    @property
    def _worst(self) -> int:
        return int(np.argmax(np.abs(self.ends[0] - self.ends[1]) / self.error))


@dataclass(frozen=True, eq=False, repr=False)
class FoundPotential(Shown):
    """Whether a parametrisation is a mirror flow from its start, on what evidence, and its
    potential.

    status: 'mirror', 'refuted' or 'undecided'; why: one sentence. loop: the one of the looked at
    that fails most to close, the witness where the status is 'refuted'. bracket: the largest
    relative Lie bracket on the orbit, bracket_error: its rounding. commuting: whether all vanish.
    separable: whether ∂G∂Gᵀ is diagonal on the orbit. 'mirror' is what was seen at random points of
    the orbit, no proof; for an analytic G what vanishes there vanishes everywhere but by accident,
    up to the errors stated. A G in pieces may have others beyond: `at` and `limit` look at brackets
    where they end, `potential` does not.
    """

    status: str
    why: str
    loop: Loop
    bracket: float
    bracket_error: float
    commuting: bool
    separable: bool
    start: Array
    fields: GradientFields = field(repr=False)
    owners: Array | None = field(repr=False, default=None)

    def facts(self) -> Facts:
        evidence = "random points of the orbit, no proof" if self else "two ways with the same μ"
        alone = "yes" if self.separable else "no, or not looked at"
        return Facts(
            f"FoundPotential: {self.status}",
            (
                Fact("why", self.why),
                Fact("evidence", evidence),
                Fact("worst loop", repr(self.loop)),
                Fact("a sum over coordinates", alone),
            ),
        )

    def __str__(self) -> str:
        return f"{self.status}: {self.why}"

    def __bool__(self) -> bool:
        return self.status == "mirror"

    @property
    def beta0(self) -> Array:
        """G(w₀), where ∇φ = 0."""
        return self.fields.value(self.start)

    @cached_property
    def potential(self) -> FollowedPotential:
        """φ, for `bf.mirror_flow` and `bf.bregman_projection` (with beta0, or none). Refused where
        there is none, or where it is no sum over coordinates: `at` and `limit` serve these."""
        self._needed("potential")
        if not self.separable:
            raise RefusedError(
                "potential: it is no sum over coordinates, which flows and projections need; "
                "use at(mu) and limit(X, y)"
            )
        return FollowedPotential(self.fields, self.owners)

    def at(self, mu: ArrayLike) -> DualPoint:
        """β = ∇φ*(μ), φ*(μ) and ∇²φ*(μ) = ∂G∂Gᵀ, with errors."""
        self._needed("at")
        place = np.asarray(mu, dtype=float)
        if place.shape != (self.fields.d,) or not np.all(np.isfinite(place)):
            raise InputError(f"mu: expected {self.fields.d} finite numbers, found {mu!r:.60}")
        point = self.fields.at(place)
        if point is None:
            raise DomainError("mu: the flow along it has a pole on the way: outside the domain")
        self._check_end("at", point.w)
        return point

    def limit(self, X: ArrayLike, y: ArrayLike) -> Limit[Array]:
        """Where gradient flow on any loss of XG(w) − y with its least value at zero ends, if it
        converges to zero loss: argmin D_φ(β, G(w₀)) subject to Xβ = y.

        stats: error, of every coordinate. The certificate is heuristic: integration errors in it
        are estimates."""
        self._needed("limit")
        limit = dual_limit(self.fields, X, y)
        self._check_end("limit", limit.stats["weights"])
        return limit

    def _check_end(self, what: str, w: Array) -> None:
        """Refused where brackets that were not seen near the start move β at w."""
        J = self.fields.jacobian(w)
        lengths = np.linalg.norm(J, axis=1)
        unit = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        rng = np.random.default_rng(98)
        for pair in rng.standard_normal((PAIRS, 2, unit.size)):
            _, seen, error = _bracket(self.fields, w, J, unit * pair, rng)
            if seen > TELLING * max(error, self.bracket_error):
                raise RefusedError(
                    f"{what}: gradients that commute near the start move β where this ends "
                    f"(relative bracket {seen:.1g}): G is of pieces, and this is no longer a "
                    "mirror flow; start nearer, or ask for less"
                )

    def _needed(self, what: str) -> None:
        if self.status != "mirror":
            raise RefusedError(f"{what}: {self.status}: {self.why}")


@doing("potential")
def find_potential(
    G: Callable[[Any], Any], start: Any, *, loops: int = 4, key: int = 0
) -> FoundPotential:
    """The potential of your parametrisation: whether gradient flow on w is a mirror flow on
    β = G(w) for every loss, and ∇φ*(μ) = G(Ψ_μ(w₀)), computed numerically, where it is.

    Ways with the same μ are followed along random pulls; if two end at different β, that is a
    witness against every potential. Brackets are taken where they end.

    Parameters
    ----------
    G : callable
        Smooth, from parameters to a vector β, written in JAX.
    start
        w₀: an array or a (nested) tuple or dictionary of arrays.
    loops : int
        How many pairs of ways.
    key : int
        Of their randomness.

    Returns
    -------
    diagnostics.FoundPotential

    Raises
    ------
    RefusedError
        Where a coordinate cannot leave the start, or no flow can be followed.

    Examples
    --------
    >>> found = bf.diagnostics.find_potential(lambda w: w[:3] ** 3 - w[3:] ** 3, 0.3 * np.ones(6))
    >>> print(found.status, found.limit([[1.0, 2.0, 3.0]], [6.0]).value.round(6))
    mirror [0.050704 0.212839 1.841206]
    >>> UV = lambda w: (w[0] @ w[1].T).ravel()
    >>> bf.diagnostics.find_potential(UV, np.arange(8.0).reshape(2, 2, 2)).status
    'refuted'
    """
    loops, key = positive_int("loops", loops), positive_int("key", key, least=0)
    fields = _fields(G, start)
    J = fields.jacobian(fields.start)
    _check_start(J)
    rng = np.random.default_rng((97, key))
    sizes = np.max(np.where(J != 0, np.abs(fields.start), 0.0), axis=1)
    top = float(np.max(np.abs(fields.start), initial=0.0)) or 1.0
    crowd = float(np.max(np.count_nonzero(J, axis=0)))
    unit = np.where(sizes > 0, sizes, top) / np.linalg.norm(J, axis=1)
    unit = np.minimum(unit, _turning(fields, J)) / np.sqrt(crowd)
    found, places = list[Loop](), [fields.start]
    with doing(lambda: f"{len(found)} of {loops} loops"):
        for _ in range(loops):
            loop, ends = _loop(fields, LEG * unit * rng.uniform(-1, 1, (LEGS, fields.d)))
            found.append(loop)
            places += ends
    worst = max(found, key=lambda loop: loop.errors)
    rows = [fields.jacobian(w) for w in places]
    separable, owners = _separable(rows)
    bracket, seen, error = 0.0, 0.0, ROUNDINGS
    for w, row in zip(places, rows, strict=True):
        for _ in range(PAIRS):
            size, moved, rounding = _bracket(
                fields, w, row, unit * rng.standard_normal((2, unit.size)), rng
            )
            bracket, seen, error = max(bracket, size), max(seen, moved), max(error, rounding)
    commuting = bracket <= WITHIN * error
    dependent = owners is None and _dependent(J)
    status, why = _judged(worst, bracket, seen, error, commuting, dependent, len(places))
    alone = separable and status == "mirror"
    return FoundPotential(
        status, why, worst, bracket, error, commuting, alone, fields.start, fields, owners
    )


def _judged(
    worst: Loop,
    bracket: float,
    seen: float,
    error: float,
    commuting: bool,
    dependent: bool,
    places: int,
) -> tuple[str, str]:
    gap = f"{worst.gap:.2g} ± {worst.gap_error:.1g}"
    if worst.errors > TELLING:
        return "refuted", (
            f"two ways with the same μ end {gap} apart, so β is no function of μ, and no potential "
            "serves all losses"
        )
    if worst.errors > WITHIN:
        return "undecided", f"two ways end {gap} apart, too little to tell"
    if dependent:
        return "undecided", (
            "ways with the same μ agree, but coordinates of β move together (∂G has not full "
            f"rank to {DEPENDENT:g}): no Legendre potential on all of them; leave out those that "
            "follow from others"
        )
    if commuting:
        return "mirror", (
            f"coordinate gradients commute at the start and {places - 1} random points of its "
            f"orbit (relative bracket {bracket:.1g}, rounding hides {WITHIN * error:.1g}), and "
            f"ways with the same μ end together ({gap})"
        )
    if seen <= WITHIN * error:
        return "mirror", (
            f"gradients do not commute (relative bracket {bracket:.2g}), but β does not see it: "
            f"ways with the same μ end at the same β ({gap})"
        )
    return "undecided", (
        f"the brackets move β (relative {seen:.1g}), though no loop was found that fails to close"
    )


def _fields(G: Any, start: Any) -> GradientFields:
    if not callable(G):
        raise InputError(f"G: expected a function of the parameters, found {type(G).__name__}")
    flat, unflatten = flatten(start)
    if not flat.size:
        raise InputError("start: expected parameters, found none")
    if not np.all(np.isfinite(flat)):
        raise InputError("start: expected finite parameters")

    def coordinates(w: Any) -> Any:
        import jax.numpy as jnp

        return jnp.ravel(jnp.asarray(G(unflatten(w))))

    try:
        fields = GradientFields(coordinates, flat)
        beta, J = fields.value(flat), fields.jacobian(flat)
    except BiasflowError:
        raise
    except Exception as reason:  # it is the user's, and raises what it likes
        said = f"{type(reason).__name__}: {(str(reason) or 'without a word').splitlines()[0]}"
        raise InputError(f"G: fails as a function of JAX arrays: {said}") from reason
    if not beta.size or beta.dtype != np.float64:
        raise InputError(f"G: expected a float64 vector, found {beta.dtype} of size {beta.size}")
    if not (np.all(np.isfinite(beta)) and np.all(np.isfinite(J))):
        raise InputError("G: expected finite values and derivatives at the start")
    return fields


def _check_start(J: Array) -> None:
    still = np.flatnonzero(~(np.linalg.norm(J, axis=1) > 0))
    if still.size:
        raise RefusedError(
            f"start: ∇G_{still[0]} = 0 there, in floats, so that coordinate can never move; start "
            "elsewhere, or leave it out"
        )


def _turning(fields: GradientFields, J: Array) -> Array:
    """‖∇G_i‖/‖∇²G_i∇G_i‖: how long a pull at one coordinate takes to change its gradient by its
    own size. Small weights between large ones change sooner than the largest."""
    turns = [fields.turn(fields.start, one, one) for one in np.eye(fields.d)]
    with np.errstate(divide="ignore"):
        return np.linalg.norm(J, axis=1) / np.linalg.norm(turns, axis=1)


def _loop(fields: GradientFields, legs: Array) -> tuple[Loop, list[Array]]:
    """Both ways at two tolerances; shorter where a flow does not last."""
    for _ in range(SHORTENINGS):
        ends = [_way(fields, order, rtol) for order in (legs, legs[::-1]) for rtol in (FINE, LOOSE)]
        if all(end is not None for end in ends):
            break
        legs = legs / 4
    else:
        raise RefusedError(
            f"G: flows along its gradients could not be followed from the start, not even by pulls "
            f"of {np.max(np.abs(legs)):.1g}: it has kinks or poles there, or weights of sizes too "
            "unlike; start at others, or scale them alike"
        )
    fine, loose, other_fine, other_loose = (np.asarray(end) for end in ends)
    values = [fields.value(w) for w in (fine, loose, other_fine, other_loose)]
    rounding = sum(
        fields.rounding(w, fields.jacobian(w), b)
        for w, b in ((fine, values[0]), (other_fine, values[2]))
    )
    error = np.abs(values[0] - values[1]) + np.abs(values[2] - values[3]) + LEGS * rounding
    return Loop(legs, np.array([values[0], values[2]]), error), [fine, other_fine]


def _way(fields: GradientFields, legs: Array, rtol: float) -> Array | None:
    w = fields.start
    for leg in legs:
        end = fields.carried(w, leg, rtol)
        if end is None:
            return None
        w = end[0]
    return w


def _bracket(
    fields: GradientFields, w: Array, J: Array, pair: Array, rng: np.random.Generator
) -> tuple[float, float, float]:
    """(relative bracket, what ∂G sees of it, rounding of both): the same a few roundings away from
    w says how good it is."""
    u, v = pair
    found, scale = fields.bracket(w, u, v)
    if scale == 0:
        return 0.0, 0.0, ROUNDINGS
    near = w * (1 + 2 * np.finfo(float).eps * rng.choice([-1.0, 1.0], w.size))
    again, _ = fields.bracket(near, u, v)
    rounding = ROUNDINGS + float(np.linalg.norm(found - again)) / scale
    lengths = np.linalg.norm(J, axis=1)
    seen = np.abs(J @ found) / np.where(lengths > 0, lengths, 1.0)
    return float(np.linalg.norm(found)) / scale, float(np.max(seen)) / scale, rounding


def _separable(rows: list[Array]) -> tuple[bool, Array | None]:
    """Whether ∂G∂Gᵀ is diagonal at all places, and which coordinate each weight serves (−1: none)
    where it is never more than one."""
    used = np.any([J != 0 for J in rows], axis=0)
    if np.all(np.sum(used, axis=0) <= 1):
        return True, np.where(np.any(used, axis=0), np.argmax(used, axis=0), -1)
    for J in rows:
        lengths = np.linalg.norm(J, axis=1)
        gram = np.abs(J @ J.T) - np.diag(lengths**2)
        if np.any(gram > ROUNDINGS * np.outer(lengths, lengths)):
            return False, None
    return True, None


def _dependent(J: Array) -> bool:
    """Whether coordinates move together at the start."""
    values = np.linalg.svd(J / np.linalg.norm(J, axis=1)[:, None], compute_uv=False)
    return len(values) < len(J) or bool(values[-1] <= DEPENDENT * values[0])
