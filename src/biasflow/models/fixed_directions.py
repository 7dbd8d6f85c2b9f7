"""Two-layer ReLU networks whose first-layer directions are fixed and whose magnitudes train (R,
§3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import (
    Array,
    Index,
    Mask,
    instance,
    log_of_scale,
    matrix,
    one_of,
    positive_float,
    positive_int,
    vector,
)
from .._core.facts import params_card, params_in_words, record_line
from .._core.former_names import renamed
from .._core.problems import MirrorProblem, Problem
from .._core.starts import read_scale
from ..errors import InputError, RefusedError
from ..losses import SquareLoss
from ..potentials import Hypentropy, Potential, ScaledPotential
from .hyperbola import hypentropy, hyperbolic_form
from .model import MirrorForm, MirrorModel, Model, read_params

LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
}
"""Laws of one weight, of size one."""
STREAM = 43
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""
CONE_EDGE_TOLERANCE = 1e-9
"""Relative distance from the edge a = |b| of the cone up to which a neuron counts as on it."""
UNIT_NORM_TOLERANCE = 1e-9
"""How far from one the norm of a direction may be."""
EQUAL_DIRECTIONS_DISTANCE = 1e-9
"""Distance of directions up to which they count as equal."""
MOST_NEURONS_NAMED = 5
"""Neurons named in a message before it only counts them."""


class FixedDirectionsParams(NamedTuple):
    """First-layer magnitudes a > 0 and output weights b, each (m,)."""

    a: Array
    b: Array

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True, eq=False)
class FixedDirections(MirrorModel):
    """f(w, x) = Σ_j b_j(⟨a_jθ_j, x⟩)₊ with unit directions θ_j that are fixed (R, §3).
    `model(params, X)` predicts, (n,).

    From a_j > 0, a_j² ≥ b_j², each a_j²−b_j² is conserved and a_j keeps its sign (R, Lemma A.2), so
    f is linear in β_j = a_jb_j with the features (⟨θ_j, x⟩)₊, and β follows a mirror flow with
    potential ½Φ_r, r = ½(a²−b²) (R, Theorem 3.4).

    Parameters
    ----------
    directions : array of shape (m, k)
        The θ_j as rows.
    normalise : bool
        Whether to divide each direction by its norm; without it, directions that are not unit are
        an error.

    Examples
    --------
    >>> model = bf.FixedDirections([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], normalise=True)
    >>> model.features(np.array([[1.0, -1.0], [1.0, 1.0]]))
    array([[1. , 0. , 0. ],
           [1. , 1. , 1.4]])
    """

    directions: Array
    normalise: bool = False

    def __post_init__(self) -> None:
        directions = matrix("directions", self.directions)
        norms = _norms(directions)
        if np.any(norms == 0):
            raise InputError(
                f"directions: {_rows('direction', norms == 0)} zero; a direction must be a unit "
                "vector"
            )
        if self.normalise:
            directions = directions / norms[:, None]
        elif np.any(np.abs(norms - 1) > UNIT_NORM_TOLERANCE):
            worst = int(np.argmax(np.abs(norms - 1)))
            raise InputError(
                f"directions: {_rows('direction', np.abs(norms - 1) > UNIT_NORM_TOLERANCE)} not "
                f"unit (‖θ_{worst}‖ = {norms[worst]:g}); pass normalise=True to divide by the norms"
            )
        object.__setattr__(self, "directions", directions)

    @property
    def width(self) -> int:
        return int(self.directions.shape[0])

    @property
    def homogeneity(self) -> int:
        return 2

    def __call__(self, params: FixedDirectionsParams, X: Any) -> Any:
        """Σ_j b_j(a_jz_j)₊ with z = ⟨θ, x⟩: b·a₊·z₊ + b·a₋·z₋, whatever the sign of a."""
        z = X @ self.directions.T
        a, b = params
        above = (b * np.maximum(a, 0)) @ np.maximum(z, 0).T
        if np.min(a) >= 0:
            return above
        return above + (b * np.maximum(-a, 0)) @ np.maximum(-z, 0).T

    def effective(self, params: FixedDirectionsParams) -> Any:
        """β = ab, neuron by neuron; leading axes are kept."""
        return params.a * params.b

    def features(self, X: Any) -> Any:
        """(⟨θ_j, x_i⟩)₊, (n, m)."""
        if np.shape(X)[-1] != self.directions.shape[1]:
            raise InputError(
                f"X: inputs have dimension {np.shape(X)[-1]}, the directions "
                f"{self.directions.shape[1]}"
            )
        return np.maximum(X @ self.directions.T, 0)

    def gradient(
        self, params: FixedDirectionsParams, X: Any, output_gradient: Any
    ) -> FixedDirectionsParams:
        jacobian = self.jacobian(params, X)
        return FixedDirectionsParams(output_gradient @ jacobian.a, output_gradient @ jacobian.b)

    def jacobian(self, params: FixedDirectionsParams, X: Any) -> FixedDirectionsParams:
        z = X @ self.directions.T
        a, b = params
        active = a * z > 0
        return FixedDirectionsParams(np.where(active, b * z, 0.0), np.where(active, a * z, 0.0))

    def linearised(self, params: FixedDirectionsParams, direction: FixedDirectionsParams) -> Any:
        return params.a * direction.b + params.b * direction.a

    def init(
        self,
        scale: ArrayLike = 1.0,
        *,
        log_scale: ArrayLike | None = None,
        key: int = 0,
        dim: int | None = None,
    ) -> FixedDirectionsParams:
        """a = α, b = 0: the unbiased start (f = 0, r = α²/2). `scale` is a number, or one α per
        neuron.

        The start is deterministic; `key` is accepted for uniformity. For R's random start see
        `bf.models.split_network`.
        """
        alpha, _ = log_of_scale("scale", read_scale(scale, log_scale), None)
        if dim is not None and positive_int("dim", dim) != self.directions.shape[1]:
            raise InputError(
                f"dim: {dim} does not fit directions in dimension {self.directions.shape[1]}"
            )
        if alpha.ndim > 1 or (alpha.ndim == 1 and alpha.size != self.width):
            raise InputError(
                f"scale: expected a number or a vector of length {self.width}, found shape "
                f"{alpha.shape}"
            )
        return FixedDirectionsParams(
            np.broadcast_to(alpha, (self.width,)).copy(), np.zeros(self.width)
        )

    def checked(self, params: Any, d: int) -> FixedDirectionsParams:
        """Parameters as arrays with a > 0, or an error that names the neurons."""
        if d != self.directions.shape[1]:
            raise InputError(
                f"X: inputs have dimension {d}, the directions {self.directions.shape[1]}"
            )
        found: FixedDirectionsParams = read_params(
            FixedDirectionsParams, params, (self.width,), (self.width,)
        )
        if np.any(found.a <= 0):
            raise InputError(
                f"start.a: must be positive; {_rows('neuron', found.a <= 0)} not. Where a < 0, "
                "flip θ and a: the network is the same"
            )
        return found

    @renamed(params0="start")
    def outside_cone(self, start: FixedDirectionsParams) -> str | None:
        """Inside the cone a² ≥ b² a never reaches zero (R, Lemma A.2); outside it may, and ReLU has
        its kink there."""
        a, b = start
        outside = a < np.abs(b) * (1 - CONE_EDGE_TOLERANCE)
        if not np.any(outside):
            return None
        worst = int(np.argmax(np.abs(b) - a))
        return (
            f"R/lemA2: a² ≥ b² fails: {_rows('neuron', outside)} outside the cone (a_{worst} = "
            f"{a[worst]:g}, b_{worst} = {b[worst]:g}): a may reach zero, the kink of ReLU, where "
            "the flow is not defined"
        )

    def potential(
        self, *, scale: ArrayLike | None = None, log_scale: ArrayLike | None = None
    ) -> Potential:
        """The potential whose Bregman projection is the limit from a = α, b = 0: Φ_{α²/2}."""
        _, log_alpha = log_of_scale("scale", scale, log_scale)
        return Hypentropy(log_alpha=2 * log_alpha - np.log(2.0))

    @renamed(params0="start")
    def mirror_form(self, start: FixedDirectionsParams, loss: Any, n: int) -> MirrorForm | str:
        """R, Theorem 3.4: (a ± b)/2 move on hyperbolas, and under c‖·‖² β = ab has the potential
        Φ_r/(4c), r = ½(a²−b²)."""
        if not isinstance(loss, SquareLoss):
            return f"the dual flow needs a square loss, found {type(loss).__name__}"
        failure = self.outside_cone(start)
        if failure is not None:
            return failure
        a, b = start
        return hyperbolic_form((a + b) / 2, (a - b) / 2, 1 / (4 * loss.factor(n)), _from_hyperbola)


def nonsmooth(model: Model, params: Any) -> str | None:
    """None where the model stays smooth along the flow from here, else a sentence that says where
    it may not; of our models, only with fixed directions does that depend on the weights."""
    return model.outside_cone(params) if isinstance(model, FixedDirections) else model.kinks


def _from_hyperbola(plus: Array, minus: Array) -> FixedDirectionsParams:
    return FixedDirectionsParams(plus + minus, plus - minus)


def random_network(
    width: int, dim: int, scale: float, *, law: str = "uniform", key: int = 0
) -> tuple[FixedDirections, FixedDirectionsParams]:
    """R's random start (§4), split: all weights iid of size s = α/√m, neurons outside the cone a² ≥
    b² drawn again.

    Neurons are independent, so drawing only the failing ones again has the law of drawing the whole
    network again, as R does.

    Parameters
    ----------
    width, dim : int
        m and k.
    scale : float
        α.
    law : {'uniform', 'gaussian'}
        'uniform' on [−s, s] (R's figures), or 'gaussian' of standard deviation s.
    key : int

    Returns
    -------
    (FixedDirections, models.FixedDirectionsParams)
        The model and its start.

    Examples
    --------
    >>> model, start = bf.models.random_network(width=50, dim=3, scale=0.1, key=0)
    >>> model.directions.shape, bool(np.all(start.a**2 >= start.b**2))
    ((50, 3), True)
    """
    m, k = positive_int("width", width), positive_int("dim", dim)
    s = positive_float("scale", scale) / np.sqrt(m)
    draw_all = LAWS[one_of("law", law, tuple(LAWS))]
    rng = np.random.default_rng((STREAM, positive_int("key", key, least=0)))
    W, b = np.empty((m, k)), np.empty(m)
    missing = np.ones(m, bool)
    while np.any(missing):
        drawn = s * draw_all(rng, (int(np.sum(missing)), k + 1))
        W[missing], b[missing] = drawn[:, :k], drawn[:, k]
        missing = _norms(W) < np.abs(b)
    return split_network(W, b)


def split_network(W: ArrayLike, b: ArrayLike) -> tuple[FixedDirections, FixedDirectionsParams]:
    """A two-layer network Σ_j b_j(⟨w_j, x⟩)₊ split into directions w_j/‖w_j‖, which are fixed, and
    magnitudes (R, §4).

    Nothing is said about a² ≥ b² here: the flow checks it, and R resamples until it holds.

    Parameters
    ----------
    W : array of shape (m, k)
        The w_j as rows.
    b : array of shape (m,)

    Returns
    -------
    (FixedDirections, models.FixedDirectionsParams)
        The model and its start (a, b), a_j = ‖w_j‖.

    Examples
    --------
    >>> model, start = bf.models.split_network([[3.0, 4.0], [0.0, -2.0]], [1.0, 1.0])
    >>> model.directions, start.a
    (array([[ 0.6,  0.8],
           [ 0. , -1. ]]), array([5., 2.]))
    """
    W = matrix("W", W)
    a = _norms(W)
    if np.any(a == 0):
        raise InputError(f"W: {_rows('neuron', a == 0)} zero and without direction")
    return FixedDirections(W / a[:, None]), FixedDirectionsParams(a, vector("b", b, W.shape[0]))


@dataclass(frozen=True, eq=False)
class MergedProblem:
    """The mirror flow of a network whose equal directions were merged: β_k = Σ_{j in group k}
    a_jb_j.

    groups (m,): the merged coordinate of every neuron; r (p,): the hypentropy's parameter.
    """

    mirror: MirrorProblem
    groups: Index
    r: Array

    def __repr__(self) -> str:
        return record_line(self)


def merge_directions(problem: Problem) -> MergedProblem:
    """Merge the neurons with equal directions (R, Lemma 3.5): ½Φ_r with r_k = ½‖a+b‖·‖a−b‖ over
    each group.

    That is R's r_k² = ¼Σ_{i,j}[(a_ia_j−b_ib_j)² + (a_ib_j−b_ia_j)²], by Lagrange's identity. A
    group of one is Theorem 3.4; the pair a = (w₊, w₋), b = (w₊, −w₋) is W's depth-2 diagonal weight
    with r = 2w₊w₋, at half its speed. Directions count as equal within 1e-9.

    Parameters
    ----------
    problem : Problem
        Of a `FixedDirections` network.

    Returns
    -------
    models.MergedProblem
        With the mirror flow of the merged coordinates.

    Examples
    --------
    >>> model = bf.FixedDirections([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> start = bf.models.FixedDirectionsParams(a=np.ones(3), b=np.zeros(3))
    >>> data = bf.Dataset([[1.0, 2.0]], [1.0])
    >>> found = bf.models.merge_directions(bf.Problem(model, data, bf.SquareLoss("half"), start))
    >>> found.groups, found.r
    (array([0, 0, 1]), array([1. , 0.5]))
    """
    instance("problem", problem, Problem)
    model = instance("problem.model", problem.model, FixedDirections)
    loss = instance("problem.loss", problem.loss, SquareLoss)
    failure = model.outside_cone(problem.start)
    if failure is not None:
        raise RefusedError(f"merge_directions: {failure}")
    a, b = problem.start
    first, groups = _equal_rows(model.directions)
    count = len(first)

    def norm(values: Array) -> Array:
        top = np.zeros(count)
        np.maximum.at(top, groups, np.abs(values))
        unit = np.where(top > 0, top, 1.0)
        return top * np.sqrt(np.bincount(groups, (values / unit[groups]) ** 2, count))

    with np.errstate(divide="ignore"):
        log_r = np.log(norm(a + b)) + np.log(norm(a - b)) - np.log(2.0)
    beta0 = np.bincount(groups, a * b, count).astype(float)
    X = model.features(problem.data.X)[:, first]
    potential = ScaledPotential(1 / (4 * loss.factor(problem.data.n)), hypentropy(log_r, beta0))
    return MergedProblem(MirrorProblem(potential, X, problem.data.y, beta0), groups, np.exp(log_r))


def _equal_rows(rows: Array) -> tuple[Index, Index]:
    """The first row of every set of equal ones, in order, and the set of every row."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(rows).query_pairs(EQUAL_DIRECTIONS_DISTANCE, output_type="ndarray")
    links = coo_array(
        (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(rows), len(rows))
    )
    labels = connected_components(links, directed=False)[1]
    _, first, groups = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[groups]


def _norms(rows: Array) -> Array:
    """‖·‖₂ of each row, at any scale: squares of weights below 1e-154 would vanish."""
    exponent = np.frexp(np.max(np.abs(rows), axis=1))[1]
    return np.ldexp(np.linalg.norm(np.ldexp(rows, -exponent[:, None]), axis=1), exponent)


def _rows(what: str, mask: Mask) -> str:
    """'neurons 1, 4 and 7 are', 'neuron 3 is', or '12 neurons (0, 2, 3, …) are'."""
    found = [str(k) for k in np.flatnonzero(mask)]
    if len(found) == 1:
        return f"{what} {found[0]} is"
    if len(found) <= MOST_NEURONS_NAMED:
        return f"{what}s {', '.join(found[:-1])} and {found[-1]} are"
    return f"{len(found)} {what}s ({', '.join(found[:MOST_NEURONS_NAMED])}, …) are"
